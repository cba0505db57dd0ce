"""Errors reported to pages."""

from __future__ import annotations


class RefusedError(ValueError):
    """A refused request: a code of `protocol.Error` and a one-line message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
