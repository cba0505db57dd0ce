"""Words of messages: amounts in a fitting unit."""

from __future__ import annotations

import pytest

from komadori.wording import size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 KB"),
        (12_345, "12.3 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (34_600_000, "34.6 MB"),
        (999_950_000, "1.0 GB"),
        (1_234_567_000_000, "1,234.6 GB"),
    ],
)
def test_a_size_has_a_fitting_unit(count: int, text: str) -> None:
    assert size(count) == text
