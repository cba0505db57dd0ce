"""Evaluation of an analysed game: losses, mistakes, accuracy, phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from komadori.analysis.positions import Found, Line
from komadori.records import Game
from komadori.rules import BLACK, COLORS, HAND_TYPES, Board, Move, PieceType, Repetition
from komadori.rules.pieces import check_color
from komadori.wording import names_arguments


class Grade(NamedTuple):
    """A class of mistakes: its name and minimum loss of win rate, in [0, 1]."""

    name: str
    japanese: str
    loss: float


#: The classes of mistakes, worst first, with ShogiHome's thresholds and Japanese names.
GRADES = (
    Grade("major blunder", "大悪手", 0.50),
    Grade("blunder", "悪手", 0.20),
    Grade("mistake", "疑問手", 0.10),
    Grade("inaccuracy", "緩手", 0.05),
)

#: Bounds of the histogram of losses, in win rate: below 1 point, 1 to 2, ..., 50 and more.
LOSS_BINS = (0.0, 0.01, 0.02, 0.05, 0.10, 0.20, 0.50)


class Phase(IntEnum):
    """The part of a game a move belongs to."""

    OPENING = 0
    MIDDLEGAME = 1
    ENDGAME = 2


#: Number of pieces out (in hand, without pawns, or promoted) from which the endgame begins.
_ENDGAME_BEGINS = 6
_BISHOPS = (PieceType.BISHOP, PieceType.HORSE)

#: Value to the side to move of a position where the game ended by repetition.
_REPEATED = {
    Repetition.DRAW: Found(0.5, 0, ()),
    Repetition.WIN: Found(1.0, 0, ()),
    Repetition.LOSS: Found(0.0, 0, ()),
}


def grade_of(loss: float) -> Grade | None:
    """Return the class for a loss of win rate; None below all thresholds."""
    return next((grade for grade in GRADES if loss >= grade.loss), None)


def points_lost(loss: float) -> str:
    """Return a loss of win rate in percentage points, rounded down to one decimal so that it
    agrees with its grade."""
    return f"{math.floor(1000 * loss) / 10:.1f}"


def move_accuracy(loss: float) -> float:
    """Return accuracy in per cent, by lichess's curve (lichess.org/page/accuracy)."""
    return min(100.0, max(0.0, 103.1668 * math.exp(-4.354 * loss) - 3.1669))


@dataclass(frozen=True)
class Mistake:
    """A move that lost win rate. Rates are those of the side that made it."""

    ply: int
    """Number of the move in the game, 1 for the first."""
    turn: int
    played: Move
    before: float
    """The win rate with the best move."""
    after: float
    """The win rate with the move played."""
    best: Line
    reply: Line | None
    """The best reply; None if the game was over."""

    @property
    def loss(self) -> float:
        return self.before - self.after

    @property
    def grade(self) -> str:
        grade = grade_of(self.loss)
        return grade.name if grade else ""


@dataclass(frozen=True)
class PhaseSummary:
    """A side's moves in one phase."""

    moves: int
    mean_loss: float
    mistakes: tuple[int, ...]
    """By class, in the order of GRADES."""


@dataclass(frozen=True)
class SideSummary:
    """A side's moves in a game; only those with a known loss are counted."""

    moves: int
    same: int
    """Moves that were the analysis's first choice."""
    compared: int
    """Moves where its first choice is known."""
    accuracy: float
    """Mean of `move_accuracy`, per cent; NaN without moves."""
    mean_loss: float
    """Win rate lost per move, in [0, 1]."""
    mistakes: tuple[int, ...]
    """By class, in the order of GRADES."""
    histogram: tuple[int, ...]
    """Moves by their loss, in the bins of LOSS_BINS."""
    phases: tuple[PhaseSummary, ...]
    """In the order of Phase."""


@names_arguments
@dataclass(frozen=True)
class AnalysedGame:
    """A game with the analysis of every position."""

    game: Game
    found: Sequence[Found | None]
    """One entry more than moves; None if unknown."""
    engine: str = ""
    """The analysing engine, if the record names it."""
    is_of_record: bool = False
    """The analysis was read from the record's comments."""

    def __post_init__(self) -> None:
        if len(self.found) != len(self.game) + 1:
            raise ValueError(
                f"{len(self.found)} positions were analysed of a game of {len(self.game)} moves"
            )
        # The rules decide a game that ends by repetition, since they know its history.
        ended = _REPEATED.get(self.game.final_board().repetition())
        if ended is not None:
            object.__setattr__(self, "found", [*self.found[:-1], ended])

    @cached_property
    def boards(self) -> list[Board]:
        """Return the board before each move and at the end, each with its history."""
        boards = [board.copy() for board, _ in self.game.positions()]
        return [*boards, self.game.final_board()]

    @cached_property
    def moves(self) -> list[Move]:
        return [move for _, move in self.game.positions()]

    @cached_property
    def phases(self) -> list[Phase]:
        """Return the phase of each move, by captured and promoted pieces; phases never go back.

        The middlegame begins when a piece other than a pawn or a bishop is out: a bishop exchange
        belongs to the opening.
        """
        phases = []
        phase = Phase.OPENING
        for board in self.boards[:-1]:
            out = _pieces_out(board)
            if len(out) >= _ENDGAME_BEGINS:
                phase = Phase.ENDGAME
            elif any(kind not in _BISHOPS for kind in out):
                phase = max(phase, Phase.MIDDLEGAME)
            phases.append(phase)
        return phases

    def black_win_rate(self, ply: int) -> float | None:
        """Return Black's win rate after this many moves; None if unknown."""
        found = self.found[ply]
        if found is None:
            return None
        return found.win_rate if self.boards[ply].turn == BLACK else 1 - found.win_rate

    def loss(self, i: int) -> float | None:
        """Return the win rate lost by the move after `i` moves; 0 for the search's best move.

        None if the position before or after it is unknown.
        """
        before, after = self.found[i], self.found[i + 1]
        if before is None or after is None:
            return None
        return 0.0 if self._is_best(i) else max(0.0, before.win_rate - (1 - after.win_rate))

    def _is_best(self, i: int) -> bool:
        """Return whether the move after `i` moves was the search's best."""
        found = self.found[i]
        best = found.best if found else None
        return bool(best and best.pv and best.pv[0] == self.moves[i].usi())

    @cached_property
    def losses(self) -> list[float | None]:
        """Return `loss` for every move."""
        return [self.loss(i) for i in range(len(self.game))]

    def mistakes(self, least: float = GRADES[-1].loss) -> list[Mistake]:
        """Return the moves that lost at least this much win rate, in game order."""
        made = []
        for i, move in enumerate(self.moves):
            before, after = self.found[i], self.found[i + 1]
            loss = self.losses[i]
            if before is None or after is None or before.best is None:
                continue
            if loss is None or loss < least:
                continue
            made.append(
                Mistake(
                    ply=i + 1,
                    turn=self.boards[i].turn,
                    played=move,
                    before=before.win_rate,
                    after=1 - after.win_rate,
                    best=before.best,
                    reply=after.best,
                )
            )
        return made

    def side(self, turn: int) -> SideSummary:
        """Return the statistics of a side's moves."""
        check_color("turn", turn)
        own = [i for i in range(len(self.game)) if self.boards[i].turn == turn]
        known = [(i, loss) for i in own if (loss := self.losses[i]) is not None]
        losses = [loss for _, loss in known]
        histogram = [0] * len(LOSS_BINS)
        for loss in losses:
            histogram[max(k for k, bound in enumerate(LOSS_BINS) if loss >= bound)] += 1
        same, compared = self.agreement(turn)
        phases = []
        for phase in Phase:
            part = [loss for i, loss in known if self.phases[i] == phase]
            phases.append(PhaseSummary(len(part), _mean(part), _by_grade(part)))
        return SideSummary(
            moves=len(known),
            same=same,
            compared=compared,
            accuracy=_mean([move_accuracy(loss) for loss in losses]) if losses else math.nan,
            mean_loss=_mean(losses),
            mistakes=_by_grade(losses),
            histogram=tuple(histogram),
            phases=tuple(phases),
        )

    def agreement(self, turn: int) -> tuple[int, int]:
        """Return how many of a side's moves with a known loss were the best move, and the number
        of those whose best move is known: records may have scores without lines."""
        check_color("turn", turn)
        known = [
            i for i, loss in enumerate(self.losses)
            if loss is not None and self.boards[i].turn == turn and self._has_best(i)
        ]  # fmt: skip
        return sum(self._is_best(i) for i in known), len(known)

    def _has_best(self, i: int) -> bool:
        found = self.found[i]
        return bool(found and found.best and found.best.pv)

    def mean_loss(self, turn: int) -> float:
        """Return a side's mean loss of win rate per move."""
        return self.side(turn).mean_loss


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _by_grade(losses: Sequence[float]) -> tuple[int, ...]:
    grades = [grade_of(loss) for loss in losses]
    return tuple(sum(grade == wanted for grade in grades) for wanted in GRADES)


def _pieces_out(board: Board) -> list[PieceType]:
    """Pieces in hand other than pawns, and promoted pieces on the board."""
    held = [
        kind
        for color in COLORS
        for kind in HAND_TYPES
        if kind is not PieceType.PAWN
        for _ in range(board.hand(color, kind))
    ]
    pieces = (board.piece_at(square) for square in range(81))
    return held + [piece.type for piece in pieces if piece is not None and piece.type.is_promoted]


def in_japanese(board: Board, pv: Sequence[str]) -> str:
    """Format a line as in KIF, with a side mark before each move."""
    return "".join(_each_move(board, pv, Board.kif))


def in_ki2(board: Board, pv: Sequence[str]) -> list[str]:
    """Format a line's moves as in KI2: ▲７六歩, △同銀右."""
    return _each_move(board, pv, Board.ki2)


def in_western(board: Board, pv: Sequence[str]) -> list[str]:
    """Format a line's moves as P-7f, without side marks."""
    return _each_move(board, pv, Board.western, ("", ""))


def _each_move(
    board: Board,
    pv: Sequence[str],
    write: Callable[[Board, Move], str],
    marks: tuple[str, str] = ("▲", "△"),
) -> list[str]:
    board = board.copy()
    words = []
    for usi in pv:
        move = board.parse_usi(usi)
        words.append(marks[board.turn] + write(board, move))
        board.push(move)
    return words
