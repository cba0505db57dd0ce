"""Root searches of self-play: root moves of the playouts, the move to play, the policy target.

`NoisyRoot`: AlphaZero (arXiv 1712.01815) with the policy target pruning of KataGo (arXiv
1902.10565). `GumbelRoot`: Gumbel AlphaZero (Danihelka et al., "Policy improvement by planning with
Gumbel", ICLR 2022).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from komadori._core.tree import Proof, RootMove, Tree
from komadori.encoding import softmax
from komadori.generate.selfplay_settings import SelfPlaySettings

#: Approximate sum of the visits of a ply's candidates in hcpe3.
CANDIDATE_VISITS = 1000


@dataclass(frozen=True)
class Choice:
    """The result of a root search."""

    move16: int
    """The move to play."""
    best16: int
    """The best move; `move16` may be another one, drawn for variety."""
    win_rate: float
    """The side to move's, in [0, 1]."""
    candidates: tuple[tuple[int, int], ...] = ()
    """The policy target as (move16, visits), most visited first; empty if the ply gives no
    sample."""


class RootSearch(Protocol):
    """The search of one position of a game."""

    def next_move(self) -> int | None:
        """Return the root move (move16) of the next playout, 0 to let PUCT choose; None if the
        search is over."""
        ...

    def choose(self) -> Choice:
        """Return the result of the search. Precondition: the root has been evaluated."""
        ...


def make_root(
    tree: Tree,
    settings: SelfPlaySettings,
    rng: np.random.Generator,
    ply: int,
) -> RootSearch:
    """Start the search of the tree's root 0. ply: number of moves made in the game so far."""
    is_full = bool(rng.random() < settings.full_fraction)
    if settings.root == "gumbel":
        return GumbelRoot(tree, settings, rng, ply, is_full)
    return NoisyRoot(tree, settings, rng, ply, is_full)


class NoisyRoot:
    """AlphaZero's root: Dirichlet noise on the priors of full searches, moves drawn by visits."""

    def __init__(
        self,
        tree: Tree,
        settings: SelfPlaySettings,
        rng: np.random.Generator,
        ply: int,
        is_full: bool,
    ) -> None:
        self._tree, self._settings = tree, settings
        self._rng, self._ply, self._is_full = rng, ply, is_full
        self._target = settings.playouts if is_full else settings.fast_playouts
        self._priors: dict[int, float] | None = None
        """The priors without noise."""

    def next_move(self) -> int | None:
        visits = self._tree.root_visits(0)
        if self._priors is None and visits:
            self._add_noise()
        return 0 if visits < self._target else None

    def _add_noise(self) -> None:
        moves = self._tree.root_moves(0)
        self._priors = {m.move16: m.prior for m in moves}
        epsilon = self._settings.noise_fraction
        if not self._is_full or not epsilon:
            return
        alpha = self._settings.noise_alpha / len(moves)
        noise = self._rng.dirichlet(np.full(len(moves), alpha))
        mixed = [(1 - epsilon) * m.prior + epsilon * x for m, x in zip(moves, noise, strict=True)]
        self._tree.set_root_priors(0, [m.move16 for m in moves], mixed)

    def choose(self) -> Choice:
        if self._priors is None:
            self._add_noise()
        moves = self._tree.root_moves(0)
        best = moves[0]
        visited = [m for m in moves if m.visits and m.proof != Proof.LOSS]
        win_rate = (
            best.value if best.visits or best.proof != Proof.NONE else (self._tree.root_value(0))
        )
        move16 = best.move16
        temperature = self._settings.temperature_at(self._ply)
        if best.proof != Proof.WIN and temperature > 0 and len(visited) > 1:
            p = softmax(np.log([m.visits for m in visited]), temperature)
            move16 = visited[int(self._rng.choice(len(visited), p=p))].move16
        candidates: tuple[tuple[int, int], ...] = ()
        if self._is_full:
            visits = (
                self._pruned(moves)
                if self._settings.prune_targets
                else {m.move16: m.visits for m in moves}
            )
            candidates = as_candidates(visits, best.move16)
        return Choice(move16, best.move16, win_rate, candidates)

    def _pruned(self, moves: Sequence[RootMove]) -> dict[int, int]:
        """Subtract visits that are due to the noise (policy target pruning): from every move but
        the best, as many as keep its PUCT score without noise below that of the best move.
        """
        assert self._priors is not None
        best = moves[0]
        total = sum(m.visits for m in moves)
        bonus = self._tree.options.exploration(total, at_root=True)
        limit = best.value + bonus * self._priors[best.move16] / (1 + best.visits)
        kept = {best.move16: best.visits}
        for m in moves[1:]:
            if not m.visits:
                continue
            room = limit - m.value
            enough = bonus * self._priors[m.move16] / room - 1 if room > 0 else m.visits
            visits = min(m.visits, max(math.ceil(enough), 0))
            if visits > 1:
                kept[m.move16] = visits
        return kept


class GumbelRoot:
    """Gumbel AlphaZero's root: sequential halving over moves sampled with the Gumbel-top-k trick;
    the improved policy is the target."""

    def __init__(
        self,
        tree: Tree,
        settings: SelfPlaySettings,
        rng: np.random.Generator,
        ply: int,
        is_full: bool,
    ) -> None:
        self._tree, self._settings = tree, settings
        self._rng, self._ply, self._is_full = rng, ply, is_full
        self._left = settings.playouts if is_full else settings.fast_playouts
        self._moves: list[int] = []
        self._logits: NDArray[np.float64] = np.empty(0)
        self._gumbel: NDArray[np.float64] = np.empty(0)
        self._considered: list[int] = []
        """Indices of the moves not yet eliminated."""
        self._plan: Iterator[int] = iter(())
        """Root moves of the planned playouts."""

    def next_move(self) -> int | None:
        if not self._moves:
            if not self._tree.root_visits(0):
                return 0
            self._sample()
        move = next(self._plan, None)
        if move is None and self._next_round():
            move = next(self._plan)
        if move is not None:
            self._left -= 1
        return move

    def _sample(self) -> None:
        moves = sorted(self._tree.root_moves(0), key=lambda m: m.move16)
        self._moves = [m.move16 for m in moves]
        self._logits = np.log(np.maximum([m.prior for m in moves], 1e-9))
        scale = self._settings.temperature_at(self._ply)
        self._gumbel = self._rng.gumbel(size=len(moves)) * scale
        count = min(self._settings.gumbel_moves, max(self._left, 1), len(moves))
        self._considered = np.argsort(-(self._gumbel + self._logits), kind="stable")[
            :count
        ].tolist()
        self._rounds = max(1, math.ceil(math.log2(count))) if count > 1 else 1
        self._per_round = self._left / self._rounds
        self._is_first = True

    def _next_round(self) -> bool:
        """Plan the playouts of the next round; return False if the search is over."""
        if self._left <= 0:
            return False
        by_move = {m.move16: m for m in self._tree.root_moves(0)}
        if not self._is_first and len(self._considered) > 1:
            scores = self._scores(by_move)
            half = math.ceil(len(self._considered) / 2)
            self._considered = sorted(self._considered, key=lambda i: -scores[i])[:half]
        self._is_first = False
        # Proven moves get no more visits; a proven win ends the search.
        open_moves = [i for i in self._considered if by_move[self._moves[i]].proof == Proof.NONE]
        if not open_moves:
            return False
        per_move = max(1, int(self._per_round / len(self._considered)))
        count = min(per_move * len(open_moves), self._left, sys.maxsize)
        self._plan = islice(cycle([self._moves[i] for i in open_moves]), count)
        return True

    def _scores(self, by_move: dict[int, RootMove]) -> NDArray[np.float64]:
        """g + logits + sigma(q) of every move, float64 [n]."""
        return self._gumbel + self._logits + self._sigma(by_move)

    def _sigma(self, by_move: dict[int, RootMove]) -> NDArray[np.float64]:
        moves = [by_move[move16] for move16 in self._moves]
        visits = np.array([m.visits for m in moves], float)
        known = np.array([m.visits > 0 or m.proof != Proof.NONE for m in moves])
        q = np.array([m.value for m in moves], float)
        # Unvisited moves get the mixed value (appendix D of the paper).
        prior = np.exp(self._logits)
        mixed = self._tree.root_value(0)
        if known.any():
            mean = float((prior * q)[known].sum() / prior[known].sum())
            mixed = (mixed + visits.sum() * mean) / (1 + visits.sum())
        q[~known] = mixed
        settings = self._settings
        scale: float = (settings.gumbel_visits + visits.max()) * settings.gumbel_scale
        return scale * q

    def choose(self) -> Choice:
        if not self._moves:
            self._sample()
        by_move = {m.move16: m for m in self._tree.root_moves(0)}
        ordered = self._tree.root_moves(0)
        sigma = self._sigma(by_move)
        improved = self._logits + sigma
        best = max(self._considered, key=lambda i: improved[i])
        if ordered[0].proof == Proof.WIN:
            played = best = self._moves.index(ordered[0].move16)
        else:
            considered = self._considered
            most = max(by_move[self._moves[i]].visits for i in considered)
            scores = self._gumbel + improved
            finalists = [i for i in considered if by_move[self._moves[i]].visits == most]
            played = max(finalists, key=lambda i: scores[i])
        found = by_move[self._moves[best]]
        known = found.visits > 0 or found.proof != Proof.NONE
        win_rate = found.value if known else self._tree.root_value(0)
        candidates: tuple[tuple[int, int], ...] = ()
        if self._is_full:
            counts = np.round(softmax(improved) * CANDIDATE_VISITS)
            visits = {m: int(n) for m, n in zip(self._moves, counts, strict=True)}
            candidates = as_candidates(visits, self._moves[best])
        return Choice(self._moves[played], self._moves[best], win_rate, candidates)


def as_candidates(visits: dict[int, int], best16: int) -> tuple[tuple[int, int], ...]:
    """Return (move16, visits) of the visited moves and of the best one, most visited first."""
    kept = {move16: n for move16, n in visits.items() if n > 0}
    kept.setdefault(best16, 1)
    return tuple(sorted(kept.items(), key=lambda item: (-item[1], item[0])))
