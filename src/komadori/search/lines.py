"""Principal variations of a tree: a root's best moves, each with its expected continuation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from komadori._core.tree import Proof, RootMove, Tree
from komadori.encoding import score_from_win_rate
from komadori.rules import Move

#: Maximum length of a line, in plies.
MAX_PV = 64
#: Scores are clamped to the score of 1 - 1e-5: this many times the coefficient.
SCORE_LIMIT = 11.5129


@dataclass(frozen=True)
class RootLine:
    """A root move with its expected continuation, from the view of the side to move at the root."""

    win_rate: float
    mate_plies: int | None
    """Plies to mate: positive if the side to move wins, negative if it loses."""
    score_cp: int | None
    """None if `mate_plies` is set."""
    visits: int
    pv: tuple[Move, ...]
    """Starts with the root move."""


def score_cp(win_rate: float, eval_coef: float) -> int:
    """Convert a win rate to centipawns, clamped to the scores of 1e-5 and 1 - 1e-5."""
    return round(score_from_win_rate(win_rate, eval_coef, limit_cp=SCORE_LIMIT * eval_coef))


def root_lines(
    tree: Tree,
    root: int,
    count: int,
    eval_coef: float,
    mate: Sequence[Move] = (),
    first: int | None = None,
) -> list[RootLine]:
    """Return up to `count` lines, best move first.

    `mate` is a mating line found by the mate search; it comes first unless the tree has one that
    is as short. `first` is the move (move16) that will be played, if it isn't the best one.
    """
    moves = tree.root_moves(root)
    lines: list[RootLine] = []
    if mate and not (moves[0].proof == Proof.WIN and moves[0].proof_plies <= len(mate)):
        visits = sum(m.visits for m in moves if m.move16 == mate[0].move16)
        lines.append(RootLine(1.0, len(mate), None, visits, tuple(mate)))
        moves = [m for m in moves if m.move16 != mate[0].move16]
    elif first is not None:
        moves.sort(key=lambda m: m.move16 != first)  # keeps the order of the others
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
