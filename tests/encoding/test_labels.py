"""Labels against the naive reference; decoding, counts and errors."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

import cshogi
import numpy as np
import oracle
import pytest
from positions import hcp_of, random_play

from komadori._core.encoding import label_2187
from komadori.encoding import (
    LABELS,
    EncodingError,
    LabelError,
    RowMoveError,
    RowPositionError,
    decode_label,
    encode_labels,
    legal_labels,
    legal_mask,
)
from komadori.rules import Board, Move, PositionError

MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
INVERTIBLE = [name for name, scheme in LABELS.items() if scheme.is_invertible]

NAIVE: dict[str, Callable[[cshogi.Board, int], int | tuple[int, int]]] = {
    "2187": lambda b, m: oracle.label_2187(b, m, oracle.DIRECTIONS, "PLNSBRG"),
    "2187-pydlshogi": lambda b, m: oracle.label_2187(b, m, oracle.DIRECTIONS, "PLNSGBR"),
    "2187-cnnshogi": lambda b, m: oracle.label_2187(b, m, oracle.CNNSHOGI_DIRECTIONS, "PLNSGBR"),
    "8181": oracle.label_8181,
    "1134": oracle.label_1134,
    "from-to": lambda b, m: (oracle.label_from(b, m), oracle.label_1134(b, m, after=True)),
}


def boards(games_seed: int, count: int) -> Iterator[cshogi.Board]:
    for sfen in (MOST_MOVES, MATSURI):
        yield cshogi.Board(sfen)
    for board, _ in islice(random_play(games_seed, every=7), count):
        yield board


def every_move(board: cshogi.Board) -> tuple[list[int], np.ndarray, np.ndarray]:
    """(cshogi's legal moves, hcps [n, 32], move16s [n])"""
    moves = list(board.legal_moves)
    return (
        moves,
        np.tile(hcp_of(board), (len(moves), 1)),
        np.array([cshogi.move16(m) for m in moves], np.uint16),
    )


@pytest.mark.parametrize("scheme", NAIVE)
def test_equal_to_naive(scheme: str) -> None:
    colors = set()
    for board in boards(11, 60):
        moves, hcps, move16s = every_move(board)
        naive = np.array([NAIVE[scheme](board, move) for move in moves])
        np.testing.assert_array_equal(encode_labels(hcps, move16s, scheme), naive)
        colors.add(board.turn)
    assert colors == {0, 1}


@pytest.mark.parametrize(("small", "large"), [("1496", "2187"), ("5839", "8181")])
def test_ranks_among_reachable(small: str, large: str) -> None:
    dense = np.array(LABELS[small].heads[0].dense)
    assert (np.diff(dense) > 0).all()
    for board in boards(12, 100):
        _, hcps, move16s = every_move(board)
        ranks = encode_labels(hcps, move16s, small)
        np.testing.assert_array_equal(dense[ranks], encode_labels(hcps, move16s, large))


def test_search_label_is_the_scheme() -> None:
    for board in boards(13, 60):
        _, hcps, move16s = every_move(board)
        ours = [label_2187(int(move), board.turn) for move in move16s]
        np.testing.assert_array_equal(ours, encode_labels(hcps, move16s))


@pytest.mark.parametrize("scheme", INVERTIBLE)
def test_round_trip(scheme: str) -> None:
    """decode(encode(m)) == m, and no two legal moves share a label."""
    for theirs in boards(14, 60):
        board = Board(theirs.sfen())
        _, hcps, move16s = every_move(theirs)
        labels = encode_labels(hcps, move16s, scheme, check_legal=True)
        rows = [tuple(row) for row in labels.reshape(len(labels), -1).tolist()]
        assert len(set(rows)) == len(rows)
        for move16, row in zip(move16s, rows, strict=True):
            assert decode_label(board, row, scheme).move16 == move16


def test_593_moves_have_593_labels() -> None:
    _, hcps, move16s = every_move(cshogi.Board(MOST_MOVES))
    assert len(move16s) == 593
    for scheme in INVERTIBLE:
        labels = encode_labels(hcps, move16s, scheme).reshape(593, -1)
        assert len(np.unique(labels, axis=0)) == 593


def test_sizes() -> None:
    sizes = {name: [head.size for head in scheme.heads] for name, scheme in LABELS.items()}
    assert sizes == {
        "2187": [2187],
        "2187-pydlshogi": [2187],
        "2187-cnnshogi": [2187],
        "1496": [1496],
        "8181": [8181],
        "5839": [5839],
        "1134": [1134],
        "from-to": [88, 1134],
    }


def kinds(scheme: str) -> Counter[str]:
    head = LABELS[scheme].heads[0]
    assert head.dense is not None
    names = (head.planes[number // 81] for number in head.dense)
    return Counter(
        "drop" if n.startswith("drop") else "promotes" if n.endswith("promoting") else "moves"
        for n in names
    )


def test_reachable_counts() -> None:
    """1496 = 965 on the board + 531 drops; 5839 = 4790 + 518 + 531 (diary, part 47)."""
    small, large = kinds("1496"), kinds("5839")
    assert small["moves"] + small["promotes"] == 965
    assert small["drop"] == large["drop"] == 531
    assert (large["moves"], large["promotes"]) == (4790, 518)


def test_8181_blocks() -> None:
    """P2 L2 N4 S10 B8 R8 G12 K8, +P +L +N +S 6 each, +B 8, +R 8: 94 planes, then seven drops."""
    names = LABELS["8181"].heads[0].planes
    assert len(names) == 101
    blocks = Counter(name.split(" ")[0] for name in names)
    wanted = [
        "P2",
        "L2",
        "N4",
        "S10",
        "B8",
        "R8",
        "G12",
        "K8",
        "+P6",
        "+L6",
        "+N6",
        "+S6",
        "+B8",
        "+R8",
        "drop7",
    ]
    assert [f"{piece}{count}" for piece, count in blocks.items()] == wanted
    assert names[94:] == tuple(f"drop {p}" for p in "PLNSBRG")
    assert names[4:8] == (
        "N UP2_LEFT",
        "N UP2_RIGHT",
        "N UP2_LEFT promoting",
        "N UP2_RIGHT promoting",
    )


@pytest.mark.parametrize("scheme", ["5839", "1496"])
def test_every_reachable_label_is_met(scheme: str) -> None:
    """Every label occurs: for a move of a lone piece on the board or a drop."""
    met = set(legal_labels(Board("9/9/9/9/9/9/9/9/9 b PLNSBRG 1"), scheme).tolist())
    for piece in ["P", "L", "N", "S", "B", "R", "G", "K", "+P", "+L", "+N", "+S", "+B", "+R"]:
        for file in range(9):
            for rank in range(9):
                cells = [["1"] * 9 for _ in range(9)]
                cells[rank][file] = piece
                sfen = "/".join("".join(row) for row in cells)
                try:
                    board = Board(f"{sfen} b - 1")
                except PositionError:
                    assert piece in "PLN"  # it could never move from there
                    continue
                met.update(legal_labels(board, scheme).tolist())
    assert len(met) == LABELS[scheme].size


@pytest.mark.parametrize("scheme", LABELS)
def test_legal_labels(scheme: str) -> None:
    for theirs in boards(16, 20):
        board = Board(theirs.sfen())
        moves = np.array([m.move16 for m in board.legal_moves], np.uint16)
        wanted = encode_labels(np.tile(row(board), (len(moves), 1)), moves, scheme)
        np.testing.assert_array_equal(legal_labels(board, scheme), wanted)


@pytest.mark.parametrize("scheme", LABELS)
def test_legal_mask(scheme: str) -> None:
    table = LABELS[scheme]
    for board in boards(15, 30):
        _, hcps, move16s = every_move(board)
        labels = encode_labels(hcps, move16s, scheme).reshape(len(hcps), -1)
        wanted = np.zeros(table.size, bool)
        first = 0
        for h, head in enumerate(table.heads):
            wanted[first + labels[:, h]] = True
            first += head.size
        np.testing.assert_array_equal(legal_mask(hcps[:1], scheme)[0], wanted)


def row(board: Board) -> np.ndarray:
    return np.frombuffer(board.hcp(), np.uint8)[None]


def move16s(*usi: str) -> np.ndarray:
    return np.array([Move.from_usi(text).move16 for text in usi], np.uint16)


def test_merged_labels_are_not_decoded() -> None:
    board = Board("4k4/9/9/9/9/9/9/4G4/4K1G2 b - 1")
    labels = legal_labels(board, "1134").tolist()
    shared = next(label for label in labels if labels.count(label) == 2)
    with pytest.raises(LabelError, match="several moves"):
        decode_label(board, shared, "1134")


def test_labels_without_a_move() -> None:
    board = Board()
    with pytest.raises(LabelError, match="no legal move has label 0 of 2187"):
        decode_label(board, 0)
    with pytest.raises(LabelError, match="no legal move"):
        decode_label(board, 10**6)
    with pytest.raises(EncodingError, match="one number per head"):
        decode_label(board, 3, "from-to")


def test_missing_moves() -> None:
    hcps = np.tile(row(Board()), (3, 1))
    moves = np.array([0, *move16s("7g7f"), 0], np.uint16)
    assert encode_labels(hcps, moves, missing=-100).tolist()[::2] == [-100, -100]
    with pytest.raises(RowMoveError, match=r"^row 0: no move"):
        encode_labels(hcps, moves)


@pytest.mark.parametrize(
    ("usi", "scheme", "reason"),
    [
        ("7g6e", "2187", "no label"),  # two up and one to the side is a knight's: 2187 takes it
        ("5e5d", "8181", "starts from 5e, where the side to move has no piece"),
        ("3c3d", "8181", "starts from 3c, where the side to move has no piece"),
        ("7g7h", "8181", "has no label in 8181"),
        ("P*5e", "8181", "drops a piece that isn't in hand"),
        ("5i5h+", "8181", "has no label in 8181"),
        ("7g4h", "2187", "has no label in 2187"),
    ],
)
def test_refused_moves_are_named(usi: str, scheme: str, reason: str) -> None:
    hcps = np.tile(row(Board()), (2, 1))
    moves = move16s("7g7f", usi)
    if usi == "7g6e":
        encode_labels(hcps, moves, scheme)
        with pytest.raises(RowMoveError, match=r"^row 1: .*is not legal"):
            encode_labels(hcps, moves, scheme, check_legal=True)
        return
    with pytest.raises(RowMoveError, match=rf"^row 1: move16 .*{reason}") as caught:
        encode_labels(hcps, moves, scheme)
    assert caught.value.row == 1
    with pytest.raises(RowMoveError, match="is not legal"):
        encode_labels(hcps, moves, scheme, check_legal=True)


def test_refused_positions_are_named() -> None:
    hcps = np.tile(row(Board()), (3, 1))
    hcps[2] = 0
    for call in (
        lambda: legal_mask(hcps),
        lambda: encode_labels(hcps, move16s("7g7f", "7g7f", "7g7f"), "8181"),
        lambda: encode_labels(hcps, move16s("7g7f", "7g7f", "7g7f"), check_legal=True),
    ):
        with pytest.raises(RowPositionError, match=r"^row 2: hcp"):
            call()


def test_refuses_other_arrays() -> None:
    hcps = row(Board())
    with pytest.raises(EncodingError, match=r"uint16 \[1\]"):
        encode_labels(hcps, np.zeros(2, np.uint16))
    with pytest.raises(EncodingError, match=r"uint16 \[1\]"):
        encode_labels(hcps, np.zeros(1, np.int64))
    with pytest.raises(EncodingError, match="no label scheme '2188'"):
        legal_mask(hcps, "2188")
    with pytest.raises(RowMoveError, match="is not a move"):
        encode_labels(hcps, np.array([0xFFFF], np.uint16))
