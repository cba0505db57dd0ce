"""Endings by the rules within the search: mate, repetition, declaration, move limit."""

import random

import pytest
from oracles import MATE, minimax, random_positions, replay
from test_search import BARE, find, score_of, searcher
from test_staged_moves import is_idle

from komadori.mate import MateStatus, solve
from komadori.rules import Board, Move, Repetition
from komadori.search.alphabeta import AlphaBetaSearcher
from komadori.search.protocol import Info, Limits


def mate_positions(count: int) -> list[tuple[Board, int]]:
    """Positions of random games in which the side to move mates in 3 or 5 plies by checks."""
    found = []
    for board in random_positions(4000, seed=11, plies=140):
        proof = solve(board, max_ply=5, max_nodes=20_000)
        if proof.status == MateStatus.MATE and len(proof.moves) >= 3:
            found.append((board, len(proof.moves)))
            if len(found) == count:
                break
    return found


def test_finds_mates_and_shows_them_to_the_end() -> None:
    cases = mate_positions(60)
    assert len(cases) == 60
    engine = searcher()
    for board, plies in cases:
        engine.new_game()
        engine.set_position(board)
        info = engine.search(Limits(depth=plies + 4)).infos[0]
        assert info.mate_plies is not None, board.sfen()
        assert 0 < info.mate_plies <= plies
        end = replay(board, info.pv)
        if len(info.pv) == info.mate_plies:
            assert end.is_checkmate(), board.sfen()


def test_lines_of_mates_have_the_mating_move() -> None:
    """Mates in one of null-window nodes left no line: `mate 3` with two moves."""
    engine = searcher()
    claims = 0
    for board in random_positions(1500, seed=12, plies=150):
        engine.new_game()
        engine.set_position(board)
        info = engine.search(Limits(nodes=300)).infos[0]
        if info.mate_plies is None or info.bound:
            continue
        claims += 1
        assert len(info.pv) == abs(info.mate_plies), board.sfen()
        assert replay(board, info.pv).is_checkmate(), board.sfen()
    assert claims > 30


def test_every_mate_it_claims_is_one() -> None:
    """Against the line and every other defence, mate comes within the announced plies."""
    engine = searcher()
    claims = 0
    for board in random_positions(600, seed=12, plies=150):
        engine.set_position(board)
        info = engine.search(Limits(nodes=300)).infos[0]
        if info.mate_plies is None or not 0 < info.mate_plies <= 3:
            continue
        claims += 1
        board.push(info.pv[0])
        if info.mate_plies == 1:
            assert board.is_checkmate()
            continue
        for reply in list(board.legal_moves):
            board.push(reply)
            assert board.mate_in_one() or any(_mates(board, m) for m in list(board.legal_moves))
            board.pop()
    assert claims > 10


def _mates(board: Board, move: Move) -> bool:
    board.push(move)
    mate = board.is_checkmate()
    board.pop()
    return mate


def test_no_move_is_a_loss() -> None:
    mated = Board("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1")
    assert mated.is_checkmate()
    result = find(mated, Limits(depth=3))
    assert result.best_move is None
    assert result.resign


@pytest.mark.parametrize(
    "sfen",
    [
        "k8/9/9/9/4R4/9/9/9/8K b - 1",
        "k8/9/9/9/4r4/9/9/9/8K w - 1",
        "k8/1p7/9/9/4G4/9/9/7P1/8K b - 1",
        "k8/9/9/9/3Rr4/9/9/9/8K b - 1",
    ],
)
def test_repetitions_count_as_in_a_plain_search(sfen: str) -> None:
    """A few pieces on the board, so that lines repeat positions of each other and of the game."""
    chance = random.Random(sfen)
    engine = searcher(without=BARE - {"repetition"}, all_moves=True)
    kinds = set()
    for _ in range(6):
        board = wander(Board(sfen), chance.randrange(4, 12), chance)
        for move in list(board.legal_moves):
            board.push(move)
            kinds.add(board.repetition(2))
            board.pop()
        engine.set_position(board)
        info = engine.search(Limits(depth=3)).infos[0]
        assert score_of(info) == minimax(board, 3, repetition=True), board.sfen()
    assert kinds - {Repetition.NONE}


def test_lines_promote_where_promoting_is_as_good() -> None:
    engine = searcher(multipv=50)
    seen = 0
    for board in random_positions(150, seed=31):
        idle = {m for m in board.legal_moves if is_idle(board, m)}
        engine.set_position(board)
        infos = engine.search(Limits(depth=3)).infos
        assert len(infos) == min(50, len(board.legal_moves) - len(idle)), board.sfen()
        assert not idle & {info.pv[0] for info in infos}, board.sfen()
        seen += len(idle)
    assert seen > 100


def test_does_not_promote_to_avoid_mate_by_a_dropped_pawn() -> None:
    """After R3a+ G2a the dropped pawn would mate, which is illegal; and Black must give check,
    since White threatens mate."""
    board = Board("8k/7g1/9/7N1/7N1/6R2/1+ps6/9/K8 b P 1")
    for multipv in (1, 3):
        info = find(board, Limits(depth=7), multipv=multipv).infos[0]
        assert [m.usi() for m in info.pv] == ["3f3a", "2b2a", "P*1b", "1a2b", "3a3c+"]
        assert info.mate_plies == 5


def test_a_non_promotion_searched_alone_is_played() -> None:
    board = Board("9/3k5/9/4R4/9/9/9/4K4/9 b - 1")
    move = next(m for m in board.legal_moves if m.usi() == "5d5c")
    assert find(board, Limits(depth=4, searchmoves=[move])).best_move == move


def wander(board: Board, plies: int, chance: random.Random) -> Board:
    """The board after random moves, more than half of which undo the previous one."""
    steps: list[Move] = []
    for _ in range(plies):
        moves = list(board.legal_moves)
        if len(moves) == 0:
            break
        back = [
            move
            for move in moves
            if len(steps) > 1
            and move.from_square == steps[-2].to_square
            and move.to_square == steps[-2].from_square
            and not move.promotion
        ]
        steps.append(chance.choice(back if back and chance.random() < 0.6 else moves))
        board.push(steps[-1])
    if not board.legal_moves:
        board.pop()
    return board


def test_declares_where_the_rules_allow() -> None:
    full = "+R+R+B+BGGG2/SSSSLLL2/{third}/{fourth}/9/9/9/9/8k b - 1"
    inside = Board(full.format(third="4K4", fourth="9"))
    assert find(inside, Limits(depth=1)).declare_win
    outside = Board(full.format(third="9", fourth="4K4"))
    result = find(outside, Limits(depth=4))
    assert not result.declare_win
    assert result.infos[0].mate_plies == 3
    assert result.best_move is not None
    assert result.best_move.to_square % 9 == 2
    for rule in ("24", "none"):
        other = find(outside, Limits(depth=4), declaration=rule)
        assert other.infos[0].mate_plies is None


def test_the_limit_of_moves_is_a_draw() -> None:
    ahead = Board("k8/9/9/9/4R4/9/9/9/8K b 2B 20")
    found = find(ahead, Limits(depth=3)).infos[0]
    assert (found.mate_plies or 0) > 0 or (found.score_cp or 0) >= 990 + 2 * 855
    for depth in (4, 5, 6):
        assert find(ahead, Limits(depth=depth), draw_ply=21).infos[0].score_cp == 0
    mates = Board("4k4/9/4P4/9/9/9/9/9/4K4 b G 20")
    assert find(mates, Limits(depth=2), draw_ply=20).infos[0].mate_plies == 1


@pytest.mark.parametrize("turn", ["b", "w"])
@pytest.mark.parametrize("draw_ply", [21, 22])
def test_the_draw_value_is_used(turn: str, draw_ply: int) -> None:
    """The draw value is the root side's, whichever side moves into the draw."""
    board = Board(f"k8/9/9/9/9/9/9/9/8K {turn} - 20")
    own, other = ("black", "white") if turn == "b" else ("white", "black")
    for side, value, expected in ((own, 0.4, -243), (own, 0.6, 243), (other, 0.4, 0)):
        options = {f"draw_value_{side}": value, "draw_ply": draw_ply}
        assert find(board, Limits(depth=6), **options).infos[0].score_cp == expected


def test_a_draw_of_lower_value_is_avoided() -> None:
    """Both kings can shuffle: only an imminent repetition scores below the other moves."""
    board = Board("k8/9/9/9/9/9/9/9/8K b - 1")
    for usi in ("1i1h", "9a9b", "1h1i", "9b9a", "1i1h", "9a9b", "1h1i", "9b9a"):
        board.push_usi(usi)
    for value, sign in ((0.4, 0), (0.6, 1)):
        for color in ("black", "white"):
            result = find(board, Limits(depth=1), **{f"draw_value_{color}": value})
            score = result.infos[0].score_cp
            assert score == (243 * sign if color == "black" else 0)
            assert result.best_move is not None
            if color == "black":
                assert (result.best_move.usi() == "1i1h") == (sign > 0)


def test_incremental_evaluation_equals_recomputation() -> None:
    engine = AlphaBetaSearcher("material").engine
    for seed, board in enumerate(random_positions(4, seed=13)):
        assert engine.evaluator_mismatches(board, 300_000, seed) == 0


def rotated(sfen: str) -> str:
    board, turn, hands, ply = sfen.split()
    pieces = []
    for char in board.swapcase():
        if char == "+":
            pieces.append(char)
        elif pieces and pieces[-1] == "+":
            pieces[-1] += char
        else:
            pieces.append(char)
    other = {"b": "w", "w": "b"}[turn]
    return f"{''.join(reversed(pieces))} {other} {hands.swapcase()} {ply}"


def test_evaluation_is_the_same_for_both_sides() -> None:
    engine = searcher()
    for board in random_positions(100, seed=14):
        assert engine.evaluate(board) == engine.evaluate(Board(rotated(board.sfen())))


def test_infos_count_mates_from_the_root() -> None:
    board = Board("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    infos: list[Info] = []
    engine = searcher()
    engine.set_position(board)
    engine.search(Limits(depth=3), on_info=infos.append)
    assert infos[-1].mate_plies == 1
    assert score_of(infos[-1]) == MATE - 1
    assert infos[-1].win_rate == pytest.approx(1.0)
