"""Openings of generated games: opening files, SFENs, positions of other games."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from komadori._core import generate as _core
from komadori.arena.openings import (
    OnSkipped,
    Opening,
    OpeningError,
    is_text,
    read_opening_games,
    read_openings,
)
from komadori.records.files import paths_of
from komadori.rules import RulesError
from komadori.wording import names_arguments


@names_arguments
class Lines:
    """Openings for the core, with their fingerprint.

    Each line of a text file, as read by `arena.read_openings`, and each game of a file of games is
    an opening. The settings' `opening_plies` limits how many of its moves are played.
    """

    def __init__(
        self, files: Path | str | Iterable[Path | str] = (), on_skipped: OnSkipped | None = None
    ) -> None:
        """`on_skipped` is called for each damaged part of a file of games.

        Raises OpeningError that names file and line of an illegal opening.
        """
        self.core = _core.Openings()
        self.openings: list[Opening] = []
        self.files = [str(path) for path in paths_of(files)]
        digest = hashlib.sha256()
        for path in map(Path, self.files):
            for number, opening in enumerate(_read(path, on_skipped), 1):
                try:
                    self.core.add(opening.sfen, list(opening.moves))
                except RulesError as error:
                    raise OpeningError(f"{path}, opening {number}: {error}") from error
                self.openings.append(opening)
                digest.update(str(opening).encode() + b"\n")
        self.fingerprint = digest.hexdigest()[:16] if self.files else ""

    def __len__(self) -> int:
        return len(self.core)


def _read(path: Path, on_skipped: OnSkipped | None) -> list[Opening]:
    if is_text(path):
        return read_openings(path)
    games = read_opening_games(path, on_skipped)
    if not games:
        raise OpeningError(f"{path}: holds no game")
    return [Opening(game.initial_sfen, tuple(game.usi_moves())) for game in games]
