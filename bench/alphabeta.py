"""Nodes a second of the alpha-beta search over ten named positions, beside Fairy-Stockfish.

    python bench/alphabeta.py [--nodes 1000000] [--eval material]

The same as `komadori bench alphabeta`. Public figures for one thread of such a machine: an engine
of the YaneuraOu family 1.55 million nodes/s with material, Fairy-Stockfish 0.45 million.
"""

from komadori.cli.bench_alphabeta import command

command()
