"""Words of messages: names that may hold anything, counts with their nouns."""

from __future__ import annotations

import errno
import os
import re

#: Control characters except tab and newline, bidirectional overrides, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """Replace control characters: ␛ for escape, � for others."""
    return _UNPRINTABLE.sub(_symbol, text)


def on_one_line(text: object) -> str:
    """Replace control characters and line breaks, which names of files may hold: ␊."""
    return clean(str(text)).replace("\n", "␊")


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def what_is_wrong(error: Exception) -> str:
    """Describe an error met while reading a file, without the file's contents."""
    if isinstance(error, KeyError):
        return f"{on_one_line(error.args[0])!r} is missing"
    return on_one_line(error)[:200] or type(error).__name__


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 game`, `2,000 games`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """Format a time in the units that suit it: `288 µs`, `12.3 ms`, `1.23 s`, `3 min 31 s`,
    `1 h 2 min`.
    """
    if not seconds:
        return "0 s"
    for limit, unit, name in ((9.995e-4, 1e-6, "µs"), (0.9995, 1e-3, "ms"), (59.5, 1.0, "s")):
        if seconds < limit:
            return f"{seconds / unit:.3g} {name}"
    minutes, rest = divmod(round(seconds), 60)
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if hours else f"{minutes} min {rest} s"


def check_type(name: str, value: object, *types: type) -> None:
    """Raise TypeError, which names the argument, unless the value is of one of the types."""
    if not isinstance(value, types):
        raise not_expected(name, value, " or ".join(kind.__name__ for kind in types))


def not_expected(name: str, value: object, expected: str) -> TypeError:
    """Return the error of an argument that is something else than expected."""
    return TypeError(f"{name}: expected {expected}, got {type(value).__name__}")


def no_such_file(path: object) -> FileNotFoundError:
    """Return the error of a missing input, as the cause of an error that says more about it."""
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def names_no_file(error: BaseException) -> bool:
    """Return whether an error, or one that caused it, is that of a path that leads to no file.

    For a command that is a usage error.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, FileNotFoundError | NotADirectoryError | IsADirectoryError):
            return True
        cause = cause.__cause__
    return False


def not_enough_memory(error: MemoryError) -> str:
    """Describe the error; the compiled core's allocator says nothing about it."""
    text = str(error).removeprefix("std::bad_alloc")
    return "not enough memory" + (f": {text}" if text else "")
