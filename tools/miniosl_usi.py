"""A USI engine that searches with miniosl's network in miniosl's own search, as an opponent.

    pip install miniosl onnxruntime
    komadori match alphabeta 'usi:python tools/miniosl_usi.py' --time 1 --margin 0.5

miniosl has a tree search in Python (`miniosl.run_mcts`) but no USI engine. Each move starts a new
tree and runs batches of playouts until the time is up, then plays the move visited most. Moves
that lose by force are never played while another is left. Understands `go movetime`, `byoyomi`
(with main time, plus a thirtieth of it) and `nodes`; thinks without reading further commands.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

#: Playouts per batch of the network. On one core of a CPU 16 search a third faster than one.
BATCH = 16
#: Main time is spread over this number of moves.
MOVES = 30


def load(threads: int) -> Any:
    """Load miniosl's network for ONNX Runtime with that number of threads."""
    import miniosl
    import miniosl.inference
    import onnxruntime
    import torch

    torch.set_num_threads(threads)
    path = str(miniosl.pretrained_eval_path())
    model = miniosl.inference.load(path, "cpu")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    model.ort_session = onnxruntime.InferenceSession(path, options)
    model.binding = model.ort_session.io_binding()
    return model


def seconds(go: dict[str, int], is_black: bool) -> float:
    """Return the time to think, in seconds."""
    if "movetime" in go:
        return go["movetime"] / 1000
    own = go.get("btime" if is_black else "wtime", 0)
    return (own / MOVES + go.get("byoyomi", 0)) / 1000


def search(position: str, go: dict[str, int], model: Any, batch: int) -> None:
    """Search the position and print `info` and `bestmove`."""
    import miniosl

    started = time.monotonic()
    game = miniosl.GameManager.from_record(miniosl.usi_record(position))
    is_black = game.state.turn == miniosl.black
    until = started + seconds(go, is_black)
    root = miniosl.run_mcts(game, 0, model)
    while not root.is_terminal() and root.visit_count < go.get("nodes", sys.maxsize):
        miniosl.run_mcts(game, batch, model, batch_size=batch, root=root)
        if "nodes" not in go and time.monotonic() >= until:
            break
    if root.terminal_value == 0:
        print("bestmove resign", flush=True)
        return
    if root.terminal_value == 1:
        best = root.winning_move
    else:
        best = max(root.children.items(), key=lambda child: child[1].visit_count)[0]
    line = [best] + [move for move, *_ in root.pv(0.25)[1:]]
    cp = round(2000 * (root.value() - 0.5)) if not root.is_terminal() else 30000
    ms = round((time.monotonic() - started) * 1000)
    pv = " ".join(move.to_usi() for move in line)
    print(f"info nodes {root.visit_count} time {ms} score cp {cp} pv {pv}")
    print(f"bestmove {best.to_usi()}", flush=True)


def main() -> None:
    threads, batch = 1, BATCH
    model: Any = None
    position = "startpos"
    for line in sys.stdin:
        words = line.split()
        match words:
            case ["usi"]:
                print("id name miniosl\nid author miniosl's, as a USI engine by komadori's")
                print("option name Threads type spin default 1 min 1 max 256")
                print(f"option name Batch type spin default {BATCH} min 2 max 1024")
                print("usiok", flush=True)
            case ["setoption", "name", "Threads", "value", value]:
                threads = int(value)
            case ["setoption", "name", "Batch", "value", value]:
                batch = int(value)
            case ["isready"]:
                model = model or load(threads)
                print("readyok", flush=True)
            case ["position", *rest]:
                position = " ".join(rest)
            case ["go", *rest]:
                pairs = itertools.pairwise(rest)
                go = {name: int(value) for name, value in pairs if value.isdecimal()}
                search(position, go, model or load(threads), batch)
            case ["quit"]:
                return


if __name__ == "__main__":
    main()
