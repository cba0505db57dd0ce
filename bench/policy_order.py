"""Move ordering by a policy network in the alpha-beta search: cutoffs by the first move.

    python bench/policy_order.py MODEL [--eval two-piece] [--nodes 200000]

Searches ten positions with and without the network. Prints, by remaining depth, the percentage of
beta cutoffs by the first move, and the mean depth reached.
"""

from __future__ import annotations

import argparse
import time

from komadori import inference
from komadori.inference import Evaluator
from komadori.rules import Board
from komadori.search import Limits
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.search.measure_alphabeta import POSITIONS

BANDS = ((1, 3), (4, 5), (6, 8), (9, 31))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--eval", default="two-piece")
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--depth", type=int, default=AlphaBetaOptions.policy_depth)
    parser.add_argument("--ask", type=int, default=AlphaBetaOptions.policy_nodes)
    arguments = parser.parse_args()
    policy = inference.load(arguments.model, max_batch=1, threads=1)
    columns = "".join(f"{f'depth {low}-{high}':>22}" for low, high in BANDS)
    print(f"{'':<10}{columns}{'requests':>10}{'mean depth':>12}{'CPU s':>8}")
    for name, network in (("without", None), ("with", policy)):
        print(f"{name:<10}{row(arguments, network)}", flush=True)


def row(arguments: argparse.Namespace, policy: Evaluator | None) -> str:
    options = AlphaBetaOptions(hash_mb=64, policy_depth=arguments.depth, policy_nodes=arguments.ask)
    searcher = AlphaBetaSearcher(arguments.eval, options=options, policy=policy)
    cutoffs_all, cutoffs_first, requests, depth = [0] * 32, [0] * 32, 0, 0
    start = time.process_time()
    for sfen in POSITIONS.values():
        searcher.new_game()
        searcher.set_position(Board(sfen))
        depth += searcher.search(Limits(nodes=arguments.nodes)).infos[0].depth
        requests += searcher.engine.answered
        cutoffs, by_first = searcher.engine.cutoffs()
        cutoffs_all = [a + b for a, b in zip(cutoffs_all, cutoffs, strict=True)]
        cutoffs_first = [a + b for a, b in zip(cutoffs_first, by_first, strict=True)]
    seconds = time.process_time() - start
    text = ""
    for low, high in BANDS:
        total = sum(cutoffs_all[low : high + 1])
        percentage = (
            f"{100 * sum(cutoffs_first[low : high + 1]) / max(total, 1):.1f} % of {total:,}"
        )
        text += f"{percentage:>22}"
    return f"{text}{requests:>10}{depth / len(POSITIONS):>12.1f}{seconds:>8.1f}"


if __name__ == "__main__":
    main()
