"""Teacher games and self-play on several machines.

Each worker appends its finished games to a journal of its own, workers/NAME.journal in the folder
of games. The head reads the journals and adds the games to the folder, which writes the segments.
A lost worker loses its games in play; they are reassigned to another worker, which plays the same
games.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from komadori.cluster import Fleet
from komadori.generate.folder import FinishedGame, Journal, StoredGame, read_journal
from komadori.generate.openings import Lines
from komadori.generate.selfplay_settings import SelfPlaySettings
from komadori.generate.settings import TeacherSettings
from komadori.generate.sources import BuiltinGames, Evaluation, GameSource
from komadori.generate.usi_games import EngineSpec, UsiGames
from komadori.usi.models import is_fake

#: Subfolder of the workers' journals.
WORKERS = "workers"
#: Seconds between polls of an idle worker.
IDLE_S = 0.1
#: Maximum number of games queued per worker thread: enough for a few seconds of short games.
AHEAD = 32


def teacher_job(
    folder: Path,
    settings: TeacherSettings,
    lines: Lines,
    player: Evaluation | EngineSpec,
    opponent: Evaluation | EngineSpec | None,
) -> dict[str, Any]:
    """Return the configuration of a `TeacherWorker`, as JSON with absolute paths."""
    return _job(folder, settings, lines) | {
        "player": _player_to_json(player),
        "opponent": None if opponent is None else _player_to_json(opponent),
    }


def _job(folder: Path, settings: Any, lines: Lines) -> dict[str, Any]:
    """Return the part of the configuration that all kinds of workers share."""
    return {
        "folder": str(folder.absolute()),
        "settings": asdict(settings),
        "openings": [str(Path(path).absolute()) for path in lines.files],
        "fingerprint": lines.fingerprint,
    }


def _player_to_json(player: Evaluation | EngineSpec) -> dict[str, Any]:
    if isinstance(player, EngineSpec):
        return {"kind": "engine", **asdict(player)}
    weights = None if player.weights is None else str(player.weights.absolute())
    digest = player.card()["weights"]
    return {
        "kind": "built-in",
        "name": player.name,
        "weights": weights,
        "fv_scale": player.fv_scale,
        "digest": digest,
    }


def _player_from_json(data: Mapping[str, Any]) -> Evaluation | EngineSpec:
    values = dict(data)
    if values.pop("kind") == "engine":
        return EngineSpec(**values)
    digest, weights = values.pop("digest"), values.pop("weights")
    player = Evaluation(weights=None if weights is None else Path(weights), **values)
    if player.card()["weights"] != digest:
        raise ValueError(f"{weights or player.name}: the weights differ from the head's")
    return player


class GamesWorker:
    """Plays numbered games on one machine into its own journal (a `cluster.Worker`)."""

    def __init__(self, job: Mapping[str, Any], name: str, source: GameSource) -> None:
        folder = Path(job["folder"]) / WORKERS
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(folder / f"{name}.journal")
        self._source = source

    def add(self, items: list[Any]) -> None:
        self._source.add(items)

    def take(self) -> list[tuple[Any, Any]]:
        if not self._source.waiting:
            time.sleep(IDLE_S)
        finished = self._source.take(100)
        for game in finished:
            self._journal.append(game)
        return [(game.facts.number, None) for game in finished]

    def stop(self) -> None:
        self._source.stop()


def _lines(job: Mapping[str, Any]) -> Lines:
    lines = Lines(job["openings"])
    if lines.fingerprint != job["fingerprint"]:
        raise ValueError("the openings differ from the head's")
    return lines


class TeacherWorker(GamesWorker):
    """Plays teacher games, one per thread at a time."""

    def __init__(self, job: Mapping[str, Any], name: str, threads: int) -> None:
        settings = TeacherSettings.from_mapping(job["settings"])
        lines = _lines(job)
        player = _player_from_json(job["player"])
        opponent = None if job["opponent"] is None else _player_from_json(job["opponent"])
        source: GameSource
        if isinstance(player, EngineSpec):
            assert opponent is None or isinstance(opponent, EngineSpec)
            source = UsiGames(settings, lines, player, opponent, threads)
        else:
            assert opponent is None or isinstance(opponent, Evaluation)
            source = BuiltinGames(settings, lines, player, opponent, threads)
        super().__init__(job, name, source)


def selfplay_job(
    folder: Path,
    settings: SelfPlaySettings,
    lines: Lines,
    model: str,
    digest: str,
    at_once: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the configuration of a `SelfPlayWorker`, as JSON.

    at_once: concurrent games per worker. options: for `inference.load`.
    """
    if settings.leaf_file:
        settings = replace(settings, leaf_file=str(Path(settings.leaf_file).absolute()))
    return _job(folder, settings, lines) | {
        "model": str(Path(model).absolute()) if Path(model).exists() else model,
        "digest": digest,
        "at_once": at_once,
        "options": dict(options),
    }


class SelfPlayWorker(GamesWorker):
    """Plays self-play games, hundreds concurrently."""

    def __init__(self, job: Mapping[str, Any], name: str, threads: int) -> None:
        from komadori import inference
        from komadori.generate.selfplay import SelfPlayGames, model_digest

        settings = SelfPlaySettings.from_mapping(job["settings"])
        lines, options = _lines(job), dict(job["options"])
        if model_digest(job["model"]) != job["digest"]:
            raise ValueError(f"{job['model']}: the model differs from the head's")
        if not is_fake(job["model"]):
            options["threads"] = threads
        evaluator = inference.load(job["model"], **options)
        source = SelfPlayGames(evaluator, settings, lines.openings, job["at_once"])
        super().__init__(job, name, source)


class ClusterGames:
    """Games played on all machines of a Ray cluster (a `GameSource`)."""

    def __init__(
        self,
        address: str,
        folder: Path,
        job: Mapping[str, Any],
        *,
        worker: str = "TeacherWorker",
        threads: int | None = None,
        on_change: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`worker`: name of the worker class that `job` configures. Raises ClusterError."""
        self._folder = folder / WORKERS
        self._read: dict[Path, int] = {}
        self._finished: list[FinishedGame] = []
        self._numbers: set[int] = set()
        self._is_over = False
        self._fleet = Fleet(
            address,
            f"{__name__}:{worker}",
            job,
            threads=threads,
            ahead=AHEAD,
            at_once=2 * job["at_once"] if "at_once" in job else None,
            on_change=on_change,
        )

    @property
    def threads(self) -> int:
        return self._fleet.threads

    @property
    def machines(self) -> int:
        return self._fleet.machines

    def add(self, numbers: Sequence[int]) -> None:
        self._numbers.update(numbers)
        self._fleet.add(numbers)

    @property
    def waiting(self) -> int:
        return len(self._numbers)

    def take(self, timeout_ms: int) -> Sequence[FinishedGame]:
        if self._fleet.waiting and not self._is_over:
            self._fleet.take(timeout_ms / 1000)
        return self._new_games()

    def _new_games(self) -> list[FinishedGame]:
        found: list[FinishedGame] = []
        for path in sorted(self._folder.glob("*.journal")) if self._folder.exists() else []:
            at = self._read.get(path, 0)
            if path.stat().st_size == at:
                continue
            games, self._read[path] = read_journal(path, at)
            for game in games:
                if game.facts.number in self._numbers:
                    self._numbers.discard(game.facts.number)
                    found.append(game)
        return found

    def stop(self) -> None:
        self._is_over = True
        self._fleet.close()


def recover_games(folder: Path) -> list[StoredGame]:
    """Return the games of workers' journals that a killed head left behind."""
    games: list[StoredGame] = []
    for path in sorted((folder / WORKERS).glob("*.journal")):
        games += read_journal(path)[0]
    return games


def remove_journals(folder: Path) -> None:
    """Remove the workers' journals; call it once the folder contains their games."""
    for path in (folder / WORKERS).glob("*.journal"):
        path.unlink(missing_ok=True)
    if (folder / WORKERS).exists():
        (folder / WORKERS).rmdir()
