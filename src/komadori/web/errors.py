"""Errors reported to pages."""

from __future__ import annotations

from komadori.wording import on_one_line

#: Message of unexpected errors, whose traceback is in the log.
INTERNAL_ERROR = "internal error; see the server's log"


class RefusedError(ValueError):
    """A refused request: a code of `protocol.Error` and a one-line message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def reason_of(error: Exception) -> str:
    """Describe an error in one line; one of the system by its path and what is wrong."""
    if not isinstance(error, OSError) or error.errno is None or error.strerror is None:
        return on_one_line(error)
    name = "" if error.filename is None else f"{error.filename}: "
    return on_one_line(f"{name}{error.strerror}")
