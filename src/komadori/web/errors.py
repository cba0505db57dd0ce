"""What a page is told when it asks for what can't be."""

from __future__ import annotations


class RefusedError(ValueError):
    """A request that can't be fulfilled: a code of `protocol.Error` and one line for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
