"""Bytes per ply of teacher games, by field, storage settings and compression.

    python bench/storage.py [--games 300] [--nodes 200] [--candidates 0.25] [--zstd]

Plays the same games with several storage settings. For each, prints the bytes per ply before and
after the compression of game folders (`records.files`), with xz's default settings for comparison,
and the divergence of the stored policies from the exact softmax. Then prints the entropy of each
field by itself in bytes per ply.
`--zstd` adds the program zstd at its highest level. Goal: at most 5 bytes per ply.
"""

from __future__ import annotations

import argparse
import io
import lzma
import math
import os
import subprocess
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori import records
from komadori.generate import BuiltinGames, Evaluation, Lines, SearchBounds, TeacherSettings
from komadori.records.files import atomic_writer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=300)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--candidates", type=float, default=0.25)
    parser.add_argument("--zstd", action="store_true")
    given = parser.parse_args()
    base = TeacherSettings(
        searches=(SearchBounds(nodes=given.nodes),),
        multipv=6,
        sampled_plies=16,
        candidate_fraction=given.candidates,
    )
    stored = {
        "six candidates, exact": replace(base, candidate_minimum=0.0, candidate_steps=0),
        "six candidates (default)": base,
        "six candidates, scores in steps of 8": replace(base, score_step_cp=8),
        "one candidate": replace(base, candidate_minimum=1.0),
    }
    exact: list[NDArray[np.float64]] = []
    for name, settings in stored.items():
        data, games = _play(settings, given.games)
        plies = sum(len(game) for game in games)
        policies = _policies(games)
        if not exact:
            exact = policies
            several = sum(len(one) > 1 for one in policies) / plies
            print(f"{len(games):,} games, {plies:,} plies, {several:.0%} with several candidates")
            first = games
        sizes = [len(data), _folder_size(data), len(lzma.compress(data))]
        text = "  ".join(f"{size / plies:6.2f}" for size in sizes)
        if given.zstd:
            packed = subprocess.run(["zstd", "-c", "-19"], input=data, capture_output=True).stdout
            text += f"  zstd {len(packed) / plies:6.2f}"
        print(f"{name:38} raw, stored, xz's default {text}{_divergence(exact, policies)}")
    _fields(first)


def _play(settings: TeacherSettings, count: int) -> tuple[bytes, list[records.Game]]:
    source = BuiltinGames(settings, Lines(()), Evaluation(), threads=os.cpu_count() or 1)
    source.add(range(count))
    found: list[Any] = []
    while source.waiting:
        found += source.take(1000)
    found.sort(key=lambda game: game.facts.number)
    data = b"".join(game.hcpe3 for game in found)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.hcpe3"
        path.write_bytes(data)
        return data, records.read_games(path)


def _folder_size(data: bytes) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.hcpe3.xz"
        with atomic_writer(path) as file:
            file.write(data)
        return path.stat().st_size


def _policies(games: list[records.Game]) -> list[NDArray[np.float64]]:
    """Return the policy of every ply with candidates, best move first."""
    found: list[Any] = []
    for game in games:
        assert game.candidates is not None
        ends = np.cumsum(game.candidates.count, dtype=np.int64)
        for part in np.split(game.candidates.visits.astype(np.float64), ends[:-1]):
            if len(part):
                found.append(part / part.sum())
    return found


def _divergence(exact: list[NDArray[np.float64]], stored: list[NDArray[np.float64]]) -> str:
    """Format the KL divergence over the stored moves and the probability of the others."""
    lost, divergence, count = 0.0, 0.0, 0
    for one, other in zip(exact, stored, strict=True):
        if len(one) < 2:
            continue
        kept = one[: len(other)]
        lost += 1 - kept.sum()
        kept = kept / kept.sum()
        divergence += float((kept * np.log(kept / other)).sum())
        count += 1
    if not count or not math.isfinite(divergence):
        return ""
    return f"  KL {divergence / count:.4f} nats, omitted {lost / count:.2%}"


def _fields(games: list[records.Game]) -> None:
    plies = sum(len(game) for game in games)
    fields: dict[str, list[int]] = {name: [] for name in ("move", "score", "count", "best")}
    fields |= {"other candidates": [], "visits": []}
    for game in games:
        assert game.candidates is not None
        assert game.scores_cp is not None
        begin = 0
        for ply, count in enumerate(game.candidates.count.tolist()):
            moves = game.candidates.move16[begin : begin + count].tolist()
            fields["move"].append(int(game.moves[ply]))
            fields["score"].append(int(game.scores_cp[ply]))
            fields["count"].append(count)
            if count:
                fields["best"].append(0 if moves[0] == game.moves[ply] else moves[0])
                fields["other candidates"] += moves[1:]
            if count > 1:
                fields["visits"] += game.candidates.visits[begin : begin + count].tolist()
            begin += count
    out = io.StringIO()
    total = 0.0
    for name, values in fields.items():
        counts = np.array(list(Counter(values).values()), np.float64)
        bits = float(-(counts * np.log2(counts / counts.sum())).sum())
        total += bits / 8 / plies
        out.write(f"  {name} {bits / 8 / plies:.2f}")
    print(f"entropy of each field, bytes per ply (exact): {out.getvalue()}  sum {total:.2f}")


if __name__ == "__main__":
    main()
