"""Learning loops, read from their folders (`komadori.generate.loop`)."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

from komadori.arena.elo import elo_from_score
from komadori.generate.folder import FolderError, games_so_far
from komadori.generate.loop import STAGES, Loop, LoopError, Verdict, config_from_dict
from komadori.web.folders import Folders
from komadori.web.http_shapes import LoopInfo, LoopReference, LoopRound, LoopStage
from komadori.web.trainings import (
    MATCH_LOG,
    RUN_LOG,
    Tail,
    is_recent,
    json_safe,
    modified_at,
    read_json,
)
from komadori.wording import reason_of

#: Folder per stage, inside a generation's folder.
_STAGE_FOLDERS = {"games": "games", "relabel": "relabelled", "train": "run", "gate": "match"}


class Loops:
    """The loops of some folders."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def list(self) -> list[LoopInfo]:
        """Return all loops, newest first."""
        found = [_info(name, path) for name, path in self._folders.scan().loops.items()]
        return sorted(found, key=lambda loop: -loop.updated)


def _info(name: str, folder: Path) -> LoopInfo:
    settings = read_json(folder / "loop.json")
    info = LoopInfo(
        name=name,
        title=name.rpartition("/")[2],
        learner=str(settings.get("learner", "")),
        settings=json_safe(settings),
        planned=None,
        rounds=[],
        is_running=False,
        updated=modified_at(folder / "loop.json"),
        problem="",
    )
    try:
        loop = Loop(config_from_dict(settings), folder)
        info.planned = loop.config.generations
        info.rounds, modified = _rounds(name, loop)
    except (LoopError, ValueError, TypeError, KeyError, OSError) as error:
        info.problem = reason_of(error)[:300]
        return info
    info.updated = max(info.updated, modified)
    is_over = len(info.rounds) == info.planned and all(r.state == "done" for r in info.rounds)
    info.is_running = not is_over and is_recent(info.updated)
    return info


def _rounds(name: str, loop: Loop) -> tuple[list[LoopRound], float]:
    """Return the existing generations, and when their files were last modified."""
    ratings = {rating.generation: rating for rating in loop.ratings()}
    rounds: list[LoopRound] = []
    modified = 0.0
    number = 1
    while (folder := loop.generation(number)).is_dir():
        verdict = loop.verdict(number)
        games = loop.facts(number, "games") or {}
        stage, has_started = _stage(loop, number)
        rating = ratings.get(number)
        rounds.append(
            LoopRound(
                number=number,
                state="done" if stage is None else "running" if has_started else "waiting",
                stage=stage,
                games=_integer(games.get("games")),
                positions=_integer(games.get("positions")),
                played_by=_integer(games.get("by")),
                verdict="" if verdict is None else "promoted" if verdict.promoted else "dropped",
                against=verdict.against if verdict else None,
                wins=verdict.wins if verdict else 0,
                draws=verdict.draws if verdict else 0,
                losses=verdict.losses if verdict else 0,
                elo=verdict.elo if verdict else None,
                elo_error=verdict.error if verdict else None,
                rating=rating.elo if rating else None,
                rating_error=rating.error if rating else None,
                references=_references(loop, number),
                run=f"{name}/{folder.name}/run" if (folder / "run" / RUN_LOG).is_file() else None,
                match=f"{name}/{folder.name}/match" if _has_match(verdict, folder) else None,
            )
        )
        modified = max(modified, _last_modified(folder))
        number += 1
    return rounds, modified


def _has_match(verdict: Verdict | None, folder: Path) -> bool:
    return (verdict is None or verdict.games > 0) and (folder / "match" / MATCH_LOG).is_file()


def _stage(loop: Loop, number: int) -> tuple[LoopStage | None, bool]:
    """Return the current stage with its progress (None: finished), and whether it has started."""
    for stage in STAGES.values():
        if stage.is_done(loop, number):
            continue
        folder = loop.generation(number) / _STAGE_FOLDERS.get(stage.name, "reference-1")
        done, total = _progress(loop, stage.name, folder)
        return LoopStage(name=stage.name, done=done, total=total), folder.is_dir()
    return None, True


def _progress(loop: Loop, stage: str, folder: Path) -> tuple[int, int | None]:
    config = loop.config
    match stage:
        case "games":
            with contextlib.suppress(OSError, FolderError):
                return games_so_far(folder), config.games.games
        case "relabel":
            segments = [read_json(path) for path in folder.glob("[0-9]*.json")]
            done = sum(_integer(segment.get("games")) or 0 for segment in segments)
            # The games of an unfinished segment aren't known.
            return done, config.games.games if segments else None
        case "train":
            _, entries = Tail(folder / RUN_LOG).read()
            steps = [e["step"] for e in entries if isinstance(e.get("step"), int)]
            run = read_json(folder / "config.json").get("loop")
            most = run.get("max_steps") if isinstance(run, dict) else None
            return max(steps, default=0), most if isinstance(most, int) and most > 0 else None
        case "gate":
            _, entries = Tail(folder / MATCH_LOG).read()
            return max(0, len(entries) - 1), config.gate.games or None
    return 0, None


def _references(loop: Loop, number: int) -> list[LoopReference]:
    found = []
    for place, (name, score) in enumerate((loop.facts(number, "references") or {}).items(), 1):
        won, drawn, lost = (_integer(score.get(key)) or 0 for key in ("wins", "draws", "losses"))
        played = won + drawn + lost
        share = (won + drawn / 2) / played if played else 0.5
        elo = elo_from_score(share) if played else math.nan
        found.append(
            LoopReference(
                name=name,
                wins=won,
                draws=drawn,
                losses=lost,
                elo=elo if math.isfinite(elo) else None,
                place=place,
            )
        )
    return found


def _last_modified(folder: Path) -> float:
    """Return when a generation's files were last modified."""
    newest = modified_at(folder)
    with contextlib.suppress(OSError):
        for entry in folder.iterdir():
            newest = max(newest, modified_at(entry))
            if entry.is_dir():
                newest = max([newest, *(modified_at(file) for file in entry.iterdir())])
    return newest


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
