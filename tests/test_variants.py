"""Every build of the core that this CPU can run gives the same results."""

import os
import subprocess
import sys

import pytest

import komadori._core as core

#: Prints a digest of what the fast paths compute over some hundred positions.
PROGRAM = """
import hashlib
import random
import numpy as np
from komadori._core import VARIANT
from komadori.encoding import encode_planes
from komadori.rules import Board

digest, chance = hashlib.sha256(), random.Random(5)
for _ in range(8):
    board = Board()
    for _ in range(60):
        moves = sorted(board.legal_moves, key=lambda move: move.usi())
        if not moves:
            break
        digest.update(" ".join(move.usi() for move in moves).encode())
        digest.update(board.hcp() + board.key.to_bytes(8, "little"))
        hcp = np.frombuffer(board.hcp(), np.uint8).reshape(1, 32)
        for dtype in ("float32", "uint8", "packed"):
            for planes in encode_planes(hcp, dtype=dtype):
                digest.update(np.ascontiguousarray(planes).tobytes())
        board.push(chance.choice(moves))
digest.update(str(Board().perft(3)).encode())
print(VARIANT, digest.hexdigest())
"""


def run(variant: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "KOMADORI_CORE": variant},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(core.VARIANT != "x86_64_v3", reason="this CPU runs one variant only")
def test_the_baseline_equals_the_fast_path() -> None:
    baseline, fast = run("x86_64_v2"), run("x86_64_v3")
    assert (baseline[0], fast[0]) == ("x86_64_v2", "x86_64_v3")
    assert baseline[1] == fast[1]


def test_an_unknown_variant_is_an_error() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run("no_such_variant")
