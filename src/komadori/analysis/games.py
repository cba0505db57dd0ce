"""What the positions of a game say about its moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from komadori.analysis.positions import Found, Line
from komadori.records import Game
from komadori.rules import BLACK, WHITE, Board, Move, Repetition

#: Loss of win rate from which on a move is one of these, the worst first.
GRADES = ((0.20, "blunder"), (0.10, "mistake"), (0.05, "inaccuracy"))

#: Centipawns that stand for a mate in formats that have no word for it.
MATE_CP = 30_000


#: What a position is worth to the side to move where the game has ended there by repetition.
_REPEATED = {
    Repetition.DRAW: Found(0.5, 0, ()),
    Repetition.WIN: Found(1.0, 0, ()),
    Repetition.LOSS: Found(0.0, 0, ()),
}


@dataclass(frozen=True)
class Mistake:
    """A move that gave win rate away. Rates are those of the side that made it."""

    ply: int
    """Number of the move in the game, 1 for the first."""
    turn: int
    played: Move
    before: float
    """The win rate with the best move."""
    after: float
    """With the move that was played."""
    best: Line
    reply: Line | None
    """What the opponent should have answered; None where the game was over."""

    @property
    def loss(self) -> float:
        return self.before - self.after

    @property
    def grade(self) -> str:
        return next((name for least, name in GRADES if self.loss >= least), "")


@dataclass(frozen=True)
class AnalysedGame:
    """A game and what was found before each of its moves and at its end."""

    game: Game
    found: Sequence[Found]
    """One more than the game has moves."""

    def __post_init__(self) -> None:
        if len(self.found) != len(self.game) + 1:
            raise ValueError(
                f"{len(self.found)} positions were analysed of a game of {len(self.game)} moves"
            )
        # A game that ends by repetition is judged by the rules, which know its path.
        ended = _REPEATED.get(self.game.final_board().repetition())
        if ended is not None:
            object.__setattr__(self, "found", [*self.found[:-1], ended])

    @cached_property
    def boards(self) -> list[Board]:
        """The board before each move and at the end, each with its path."""
        boards = []
        for board, _ in self.game.positions():
            boards.append(board.copy())
        return [*boards, self.game.final_board()]

    @cached_property
    def moves(self) -> list[Move]:
        return [move for _, move in self.game.positions()]

    def black_win_rate(self, ply: int) -> float:
        """After so many moves."""
        rate = self.found[ply].win_rate
        return rate if self.boards[ply].turn == BLACK else 1 - rate

    def loss(self, i: int) -> float:
        """The win rate that the move after `i` moves gave away; 0 for the search's own."""
        best = self.found[i].best
        if best is not None and best.pv and best.pv[0] == self.moves[i].usi():
            return 0.0
        return max(0.0, self.found[i].win_rate - (1 - self.found[i + 1].win_rate))

    def mistakes(self, least: float = GRADES[-1][0]) -> list[Mistake]:
        """The moves that lost at least so much win rate, in the order of the game."""
        made = []
        for i, move in enumerate(self.moves):
            best = self.found[i].best
            if best is None:
                continue
            before, after = self.found[i].win_rate, 1 - self.found[i + 1].win_rate
            if self.loss(i) < least:
                continue
            turn = self.boards[i].turn
            reply = self.found[i + 1].best
            made.append(Mistake(i + 1, turn, move, before, after, best, reply))
        return made

    def agreement(self, turn: int) -> tuple[int, int]:
        """How many of a side's moves were the search's own, and how many it made."""
        own = [i for i in range(len(self.game)) if self.boards[i].turn == turn]
        same = [
            i
            for i in own
            if (best := self.found[i].best) and best.pv and best.pv[0] == self.moves[i].usi()
        ]
        return len(same), len(own)

    def mean_loss(self, turn: int) -> float:
        """Win rate that a side's moves gave away, on average."""
        losses = [self.loss(i) for i in range(len(self.game)) if self.boards[i].turn == turn]
        return sum(losses) / len(losses) if losses else 0.0


def black_score(found: Found, turn: int) -> str:
    """The score for `評価値=`, Black's view: centipawns, or 詰 with the plies."""
    sign = 1 if turn == BLACK else -1
    best = found.best
    if best is None and found.win_rate == 0.5:
        return "+0"
    if best is None:
        return "+詰" if (found.win_rate > 0.5) == (sign > 0) else "-詰"
    if best.mate_plies is not None:
        winning = (best.mate_plies > 0) == (sign > 0)
        return f"{'+' if winning else '-'}詰{abs(best.mate_plies)}"
    assert best.score_cp is not None
    return f"{sign * best.score_cp:+d}"


def annotated(analysed: AnalysedGame, label: str = "komadori", *, is_csa: bool = False) -> Game:
    """The game with what was found after each move, by the conventions of its format.

    KIF and the others: comments `*#評価値=`, `*#読み筋=`, as ShogiHome writes its research; what
    players said stays. CSA: `'** <centipawns, Black's view> <line>` after each move, as
    floodgate has it, in place of the scores that the record had; the rest as comments.
    """
    game = analysed.game
    comments = dict(game.comments)
    scores = game.scores_cp.copy()
    pvs = dict(game.pvs)
    made = {mistake.ply: mistake for mistake in analysed.mistakes()}
    for ply in range(1, len(game) + 1):
        found, board = analysed.found[ply], analysed.boards[ply]
        pv = found.best.pv if found.best else ()
        added = []
        if is_csa:
            scores[ply - 1] = -_centipawns(found)
            pvs.pop(ply, None)
            if pv:
                pvs[ply] = " ".join(pv)
        else:
            added.append(f"#評価値={black_score(found, board.turn)}")
            if pv:
                added.append(f"#読み筋={in_japanese(board, pv)}")
        if ply in made:
            mistake = made[ply]
            before = analysed.boards[ply - 1]
            added.append(
                f"{label}: {mistake.grade}, {100 * mistake.before:.0f}% -> "
                f"{100 * mistake.after:.0f}%; better: {in_japanese(before, mistake.best.pv[:1])}"
            )
        if added:
            comments[ply] = "\n".join([*filter(None, [comments.get(ply)]), *added])
    return replace(game, comments=comments, scores_cp=scores, pvs=pvs)


def _centipawns(found: Found) -> int:
    best = found.best
    if best is not None and best.mate_plies is None:
        assert best.score_cp is not None
        return max(-MATE_CP, min(MATE_CP, best.score_cp))
    if best is None and found.win_rate == 0.5:
        return 0
    return MATE_CP if found.win_rate > 0.5 else -MATE_CP


def in_japanese(board: Board, pv: Sequence[str]) -> str:
    """A line as KIF writes it, a mark for the side before each move."""
    board = board.copy()
    words = []
    for usi in pv:
        move = board.parse_usi(usi)
        words.append(("△" if board.turn == WHITE else "▲") + board.kif(move))
        board.push(move)
    return "".join(words)
