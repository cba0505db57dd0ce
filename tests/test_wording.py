"""Words of messages: amounts in a fitting unit."""

from __future__ import annotations

import pytest

from komadori.wording import plain_number, setting, size


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


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (11749.3, 4, "11749"),
        (144.06, 4, "144.1"),
        (26.97, 4, "26.97"),
        (0.00012345, 4, "0.0001234"),
        (2147483647, 15, "2147483647"),
        (1048576.0, 15, "1048576"),
        (0.1, 15, "0.1"),
        (-200.0, 4, "-200"),
        (0.0, 4, "0"),
        (1e15, 15, "1000000000000000"),
    ],
)
def test_numbers_without_exponents(value: float, digits: int, text: str) -> None:
    assert plain_number(value, digits) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([{"nodes": 60, "weight": 0.5}], "nodes=60,weight=0.5"),
        ([{"nodes": 60}, {"depth": 3, "file": None}], "nodes=60 and depth=3,file=none"),
        ({"is_on": True}, "is_on=true"),
        ([0, 24], "[0, 24]"),
        ((), "none"),
        (None, "none"),
        (False, "false"),
        ("kpp", "'kpp'"),
        (0, "0"),
        (1.0, "1.0"),
    ],
)
def test_a_setting_is_shown_without_names_of_python(value: object, text: str) -> None:
    assert setting(value) == text
