"""What the server logs."""

from __future__ import annotations

import logging
import sys

import pytest

pytest.importorskip("uvicorn")

from komadori.web.serve import _is_of_the_server


@pytest.mark.parametrize("error", [b"\xff", KeyError()])
def test_a_message_that_is_not_utf_8_has_no_traceback(error: bytes | KeyError) -> None:
    try:
        if isinstance(error, KeyError):
            raise error
        error.decode()
    except (UnicodeDecodeError, KeyError):
        record = logging.LogRecord("uvicorn.error", 40, "", 0, "text", (), sys.exc_info())
    assert _is_of_the_server(record)
    assert (record.exc_info is None) == isinstance(error, bytes)
