"""Mirrored positions and moves."""

from itertools import islice

import cshogi
import numpy as np
import pytest
from positions import hcp_of, random_play

from komadori.encoding import (
    EncodingError,
    RowMoveError,
    RowPositionError,
    encode_labels,
    encode_planes,
    mirror,
    mirror_hcps,
)
from komadori.rules import Board, Move


def test_planes_and_legal_moves_are_mirrored() -> None:
    for board, _ in islice(random_play(21, every=7), 100):
        moves = np.array([cshogi.move16(m) for m in board.legal_moves], np.uint16)
        hcps = np.tile(hcp_of(board), (len(moves), 1))
        turned, turned_moves = mirror(hcps, moves)
        assert {m.move16 for m in Board.from_hcp(turned[0].tobytes()).legal_moves} == set(
            turned_moves.tolist()
        )
        for a, b in zip(encode_planes(hcps[:1]), encode_planes(turned[:1]), strict=True):
            np.testing.assert_array_equal(a[:, :, ::-1], b)  # [row, plane, file, rank]
        encode_labels(turned, turned_moves, "8181", check_legal=True)


def test_twice_is_the_same() -> None:
    rows = [(hcp_of(b), cshogi.move16(m)) for b, m in islice(random_play(22, every=3), 500)]
    hcps, moves = np.stack([r[0] for r in rows]), np.array([r[1] for r in rows], np.uint16)
    again, moves_again = mirror(*mirror(hcps, moves), threads=2)
    np.testing.assert_array_equal(again, hcps)
    np.testing.assert_array_equal(moves_again, moves)
    np.testing.assert_array_equal(mirror_hcps(hcps), mirror(hcps, moves)[0])


def test_an_example() -> None:
    start = np.frombuffer(Board().hcp(), np.uint8)[None]
    moves = np.array([Move.from_usi("7g7f").move16, 0, Move.from_usi("P*2e").move16], np.uint16)
    hcps, mirrored = mirror(np.tile(start, (3, 1)), moves)
    wanted = "lnsgkgsnl/1b5r1/ppppppppp/9/9/9/PPPPPPPPP/1R5B1/LNSGKGSNL b - 1"
    assert Board.from_hcp(hcps[0].tobytes()).sfen() == wanted
    assert mirrored.tolist() == [
        Move.from_usi("3g3f").move16, 0, Move.from_usi("P*8e").move16,
    ]  # fmt: skip


def test_refusals() -> None:
    hcps = np.tile(np.frombuffer(Board().hcp(), np.uint8), (2, 1))
    with pytest.raises(RowMoveError, match="row 1"):
        mirror(hcps, np.array([0, 0x7FFF], np.uint16))
    # 70,000 would become another move.
    for moves in (np.array([70_000, 0]), [0.5, 0.0], np.zeros(1, np.uint16), None):
        with pytest.raises(EncodingError, match=r"^moves must be uint16 \[2\], not "):
            mirror(hcps, moves)  # type: ignore[arg-type]
    hcps[1] = 0
    with pytest.raises(RowPositionError, match="row 1"):
        mirror_hcps(hcps)
