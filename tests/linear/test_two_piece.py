"""The two-piece evaluation: value, symmetries, incremental updates, files."""

from __future__ import annotations

import re
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import two_piece_oracle as oracle
from two_piece_oracle import FIRST_ON_BOARD, KINDS, positions

from komadori._core import alphabeta
from komadori._core import linear as core
from komadori.linear import TwoPieceWeights, WeightsError, absolute_orbits, relative_orbits
from komadori.linear.orbits import FEATURES
from komadori.rules import BLACK, WHITE, Board
from komadori.search import Limits
from komadori.search.alphabeta import EVALUATIONS, AlphaBetaSearcher
from komadori.usi.option_tables import ALPHABETA_OPTIONS


@pytest.fixture(scope="module")
def weights() -> TwoPieceWeights:
    """Random, with every symmetry."""
    orbits = absolute_orbits()
    rng = np.random.default_rng(5)
    pairs = np.rint(orbits.scatter(rng.integers(-400, 401, orbits.size))).astype(np.int16)
    on_board = np.arange(FIRST_ON_BOARD, FEATURES)
    pairs[on_board, on_board] = 0
    return TwoPieceWeights(pairs, TwoPieceWeights.material().piece_values)


def test_value_is_the_definition(weights: TwoPieceWeights) -> None:
    in_core = weights.core()
    for board in positions(150, 1):
        assert sorted(core.features_of(board)) == sorted(oracle.features(board))
        assert in_core.evaluate(board) == oracle.value(weights, board), board.sfen()


def test_symmetries_of_the_value(weights: TwoPieceWeights) -> None:
    in_core = weights.core()
    assert in_core.evaluate(Board()) == 0
    for board in positions(150, 2):
        value = in_core.evaluate(board)
        assert in_core.evaluate(oracle.swapped(board)) == -value, board.sfen()
        assert in_core.evaluate(oracle.mirrored(board)) == value, board.sfen()


def test_without_pairs_it_is_material() -> None:
    in_core = TwoPieceWeights.material().core()
    for board in positions(50, 3):
        assert in_core.evaluate(board) == oracle.material(board)


def test_increments_are_exact(weights: TwoPieceWeights) -> None:
    engine = core.two_piece_engine(weights.core(), alphabeta.Options())
    middle = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
    for seed, sfen in enumerate((None, middle, "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1")):
        assert engine.evaluator_mismatches(Board(sfen), 350_000, seed) == 0


def test_the_search_plays_with_it(weights: TwoPieceWeights, tmp_path) -> None:
    path = tmp_path / "weights.npz"
    weights.save(path)
    loaded = TwoPieceWeights.load(path)
    assert np.array_equal(loaded.pairs, weights.pairs)
    searcher = AlphaBetaSearcher("two-piece", path)
    for board in positions(10, 4):
        value = weights.evaluate(board)
        assert searcher.evaluate(board) == (value if board.turn == BLACK else -value)
    board = Board()
    searcher.set_position(board)
    assert searcher.search(Limits(nodes=5000)).best_move in board.legal_moves


def test_the_weights_that_come_with_the_package() -> None:
    searcher = AlphaBetaSearcher("two-piece")
    assert searcher.evaluate(Board()) == 0
    known = "lnsgk1snl/1r4gb1/p1pppp2p/6pR1/1p7/2P6/PP1PPPP1P/1BG6/LNS1KGSNL w P 12"
    material = AlphaBetaSearcher("material")
    board = Board(known)
    assert searcher.evaluate(board) != material.evaluate(board)
    assert abs(searcher.evaluate(board) - material.evaluate(board)) < 600


def test_the_engines_options_name_the_evaluations() -> None:
    (option,) = [o.line for o in ALPHABETA_OPTIONS if o.line.name == "Eval"]
    assert set(option.choices) == set(EVALUATIONS)


def test_broken_weights_are_refused(weights: TwoPieceWeights, tmp_path) -> None:
    one_sided = weights.pairs.copy()
    one_sided[100, 200] += 1
    with pytest.raises(WeightsError, match="differ"):
        TwoPieceWeights(one_sided, weights.piece_values).core()
    itself = weights.pairs.copy()
    itself[100, 100] = 1
    with pytest.raises(WeightsError, match="is not 0"):
        TwoPieceWeights(itself, weights.piece_values).core()
    for content in (b"", b"no weights", b"PK\x03\x04 broken"):
        path = tmp_path / "bad.npz"
        path.write_bytes(content)
        with pytest.raises(WeightsError, match=r"bad\.npz"):
            TwoPieceWeights.load(path)
    np.savez(tmp_path / "other.npz", format=np.array("komadori-two-piece"))
    with pytest.raises(WeightsError, match=r"other\.npz"):
        TwoPieceWeights.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        TwoPieceWeights.load(tmp_path / "none.npz")


# -- orbits


def feature(colour: int, kind: str, file: int, rank: int) -> int:
    return FIRST_ON_BOARD + 81 * (KINDS[kind] + 10 * colour) + 9 * (file - 1) + rank - 1


def test_orbits_are_as_many_as_counted() -> None:
    absolute, relative = absolute_orbits(), relative_orbits()
    assert (absolute.size, absolute.forced.sum()) == (368_592, 848)
    assert (relative.size, relative.forced.sum()) == (16_000, 1_520)
    assert absolute.of.min() == 0
    assert absolute.of.max() == absolute.size - 1


def test_the_diarys_example() -> None:
    """88K 78S = 78S 88K = 28K 38S = -(22k 32s): the diary's 23 is a slip."""
    orbits = absolute_orbits()
    first = feature(BLACK, "K", 8, 8), feature(BLACK, "S", 7, 8)
    for pair, sign in (
        (first[::-1], 1),
        ((feature(BLACK, "K", 2, 8), feature(BLACK, "S", 3, 8)), 1),
        ((feature(WHITE, "K", 2, 2), feature(WHITE, "S", 3, 2)), -1),
    ):
        assert orbits.of[pair] == orbits.of[first]
        assert orbits.sign[pair] == sign * orbits.sign[first]
    assert orbits.of[feature(WHITE, "K", 2, 3), feature(WHITE, "S", 3, 2)] != orbits.of[first]


@pytest.mark.parametrize("orbits", [absolute_orbits, relative_orbits])
def test_gather_and_scatter(orbits) -> None:
    orbits = orbits()
    values = np.random.default_rng(1).normal(size=orbits.size) * ~orbits.forced
    spread = orbits.scatter(values)
    sizes = np.bincount(orbits.of[orbits.of >= 0])
    assert np.allclose(orbits.gather(spread), values * sizes)
    assert np.all(orbits.gather(np.ones_like(spread))[orbits.forced] == 0)
    assert np.array_equal(spread, spread.T)


def test_relative_sums_are_those_of_all_translations() -> None:
    """Black's gold and White's pawn, the pawn a file aside and two ranks up."""
    relative = relative_orbits()
    values = np.random.default_rng(2).normal(size=(FEATURES, FEATURES))
    values = values + values.T
    total = 0.0
    for dx in (1, -1):
        for file in range(1, 10):
            for rank in range(3, 10):
                if not 1 <= file + dx <= 9:
                    continue
                a = feature(BLACK, "G", file, rank)
                b = feature(WHITE, "P", file + dx, rank - 2)
                c = feature(WHITE, "G", 10 - file, 10 - rank)
                d = feature(BLACK, "P", 10 - file - dx, 12 - rank)
                total += 2 * (values[a, b] - values[c, d])
    pair = feature(BLACK, "G", 5, 5), feature(WHITE, "P", 6, 3)
    found = relative.gather(values)[relative.of[pair]] * relative.sign[pair]
    assert found == pytest.approx(total)


def _npy(header: bytes) -> bytes:
    text = header.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "member",
    [
        b"no array",
        _npy(b"{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
        _npy(b"{'descr': '<i2', 'fortran_order': False, 'shape': (999999999999999,), }"),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
        _npy(b"(" * 100),
        _npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
    ],
    ids=["bytes", "huge", "beyond memory", "header", "nested", "object"],
)
@pytest.mark.parametrize("name", ["format", "format_version", "triangle", "piece_values"])
def test_a_file_of_strange_arrays_is_named(name: str, member: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    TwoPieceWeights.material().save(path)
    with zipfile.ZipFile(path) as archive:
        members = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in members.items():
            archive.writestr(entry, member if entry == f"{name}.npy" else content)
    with pytest.raises(WeightsError, match=re.escape(str(path))):
        TwoPieceWeights.load(path)


@pytest.mark.parametrize("name", ["format", "format_version", "triangle", "piece_values"])
def test_a_file_that_unpacks_to_more_than_weights_is_not_unpacked(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "weights.npz"
    TwoPieceWeights.material().save(path)
    content = dict(np.load(path)) | {name: np.zeros(100_000_000, np.int8)}
    np.savez_compressed(path, **content)
    assert path.stat().st_size < 1_000_000
    del content
    tracemalloc.start()
    try:
        with pytest.raises(WeightsError, match="not weights"):
            TwoPieceWeights.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "changed",
    [
        {"format_version": np.array([1, 2])},
        {"format_version": np.array(np.inf)},
        {"piece_values": np.full(16, 1e300)},
        {"piece_values": np.full(16, 2**31 - 1)},
        {"triangle": np.ones(len(np.triu_indices(FEATURES)[0]), np.int16)},
    ],
    ids=["versions", "infinite", "real", "large", "diagonal"],
)
def test_a_file_of_values_out_of_range_is_named(changed: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    TwoPieceWeights.material().save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, **changed})
    with pytest.raises(WeightsError, match=re.escape(str(path))):
        TwoPieceWeights.load(path)


def test_a_single_array_is_no_weights_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(WeightsError, match=re.escape(str(path))):
        TwoPieceWeights.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: replace(w, pairs=w.pairs.astype(np.float64)), "pairs has another shape or type"),
        (lambda w: replace(w, pairs=w.pairs.astype(np.int32)), "pairs has another shape or type"),
        (lambda w: replace(w, pairs=w.pairs[:3, :3]), "pairs has another shape or type"),
        (lambda w: replace(w, pairs=np.triu(w.pairs)), "differ"),
        (lambda w: replace(w, piece_values=w.piece_values[:5]), "16 whole numbers"),
        (lambda w: replace(w, piece_values=np.full(16, 40_000)), "16 whole numbers"),
        (lambda w: replace(w, piece_values=np.full(16, np.nan)), "16 whole numbers"),
    ],
    ids=["float", "int32", "small", "asymmetric", "few", "large", "nan"],
)
def test_weights_that_no_file_holds_are_refused_and_the_old_file_kept(
    change: Callable[[TwoPieceWeights], TwoPieceWeights],
    message: str,
    weights: TwoPieceWeights,
    tmp_path: Path,
) -> None:
    path = tmp_path / "weights.npz"
    weights.save(path)
    changed = change(weights)
    for use in (lambda: changed.save(path), lambda: changed.evaluate(Board())):
        with pytest.raises(WeightsError, match=message) as error:
            use()
        assert "\n" not in str(error.value)
    assert np.array_equal(TwoPieceWeights.load(path).pairs, weights.pairs)
