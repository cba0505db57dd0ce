"""Errors reported to pages."""

from __future__ import annotations

#: Message of unexpected errors, whose traceback is in the log.
INTERNAL_ERROR = "internal error; see the server's log"


class RefusedError(ValueError):
    """A refused request: a code of `protocol.Error` and a one-line message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
