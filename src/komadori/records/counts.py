"""Counts over games and positions."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from komadori._core.records import PositionSet
from komadori.records.game import NO_SCORE, NO_TIME, Game, Winner
from komadori.records.samples import Samples, samples_of
from komadori.rules import BLACK, WHITE, RulesError

__all__ = ["Counts"]

#: Absolute score from which a side counts as ahead, for comparison with results.
DECIDED_CP = 300


@dataclass(slots=True)
class Counts:
    """Counts over the games and positions added so far.

    plies     moves of games, and positions of one-position formats
    trained   positions that are samples
    distinct  distinct positions among the samples, if counted
    """

    count_distinct: bool = False
    games: int = 0
    positions: int = 0
    plies: int = 0
    trained: int = 0
    scored: int = 0
    timed: int = 0
    decided: int = 0
    decided_right: int = 0
    other_move: int = 0
    lengths: list[int] = field(default_factory=list)
    winners: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    players: Counter[str] = field(default_factory=Counter)
    ratings: list[float] = field(default_factory=list)
    _seen: PositionSet = field(default_factory=PositionSet)

    @property
    def distinct(self) -> int | None:
        return len(self._seen) if self.count_distinct else None

    def add_game(self, game: Game) -> None:
        plies = len(game)
        self.games += 1
        self.plies += plies
        self.lengths.append(plies)
        self.winners[game.winner.name] += 1
        self.ends[game.end.name] += 1
        self.players.update(name for name in (game.black, game.white) if name)
        self.ratings += [r for r in (game.rating(BLACK), game.rating(WHITE)) if r is not None]
        has_score = game.scores_cp != NO_SCORE
        self.scored += int(has_score.sum())
        self.timed += int((game.times_ms != NO_TIME).sum())
        if game.winner in (Winner.BLACK, Winner.WHITE):
            black_moves = (np.arange(plies) + (game.first_turn == WHITE)) % 2 == 0
            mover_won = black_moves == (game.winner == Winner.BLACK)
            decided = has_score & (np.abs(game.scores_cp, dtype=np.int64) > DECIDED_CP)
            self.decided += int(decided.sum())
            self.decided_right += int(((game.scores_cp > 0) == mover_won)[decided].sum())
        known = game.candidates
        if known is None:
            self.trained += plies * (game.winner != Winner.UNKNOWN)
        else:
            self.trained += int((known.count > 0).sum())
            one = known.count == 1
            first = np.cumsum(known.count, dtype=np.int64) - known.count
            self.other_move += int((known.move16[first[one]] != game.moves[one]).sum())
        if self.count_distinct:
            with contextlib.suppress(RulesError):  # a position that hcp can't hold
                self._seen.add(samples_of([game]).hcp)

    def add_samples(self, samples: Samples) -> None:
        self.positions += len(samples)
        self.plies += len(samples)
        self.trained += len(samples)
        self.scored += len(samples)
        white_moves = samples.hcp[:, 0] & 1
        black_won = np.where(white_moves, 1 - samples.result, samples.result)
        for value, winner in ((1.0, "BLACK"), (0.0, "WHITE"), (0.5, "DRAW")):
            self.winners[winner] += int((black_won == value).sum())
        decided = (np.abs(samples.score_cp.astype(np.int32)) > DECIDED_CP) & (samples.result != 0.5)
        self.decided += int(decided.sum())
        right = (samples.score_cp > 0) == (samples.result == 1)
        self.decided_right += int(right[decided].sum())
        if self.count_distinct:
            self._seen.add(samples.hcp)
