"""Does an NNUE gain from the values of a network that learned from searches?

    python bench/network_values.py predict GAMES... [--nodes 200 5000]
    python bench/network_values.py learn   GAMES... [--positions 3000000] [--games 400]
        [--match-nodes 5000 20000] [--folder network-values]

`predict`: one position per decided game, between the 20th move and 20 before the last. Logistic
regressions of the result on the NNUE's static evaluation, the network's value, the score of a small
search, and of a search together with each of the others: an evaluation that keeps a weight beside
the search knows something that the search doesn't find. Use games that the network wasn't trained
on.

`learn`: the positions that searches near the games evaluate, those whose best move in a search of
20 nodes is neither a capture nor a promotion, each labelled with the network's value at one visit
(calibrated as the labels of `komadori linear distill` are). A network trained on them from the
bundled one plays against it. Finished parts in the folder are reused.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori import arena
from komadori._core import linear as _core
from komadori.generate.distillation import calibrated
from komadori.generate.labellers import NetworkLabeller, PolicySettings
from komadori.generate.nearby import Nearby, NearbyFolder, NearbySettings, generate_nearby
from komadori.generate.segments import read_chunks
from komadori.generate.settings import SearchBounds
from komadori.generate.sources import Evaluation
from komadori.linear.nnue_weights import NnueWeights
from komadori.records import Samples, load_samples
from komadori.records.files import identify

#: Centipawns per logit, for all scores; in training, that of the loss.
COEF = 600
#: Plies left out at the beginning and the end of a game.
MARGIN = 20
#: Source positions per file.
SEGMENT = 16384
LIMIT_CP, PASSES, BATCH, AVERAGE = 800, 4, 8192, 0.999
RATE, LAST_RATE, WARM_UP = 2e-4, 1e-5, 50

Floats = NDArray[np.float64]


def bundled() -> NnueWeights:
    content = Evaluation("nnue").content()
    assert content is not None
    return NnueWeights(content)


def values_of(samples: Samples) -> Floats:
    """The network's values as centipawns, side to move's view."""
    labeller = NetworkLabeller("default", PolicySettings(eval_coef=COEF), precision="auto")
    try:
        labels = next(iter(labeller.label([samples], lambda _: None)))
    finally:
        labeller.close()
    return labels.score_cp.astype(np.float64)


def one_per_game(sources: Sequence[Path], seed: int) -> Samples:
    """One random position per decided game, `MARGIN` plies or more from its ends."""
    random = np.random.default_rng(seed)
    parts = []
    for chunk in read_chunks(sources):
        samples = chunk.samples
        starts = np.flatnonzero(np.diff(samples.game, prepend=-1))
        ends = np.append(starts[1:], len(samples))
        is_used = (ends - starts > 2 * MARGIN) & (samples.result[starts] != 0.5)
        low, high = starts[is_used] + MARGIN, ends[is_used] - MARGIN
        parts.append(samples.take(low + (random.random(len(low)) * (high - low)).astype(int)))
    return Samples.concatenate(parts)


def searched(samples: Samples, nodes: int, threads: int) -> Floats:
    """Scores of searches, centipawns; NaN for a position that wasn't searched."""
    settings = NearbySettings(plies=(0, 0), search=SearchBounds(nodes=nodes), limit_cp=0)
    found, _ = Nearby(settings, Evaluation("nnue", None), threads).positions(samples, 0)
    rows = {hcp.tobytes(): score for hcp, score in zip(found.hcp, found.score_cp, strict=True)}
    return np.array([rows.get(hcp.tobytes(), np.nan) for hcp in samples.hcp], np.float64)


def regress(columns: Sequence[Floats], result: Floats) -> tuple[Floats, Floats, float]:
    """Weights, the intercept last; their standard errors; the mean cross entropy."""
    x = np.stack([*(np.clip(c, -3000, 3000) / COEF for c in columns), np.ones(len(result))], 1)
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-x @ weights))
        hessian = x.T @ (x * (chance * (1 - chance))[:, None])
        weights += np.linalg.solve(hessian, x.T @ (result - chance))
    chance = 1 / (1 + np.exp(-x @ weights))
    loss = -np.mean(result * np.log(chance) + (1 - result) * np.log(1 - chance))
    return weights, np.sqrt(np.diag(np.linalg.inv(hessian))), float(loss)


def predict(options: argparse.Namespace) -> None:
    samples = one_per_game(options.sources, options.seed)
    columns = {"static evaluation": static_of(samples), "network's value": values_of(samples)}
    searches = {n: searched(samples, n, options.threads) for n in options.nodes}
    deepest = searches[max(searches)]
    is_known = np.isfinite(np.stack([*searches.values()])).all(0)
    for limit in (3000, 600, 300):
        rows = is_known & (np.abs(deepest) < limit)
        print(f"\n{rows.sum():,} positions within {limit} centipawns")
        sets = {name: [column] for name, column in columns.items()}
        for nodes, scores in searches.items():
            name = f"search of {nodes:,} nodes"
            sets[name] = [scores]
            sets |= {f"{name}, {other}": [scores, column] for other, column in columns.items()}
        for name, chosen in sets.items():
            found = regress([c[rows] for c in chosen], samples.result[rows].astype(np.float64))
            terms = zip(found[0][:-1], found[1][:-1], strict=True)
            text = ", ".join(f"{weight:.2f} ± {error:.2f}" for weight, error in terms)
            print(f"  {name:45} {text:30} loss {found[2]:.4f}", flush=True)


def static_of(samples: Samples) -> Floats:
    return np.asarray(bundled().core().evaluate_all(samples.hcp, 2)).astype(np.float64)


def positions(options: argparse.Namespace) -> Samples:
    settings = NearbySettings(
        plies=(0, 2),
        search=SearchBounds(nodes=1000),
        evaluated_every=16,
        label_nodes=20,
        seed=options.seed,
    )
    nearby = Nearby(settings, Evaluation("nnue", None), options.threads)
    card = {"seed": options.seed, "sources": identify(options.sources)}
    folder = options.folder / "positions"
    with NearbyFolder(folder, card) as out:

        def is_enough() -> bool:
            known = [out.counts(k) for k in range(1000)]
            return bool(sum(c.positions for c in known if c) >= options.positions)

        if not is_enough():
            generate_nearby(options.sources, out, nearby, segment_positions=SEGMENT, stop=is_enough)
    return load_samples(sorted(folder.glob("*.hcpe*")))


def learn(options: argparse.Namespace) -> None:
    weights = options.folder / "nn.bin"
    if not weights.exists():
        samples = positions(options)
        static = static_of(samples).astype(np.int32)
        scores = np.clip(values_of(samples), -8000, 8000).astype(np.int16)
        labels = calibrated(static, scores, LIMIT_CP)
        change = np.sqrt(np.mean((labels - static.astype(np.float64)) ** 2))
        print(f"{len(samples):,} positions; labels differ by {change:.0f} centipawns (RMS)")
        train(samples.hcp, labels.astype(np.float32), options).save(weights)
    for nodes in options.match_nodes:
        result = arena.play_match(
            f"alphabeta?Eval=nnue&EvalFile={weights}",
            "alphabeta?Eval=nnue",
            games=options.games,
            seed=options.seed,
            concurrency=options.threads,
            conditions=arena.Conditions(nodes=nodes),
            out=options.folder / f"match-{nodes}",
        )
        score = f"+{result.wins} -{result.losses} ={result.draws}"
        print(f"{nodes:,} nodes: {score}, {result.estimate}", flush=True)


def train(
    hcp: NDArray[np.uint8], labels: NDArray[np.float32], options: argparse.Namespace
) -> NnueWeights:
    """Train from the bundled network; return the moving average."""
    model = _core.NnueModel("k-p", options.seed, options.threads)
    model.rounds, model.leak = True, 0.01
    model.set(bundled().core())
    data = _core.NnueData(hcp, labels, np.full(len(labels), 0.5, np.float32), options.threads)
    average = np.array(model.parameters)
    random = np.random.default_rng(options.seed)
    steps = PASSES * -(-len(labels) // BATCH)
    for _ in range(PASSES):
        order = random.permutation(len(labels)).astype(np.uint32)
        for begin in range(0, len(order), BATCH):
            rate = LAST_RATE + (RATE - LAST_RATE) * (1 + np.cos(np.pi * model.steps / steps)) / 2
            model.step(
                data,
                order[begin : begin + BATCH],
                rate=rate * min(1, (model.steps + 1) / WARM_UP),
                decay=0.0,
                result_weight=0.0,
                teacher_weight=1.0,
                squared=False,
            )
            average += (1 - AVERAGE) * (model.parameters - average)
    model.parameters[:] = average
    return NnueWeights(model.quantised().to_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("question", choices=["predict", "learn"])
    parser.add_argument("sources", metavar="GAMES", nargs="+", type=Path)
    parser.add_argument("--nodes", type=int, nargs="+", default=[200, 5000])
    parser.add_argument("--positions", type=int, default=3_000_000)
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--match-nodes", type=int, nargs="+", default=[5000, 20000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("network-values"))
    options = parser.parse_args()
    {"predict": predict, "learn": learn}[options.question](options)


if __name__ == "__main__":
    main()
