"""Teacher games on several machines.

Each worker writes the games it has finished into a journal of its own in the folder, workers/NAME;
the head reads those, gives the games to the folder as if they were played here, and makes segments.
A lost worker loses its games in play; their numbers go to another one, which plays the same games.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from komadori.cluster import Fleet
from komadori.generate.folder import FinishedGame, Journal, StoredGame, read_journal
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.generate.sources import BuiltinGames, Evaluation, GameSource
from komadori.generate.usi_games import EngineSpec, UsiGames

#: Where workers leave their journals, in the folder of games.
WORKERS = "workers"
#: Numbers that a worker holds for each of its threads: some seconds of short games.
AHEAD = 32


def teacher_job(
    folder: Path,
    settings: TeacherSettings,
    lines: Lines,
    player: Evaluation | EngineSpec,
    opponent: Evaluation | EngineSpec | None,
) -> dict[str, Any]:
    """What a `TeacherWorker` needs to know, as JSON; paths are made absolute."""
    return {
        "folder": str(folder.absolute()),
        "settings": asdict(settings),
        "openings": [str(Path(path).absolute()) for path in lines.files],
        "fingerprint": lines.fingerprint,
        "player": _described(player),
        "opponent": None if opponent is None else _described(opponent),
    }


def _described(player: Evaluation | EngineSpec) -> dict[str, Any]:
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


def _player(described: Mapping[str, Any]) -> Evaluation | EngineSpec:
    values = dict(described)
    if values.pop("kind") == "engine":
        return EngineSpec(**values)
    digest, weights = values.pop("digest"), values.pop("weights")
    player = Evaluation(weights=None if weights is None else Path(weights), **values)
    if player.card()["weights"] != digest:
        raise ValueError(f"{weights or player.name}: other weights here than on the head")
    return player


class TeacherWorker:
    """Plays numbers on one machine (a `cluster.Worker`)."""

    def __init__(self, job: Mapping[str, Any], name: str, threads: int) -> None:
        settings = TeacherSettings.from_mapping(job["settings"])
        lines = Lines(job["openings"])
        if lines.fingerprint != job["fingerprint"]:
            raise ValueError("other openings here than on the head")
        player = _player(job["player"])
        opponent = None if job["opponent"] is None else _player(job["opponent"])
        folder = Path(job["folder"]) / WORKERS
        folder.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(folder / f"{name}.journal")
        self._source: GameSource
        if isinstance(player, EngineSpec):
            assert opponent is None or isinstance(opponent, EngineSpec)
            self._source = UsiGames(settings, lines, player, opponent, threads)
        else:
            assert opponent is None or isinstance(opponent, Evaluation)
            self._source = BuiltinGames(settings, lines, player, opponent, threads)

    def add(self, items: list[Any]) -> None:
        self._source.add(items)

    def take(self) -> list[tuple[Any, Any]]:
        finished = self._source.take(100)
        for game in finished:
            self._journal.append(game)
        return [(game.facts.number, None) for game in finished]

    def stop(self) -> None:
        self._source.stop()


class ClusterGames:
    """Games of all machines of a Ray cluster (a `GameSource`)."""

    def __init__(
        self,
        address: str,
        folder: Path,
        job: Mapping[str, Any],
        *,
        threads: int | None = None,
        on_change: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Raises ClusterError."""
        self._folder = folder / WORKERS
        self._read: dict[Path, int] = {}
        self._finished: list[FinishedGame] = []
        self._numbers: set[int] = set()
        self._is_over = False
        self._fleet = Fleet(
            address,
            "komadori.generate.cluster_games:TeacherWorker",
            job,
            threads=threads,
            ahead=AHEAD,
            on_change=on_change,
        )

    @property
    def threads(self) -> int:
        return self._fleet.threads

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


def adopt(folder: Path) -> list[StoredGame]:
    """The games of workers' journals that a run before has left, when its head was killed."""
    games: list[StoredGame] = []
    for path in sorted((folder / WORKERS).glob("*.journal")):
        games += read_journal(path)[0]
    return games


def forget(folder: Path) -> None:
    """Remove workers' journals, whose games the folder has now."""
    for path in (folder / WORKERS).glob("*.journal"):
        path.unlink(missing_ok=True)
    if (folder / WORKERS).exists():
        (folder / WORKERS).rmdir()
