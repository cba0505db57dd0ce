"""The command line: `komadori SUBCOMMAND`, one file a subcommand.

A subcommand's module is imported only when it is asked for, so that the command
starts fast and an extra that isn't installed is missed only where it is needed.
"""

from __future__ import annotations

import sys

#: name -> (module in this package, one-line help). The module exports `command`.
SUBCOMMANDS: dict[str, str] = {
    "quickstart": "Train a small network on bundled games, play it, show the result.",
    "perft": "Count the leaf nodes of the legal move tree.",
    "mate": "Find the mate in positions, by df-pn search.",
    "train": "Train a network from games, as a TOML file says.",
    "report": "Show a training run as one page.",
    "evaluate": "Measure a network on games it hasn't seen.",
    "import": "Turn dlshogi's weights into a model folder.",
    "export": "Write a trained network as an ONNX file, or quantised to int8.",
    "lab": "Run the diary's experiments and report them.",
    "linear": "Learn the evaluations of the alpha-beta search.",
    "generate": "Make data to learn from: games of engines.",
    "loop": "Play, learn, match, promote, again: reinforcement from one TOML file.",
    "bench": "Measure networks and the search on this machine.",
    "usi": "Play as a USI engine, for GUIs and match runners.",
    "analyse": "Analyse games: annotated records and a page with graph and boards.",
    "web": "Play, analyse and look inside the network in the browser.",
    "records": "Count, convert, split and show game records.",
    "install-engine": "Write a launcher that a GUI can register.",
    "book": "Make an opening book from games, or look into one.",
    "match": "Play two players against each other: Elo with its error.",
    "ladder": "Keep players and results in one file: ratings with their errors.",
    "tune": "Tune an engine's options by games against itself (SPSA).",
    "csa": "Play on a CSA server such as floodgate.",
    "doctor": "Tell what works on this machine and what to install for the rest.",
}


def main() -> None:
    """The `komadori` console command."""
    if sys.argv[1:2] == ["usi"]:  # a GUI waits for the handshake: nothing else is imported first
        from komadori.cli.usi import main as usi_main

        sys.exit(usi_main(sys.argv[2:]))
    try:
        from komadori.cli._group import run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
