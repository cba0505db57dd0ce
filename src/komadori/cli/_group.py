"""The click group behind `komadori`: imports subcommands when they are used."""

from __future__ import annotations

import contextlib
import errno
import importlib
import keyword
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from komadori import __version__
from komadori.atomic import file_in_the_way
from komadori.cli import SUBCOMMANDS, interrupt
from komadori.cli.console import say, show
from komadori.cli.empty_names import refuse_empty
from komadori.cli.numbers import check_numbers
from komadori.extras import missing
from komadori.wording import names_no_file, not_enough_memory

#: Aliases of subcommands.
ALIASES = {"analyze": "analyse"}
#: Earlier names of options.
_OPTION_ALIASES = {
    **dict.fromkeys(("output", "run", "folder"), "out"),
    "seconds": "time",
    "batch-size": "batch",
    "hash-mb": "hash",
    "number": "games",
}
#: Marks unexpected exceptions in error messages.
BUG = "a bug in komadori"
#: Exit status of a usage error, also of an input that doesn't exist.
USAGE = 2
#: Errors of the dynamic linker without enough address space.
_NO_MEMORY = re.compile("failed to map segment|cannot allocate memory", re.IGNORECASE)
#: Errors of starting a thread, of Python and of the core.
_NO_THREAD = re.compile("can't start new thread|^Resource temporarily unavailable$")
#: Names of files may hold line breaks; an error is one line.
_LINE_BREAK = re.compile(r"\s*\n\s*")
#: Longest error in characters: click repeats a value as it was given.
_LONGEST_ERROR = 1000


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in SUBCOMMANDS:
            return None
        name = cmd_name.replace("-", "_") + "_" * keyword.iskeyword(cmd_name)
        module = importlib.import_module(f"komadori.cli.{name}")
        command: click.Command = module.command
        check_numbers(command)
        refuse_empty(command)
        _add_help(command)
        if isinstance(command, click.Group):  # click would cut summaries in the middle
            for one in command.commands.values():
                one.short_help = one.get_short_help_str(limit=1000)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Print every error in one line; end interrupts with the signal's exit status."""
        call = (args, prog_name, complete_var)
        if not standalone_mode:
            return super().main(*call, standalone_mode=False, **extra)
        try:
            status = super().main(*call, standalone_mode=False, **extra)
        except (KeyboardInterrupt, click.Abort):
            _end(str(interrupt.InterruptError()), interrupt.status())
        except interrupt.InterruptError as end:
            _end(str(end), interrupt.status())
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()  # the help, not an error
            sys.exit(error.exit_code)
        except click.ClickException as error:
            if interrupt.was_raised():
                _end(str(interrupt.InterruptError()), interrupt.status())
            if isinstance(error.__cause__, BrokenPipeError):
                _end_without_reader(error.__cause__)
            if isinstance(error, click.UsageError) and error.ctx is not None:
                hint = f"Try '{error.ctx.command_path} --help' for help."
                for line in (*error.ctx.get_usage().splitlines(), hint, ""):
                    say(line, err=True)
            status = USAGE if names_no_file(error) else error.exit_code
            _end(_error_line(_message(error)), status)
        except BrokenPipeError as error:
            _end_without_reader(error)
        except Exception as error:
            if interrupt.was_raised():
                _end(str(interrupt.InterruptError()), interrupt.status())
            if "KOMADORI_DEBUG" in os.environ:
                raise
            status = USAGE if names_no_file(error) else 1
            _end(_error_line(describe(error)), status)
        sys.exit(status if isinstance(status, int) else 0)


def _end_without_reader(error: BrokenPipeError) -> NoReturn:
    """End quietly, as `... | head` expects: the reader of the output has closed the pipe."""
    if error.filename is not None:
        _end(f"Error: {describe(error)}", 1)
    with contextlib.suppress(OSError, ValueError):
        # What is still buffered can't be written when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def describe(error: BaseException) -> str:
    """Describe an exception that isn't a ClickException in one line."""
    if isinstance(error, OSError):
        return _describe_os_error(error)
    if isinstance(error, MemoryError):
        return not_enough_memory(error)
    if _NO_MEMORY.search(str(error)):  # torch's and OpenVINO's libraries are large
        return f"not enough memory: {' '.join(str(error).split())}"
    if isinstance(error, RuntimeError) and _NO_THREAD.search(str(error)):
        return "the system gives no more threads, for a lack of memory or a limit of processes"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"this needs {missing(error)}"
    text = " ".join(str(error).split())
    if text and type(error).__module__.startswith("komadori."):  # the message is self-explanatory
        return text
    registry = sys.modules.get("komadori.nets.registry")  # loading it would load torch
    fault = None if registry is None else registry.fault_of(error)
    return (
        f"{'' if fault else 'unexpected '}{type(error).__name__}{': ' + text if text else ''} "
        f"({fault or BUG}; KOMADORI_DEBUG=1 shows the traceback)"
    )


def _describe_os_error(error: OSError) -> str:
    if error.strerror is None or error.errno is None:
        return str(error) or type(error).__name__
    if error.filename is None:
        return error.strerror
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        path = Path(os.fsdecode(error.filename))
        if blocking := file_in_the_way(path if error.errno == errno.EEXIST else path.parent):
            return ("" if blocking == path else f"{path}: ") + f"{blocking} is a file, not a folder"
        if path.is_symlink() and not path.exists():
            wrong = "which leads in a circle" if _is_circular(path) else "which doesn't exist"
            return f"{path} is a link to {path.readlink()}, {wrong}"
    second = f" -> {error.filename2}" if error.filename2 is not None else ""
    return f"{error.filename}{second}: {error.strerror}"


def _is_circular(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _message(error: click.ClickException) -> str:
    """Return the message; for system errors, the path followed by the reason."""
    cause = error.__cause__
    if isinstance(cause, OSError) and str(cause) in error.message:
        return error.format_message().replace(str(cause), _describe_os_error(cause))
    return error.format_message()


def _error_line(text: str) -> str:
    """Return an error as one line; of a very long one, the beginning and the end."""
    line = _LINE_BREAK.sub(" ", text)
    if len(line) > _LONGEST_ERROR:
        half = _LONGEST_ERROR // 2
        line = f"{line[:half]} … {line[-half:]}"
    return f"Error: {line}"


def _end(text: str, status: int) -> NoReturn:
    if status in (130, 143):
        interrupt.ignore_further()
    say(text, err=True)
    sys.exit(status)


class _Context(click.Context):
    """Accepts the earlier names of the options that the command has. Other words stay as typed,
    also in error messages."""

    def __init__(self, command: click.Command, *args: Any, **keywords: Any) -> None:
        super().__init__(command, *args, **keywords)
        names = {name for param in command.params for name in param.opts}
        aliases = {
            alias: name
            for alias, name in _OPTION_ALIASES.items()
            if f"--{name}" in names and f"--{alias}" not in names
        }
        self.token_normalize_func = lambda name: aliases.get(name, name)


def _show_help(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show(ctx.get_help())
        ctx.exit()


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show(f"komadori, version {__version__}")
        ctx.exit()


def _add_help(command: click.Command) -> None:
    """Add `--help` and earlier option names to a command, or to all commands of a group. Errors of
    writing click's own help, such as a full disk, name no stream."""
    command.context_class = _Context
    if command.add_help_option and not any("--help" in param.opts for param in command.params):
        command.params.append(_flag(["-h", "--help"], _show_help, "Show this message and exit."))
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            _add_help(subcommand)


def _flag(names: list[str], callback: Any, text: str) -> click.Option:
    return click.Option(
        names, is_flag=True, is_eager=True, expose_value=False, callback=callback, help=text
    )


@click.group(
    cls=_LazyGroup,
    context_settings={"max_content_width": shutil.get_terminal_size().columns},
)
def group() -> None:
    """A deep-learning shogi laboratory and engine."""


group.params.append(_flag(["--version"], _show_version, "Show the version and exit."))
_add_help(group)


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line with signal handling, and end the process."""
    for stream in (sys.stdout, sys.stderr):
        # File names may not be UTF-8, and terminals may not support all characters.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    status: Any = 0
    try:
        interrupt.install()
        status = _run_group(arguments)
        if status in (130, 143):
            # Running threads and engines must not keep the process alive.
            interrupt.finish()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError):
                    stream.flush()
            os._exit(status)
    except KeyboardInterrupt:  # before the command began, or again while it ended
        interrupt.leave()
    sys.exit(status)


def _run_group(arguments: Sequence[str] | None) -> Any:
    """Run the command line; return its exit status."""
    try:
        try:
            Path.cwd()
        except OSError:
            _end("Error: the current folder has been deleted", 1)
        group(list(arguments) if arguments is not None else None, prog_name="komadori")
    except SystemExit as end:
        return end.code
    return 0
