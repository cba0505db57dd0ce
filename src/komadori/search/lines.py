"""Lines of analysis out of a tree: a root's best moves with what is expected after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from komadori._core.tree import Proof, RootMove, Tree
from komadori.encoding import score_from_win_rate
from komadori.rules import Move

#: Longest line.
MAX_PV = 64
#: Scores are clamped to the score of 1 - 1e-5: this many times the coefficient.
SCORE_LIMIT = 11.5129


@dataclass(frozen=True)
class RootLine:
    """A root's move and what is expected after it, in the view of the side that makes it."""

    win_rate: float
    mate_plies: int | None
    """Plies to a mate: positive where the side to move wins, negative where it loses."""
    score_cp: int | None
    """None where `mate_plies` says it."""
    visits: int
    pv: tuple[Move, ...]
    """The line's own move first."""


def score_cp(win_rate: float, eval_coef: float) -> int:
    """Centipawns of a win rate, within the scores of 1e-5 and 1 - 1e-5."""
    return round(score_from_win_rate(win_rate, eval_coef, limit_cp=SCORE_LIMIT * eval_coef))


def root_lines(
    tree: Tree,
    root: int,
    count: int,
    eval_coef: float,
    mate: Sequence[Move] = (),
    first: int | None = None,
) -> list[RootLine]:
    """Up to `count` lines in the order in which the moves would be played.

    `mate`: one that was found beside the tree; it comes first unless the tree knows one as short.
    `first`: the move (move16) that is going to be played, where it isn't the best one.
    """
    moves = tree.root_moves(root)
    lines: list[RootLine] = []
    if mate and not (moves[0].proof == Proof.WIN and moves[0].proof_plies <= len(mate)):
        visits = sum(m.visits for m in moves if m.move16 == mate[0].move16)
        lines.append(RootLine(1.0, len(mate), None, visits, tuple(mate)))
        moves = [m for m in moves if m.move16 != mate[0].move16]
    elif first is not None:
        moves.sort(key=lambda m: m.move16 != first)  # the rest stays as it is
    shown = [m for m in moves if m.visits or m.proof != Proof.NONE]
    if not lines and not shown:
        shown = moves[:1]
    return lines + [_line(tree, root, m, eval_coef) for m in shown[: count - len(lines)]]


def _line(tree: Tree, root: int, move: RootMove, eval_coef: float) -> RootLine:
    plies = None
    if move.proof in (Proof.WIN, Proof.LOSS):
        plies = move.proof_plies if move.proof == Proof.WIN else -move.proof_plies
    win_rate = move.value if move.visits or plies is not None else tree.root_value(root)
    pv = tree.variation(root, move.move16, MAX_PV)
    return RootLine(
        win_rate=win_rate,
        mate_plies=plies,
        score_cp=None if plies else score_cp(win_rate, eval_coef),
        visits=move.visits,
        pv=tuple(Move.from_move16(m) for m in pv),
    )
