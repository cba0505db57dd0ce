"""Make the bundled sample: every fourth game of a teacher file, up to a size limit.

    python tools/make_sample.py teacher-1.hcpe3.xz

Writes src/komadori/data/sample.hcpe3.xz and sample.json, its description.
"""

import argparse
import json
import lzma
from pathlib import Path

from komadori.records import FORMATS, read_games

FOLDER = Path(__file__).resolve().parent.parent / "src" / "komadori" / "data"
STEP = 4
LIMIT_BYTES = 1_000_000
#: Fields are two bytes wide, so literals depend on the position modulo 2 (lp, pb).
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 1, "pb": 1}]


def pack(games: list[bytes]) -> bytes:
    return lzma.compress(b"".join(games), filters=FILTERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("teacher", type=Path)
    source = parser.parse_args().teacher
    games = read_games(source)[::STEP]
    write = FORMATS["hcpe3"].write
    assert write is not None
    candidates = [write(game, "") for game in games]
    fits, too_many = 1, len(candidates) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if len(pack(candidates[:middle])) <= LIMIT_BYTES:
            fits = middle
        else:
            too_many = middle
    chosen = candidates[:fits]
    plies = sum(map(len, games[:fits]))
    (FOLDER / "sample.hcpe3.xz").write_bytes(pack(chosen))
    facts = {
        "file": "sample.hcpe3.xz",
        "format": "hcpe3, compressed with xz",
        "games": len(chosen),
        "plies": plies,
        "origin": "self-play of a strong alpha-beta engine with a small NNUE, 6,000 nodes per move "
        "on one thread, every ply scored",
        "chosen": f"games 0, {STEP}, {2 * STEP}, ... of {source.name}, as many as fit in "
        f"{LIMIT_BYTES:,} bytes (tools/make_sample.py)",
        "start": "0 to 6 uniformly random moves, then moves sampled from six candidates (within "
        "200 cp, temperature 30 to 100 cp) until ply 10 to 34, then the best move",
        "candidates": "one per ply, visits 1: the engine's best move; it can differ from the move "
        "played",
        "score": "centipawns, side to move's view, mates clipped to +-30000",
        "ends": "resignation or mate, a score beyond 3,000 or 6,000 twice (adjudicated), "
        "sennichite, declaration; games cut by the ply limit are left out",
    }
    (FOLDER / "sample.json").write_text(json.dumps(facts, indent=2) + "\n")
    print(f"{len(chosen)} games, {plies} plies, {len(pack(chosen)):,} bytes")


if __name__ == "__main__":
    main()
