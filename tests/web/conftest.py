"""Fixtures of the web tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `web` isn't installed")

from web_pages import Server, make_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with make_server(tmp_path) as client:
        yield Server(client)
