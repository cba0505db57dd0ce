"""The solver: finds every mate, claims no false one, respects limits."""

import threading
import time

import pytest
from problems import (
    ALL_SHORT,
    DATA,
    Problem,
    assert_mates,
    oracle_mates,
    random_attacks,
    random_games,
    read_problems,
)

from komadori.mate import MateSolver, MateStatus, StopFlag, mate_within, solve
from komadori.rules import Board, PositionError

SHORT = read_problems(DATA / "mate-1-to-7.tsv")
LONG = read_problems(DATA / "mate-9-to-13.tsv")


@pytest.fixture(scope="module")
def solver() -> MateSolver:
    return MateSolver(hash_mb=16)


@pytest.mark.parametrize("problem", SHORT, ids=lambda problem: problem.sfen)
def test_short_problems(solver: MateSolver, problem: Problem) -> None:
    board = Board(problem.sfen)
    found = solver.solve(board, max_nodes=1_000_000)
    assert found.is_mate
    assert_mates(board, found.moves)
    shortest = solver.solve(board, max_nodes=1_000_000, shortest=True)
    assert shortest.is_shortest
    assert_mates(board, shortest.moves)
    assert len(shortest.moves) <= len(found.moves)
    # (The composers' lengths are no measure: two have shorter solutions, and useless
    # interpositions, which they leave out, count here.)
    below = len(shortest.moves) - 2
    if below > 0:
        assert solver.solve(board, max_ply=below).status == MateStatus.NO_MATE
    if 0 < below <= 5:
        assert mate_within(board, below) is None


@pytest.mark.parametrize("problem", LONG, ids=lambda problem: problem.sfen)
def test_long_problems(solver: MateSolver, problem: Problem) -> None:
    board = Board(problem.sfen)
    found = solver.solve(board, max_nodes=200_000)  # about a fifth of a second
    assert found.is_mate
    assert_mates(board, found.moves)
    below = problem.plies - 2
    assert solver.solve(board, max_ply=below).status == MateStatus.NO_MATE
    assert len(found.moves) > below


@pytest.mark.skipif(not ALL_SHORT.exists(), reason="the whole collection isn't here")
def test_the_whole_collection(solver: MateSolver) -> None:
    for problem in read_problems(ALL_SHORT):
        board = Board(problem.sfen)
        found = solver.solve(board, max_nodes=1_000_000)
        assert found.is_mate, problem.sfen
        assert_mates(board, found.moves)


def assert_agrees(solver: MateSolver, board: Board, plies: int) -> bool:
    """The solver, unlimited and limited, and the leaf search against the oracle."""
    expected = oracle_mates(board.copy(), plies)
    limited = solver.solve(board, max_ply=plies)
    assert limited.status == (MateStatus.MATE if expected else MateStatus.NO_MATE), board.sfen()
    leaf = mate_within(board, plies)
    assert (leaf is not None) == expected, board.sfen()
    free = solver.solve(board, max_nodes=20_000)
    if expected:
        assert len(limited.moves) <= plies
        assert free.is_mate, board.sfen()
        assert leaf is not None
        after = board.copy()
        after.push(leaf)
        assert after.is_check()
    for found in (limited, free):
        if found.is_mate:
            assert_mates(board, found.moves)
    return expected


def test_agrees_with_the_oracle_without_black_king(solver: MateSolver) -> None:
    mates = sum(assert_agrees(solver, board, 3) for board in random_attacks(700, seed=3))
    assert 30 < mates < 670


def test_agrees_with_the_oracle_in_games(solver: MateSolver) -> None:
    mates = 0
    for number, board in enumerate(random_games(40, 240, seed=4)):
        if number % 7 == 0:
            mates += assert_agrees(solver, board, 3)
    assert mates > 5


@pytest.mark.slow
def test_agrees_with_the_oracle_at_five_plies(solver: MateSolver) -> None:
    mates = sum(assert_agrees(solver, board, 5) for board in random_attacks(1500, seed=5))
    assert mates > 100


def test_white_mates_too(solver: MateSolver) -> None:
    for board in random_attacks(150, seed=6):
        mirrored = Board(_rotated(board.sfen()))
        assert mirrored.turn == 1
        first, second = (solver.solve(b, max_nodes=20_000).status for b in (board, mirrored))
        # The order of moves differs, so one may meet the limit where the other doesn't.
        assert first == second or MateStatus.UNKNOWN in (first, second)


def _rotated(sfen: str) -> str:
    """The same position turned by 180 degrees with the colours swapped."""
    cells, turn, hands, _ = sfen.split()
    turned, promoted = "", False
    pieces: list[str] = []
    for character in cells:
        if character == "+":
            promoted = True
            continue
        pieces.append(("+" if promoted else "") + character.swapcase())
        promoted = False
    turned = "".join(reversed(pieces))
    return f"{turned} {'w' if turn == 'b' else 'b'} {_hands_swapped(hands)} 1"


def _hands_swapped(hands: str) -> str:
    groups, number = {True: "", False: ""}, ""
    for character in hands:
        if character.isdigit():
            number += character
        elif character != "-":
            groups[character.islower()] += number + character.swapcase()
            number = ""
    return groups[True] + groups[False] or "-"


def test_deterministic() -> None:
    solver = MateSolver(hash_mb=1)
    boards = [Board(problem.sfen) for problem in SHORT]
    first = [solver.solve(board, max_nodes=3_000) for board in boards]
    for board, before in zip(reversed(boards), reversed(first), strict=True):
        again = solver.solve(board, max_nodes=3_000)
        assert (again.status, again.moves, again.nodes) == (
            before.status,
            before.moves,
            before.nodes,
        )


def test_a_tiny_table_is_slower_never_wrong() -> None:
    tiny = MateSolver(hash_mb=1 / 64)
    for problem in SHORT:
        board = Board(problem.sfen)
        found = tiny.solve(board, max_nodes=3_000_000)
        assert found.is_mate, problem.sfen
        assert_mates(board, found.moves)
    assert 0 <= tiny.hashfull <= 1000


# A bare king and an attacker with half of the set in hand: a search without end in practice.
ENDLESS = "9/9/9/9/4k4/9/9/9/9 b RB2S4N4L18Prb4g2s 1"


def test_node_limit() -> None:
    found = solve(Board(ENDLESS), max_nodes=10_000)
    assert found.status == MateStatus.UNKNOWN
    assert found.nodes < 11_000


@pytest.mark.parametrize("exponent", [40, 44, 62])
def test_a_long_time_is_no_short_one(exponent: int) -> None:
    assert solve(Board(ENDLESS), max_nodes=10_000, time_ms=2**exponent).nodes >= 10_000


def test_stop_flag_ends_a_solve() -> None:
    stop = StopFlag()
    solver = MateSolver(hash_mb=256)
    board = Board(ENDLESS)
    found = []
    thread = threading.Thread(target=lambda: found.append(solver.solve(board, stop=stop)))
    thread.start()
    time.sleep(0.3)
    assert thread.is_alive()
    with pytest.raises(RuntimeError):
        solver.solve(board)
    stop.set()
    thread.join(timeout=5)
    assert found[0].status == MateStatus.UNKNOWN


def test_time_limit() -> None:
    found = solve(Board(ENDLESS), 0, time_ms=100)
    assert found.status == MateStatus.UNKNOWN


def test_no_king_to_mate() -> None:
    with pytest.raises(PositionError, match="no king"):
        solve(Board("9/9/9/9/9/9/9/9/4K4 b G 1"))


def test_answers_of_go_mate() -> None:
    mate = solve(Board("7nl/7k1/9/6S2/9/9/9/9/9 b 2G2r2b2g3s3n3l18p 1"))
    assert mate.usi().startswith("checkmate G*2c ")
    assert solve(Board()).usi() == "checkmate nomate"
    assert solve(Board(ENDLESS), max_nodes=1).usi() == "checkmate timeout"


def test_a_fraction_of_the_cpu_is_kept_to() -> None:
    board = Board("9/9/9/9/4k4/9/9/9/4K4 b 2RBG2S2N5P 1")  # unsolved for seconds
    worked = time.thread_time()
    paced = MateSolver(16).solve(board, time_ms=400, cpu_fraction=0.05)
    worked = time.thread_time() - worked
    assert paced.status == MateStatus.UNKNOWN
    assert paced.nodes > 100_000
    assert worked < 0.3
    with pytest.raises(ValueError, match="cpu_fraction"):
        MateSolver(16).solve(board, cpu_fraction=0.0)
    # Pauses don't change the result.
    same = [MateSolver(16).solve(board, 150_000, cpu_fraction=f).nodes for f in (1.0, 0.5)]
    assert same[0] == same[1]


@pytest.mark.parametrize("limit", ["max_nodes", "max_ply", "time_ms"])
def test_a_negative_limit_is_named(limit: str) -> None:
    with pytest.raises(ValueError, match=f"^{limit} is -1, at least 0 is needed"):
        solve(Board(), **{limit: -1})


@pytest.mark.parametrize("plies", [-1, 100, 2**31 - 1])
def test_the_leaf_search_names_a_wrong_number_of_plies(plies: int) -> None:
    with pytest.raises(ValueError, match=f"0 to 99, not {plies}"):
        mate_within(Board(), plies)


def test_the_leaf_search_without_a_check_ends_at_once() -> None:
    assert mate_within(Board(), 99) is None
    assert mate_within(Board(), 0) is None
