"""Sources of games."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from komadori._core import generate as _core
from komadori.generate.folder import FinishedGame
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.search.alphabeta import EVALUATIONS, AlphaBetaOptions, make_engines
from komadori.whole_file import read_whole
from komadori.wording import names_arguments


class GameSource(Protocol):
    """Plays numbered games."""

    def add(self, numbers: Sequence[int]) -> None:
        """Queue games, by number."""

    @property
    def waiting(self) -> int:
        """Number of queued games that aren't finished."""

    def take(self, timeout_ms: int) -> Sequence[FinishedGame]:
        """Return the games finished since the last call; wait up to `timeout_ms` for one."""

    def stop(self) -> None:
        """Stop at once; games in progress are lost."""


@dataclass(frozen=True)
class Evaluation:
    """An evaluation of the alpha-beta search.

    name: a key of `search.alphabeta.EVALUATIONS`. weights: None for the bundled ones. fv_scale:
    output units per centipawn of an NNUE.
    """

    name: str = "nnue"
    weights: Path | None = None
    fv_scale: int = 16

    def card(self) -> dict[str, Any]:
        """Return its identity, including a digest of the weights."""
        content = self.content()
        digest = None if content is None else hashlib.sha256(content).hexdigest()[:16]
        return {"evaluation": self.name, "weights": digest, "fv_scale": self.fv_scale}

    def check(self) -> None:
        """Raise ValueError or OSError if the weights can't be loaded."""
        options = AlphaBetaOptions(threads=1, hash_mb=1)
        make_engines(self.name, self.weights, options, 1, fv_scale=self.fv_scale)

    def content(self) -> bytes | None:
        """The bytes of the weights' file; None for an evaluation without one. Raises OSError."""
        if self.weights is not None:
            return read_whole(self.weights)
        shipped = EVALUATIONS.get(self.name)
        if shipped is None:
            return None
        return (resources.files("komadori") / "data" / shipped).read_bytes()


@names_arguments
class BuiltinGames:
    """Plays games with the built-in alpha-beta search, one thread per game (a `GameSource`)."""

    def __init__(
        self,
        settings: TeacherSettings,
        lines: Lines,
        evaluation: Evaluation,
        opponent: Evaluation | None = None,
        threads: int = 1,
    ) -> None:
        """`opponent`: evaluation of the opponent in games that have one (`opponent_fraction`); None
        for the same as `evaluation`. Raises ValueError or OSError if weights can't be read.
        """
        options = AlphaBetaOptions(
            threads=1,
            hash_mb=settings.hash_mb,
            declaration=settings.declaration,
            draw_ply=settings.max_plies,
        )

        def engines(of: Evaluation) -> list[Any]:
            return make_engines(of.name, of.weights, options, threads, fv_scale=of.fv_scale)

        opponents = engines(opponent) if opponent and settings.opponent_fraction else []
        self._games = _core.TeacherGames(
            engines(evaluation), opponents, settings.to_core(), lines.core
        )

    def add(self, numbers: Sequence[int]) -> None:
        self._games.add(list(numbers))

    @property
    def waiting(self) -> int:
        return int(self._games.waiting)

    def take(self, timeout_ms: int) -> Sequence[FinishedGame]:
        return self._games.take(timeout_ms)

    def stop(self) -> None:
        self._games.stop()
