"""The command line: `komadori SUBCOMMAND`, one file per subcommand.

A subcommand's module is imported only when it is used, so that the command starts fast and a
missing extra affects only the commands that need it.
"""

from __future__ import annotations

import os
import signal
import sys

#: Name -> one-line help. The module of that name in this package exports `command`.
SUBCOMMANDS: dict[str, str] = {
    "quickstart": "Train a small network on bundled games, play matches, show the results.",
    "perft": "Count the leaf nodes of the legal move tree.",
    "mate": "Solve mate problems with df-pn search.",
    "train": "Train a network as configured in a TOML file.",
    "report": "Write a report page for a training run.",
    "evaluate": "Measure a network's accuracy on held-out games.",
    "import": "Convert dlshogi's weights to a model folder.",
    "export": "Export a trained network to ONNX, or quantised to int8.",
    "lab": "Run the diary's experiments and report them.",
    "linear": "Train evaluations of the alpha-beta search.",
    "generate": "Generate training data: games, positions, labels.",
    "loop": "Run a reinforcement learning loop from one TOML file.",
    "bench": "Benchmark networks and searches on this machine.",
    "usi": "Run as a USI engine, for GUIs and match runners.",
    "analyse": "Analyse games: annotated records and a page with graph and boards.",
    "web": "Serve the browser interface: play, analyse, look inside the network.",
    "records": "Count, convert, split and show game records.",
    "install-engine": "Write a launcher that a GUI can register.",
    "book": "Make opening books from games, or show their moves.",
    "match": "Play a match between two players: Elo with its error.",
    "ladder": "Rate many players: games and results in one file.",
    "tune": "Tune an engine's options by self-play (SPSA).",
    "csa": "Play on a CSA server such as floodgate.",
    "doctor": "Check what works on this machine and what to install for the rest.",
}


def open_closed_streams() -> None:
    """Let a standard stream that the caller closed be the null device."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        handle = os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
        try:
            os.fstat(number)
        except OSError:
            os.dup2(handle, number)
            os.close(handle)
            handle = number
        # Open until the process ends.
        setattr(sys, name, os.fdopen(handle, "r" if number == 0 else "w"))


def leave(number: int, _frame: object) -> None:
    """Handle a signal before anything that it could damage is begun: end the process."""
    os.write(2, b"terminated\n" if number == signal.SIGTERM else b"interrupted\n")
    os._exit(128 + number)


def leave_on_interrupt() -> None:
    """Let Ctrl-C end the process at once, unless the caller's shell ignores it: an exception in
    an import may be swallowed, or turned into another."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


def serve_usi(arguments: list[str] | None = None) -> None:
    """The `komadori-usi` console command: a fast handshake, so it imports nothing else first."""
    leave_on_interrupt()
    try:
        from komadori.cli.usi import main
    except ImportError as error:  # of the core
        sys.exit(f"komadori usi: {error}")
    sys.exit(main(arguments))


def main() -> None:
    """The `komadori` console command."""
    leave_on_interrupt()
    open_closed_streams()
    if sys.argv[1:2] == ["usi"]:
        serve_usi(sys.argv[2:])
    from komadori.cli._group import run

    run()
