"""Compare nn.bin in a YaneuraOu-family engine and in komadori: static values, nodes per second.

    python bench/nn_bin.py ENGINE [--weights nn.bin | --untrained halfkp] [--positions 500]
        [--scales 16,1] [--command e] [--speed NODES]

ENGINE is a USI engine of the same architecture that answers `--command` with the position's static
value from the side to move's view, as `eval = 97`. It reads nn.bin from the folder of its option
EvalDir and divides the output by its option FV_SCALE; scale 1 compares the output itself, clipped
to +-27,000. Positions are taken at even intervals from the bundled games.

With --speed, both search the ten positions of `komadori bench alphabeta` in turns, on one thread
with a hash table of 64 MiB: nodes per second of CPU time, and the ratio.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori import records
from komadori._core import linear as core
from komadori.cli.bench_alphabeta import _search, _Sum
from komadori.rules import Board
from komadori.search.measure_alphabeta import measure
from komadori.usi.client import LineProcess, UsiEngine, split_command

ANSWER = re.compile(r"^eval = (-?\d+)$")
LIMIT = 27000
TIMEOUT_S = 60.0


def engine_values(
    command: str, folder: Path, scale: int, boards: list[Board], ask: str
) -> Iterator[int]:
    words = split_command(command)
    engine = LineProcess(words, words[0], cwd=str(Path(words[0]).resolve().parent))
    try:
        for line in (
            "usi",
            f"setoption name EvalDir value {folder}",
            f"setoption name FV_SCALE value {scale}",
            "isready",
        ):
            engine.send(line)
        deadline = time.monotonic() + TIMEOUT_S
        while engine.read(deadline) != "readyok":
            pass
        for board in boards:
            engine.send(f"position sfen {board.sfen()}")
            engine.send(ask)
            while not (found := ANSWER.match(engine.read(deadline))):
                pass
            yield int(found[1])
    finally:
        engine.close()


def compare(
    command: str, content: bytes, scales: list[int], hcps: NDArray[np.uint8], ask: str
) -> None:
    boards = [Board.from_hcp(hcp.tobytes()) for hcp in hcps]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "nn.bin").write_bytes(content)
        for scale in scales:
            ours = core.NnueWeights(content, scale).evaluate_all(hcps, 1)
            theirs = np.array([*engine_values(command, folder, scale, boards, ask)])
            error = np.abs(ours - np.clip(theirs, -LIMIT, LIMIT))
            print(
                f"FV_SCALE {scale}: {np.count_nonzero(error == 0):,} of {len(boards):,} values "
                f"equal, largest difference {error.max()}; from {ours.min():,} to {ours.max():,}, "
                f"{len(set(ours.tolist())):,} different"
            )
            for i in np.flatnonzero(error)[:5]:
                print(f"  {boards[i].sfen()}: komadori {ours[i]}, engine {theirs[i]}")


def compare_speed(command: str, content: bytes, nodes: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        weights = Path(name) / "nn.bin"
        weights.write_bytes(content)
        options = {"EvalDir": name, "Threads": "1", "USI_Hash": "64", "USI_OwnBook": "false"}
        total, engine_total = _Sum(), _Sum()
        print(f"{'position':<12}{'nodes/s':>12}{'engine':>12}{'ratio':>8}")
        with UsiEngine(command, options) as engine:
            for speed in measure(nodes, "nnue", weights):
                ours = _Sum(speed.nodes, speed.cpu_s, speed.wall_s)
                theirs = _search(engine, speed.position, nodes)
                total.add(ours)
                engine_total.add(theirs)
                print_row(speed.position, ours, theirs)
        print_row("all", total, engine_total)


def print_row(name: str, ours: _Sum, theirs: _Sum) -> None:
    print(f"{name:<12}{ours.nps:>12,.0f}{theirs.nps:>12,.0f}{ours.nps / theirs.nps:>8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("engine", help="command of the engine")
    parser.add_argument("--weights", type=Path, help="[default: the package's]")
    parser.add_argument("--untrained", choices=core.nnue_architectures())
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--scales", default="16,1")
    parser.add_argument("--command", default="e", help="prints the static value")
    parser.add_argument("--speed", type=int, metavar="NODES", help="also compare searches")
    options = parser.parse_args()

    if options.untrained:
        content = core.NnueModel(options.untrained, 1, 1).quantised().to_bytes()
    elif options.weights:
        content = options.weights.read_bytes()
    else:
        content = (resources.files("komadori") / "data" / "nnue-k-p.bin").read_bytes()
    print(f"{core.NnueWeights(content).architecture}, {len(content):,} bytes")
    if options.positions > 0:
        hcps = records.load_samples(records.sample_path()).hcp
        rows = np.linspace(0, len(hcps) - 1, options.positions).astype(np.int64)
        scales = [int(scale) for scale in options.scales.split(",")]
        compare(options.engine, content, scales, np.ascontiguousarray(hcps[rows]), options.command)
    if options.speed:
        compare_speed(options.engine, content, options.speed)


if __name__ == "__main__":
    main()
