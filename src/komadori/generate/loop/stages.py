"""The stages of a loop. Each reads its state from the folder, works, and records the result."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from komadori.generate.loop.folder import Loop, LoopError, Verdict
from komadori.generate.loop.learners import LEARNERS, NetworkLearner, TrainTask
from komadori.generate.loop.page import write_page
from komadori.generate.loop.plugins import GAMES, RELABELLERS, GamesTask, RelabelTask
from komadori.polling import pause
from komadori.run_lock import InUseError, RunLock
from komadori.wording import counted, names_arguments

if TYPE_CHECKING:
    from komadori.arena import MatchResult
    from komadori.arena.openings import OnSkipped, Opening
    from komadori.records import Skipped

#: The first player, in `gate.references`.
_FIRST = "generation 0"
#: Seconds between polls for the results of other processes.
WAIT_S = 2.0


@dataclass(frozen=True)
class Event:
    """A report of a stage of a generation: progress (done of total), or a line of text."""

    generation: int
    stage: str
    done: int = 0
    total: int = 0
    text: str = ""


Observer = Callable[[Event], None]
Stop = Callable[[], bool]


@dataclass(frozen=True)
class _Context:
    loop: Loop
    number: int
    stage: str
    threads: int
    observer: Observer
    stop: Stop

    def log(self, text: str) -> None:
        self.observer(Event(self.number, self.stage, text=text))

    def log_skipped(self, skipped: Skipped) -> None:
        self.log(f"skipped: {skipped}")

    def progress(self, total: int) -> Callable[[int], None]:
        return lambda done: self.observer(Event(self.number, self.stage, done, total))


class _Clock:
    """Wall time and CPU time of a stage; CPU time includes child processes."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), _cpu_seconds()

    def facts(self) -> dict[str, float]:
        return {
            "seconds": round(time.monotonic() - self._wall, 1),
            "cpu_seconds": round(_cpu_seconds() - self._cpu, 1),
        }


def _cpu_seconds() -> float:
    at = os.times()
    return at.user + at.system + at.children_user + at.children_system


@dataclass(frozen=True)
class Stage:
    """ready: whether its inputs are complete. run: completes it; returns False if stopped. check:
    raises ValueError or OSError if what the config names for it is missing or unusable."""

    name: str
    ready: Callable[[Loop, int], bool]
    run: Callable[[_Context], bool]
    check: Callable[[Loop], None] = lambda _: None

    def is_done(self, loop: Loop, number: int) -> bool:
        if self.name == "relabel":
            return loop.is_labelled(number)
        return loop.facts(number, _FACTS_OF.get(self.name, self.name)) is not None


# ---- games


def _player_of_games(loop: Loop, number: int) -> int | None:
    return loop.best(max(0, number - 1 - loop.config.lag))


def _play(context: _Context) -> bool:
    loop, config = context.loop, context.loop.config
    generation = _player_of_games(loop, context.number)
    assert generation is not None
    _create_first_player(loop)
    clock = _Clock()
    task = GamesTask(
        folder=loop.generation(context.number) / "games",
        games=config.games.games,
        settings=config.games.settings,
        player=loop.player(generation),
        learner=config.learner,
        seed=context.number,
        threads=context.threads,
        progress=context.progress(config.games.games),
        stop=context.stop,
        on_skipped=context.log_skipped,
    )
    if not GAMES[config.games.kind].run(task):
        return False
    from komadori.generate.folder import read_counts

    found = [read_counts(path) for path in task.folder.glob("[0-9]*.json")]
    positions = sum(counts.scored for counts in found if counts)
    games = sum(counts.games for counts in found if counts)
    facts = {"by": generation, "games": games, "positions": positions}
    loop.note(context.number, "games", facts | clock.facts())
    context.log(f"{counted(games, 'game')}, {counted(positions, 'position')}")
    return True


def _create_first_player(loop: Loop) -> None:
    """Create the player of generation 0, unless the learner's default needs no file."""
    folder = loop.generation(0)
    with RunLock(folder):
        if loop.facts(0, "begun") is not None:
            return
        loop.check()  # another process may have replaced the config of a loop that hadn't begun
        loop.discard_first_player()
        given = loop.config.init_from
        if given:
            loop.learner.begin_from(loop.config.train, given, loop.player_path(0))
        else:
            loop.learner.begin(loop.config.train, loop.player_path(0))
        loop.note(0, "begun", {"with": given, "has_file": loop.player_path(0).exists()})


# ---- new labels


def _check_relabel(loop: Loop) -> None:
    relabel = loop.config.relabel
    if relabel.kind:
        RELABELLERS[relabel.kind].check_inputs(relabel.settings, loop.config.learner)


def _relabel(context: _Context) -> bool:
    loop, config = context.loop, context.loop.config
    generation = loop.best(context.number - 1)
    assert generation is not None
    files = loop.segments(context.number, "games")
    task = RelabelTask(
        files=files,
        folder=loop.generation(context.number) / "relabelled",
        settings=config.relabel.settings,
        player=loop.player(generation),
        learner=config.learner,
        threads=context.threads,
        progress=context.progress(len(files)),
        stop=context.stop,
    )
    if not RELABELLERS[config.relabel.kind].run(task):
        return False
    loop.note(context.number, "relabel", {"by": generation, "files": len(files)})
    return True


# ---- training


def _check_train(loop: Loop) -> None:
    from komadori.records.samples import check_samples

    for path in loop.config.data:
        check_samples(Path(path))


def _train(context: _Context) -> bool:
    loop, config, number = context.loop, context.loop.config, context.number
    best = loop.best(number - 1)
    assert best is not None
    clock = _Clock()
    task = TrainTask(
        files=loop.learnt_from(number) + [Path(path) for path in config.data],
        settings=config.train,
        folder=loop.generation(number) / "run",
        candidate=loop.player_path(number),
        before=loop.generation(best) / "run" if best else None,
        init_from=loop.beginning,
        test_fraction=config.test_fraction,
        test_limit=config.test_limit,
        seed=config.seed,
        threads=context.threads,
        show=context.log,
        progress=lambda done, total: context.observer(Event(number, "train", done, total)),
        stop=context.stop,
    )
    if not loop.learner.learn(task):
        return False
    loop.note(number, "train", clock.facts())
    return True


# ---- the match


def _openings(loop: Loop, on_skipped: OnSkipped | None = None) -> list[Opening] | None:
    gate = loop.config.gate
    if not gate.openings:
        return None
    from komadori.arena.openings import read_openings

    return read_openings(gate.openings, gate.opening_plies_or_default(), on_skipped)


def _check_gate(loop: Loop) -> None:
    if loop.config.gate.games:
        _openings(loop)


def _check_references(loop: Loop) -> None:
    from komadori.arena import Conditions
    from komadori.arena.limits import check_players
    from komadori.players import check_files

    players = [name for name in loop.config.gate.references if name != _FIRST]
    if loop.config.gate.references:
        _openings(loop)
    check_players(Conditions(), players)
    for player in players:
        check_files(player)


def _gate(context: _Context) -> bool:
    loop, gate, number = context.loop, context.loop.config.gate, context.number
    best = loop.best(number - 1)
    assert best is not None
    if not gate.games:
        loop.note_verdict(number, Verdict(True, best))
        context.log("promoted without a match (gate.games is 0)")
        return True
    result = _match(context, best, "match", gate.games, is_gate=True)
    if result is None:
        return False
    decision = result.decision
    promoted = decision == "H1" or (decision is None and result.score >= gate.min_score)
    error = result.elo_error
    verdict = Verdict(
        promoted,
        best,
        result.played,
        result.wins,
        result.draws,
        result.losses,
        _finite(result.elo),
        _finite(error),
        decision,
    )
    loop.note_verdict(number, verdict)
    context.log(f"{'promoted' if promoted else 'rejected'}: {result}")
    return True


def _finite(value: float) -> float | None:
    return round(value, 2) if math.isfinite(value) else None


class _StoppedError(Exception):
    pass


def _match(
    context: _Context, opponent: int | str, folder: str, games: int, *, is_gate: bool
) -> MatchResult | None:
    from komadori.arena import play_match
    from komadori.arena.game import GameRecord

    loop, gate = context.loop, context.loop.config.gate
    learner = loop.learner
    other = (
        learner.player(loop.player(opponent), gate.nodes) if isinstance(opponent, int) else opponent
    )
    name = f"generation {opponent}" if isinstance(opponent, int) else opponent

    def on_game(_: GameRecord, so_far: MatchResult) -> None:
        context.observer(Event(context.number, context.stage, so_far.played, games))
        if context.stop():
            raise _StoppedError

    try:
        return play_match(
            learner.player(loop.player(context.number), gate.nodes),
            other,
            games=games,
            openings=_openings(loop, context.log_skipped),
            opening_plies=gate.opening_plies_or_default(),
            seed=loop.config.seed * 1000 + context.number,
            concurrency=context.threads,
            out=loop.generation(context.number) / folder,
            sprt=gate.sprt() if is_gate else None,
            names=(f"generation {context.number}", name),
            on_game=on_game,
        )
    except _StoppedError:
        return None


def _references(context: _Context) -> bool:
    loop, gate = context.loop, context.loop.config.gate
    verdict = loop.verdict(context.number)
    assert verdict is not None
    facts: dict[str, object] = {}
    if verdict.promoted:
        for i, reference in enumerate(gate.references, 1):
            opponent: int | str = 0 if reference == _FIRST else reference
            folder, games = f"reference-{i}", gate.reference_games
            result = _match(context, opponent, folder, games, is_gate=False)
            if result is None:
                return False
            facts[reference] = {
                "wins": result.wins,
                "draws": result.draws,
                "losses": result.losses,
            }
            context.log(f"against {reference}: {result}")
    loop.note(context.number, "references", facts)
    return True


#: The stages by name, in order of execution.
STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage("games", lambda loop, n: _player_of_games(loop, n) is not None, _play),
        Stage(
            "relabel",
            lambda loop, n: bool(loop.facts(n, "games")) and loop.best(n - 1) is not None,
            _relabel,
            _check_relabel,
        ),
        Stage(
            "train",
            lambda loop, n: loop.is_labelled(n) and loop.best(n - 1) is not None,
            _train,
            _check_train,
        ),
        Stage(
            "gate",
            lambda loop, n: bool(loop.facts(n, "train")) and loop.best(n - 1) is not None,
            _gate,
            _check_gate,
        ),
        Stage(
            "references",
            lambda loop, n: loop.verdict(n) is not None,
            _references,
            _check_references,
        ),
    )
}
#: Names of the stages' .json files where they differ from the stage's.
_FACTS_OF = {"gate": "verdict"}


@names_arguments
def run_stage(
    loop: Loop,
    name: str,
    *,
    threads: int = 1,
    observer: Observer = lambda _: None,
    stop: Stop = bool,
    wait: bool = False,
) -> bool:
    """Run one stage of all generations.

    Returns True when all are complete, False if stopped. If the inputs of a generation are missing,
    waits with `wait` for other processes to produce them, telling the observer once, and raises
    LoopError without it.
    """
    stage = STAGES[name]
    _check(loop, stage)
    said = set()

    def waits(number: int, reason: str) -> bool:
        event = Event(number, name, text=f"waiting: {reason}")
        if event not in said:
            said.add(event)
            observer(event)
        return pause(WAIT_S, stop)

    for number in range(1, loop.config.generations + 1):
        while not stage.is_done(loop, number) and not stage.ready(loop, number):
            reason = "earlier stages are incomplete"
            if not wait:
                raise LoopError(
                    f"{loop.folder}: {name} of generation {number}: {reason}; run them, or wait "
                    "for them with --wait"
                )
            if not waits(number, reason):
                return False
        while True:
            try:
                if not _run_if_incomplete(loop, number, stage, threads, observer, stop):
                    return False
                break
            except InUseError as error:  # another process is running it
                if not wait:
                    raise
                if not waits(number, str(error)):
                    return False
    return True


@names_arguments
def run(
    loop: Loop, *, threads: int = 1, observer: Observer = lambda _: None, stop: Stop = bool
) -> bool:
    """Run every incomplete stage of every generation. Returns False if stopped."""
    if isinstance(LEARNERS[loop.config.learner], NetworkLearner):
        import komadori.training  # fails before the first game where torch is missing  # noqa: F401
    for stage in STAGES.values():
        _check(loop, stage)
    for number in range(1, loop.config.generations + 1):
        for stage in STAGES.values():
            if stop() or not _run_if_incomplete(loop, number, stage, threads, observer, stop):
                return False
    return True


def _check(loop: Loop, stage: Stage) -> None:
    """Check a stage's inputs before hours of other work, unless the stage has nothing left."""
    if not stage.is_done(loop, loop.config.generations):
        stage.check(loop)


def _run_if_incomplete(
    loop: Loop, number: int, stage: Stage, threads: int, observer: Observer, stop: Stop
) -> bool:
    if stage.is_done(loop, number):
        return True
    folder = loop.generation(number)
    with RunLock.of_file(folder / stage.name):
        if stage.is_done(loop, number):
            return True
        observer(Event(number, stage.name))
        if not stage.run(_Context(loop, number, stage.name, threads, observer, stop)):
            return False
    write_page(loop)
    return True
