"""Nodes per second of the alpha-beta search over ten named positions, compared to Fairy-Stockfish.

    python bench/alphabeta.py [--nodes 1000000] [--eval material]

Same as `komadori bench alphabeta`.
"""

from komadori.cli.bench_alphabeta import command

command()
