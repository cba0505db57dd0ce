"""Planes against the naive reference; dense and packed forms; errors."""

from itertools import islice

import cshogi
import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from positions import hcp_of, random_play

from komadori.encoding import (
    FEATURES,
    EncodingError,
    RowPositionError,
    encode_boards,
    encode_planes,
    unpack_planes,
)
from komadori.rules import Board, PositionError


@pytest.fixture(scope="module")
def hcps() -> NDArray[np.uint8]:
    return np.stack([hcp_of(board) for board, _ in islice(random_play(5, every=7), 300)])


def test_pydlshogi_and_diary() -> None:
    for board, _ in islice(random_play(6, every=7), 300):
        row = hcp_of(board)[None]
        np.testing.assert_array_equal(
            encode_planes(row, "pydlshogi")[0][0], oracle.pydlshogi(board)
        )
        for ours, naive in zip(encode_planes(row, "diary"), oracle.diary(board), strict=True):
            np.testing.assert_array_equal(ours[0], naive)


def test_attention(hcps: NDArray[np.uint8]) -> None:
    tokens = encode_planes(hcps[:50], "attention")[0]
    for row, planes in enumerate(zip(*encode_planes(hcps[:50]), strict=True)):
        np.testing.assert_array_equal(tokens[row], oracle.attention(*planes))


@pytest.mark.parametrize("plies_a_plane", [10, 15, 20])
def test_turn_number_planes(hcps: NDArray[np.uint8], plies_a_plane: int) -> None:
    plies = np.arange(len(hcps))
    planes = encode_planes(hcps, f"diary-turn{plies_a_plane}", plies=plies)[1][:, 76:]
    assert planes.shape[1] == 8
    wanted = np.eye(8)[np.minimum(plies // plies_a_plane, 7)]
    np.testing.assert_array_equal(planes, np.broadcast_to(wanted[..., None, None], planes.shape))


def test_plies_are_whole_numbers(hcps: NDArray[np.uint8]) -> None:
    with pytest.raises(TypeError, match="plies are integers, not float64"):
        encode_planes(hcps[:1], "diary-turn", plies=[3.7])
    assert len(encode_planes(hcps[:0], "diary-turn", plies=[])[0]) == 0


def test_turn_fraction(hcps: NDArray[np.uint8]) -> None:
    plies = np.arange(len(hcps))
    plane = encode_planes(hcps, "diary-turn", plies=plies)[1][:, 76]
    np.testing.assert_allclose(plane[:, 4, 4], np.minimum(plies / 256, 1))
    assert (plane == plane[:, :1, :1]).all()


def test_color_and_check_planes() -> None:
    checks = 0
    for board, _ in islice(random_play(8, every=1), 600):
        row = hcp_of(board)[None]
        assert (encode_planes(row, "diary-color")[1][0, 76] == (board.turn == cshogi.BLACK)).all()
        assert (encode_planes(row, "diary-check")[1][0, 76] == board.is_check()).all()
        checks += board.is_check()
    assert checks > 5


@pytest.mark.parametrize("features", FEATURES)
def test_forms_agree(features: str, hcps: NDArray[np.uint8]) -> None:
    table = FEATURES[features]
    plies = np.arange(len(hcps)) if table.needs_plies else None
    dense = encode_planes(hcps, features, plies=plies)
    assert [a.shape[1:] for a in dense] == [one.shape for one in table.inputs]
    if not table.is_binary:
        for dtype in ("uint8", "packed"):
            with pytest.raises(EncodingError, match="float32 only"):
                encode_planes(hcps, features, dtype, plies=plies)
        return
    small = encode_planes(hcps, features, "uint8", plies=plies)
    packed = encode_planes(hcps, features, "packed", plies=plies)
    assert [a.shape[1] for a in packed] == [one.packed_bytes for one in table.inputs]
    for unpacked in (unpack_planes(packed, features), unpack_planes(packed, features, "uint8")):
        for a, b in zip(dense, unpacked, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(dense, small, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("features", ["dlshogi", "pydlshogi", "attention"])
def test_packed_layout(features: str, hcps: NDArray[np.uint8]) -> None:
    """The bits of the dense tensor in its order, a constant plane or hand slot only once."""
    packed = encode_planes(hcps, features, "packed")
    for one, dense, bytes_ in zip(
        FEATURES[features].inputs, encode_planes(hcps, features, "uint8"), packed, strict=True
    ):
        rows = dense.reshape(len(hcps), one.shape[0], -1)
        parts = [
            rows[:, b.first : b.first + len(b.planes), : 1 if b.is_constant else None]
            for b in one.blocks
        ]
        bits = np.concatenate([part.reshape(len(hcps), -1) for part in parts], axis=1)
        assert bits.shape[1] == one.packed_bits
        np.testing.assert_array_equal(np.packbits(bits, axis=1, bitorder="little"), bytes_)


def test_large_batches_are_the_same(hcps: NDArray[np.uint8]) -> None:
    """Above a few megabytes the rows are written with non-temporal stores."""
    many = np.tile(hcps, (3, 1))[:850]
    for dtype in ("float32", "uint8"):
        for large, small in zip(
            encode_planes(many, dtype=dtype), encode_planes(many[:40], dtype=dtype), strict=True
        ):
            np.testing.assert_array_equal(large[:40], small)
            np.testing.assert_array_equal(large[600:640], small)


def test_threads_and_out(hcps: NDArray[np.uint8]) -> None:
    wanted = encode_planes(hcps)
    out = [np.full_like(a, 7) for a in wanted]
    returned = encode_planes(hcps, out=out, threads=3)
    for ours, again, array in zip(wanted, returned, out, strict=True):
        assert again is array
        np.testing.assert_array_equal(ours, array)
    with pytest.raises(EncodingError, match=r"out must be .* float32 \[300, 62, 9, 9\]"):
        encode_planes(hcps, out=out[::-1])


def test_empty_batch() -> None:
    assert [a.shape for a in encode_planes(np.zeros((0, 32), np.uint8))] == [
        (0, 62, 9, 9),
        (0, 57, 9, 9),
    ]


@pytest.mark.parametrize("threads", [1, 4])
def test_bad_rows_are_named(hcps: NDArray[np.uint8], threads: int) -> None:
    bad = hcps.copy()
    bad[251] = 255
    bad[77] = 0  # both kings on one square
    with pytest.raises(RowPositionError, match=r"^row 77: hcp, bit 8") as caught:
        encode_planes(bad, threads=threads)
    assert caught.value.row == 77
    assert isinstance(caught.value, ValueError)


def test_refuses_other_arrays(hcps: NDArray[np.uint8]) -> None:
    with pytest.raises(EncodingError, match=r"uint8 \[N, 32\]"):
        encode_planes(hcps[:, :31])
    with pytest.raises(EncodingError, match=r"uint8 \[N, 32\]"):
        encode_planes(hcps.astype(np.int32))
    with pytest.raises(EncodingError, match="no feature table 'dlshoggi'"):
        encode_planes(hcps, "dlshoggi")
    with pytest.raises(EncodingError, match="needs plies"):
        encode_planes(hcps, "diary-turn10")
    with pytest.raises(EncodingError, match=r"^input 1 must be packed planes, uint8 \[N, 628\]"):
        unpack_planes(encode_planes(hcps[:2]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^features: expected str, got FeatureTable$"):
        encode_planes(hcps, FEATURES["dlshogi"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^threads: expected int, got str$"):
        encode_planes(hcps, threads="2")  # type: ignore[arg-type]


@settings(max_examples=300)
@given(st.binary(min_size=32, max_size=32))
def test_any_bytes(row: bytes) -> None:
    """Random bytes are encoded or rejected; every position that the rules accept is encoded."""
    array = np.frombuffer(row, np.uint8)[None]
    try:
        encode_planes(array)
    except RowPositionError:
        with pytest.raises(ValueError, match="hcp"):
            Board.from_hcp(row)


@settings(max_examples=300)
@given(st.integers(0, 299), st.lists(st.integers(0, 255), max_size=3))
def test_damaged_bytes(hcps: NDArray[np.uint8], row: int, flips: list[int]) -> None:
    damaged = hcps[row].copy()
    for bit in flips:
        damaged[bit // 8] ^= 1 << bit % 8
    try:
        encode_planes(damaged[None])
    except RowPositionError:
        with pytest.raises(ValueError, match="hcp"):
            Board.from_hcp(damaged.tobytes())


def turned(sfen: str) -> str:
    """The position with the board turned by 180 degrees and the colours swapped."""
    board, turn, hands, ply = sfen.split(" ")
    cells: list[str] = []
    for c in board:
        cells.append(cells.pop() + c if cells and cells[-1] == "+" else c)
    board = "".join(reversed(cells)).swapcase()
    return " ".join([board, "w" if turn == "b" else "b", hands.swapcase(), ply])


@pytest.mark.parametrize("features", sorted(set(FEATURES) - {"diary-color", "dlshogi-119"}))
@settings(max_examples=40)
@given(st.integers(0, 299))
def test_turned_position_is_equal(features: str, hcps: NDArray[np.uint8], row: int) -> None:
    board = Board.from_hcp(hcps[row].tobytes())
    other = Board(turned(board.sfen()))
    assert other.turn != board.turn
    for a, b in zip(*(encode_boards([x], features) for x in (board, other)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_boards_equal_hcps(hcps: NDArray[np.uint8]) -> None:
    boards = [Board.from_hcp(row.tobytes()) for row in hcps]
    for dtype in ("float32", "uint8", "packed"):
        for features in ("dlshogi", "dlshogi-119"):
            for a, b in zip(
                encode_boards(boards, features, dtype),
                encode_planes(hcps, features, dtype),
                strict=True,
            ):
                np.testing.assert_array_equal(a, b)


def test_handicap_boards() -> None:
    board = Board("lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1")
    with pytest.raises((RowPositionError, PositionError, ValueError), match="box"):
        board.hcp()
    planes = encode_boards([board])[0][0]
    assert planes[:14].sum() == 18  # White, to move, has no bishop and no rook
    assert planes[31:45].sum() == 20


def test_a_list_that_holds_none_is_a_type_error() -> None:
    """It was a null pointer in the core: the interpreter crashed."""
    for boards in ([None], [Board(), None]):
        with pytest.raises(TypeError, match="None"):
            encode_boards(boards)


@pytest.mark.parametrize("ply", [-1, 2**31, 2**63, np.uint64(2**64 - 1)])
def test_a_number_of_plies_out_of_range_is_refused(hcps: NDArray[np.uint8], ply: int) -> None:
    """2^31 became a negative number, so another plane was set."""
    with pytest.raises(EncodingError, match=f"^plies are 0 to 2.31 - 1, not {ply}$"):
        encode_planes(hcps[:1], "diary-turn10", plies=np.array([ply]))


@pytest.mark.parametrize("dtype", ["packed", "float64"])
def test_unpacked_planes_have_a_dense_type(hcps: NDArray[np.uint8], dtype: str) -> None:
    packed = encode_planes(hcps, dtype="packed")
    with pytest.raises(
        EncodingError, match=f"no dense plane type '{dtype}': one of float32, uint8"
    ):
        unpack_planes(packed, dtype=dtype)


def test_packed_inputs_have_one_length(hcps: NDArray[np.uint8]) -> None:
    first, second = encode_planes(hcps[:3], dtype="packed")
    with pytest.raises(EncodingError, match="the inputs differ in length: 3 and 2 positions"):
        unpack_planes((first, second[:2]))
