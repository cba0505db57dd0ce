"""The mean of the weights of several K-P networks.

    python bench/average_nnue.py OUT.bin ONE.bin OTHER.bin...

Networks trained from the same weights on different data are often stronger together: what each has
learned adds up, and what is noise of its training is averaged out (Wortsman et al., "Model soups",
2022, arXiv:2203.05482). Networks trained from different weights don't have a useful mean.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from komadori._core import linear as _core
from komadori.linear.nnue_weights import NnueWeights


def average(paths: list[Path]) -> NnueWeights:
    model = _core.NnueModel("k-p", 1, 1)
    model.rounds = True
    total = np.zeros(len(model.parameters))
    for path in paths:
        model.set(NnueWeights(path.read_bytes()).core())
        total += model.parameters
    model.parameters[:] = total / len(paths)
    return NnueWeights(model.quantised().to_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("networks", nargs="+", type=Path)
    options = parser.parse_args()
    average(options.networks).save(options.out)


if __name__ == "__main__":
    main()
