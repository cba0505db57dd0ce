"""A loop's folder: what each generation has made, in plain files.

    loop.json                the config, which a folder is gone on with
    000/player.*             what generation 0 plays with, where it isn't the learner's own
    001/games/               its games (a `GameFolder`), games.json once they are all there
    001/relabelled/          the same with new labels, relabel.json once they are all there
    001/run/                 the learner's run; player.*, train.json once it has learnt
    001/match/               its games against who plays now; verdict.json: who plays from then on
    001/reference-1/ ...     games against others, references.json once all are played
    index.html               Elo over the generations

A stage is done where its .json is there. It is written last, whole or not at all, so stages may be
killed at any moment, and run by anybody who sees the folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from komadori.atomic import write_text
from komadori.generate.folder import differences, segment_files
from komadori.generate.loop.config import LoopConfig
from komadori.generate.loop.learners import LEARNERS, Learner

#: What a loop may be gone on with differently.
MAY_DIFFER = ("generations", "gate.references", "gate.reference_games")


class LoopError(ValueError):
    """A loop that can't go on. The message says why."""


@dataclass(frozen=True)
class Verdict:
    """How a candidate did against who played before.

    against: the generation. elo, error: of the match, 95 %; None where nothing was played.
    """

    promoted: bool
    against: int
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    elo: float | None = None
    error: float | None = None
    decision: str | None = None


@dataclass(frozen=True)
class Rating:
    """Elo of a generation above generation 0 and its error (95 %), along the chain of matches."""

    generation: int
    elo: float
    error: float
    promoted: bool


class Loop:
    """A config and a folder. Nothing is held in memory: others may write there too."""

    def __init__(self, config: LoopConfig, folder: Path) -> None:
        """Raises LoopError where the folder was begun with another config, OSError."""
        self.config, self.folder = config, folder
        path = folder / "loop.json"
        if not path.exists():
            write_text(path, json.dumps(config.to_dict(), indent=2) + "\n")
        self._check(path)

    def _check(self, path: Path) -> None:
        try:
            begun = json.loads(path.read_text(encoding="utf-8"))
            other = differences(begun, self.config.to_dict())
        except (ValueError, AttributeError) as error:
            raise LoopError(f"{path}: damaged: {error}") from error
        other = [one for one in other if one.split(" ", 1)[0] not in MAY_DIFFER]
        if other:
            raise LoopError(
                f"{self.folder}: was begun with other settings: {'; '.join(other)}; resume with "
                "those, or choose another folder"
            )

    @property
    def learner(self) -> Learner:
        return LEARNERS[self.config.learner]

    def generation(self, number: int) -> Path:
        return self.folder / f"{number:03}"

    def player_path(self, number: int) -> Path:
        return self.generation(number) / f"player.{self.learner.suffix}"

    def player(self, number: int) -> Path | None:
        """What the generation plays with; None for the learner's own beginning."""
        path = self.player_path(number)
        return path if path.exists() else None

    # -- what is done

    def _fact(self, number: int, name: str) -> dict[str, Any] | None:
        path = self.generation(number) / f"{name}.json"
        try:
            facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise LoopError(f"{path}: damaged: {error}") from error
        return facts

    def facts(self, number: int, stage: str) -> dict[str, Any] | None:
        """What a finished stage noted; None where it isn't done."""
        return self._fact(number, stage)

    def note(self, number: int, stage: str, facts: dict[str, Any]) -> None:
        """The stage is done."""
        write_text(self.generation(number) / f"{stage}.json", json.dumps(facts, indent=2) + "\n")

    def verdict(self, number: int) -> Verdict | None:
        facts = self._fact(number, "verdict")
        try:
            return None if facts is None else Verdict(**facts)
        except TypeError as error:
            path = self.generation(number) / "verdict.json"
            raise LoopError(f"{path}: damaged: {error}") from error

    def note_verdict(self, number: int, verdict: Verdict) -> None:
        self.note(number, "verdict", asdict(verdict))

    def best(self, number: int) -> int | None:
        """The generation that plays once this one is judged; None where it isn't yet."""
        while number > 0:
            verdict = self.verdict(number)
            if verdict is None:
                return None
            if verdict.promoted:
                return number
            number -= 1
        return 0

    def learnt_from(self, number: int) -> list[Path]:
        """Files of games that the generation learns from, those given with the loop last."""
        files: list[Path] = []
        name = "relabelled" if self.config.relabel.kind else "games"
        for one in range(max(1, number - self.config.window + 1), number + 1):
            files += segment_files(self.generation(one) / name)
        return files

    def ratings(self) -> list[Rating]:
        """Of all generations that are judged by games, generation 0 first."""
        found = {0: Rating(0, 0.0, 0.0, True)}
        for number in self.judged():
            verdict = self.verdict(number)
            assert verdict is not None
            if verdict.elo is None or verdict.error is None or verdict.against not in found:
                continue
            before = found[verdict.against]
            error = (before.error**2 + verdict.error**2) ** 0.5
            found[number] = Rating(number, before.elo + verdict.elo, error, verdict.promoted)
        return list(found.values())

    def judged(self) -> Iterable[int]:
        number = 1
        while (self.generation(number) / "verdict.json").exists():
            yield number
            number += 1
