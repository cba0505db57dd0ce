"""The folder of a reinforcement loop: the products of each generation, in plain files.

    loop.json                the config; once there is a player, the folder can only be resumed with
                             the same
    000/player.*             the player of generation 0, if it isn't the learner's default
    001/games/               games (a `GameFolder`); games.json when complete
    001/relabelled/          the games with new labels; relabel.json when complete
    001/run/                 the training run; player.* and train.json when complete
    001/match/               gating match against the best player; verdict.json: the outcome
    001/reference-1/ ...     matches against reference players; references.json when complete
    index.html               Elo over generations

A stage is complete if its .json file exists. The file is written last and atomically, so a stage
may be killed at any time, and any process with access to the folder can run the next one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from komadori.atomic import write_text
from komadori.generate.file_sizes import changed_file, parse_sizes
from komadori.generate.folder import segment_files, settings_conflict
from komadori.generate.loop.config import LoopConfig, config_from_dict
from komadori.generate.loop.learners import LEARNERS, Learner
from komadori.json_file import read_table
from komadori.run_lock import RunLock
from komadori.typed_settings import convert
from komadori.wording import names_arguments, what_is_wrong

#: Settings that may change when a loop is resumed.
MAY_DIFFER = ("generations", "gate.references", "gate.reference_games")


class LoopError(ValueError):
    """The loop can't continue; the message says why."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a gating match.

    promoted: whether the candidate becomes the best player. against: generation of the opponent.
    elo, error: of the candidate relative to the opponent, with 95 % error; None without games or
    if not finite. decision: of the SPRT, "H1", "H0" or None.
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
    """Elo of a generation relative to generation 0 with its 95 % error, summed over the matches
    between them."""

    generation: int
    elo: float
    error: float
    promoted: bool


@names_arguments
class Loop:
    """A config and a folder. State is read from disk each time: other processes may change it."""

    def __init__(self, config: LoopConfig, folder: Path) -> None:
        """Raises LoopError if another config has made a player there, or before the loop has begun
        if there is a page of something else, InUseError, OSError."""
        self.config, self.folder = config, folder
        if not self._path.exists():
            if (folder / "index.html").exists():
                raise LoopError(
                    f"{folder} holds index.html, which the loop would replace; choose another "
                    "folder"
                )
            self._write()
        if self._conflict() and not self._has_begun:
            with RunLock(self.generation(0)):
                if not self._has_begun:
                    self._write()
        self.check()

    @property
    def _path(self) -> Path:
        return self.folder / "loop.json"

    def _write(self) -> None:
        write_text(self._path, json.dumps(self.config.to_dict(), indent=2) + "\n")

    def check(self) -> None:
        """Raises LoopError if the folder's config is another one."""
        if conflict := self._conflict():
            raise LoopError(conflict)

    def _conflict(self) -> str:
        try:
            stored = config_from_dict(read_table(self._path)).to_dict()
            return settings_conflict(self.folder, stored, self.config.to_dict(), MAY_DIFFER)
        except ValueError as error:
            raise _damaged(self._path, error) from error

    @property
    def _has_begun(self) -> bool:
        return (self.generation(1) / "games").exists() or self.facts(0, "begun") is not None

    @property
    def learner(self) -> Learner:
        return LEARNERS[self.config.learner]

    def generation(self, number: int) -> Path:
        return self.folder / f"{number:03}"

    def player_path(self, number: int) -> Path:
        return self.generation(number) / f"player.{self.learner.suffix}"

    @property
    def beginning(self) -> Path | None:
        """The model folder or run with the initial weights of the first generation, if any."""
        imported = self.generation(0) / "player"
        if imported.is_dir():
            return imported
        return Path(self.config.init_from) if self.config.init_from else None

    def player(self, number: int) -> Path | None:
        """Return the file of a generation's player; None for the learner's default.

        Raises LoopError if the file was removed.
        """
        path = self.player_path(number)
        if path.exists():
            return path
        if number:
            stage, was_made = "train", self.facts(number, "train") is not None
        else:
            stage, begun = "begun", self.facts(0, "begun") or {}
            was_made = bool(begun.get("has_file", begun.get("with")))
        if was_made:
            raise LoopError(
                f"{path}: missing; restore it, or delete {stage}.json beside it to make it again"
            )
        return None

    def discard_first_player(self) -> None:
        """Delete the player of generation 0: a process that ended before it was noted may have
        created it with other settings. `init_from` may be in its place: it is kept."""
        given = Path(self.config.init_from).resolve() if self.config.init_from else None
        file = self.player_path(0)
        folder = file.with_suffix("")
        if given != file.resolve():
            file.unlink(missing_ok=True)
        if given is None or not given.is_relative_to(folder.resolve()):
            shutil.rmtree(folder, ignore_errors=True)

    # -- completed stages

    def facts(self, number: int, stage: str) -> dict[str, Any] | None:
        """Return the facts recorded by a complete stage, None if it isn't complete.

        Raises LoopError if they are damaged.
        """
        path = self.generation(number) / f"{stage}.json"
        try:
            facts = read_table(path)
            if stage == "games":
                _check_numbers(facts, "by", "games", "positions")
            elif stage == "references":
                for name, score in facts.items():
                    _check_numbers(convert(score, dict, name), "wins", "draws", "losses")
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise _damaged(path, error) from error
        return facts

    def note(self, number: int, stage: str, facts: dict[str, Any]) -> None:
        """Record a stage's facts, which marks it as complete."""
        write_text(self.generation(number) / f"{stage}.json", json.dumps(facts, indent=2) + "\n")

    def verdict(self, number: int) -> Verdict | None:
        """Return the outcome of a generation's gating match, None if it isn't decided."""
        facts = self.facts(number, "verdict")
        try:
            return None if facts is None else _verdict_of(facts)
        except ValueError as error:
            raise _damaged(self.generation(number) / "verdict.json", error) from error

    def note_verdict(self, number: int, verdict: Verdict) -> None:
        self.note(number, "verdict", asdict(verdict))

    def best(self, number: int) -> int | None:
        """Return the best generation after this one's gating match; None if it isn't decided."""
        while number > 0:
            verdict = self.verdict(number)
            if verdict is None:
                return None
            if verdict.promoted:
                return number
            number -= 1
        return 0

    def is_labelled(self, number: int) -> bool:
        """Whether a generation's games are complete, and relabelled where the config says so."""
        return self.facts(number, "relabel" if self.config.relabel.kind else "games") is not None

    def learnt_from(self, number: int) -> list[Path]:
        """Return the segment files of the games in a generation's training window.

        Raises LoopError as `segments`.
        """
        files: list[Path] = []
        name = "relabelled" if self.config.relabel.kind else "games"
        for past in range(max(1, number - self.config.window + 1), number + 1):
            files += self.segments(past, name)
        return files

    def segments(self, number: int, name: str) -> list[Path]:
        """Return the segment files of a generation's complete games, or relabelled games (`name` is
        the folder's).

        Raises LoopError if one was cut, replaced or removed since.
        """
        folder = self.generation(number) / name
        for path in sorted(folder.glob("[0-9]*.json")):
            try:
                sizes = parse_sizes(read_table(path).get("files", {}))
            except ValueError as error:
                raise _damaged(path, error) from error
            if change := changed_file(folder, sizes):
                raise LoopError(f"{change}; restore it, or use another folder")
        files = segment_files(folder)
        if not files and (self.facts(number, "games") or {}).get("games"):
            raise LoopError(f"{folder}: holds no games; restore them, or use another folder")
        return files

    def ratings(self) -> list[Rating]:
        """Return the ratings of generation 0 and of all that played a gating match."""
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
        """Yield the generations whose gating match is decided, in order."""
        number = 1
        while (self.generation(number) / "verdict.json").exists():
            yield number
            number += 1


@names_arguments
def open_loop(folder: Path | str) -> Loop:
    """Open the loop of a folder with the config stored there.

    Raises LoopError if that is damaged, and OSError: FileNotFoundError if the folder has no loop.
    """
    folder = Path(folder)
    path = folder / "loop.json"
    try:
        config = config_from_dict(read_table(path))
    except ValueError as error:
        raise _damaged(path, error) from error
    return Loop(config, folder)


def _damaged(path: Path, error: Exception) -> LoopError:
    return LoopError(f"{path}: damaged: {what_is_wrong(error)}")


def _check_numbers(facts: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if convert(facts.get(name), int, name) < 0:
            raise ValueError(f"{name} is {facts[name]}, at least 0 is needed")


#: The largest number of a verdict, beyond those of real matches.
_MAX_NUMBER = 1e9
#: Types of a verdict's facts that aren't counts; `None` is possible for the last three.
_KINDS = {"promoted": bool, "elo": float, "error": float, "decision": str}


def _verdict_of(facts: Mapping[str, Any]) -> Verdict:
    """Raises ValueError for missing, unknown and mistyped facts."""
    if unknown := facts.keys() - {one.name for one in fields(Verdict)}:
        raise ValueError(f"unknown key {min(unknown)!r}")
    if missing := {"promoted", "against"} - facts.keys():
        raise ValueError(f"missing key {min(missing)!r}")
    values: dict[str, Any] = {
        name: None
        if value is None and name in ("elo", "error", "decision")
        else convert(value, _KINDS.get(name, int), name)
        for name, value in facts.items()
    }
    for name, value in values.items():
        is_number = isinstance(value, int | float)
        if is_number and (abs(value) > _MAX_NUMBER or (value < 0 and name != "elo")):
            raise ValueError(f"{name} is out of range")
    return Verdict(**values)
