"""KPP: its value, symmetries and increments; its parameters' orbits and the learner's step."""

from __future__ import annotations

import numpy as np
import pytest
from two_piece_oracle import mirrored, positions, swapped

from komadori import records
from komadori._core import alphabeta
from komadori._core import linear as core
from komadori.linear.kpp_weights import KppWeights
from komadori.rules import BLACK, WHITE, Board

TABLES = {name: (start, size) for name, start, size in core.kpp_tables()}
MIDDLE = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
NO_KING = "4k4/9/4P4/9/9/9/9/9/9 b 2R2B4G4S4N4L17P 1"
NO_KINGS = "9/9/4P4/9/9/9/9/9/9 w 2R2B4G4S4N4L17P 1"
HOMES = (44, 36)
RATES = [1.0] * 8


def table(parameters: np.ndarray, name: str) -> np.ndarray:
    start, size = TABLES[name]
    return parameters[start : start + size]


@pytest.fixture(scope="module")
def parameters() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.integers(-120, 121, core.KPP_PARAMETERS, dtype=np.int16).astype(np.float32)


@pytest.fixture(scope="module")
def quantised(parameters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kpp = np.empty(TABLES["KPP"][1], np.int16)
    kkp = np.empty(TABLES["KKP"][1], np.int16)
    kk = np.empty(TABLES["KK"][1], np.int32)
    core.kpp_quantise(parameters, kpp, kkp, kk, 2)
    return kpp, kkp, kk


@pytest.fixture(scope="module")
def weights(quantised) -> core.KppWeights:
    weights = core.KppWeights()
    weights.assign(*quantised, 2)
    return weights


def kpp_square(square: int) -> tuple[int, bool]:
    """King's square on five files, whether the pieces are mirrored."""
    file, rank = divmod(square, 9)
    return (square, False) if file <= 4 else (9 * (8 - file) + rank, True)


def mirror_number(number: int) -> int:
    if number < 90:
        return number
    block, square = divmod(number - 90, 81)
    return 90 + 81 * block + 9 * (8 - square // 9) + square % 9


def oracle(quantised, board: Board) -> int:
    """The definition, term by term, from the tables as they are stored."""
    kpp, kkp, kk = quantised
    found = board.king(BLACK), board.king(WHITE)
    kings = tuple(home if king is None else king for king, home in zip(found, HOMES, strict=True))
    lists = core.bona_list(board, BLACK), core.bona_list(board, WHITE)
    total = int(kk.reshape(81, 81, 2)[kings][0])
    turn = int(kk.reshape(81, 81, 2)[kings][1])
    pairs = kkp.reshape(81, 81, 1548, 2)[kings]
    total += sum(int(pairs[p, 0]) for p in lists[0])
    turn += sum(int(pairs[p, 1]) for p in lists[0])
    for side, sign in ((0, 1), (1, -1)):
        square = kings[side] if side == 0 else 80 - kings[side]
        king, flip = kpp_square(square)
        numbers = sorted(mirror_number(p) if flip else p for p in lists[side])
        for i, a in enumerate(numbers):
            for b in numbers[i + 1 :]:
                place = a * 1548 - a * (a + 1) // 2 + b
                total += sign * int(kpp[king * core.BONA_PAIRS + place])
    total += 32 * alphabeta.material(board)
    total = (total if board.turn == BLACK else -total) + turn
    return int(total / 32)


def test_value_is_the_definition(weights, quantised, parameters) -> None:
    for board in [*positions(60, 1), Board(NO_KING), Board(NO_KINGS)]:
        value = weights.evaluate(board)
        assert value == oracle(quantised, board), board.sfen()
        assert core.kpp_evaluate(parameters, board) == pytest.approx(value, abs=1.0)


def test_symmetries_of_the_value(weights) -> None:
    assert weights.evaluate(Board()) == weights.evaluate(swapped(Board()))
    for board in positions(150, 2):
        value = weights.evaluate(board)
        assert weights.evaluate(swapped(board)) == value, board.sfen()
        assert weights.evaluate(mirrored(board)) == value, board.sfen()


def test_without_turn_the_start_is_even(quantised) -> None:
    kpp, kkp, kk = (array.copy() for array in quantised)
    kkp[1::2] = 0
    kk[1::2] = 0
    weights = core.KppWeights()
    weights.assign(kpp, kkp, kk, 1)
    assert weights.evaluate(Board()) == 0


def test_increments_are_exact(weights) -> None:
    engine = core.kpp_engine(weights, alphabeta.Options())
    few = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1"
    for seed, sfen in enumerate((None, MIDDLE, few, NO_KING)):
        assert engine.evaluator_mismatches(Board(sfen), 350_000, seed) == 0


def test_sizes_and_broken_mirrors_are_refused(quantised) -> None:
    kpp, kkp, kk = quantised
    with pytest.raises(ValueError, match="KKP has"):
        core.KppWeights().assign(kpp, kkp[:-2], kk, 1)
    broken = kpp.copy()
    on_file_5 = 40 * core.BONA_PAIRS
    a, b = 90, 95
    broken[on_file_5 + a * 1548 - a * (a + 1) // 2 + b] += 1
    with pytest.raises(ValueError, match="mirror image differ"):
        core.KppWeights().assign(broken, kkp, kk, 1)


# -- the learner's step


@pytest.fixture(scope="module")
def leaves() -> np.ndarray:
    return np.ascontiguousarray(records.load_samples([records.sample_path()]).hcp[::900])


@pytest.fixture
def state() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.zeros(core.KPP_PARAMETERS, np.float32) for _ in range(3))


def step(state, hcp, slope, same_turn, *, rates=RATES, epsilon=1e-6, decay=0.8, threads=1) -> None:
    core.kpp_update(
        *state, hcp, slope, same_turn, rates=rates, epsilon=epsilon, decay=decay, threads=threads
    )


def gradient(hcp, slope, same_turn, threads=1) -> np.ndarray:
    """The step's gradient: with a very large epsilon, AdaGrad is plain gradient descent."""
    state = tuple(np.zeros(core.KPP_PARAMETERS, np.float32) for _ in range(3))
    step(state, hcp, slope, same_turn, rates=[1e9] * 8, epsilon=1e18, threads=threads)
    return state[0]


def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return rng.normal(0, 0.5, count), rng.random(count) < 0.6


def test_the_step_is_the_slope_of_the_loss(parameters, leaves) -> None:
    """Against finite differences of the loss with the leaves fixed, a few weights of each table."""
    hcp = leaves[:40]
    rng = np.random.default_rng(1)
    same_turn = rng.random(len(hcp)) < 0.5
    teacher, result = rng.normal(0, 800, len(hcp)), rng.choice([0.0, 1.0], len(hcp))
    settings = {"scale_cp": 600.0, "result_weight": 1.0, "teacher_weight": 0.5, "squared": False}
    weights = parameters * np.float32(0.1)
    boards = [Board.from_hcp(row.tobytes()) for row in hcp]

    def values(at: np.ndarray) -> np.ndarray:
        found = np.array([core.kpp_evaluate(at, board) for board in boards])
        return np.where(same_turn, found, -found)

    def loss(at: np.ndarray) -> float:
        terms = core.loss_terms(values(at), teacher, result, **settings)
        return float((terms[0] + 0.5 * terms[1]).sum())

    slope = core.loss_terms(values(weights), teacher, result, **settings)[4]
    down = gradient(hcp, slope, same_turn) / 600  # of value, not of value / scale
    for name, (start, size) in TABLES.items():
        touched = start + np.flatnonzero(down[start : start + size])
        assert len(touched), name
        for place in rng.choice(touched, 6, replace=False):
            kept = weights[place]
            weights[place] = kept + 32
            higher = loss(weights)
            weights[place] = kept - 32
            lower = loss(weights)
            weights[place] = kept
            assert -(higher - lower) / 64 == pytest.approx(down[place], rel=2e-3, abs=1e-6), name


def test_the_step_is_adagrad(state, leaves) -> None:
    rates = [30.0, 5.0, 7.0, 20.0, 0.0, 3.0, 2.0, 1.0]
    batches = [(batch, *drawn(len(batch))) for batch in (leaves[:50], leaves[25:90])]
    gradients = [gradient(*batch) for batch in batches]
    touched = np.flatnonzero((gradients[0] != 0) | (gradients[1] != 0))
    starts = [start for start, _ in TABLES.values()]
    rate = np.array(rates)[np.searchsorted(starts, touched, side="right") - 1]
    weights, squares, average = np.zeros((3, len(touched)))
    for g, batch in zip(gradients, batches, strict=True):
        g = g[touched] * (rate != 0)
        squares += g * g
        weights += rate * g / np.sqrt(squares + 1e-6)
        average = np.where(squares > 0, 0.8 * average + 0.2 * weights, average)
        step(state, *batch, rates=rates)
    for found, expected in zip(state, (weights, squares, average), strict=True):
        assert np.allclose(found[touched], expected, rtol=2e-3, atol=2e-3)
        assert np.count_nonzero(found) == np.count_nonzero(found[touched])
    assert len(touched) > 50_000


def test_the_sum_over_threads_is_that_of_one(leaves) -> None:
    slope, same_turn = drawn(len(leaves))
    one, three = (gradient(leaves, slope, same_turn, threads) for threads in (1, 3))
    for name in ("KPP", "KKP", "KK"):
        assert np.array_equal(table(one, name), table(three, name)), name
    assert np.allclose(one, three, rtol=1e-5, atol=1e-6)


def test_with_the_same_threads_the_step_is_the_same() -> None:
    """Whichever thread is faster, so that a resumed run equals an uninterrupted one."""
    hcp = records.load_samples([records.sample_path()]).hcp[::60]
    rng = np.random.default_rng(8)
    slope = rng.choice([-1.0, 1.0], len(hcp)) * 10 ** rng.uniform(-8, 0, len(hcp))
    _, same_turn = drawn(len(hcp))

    def squares() -> bytes:
        state = tuple(np.zeros(core.KPP_PARAMETERS, np.float32) for _ in range(3))
        step(state, np.ascontiguousarray(hcp), slope, same_turn, threads=6)
        return b"".join(table(state[1], name).tobytes() for name in ("PP", "RPP", "KP", "RKP", "P"))

    assert len({squares() for _ in range(8)}) == 1


def test_shared_weights_are_learnt_as_one(leaves) -> None:
    boards = [Board.from_hcp(row.tobytes()) for row in leaves[:60]]
    slope, same_turn = drawn(len(boards))

    def hcps(image) -> np.ndarray:
        return np.stack([np.frombuffer(image(board).hcp(), np.uint8) for board in boards])

    plain = gradient(leaves[:60], slope, same_turn)
    for image in (mirrored, swapped, lambda board: mirrored(swapped(board))):
        other = gradient(hcps(image), slope, same_turn)
        for name in TABLES:
            ours, theirs = table(plain, name), table(other, name)
            assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-6), name


def test_rounded_weights_of_an_orbit_are_equal() -> None:
    """Though sums of floats, as training makes them, depend on their order."""
    real = np.random.default_rng(5).normal(0, 30, core.KPP_PARAMETERS).astype(np.float32)
    weights = KppWeights.of_parameters(real, 2)
    kkp = weights.kkp.reshape(-1, 2)
    images, signs = (np.asarray(array) for array in core.kkp_images())
    stored = kkp[images // 2]
    stored[:, 0] *= signs
    stored[:, 1] *= np.abs(signs)
    assert np.count_nonzero(kkp) > 19_000_000
    assert np.array_equal(stored, kkp)


def test_each_place_stands_for_one_orbit(quantised, parameters) -> None:
    """Of KKP alone, every king pair and piece: as often as the group of four has images."""
    places = core.kkp_places()
    assert len(np.unique(places)) == len(places)
    marked = np.zeros(core.KPP_PARAMETERS, np.float32)
    table(marked, "KKP")[places] = 1 + np.arange(len(places)) % 30_000
    kpp, kkp, kk = (np.empty_like(array) for array in quantised)
    core.kpp_quantise(marked, kpp, kkp, kk, 2)
    assert not kpp.any()
    board = kkp.reshape(81, 81, 1548, 2)[..., 0]
    hands = {0: 18, 19: 18, 78: 2, 81: 2, 84: 2, 87: 2}
    hands |= dict.fromkeys((38, 43, 48, 53, 58, 63, 68, 73), 4)
    held = [start + n for start, most in hands.items() for n in range(1, most + 1)]
    used = np.array(held + list(range(90, 1548)))
    assert np.all(board[:, :, used] != 0)
    square = np.arange(81)
    flip = 9 * (8 - square // 9) + square % 9
    images = np.array([mirror_number(int(p)) for p in used])
    assert np.array_equal(board[:, :, used], board[flip][:, flip][:, :, images])
    a, b = np.meshgrid(used, used, indexing="ij")
    a, b = np.minimum(a, b), np.maximum(a, b)
    pairs = a * 1548 - a * (a + 1) // 2 + b
    pp = core.pp_places()
    assert np.array_equal(pp[pp[pairs]], pp[pairs])
