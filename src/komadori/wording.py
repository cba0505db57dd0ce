"""Words of messages: names that may hold anything, counts with their nouns."""

from __future__ import annotations

import errno
import functools
import math
import numbers
import os
import re
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

F = TypeVar("F", bound=Callable[..., Any])

#: The flag of a generator's code; inspect has its name, but imports much.
_GENERATOR = 0x20

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


def reason_of(error: Exception) -> str:
    """Describe an error in one line; an OSError by its file and reason, without its errno."""
    if not isinstance(error, OSError) or error.errno is None or error.strerror is None:
        return on_one_line(error)
    name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return on_one_line(f"{name}{error.strerror}")


def device_reason(error: Exception) -> str:
    """Describe in one short line why PyTorch can't use a device."""
    if isinstance(error, NotImplementedError | ImportError):  # lists every backend, or a module
        return "this build of PyTorch doesn't support it"
    return on_one_line(str(error).splitlines()[0]) if str(error) else type(error).__name__


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: `1 game`, `2,000 games`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def plain_number(value: float, digits: int = 15) -> str:
    """Format a number without an exponent: all digits of its integer part, and decimals up to that
    many significant digits.
    """
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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


def size(count: int) -> str:
    """Return a number of bytes in a fitting unit: `512 bytes`, `3.4 KB`, `1.2 GB`."""
    if count < 1000:
        return counted(count, "byte")
    for limit, unit, name in ((999_950, 1e3, "KB"), (999_950_000, 1e6, "MB")):
        if count < limit:
            return f"{count / unit:.1f} {name}"
    return f"{count / 1e9:,.1f} GB"


def setting(value: object) -> str:
    """Return a setting as it is written, without Python's names: `false`, `none`, a table as
    `nodes=30,depth=0`, several tables with `and`."""
    if value is None or value in ([], ()):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ",".join(f"{name}={setting(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        parts = [setting(one) for one in value]
        if any(isinstance(one, Mapping) for one in value):
            return " and ".join(parts)
        return f"[{', '.join(parts)}]"
    return repr(value)


def check_type(name: str, value: object, *types: type) -> None:
    """Raise TypeError, which names the argument, unless the value is of one of the types."""
    if not isinstance(value, types):
        raise not_expected(name, value, " or ".join(kind.__name__ for kind in types))


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise ValueError, which names the argument, unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: one of {', '.join(choices)} is needed")


def not_expected(name: str, value: object, expected: str) -> TypeError:
    """Return the error of an argument that is something else than expected."""
    return TypeError(f"{name}: expected {expected}, got {type(value).__name__}")


def names_arguments(target: F) -> F:
    """Decorate a public function or class: an error that follows from a value of a wrong type
    becomes a TypeError that names the argument. Of a class that applies to the constructor and to
    the public methods that it defines; those of networks are left alone, since torch traces them.

    Types are compared with the annotations only after an error, so a correct call costs one Python
    call more and what works isn't refused. An error of the caller's own code, such as a callback,
    stays as it is.
    """
    if isinstance(target, type):
        kind: Any = target
        kind.__init__ = names_arguments(kind.__init__)
        members = {} if hasattr(kind, "forward") else dict(vars(kind))
        for name, member in members.items():
            if name.startswith("_"):
                continue
            if isinstance(member, classmethod | staticmethod):
                setattr(kind, name, type(member)(names_arguments(member.__func__)))
            elif isinstance(member, FunctionType):
                setattr(kind, name, names_arguments(member))
        return target

    def explained(
        error: Exception, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Exception:
        wrong = None
        said = re.match(r"(\w+): expected ", str(error))
        is_named = said is not None and said[1] in target.__code__.co_varnames
        if not is_named and not _is_of_callers_code(error, target):
            wrong = _wrong_argument(target, arguments, options)
        return wrong or error

    if target.__code__.co_flags & _GENERATOR:

        @functools.wraps(target)
        def generated(*arguments: Any, **options: Any) -> Any:
            try:
                return (yield from target(*arguments, **options))
            except (TypeError, AttributeError, KeyError) as error:
                if (wrong := explained(error, arguments, options)) is error:
                    raise
                raise wrong from error

        return cast("F", generated)

    @functools.wraps(target)
    def named(*arguments: Any, **options: Any) -> Any:
        try:
            return target(*arguments, **options)
        except (TypeError, AttributeError, KeyError) as error:
            if (wrong := explained(error, arguments, options)) is error:
                raise
            raise wrong from error

    return cast("F", named)


def _is_of_callers_code(error: BaseException, function: Callable[..., Any]) -> bool:
    """Return whether an error that left the function came from code that it called and that
    belongs neither to its own package nor to an installed one.
    """
    import sysconfig

    own = __name__.partition(".")[0], function.__module__.partition(".")[0]
    installed = tuple(sysconfig.get_path(name) for name in _INSTALLED)
    traceback = error.__traceback__
    while traceback is not None:
        scope = traceback.tb_frame.f_globals
        package = str(scope.get("__name__", "")).partition(".")[0]
        # Frames of Cython name their source, not the installed file.
        file = scope.get("__file__") or traceback.tb_frame.f_code.co_filename
        if package not in own and not str(file).startswith(("<frozen", *installed)):
            return True
        traceback = traceback.tb_next
    return False


def _wrong_argument(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> TypeError | None:
    """Return the error of the first argument that doesn't fit its annotation."""
    import inspect

    signature = inspect.signature(function)
    try:
        given = signature.bind(*arguments, **options).arguments
    except TypeError:  # too many or too few; Python's message says which
        return None
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    for name, value in given.items():
        parameter = signature.parameters[name]
        annotation = parameter.annotation
        if parameter.kind is parameter.VAR_KEYWORD or not isinstance(annotation, str):
            continue
        values = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
        for one in values:
            if not _fits(one, annotation, scope):
                error = not_expected(name, one, " or ".join(_split(annotation, "|")))
                if isinstance(one, list | tuple) and one:
                    held = dict.fromkeys(type(element).__name__ for element in one)
                    return TypeError(f"{error} of {', '.join(held)}")
                return error
    return None


#: Paths of installed code, as named by sysconfig.
_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
#: Types by the names that annotations give them.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": numbers.Integral,
    "float": numbers.Real,
    "str": str,
    "bytes": bytes,
    "bool": bool,
    "Path": os.PathLike,
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "set": abc.Set,
    "Sequence": abc.Sequence,
    "Iterable": abc.Iterable,
    "Iterator": abc.Iterator,
    "Collection": abc.Collection,
    "Mapping": abc.Mapping,
    "Callable": abc.Callable,  # type: ignore[dict-item]
}
_CONTAINERS = ("list", "set", "Sequence", "Iterable", "Collection")


def _fits(value: object, annotation: str, scope: Mapping[str, Any]) -> bool:
    """Return whether a value may be of a type, given as the source of its annotation."""
    return any(_fits_one(value, part, scope) for part in _split(annotation, "|"))


def _fits_one(value: object, annotation: str, scope: Mapping[str, Any]) -> bool:
    name, _, inside = annotation.partition("[")
    if name in ("Any", "object", "Literal"):
        return True
    if name == "None":
        return value is None
    if name == "ArrayLike":  # numbers, nested lists of them, arrays of any library
        if type(value).__module__ != "builtins":
            return True
        return isinstance(value, numbers.Number | abc.Sequence) and not isinstance(
            value, str | bytes
        )
    if known := _TYPES.get(name):
        if not isinstance(value, known):
            return False
        element = inside.removesuffix("]")
        if name in _CONTAINERS and element and isinstance(value, str | list | tuple):
            return all(
                (isinstance(value, str) and element == "str") or _fits(one, element, scope)
                for one in value
            )
        return True
    name = name.rpartition(".")[2]
    if name in scope:
        return _is_of(value, scope[name], scope)
    # Imported for the type checker alone.
    if any(name == base.__name__ for base in type(value).__mro__):
        return True
    return type(value).__module__ != "builtins" or callable(value)


def _is_of(value: object, kind: Any, scope: Mapping[str, Any]) -> bool:
    """Return whether a value may be of a type, a union or another alias."""
    if isinstance(kind, str):
        return _fits(value, kind, scope)
    if kind is None:
        return value is None
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return any(_is_of(value, one, scope) for one in get_args(kind))
    kind = get_origin(kind) or kind
    if kind is Any or not isinstance(kind, type):
        return True
    if getattr(kind, "_is_protocol", False):
        return type(value).__module__ != "builtins" or callable(value)
    return isinstance(value, kind)


def _split(annotation: str, at: str) -> list[str]:
    """Split the source of an annotation outside of brackets."""
    parts, depth = [""], 0
    for character in annotation:
        depth += (character in "[(") - (character in "])")
        if character == at and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


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
