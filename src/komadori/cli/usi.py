"""`komadori usi` and `komadori-usi`: the engine for GUIs and match runners.

GUIs allow ten seconds for the handshake, also with a cold disk cache, so this module imports only
the standard library and the server, and uses argparse instead of click. Everything else is
imported when the model is loaded, at `isready`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori.cli import leave, leave_on_interrupt, open_closed_streams
from komadori.cpus import available_threads, threads_from_environment
from komadori.usi.engine import UsiServer
from komadori.usi.models import (
    DEFAULT_PLAYER,
    ENVIRONMENT,
    ModelNotFoundError,
    engine_name,
    find_model,
)
from komadori.usi.option_tables import OPTIONS_BY_KIND
from komadori.usi.options import option_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from komadori.players.searchers import SearcherBuilder
    from komadori.search.protocol import Searcher
    from komadori.usi.options import OptionTable

PLAYERS = tuple(OPTIONS_BY_KIND)

_DESCRIPTION = """\
Run as a USI engine: read the protocol from standard input, write answers to standard output.
Without options it plays alpha-beta with the bundled NNUE; --player model or --model select
the tree search, whose network GUIs set by the option DNN_Model."""


def main(argv: list[str] | None = None) -> int:
    """Run the engine until `quit`, the end of input or Ctrl-C. Returns the exit status."""
    leave_on_interrupt()
    open_closed_streams()
    arguments = _parser().parse_args(argv)
    presets: dict[str, str] = {}
    for pair in arguments.option:
        name, sign, value = pair.partition("=")
        if not sign:
            print(f"komadori usi: --option {pair}: expected NAME=VALUE", file=sys.stderr)
            return 2
        presets[name] = value
    if arguments.model is not None:
        presets["DNN_Model"] = _command_line_model(arguments.model)
    if arguments.eval is not None:
        presets["Eval"] = arguments.eval
    if arguments.weights is not None:
        presets["EvalFile"] = os.path.realpath(arguments.weights)
    player = arguments.player or default_player(presets)
    options = option_table(player)
    for option, name, given in (
        ("--model", "DNN_Model", arguments.model),
        ("--eval", "Eval", arguments.eval),
        ("--weights", "EvalFile", arguments.weights),
    ):
        if given is not None and not options.has(name):
            what = "network" if option == "--model" else "evaluation"
            print(
                f"komadori usi: --player {player} takes no {what}: leave out {option}",
                file=sys.stderr,
            )
            return 2
    try:
        options.preset(default_threads(options, presets) | presets)
    except ValueError as error:
        print(f"komadori usi: {error}", file=sys.stderr)
        return 2
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep library output out of the protocol
    values = options.values()
    server = UsiServer(
        _LazyBuilder(player),
        options,
        arguments.name or engine_name(player, values),
        "the komadori developers",
        sys.stdin.buffer,
        sink,
        leave=_leave,
    )
    if signal.getsignal(signal.SIGINT) is leave:

        def interrupt(_number: int, _frame: object) -> None:
            signal.signal(signal.SIGINT, leave)  # of a second Ctrl-C
            server.interrupt()

        signal.signal(signal.SIGINT, interrupt)
    status = server.run()
    sys.stderr.flush()
    # Backend threads and unresponsive searches must not keep the process alive.
    os._exit(status)


def default_player(presets: Mapping[str, str]) -> str:
    """Return the player to use if none is named.

    That is `model` if one of the options belongs to it alone, or if the environment names a
    network and no options are given; else DEFAULT_PLAYER.
    """
    own, network = option_table(DEFAULT_PLAYER), option_table("model")
    unknown = [name for name in presets if not own.has(own.canonical(name))]
    if any(network.has(network.canonical(name)) for name in unknown):
        return "model"
    return "model" if os.environ.get(ENVIRONMENT) and not presets else DEFAULT_PLAYER


def default_threads(options: OptionTable, presets: Mapping[str, str]) -> dict[str, str]:
    """Return a preset of `Threads` (all CPUs) if the searcher has the option and it isn't set.

    Raises ValueError for the number of threads in the environment.
    """
    if not options.has("Threads") or any(options.canonical(n) == "Threads" for n in presets):
        return {}
    return {"Threads": str(threads_from_environment() or available_threads())}


class _LazyBuilder:
    """A `SearcherBuilder`, imported on first use (a `usi.loading.SearcherSource`)."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._builder: SearcherBuilder | None = None

    def _get_builder(self) -> SearcherBuilder:
        if self._builder is None:
            from komadori.players.searchers import SearcherBuilder

            self._builder = SearcherBuilder(self._kind)
        return self._builder

    def build(self, options: OptionTable) -> Searcher:
        return self._get_builder().build(options)

    def configure(self, searcher: Searcher, options: OptionTable) -> Searcher:
        return self._get_builder().configure(searcher, options)


def _leave(status: int) -> None:
    sys.stderr.flush()
    os._exit(status)


class _Parser(argparse.ArgumentParser):
    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse would ignore an error of writing, such as a full disk."""
        try:
            print(self.format_help(), end="", file=file, flush=True)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                print(f"Error: standard output: {error.strerror}", file=sys.stderr)
            _leave(1)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="komadori usi", description=_DESCRIPTION)
    parser.add_argument(
        "--model",
        help="network: a file or folder (relative to the working directory), uniform, random:SEED",
    )
    parser.add_argument(
        "--player",
        choices=PLAYERS,
        metavar="PLAYER",
        help=f"{', '.join(PLAYERS)}; default: {DEFAULT_PLAYER}; model if --model is given",
    )
    parser.add_argument("--eval", help="evaluation of --player alphabeta")
    parser.add_argument("--weights", help="weights of the evaluation")
    parser.add_argument("--name", help="engine name shown in GUIs; default: by the model")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change the default of a USI option; repeatable",
    )
    return parser


def _command_line_model(model: str) -> str:
    """Resolve a model from the shell: an existing file, else a name for `find_model`.

    One that is nowhere becomes a file of the working directory, which the error then names.
    """
    # os.path: False in a folder that may not be entered.
    if os.path.exists(model):  # noqa: PTH110
        return str(Path(model).resolve())
    try:
        find_model(model)
    except ModelNotFoundError:
        return os.path.realpath(model) if model else model
    return model


def __getattr__(name: str) -> Any:
    """Define `command` on demand, since it needs click."""
    if name != "command":
        raise AttributeError(name)
    import click

    @click.command(
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    @click.pass_context
    def command(context: click.Context) -> None:
        """Run as a USI engine, for GUIs and match runners."""
        sys.exit(main(context.args))

    return command
