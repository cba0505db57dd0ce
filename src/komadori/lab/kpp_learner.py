"""Experiments of KPP, trained by `komadori.linear.kpp`.

A run's folder holds, besides the learner's own files (`linear.run_folder`),

    config.json     the laboratory's settings
    learned.json    the results of training, and the seconds spent so far
    against-RUN/    the games against the first variant's run (`arena.store`)

The learner's state, several hundred megabytes, is removed after training.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from komadori import arena, players, records, training
from komadori.atomic import write_text
from komadori.cpus import available_threads
from komadori.json_file import parse_table, read_table
from komadori.lab.learner import Job, Outcome, Progress, Stopwatch
from komadori.lab.size import LabError, Size
from komadori.linear import KppWeights
from komadori.linear.kpp import Learner, Settings, State
from komadori.linear.regression import LossSettings, Positions, measure
from komadori.model_folder import LEARNER_STATE, has_learner_state
from komadori.players.spec import option_value
from komadori.training import Part, Split
from komadori.typed_settings import build

#: The match against the first variant.
GAMES, NODES = 100, 5000
#: Fraction of the games that is held out.
TEST_FRACTION = 0.02
#: Older names in saved configs. Digests are of these, so that those in older records stay valid.
_RENAMED = {"test_share": "test_fraction"}
#: Most concurrent games: each has two evaluations of 257 MB.
_MAX_TABLES = 4
#: k of the agreement of the best move.
_BEST = (1, 2, 4, 8)


@dataclass(frozen=True)
class KppConfig:
    """A run's settings and data. against: digest of the opponent's config, "" without a match."""

    settings: Settings
    train_limit: int
    test_limit: int
    test_fraction: float = TEST_FRACTION
    against: str = ""


class KppLearner:
    """A `lab.learner.Learner`; configs are `KppConfig`."""

    columns: tuple[str, ...] = (
        "result_loss",
        "teacher_loss",
        *(f"agreement_{k}" for k in _BEST),
        "weights_touched",
        "elo_first",
        "elo_first_error",
        "time",
    )
    picture = "agreement_1"
    headline: tuple[tuple[str, str], ...] = (
        ("result", "result_loss"),
        ("teacher", "teacher_loss"),
        ("best move", "agreement_1"),
        ("Elo", "elo_first"),
    )
    extras: tuple[str, ...] = ("elo_first",)
    against_first: tuple[str, ...] = ("elo_first",)
    guess_s = 1 / 10_000

    def size(self, size: Size) -> Size:
        return replace(size, width=0)

    def config(
        self, table: Mapping[str, Any], size: Size, seed: int, *, scale: bool, name: str
    ) -> KppConfig:
        whole = {"threads": available_threads(), **table, "seed": seed}
        try:
            settings = build(Settings, whole)
        except ValueError as error:
            raise LabError(f"{name}: {error}") from error
        return KppConfig(settings, size.positions, size.test_positions)

    def check(self, config: KppConfig) -> None:
        """Any config fits."""

    def needs_candidates(self, config: KppConfig) -> bool:
        return False

    def against(self, config: KppConfig, first: KppConfig) -> KppConfig:
        return replace(config, against=self.digest(first))

    def on_device(self, config: KppConfig, device: str, threads: int) -> KppConfig:
        if not threads:
            return config
        return replace(config, settings=replace(config.settings, threads=threads))

    def to_table(self, config: KppConfig) -> dict[str, Any]:
        return {"learner": "kpp", **asdict(config)}

    def same(self, saved: Mapping[str, Any], config: KppConfig) -> bool:
        try:
            given = {key: value for key, value in saved.items() if key != "learner"}
            other = build(KppConfig, given, renamed=_RENAMED)
        except ValueError:
            return False
        return _essence(other) == _essence(config)

    def digest(self, config: KppConfig) -> str:
        """Without the match, which doesn't change what is learned."""
        essence = asdict(replace(_essence(config), against=""))
        for old, new in _RENAMED.items():
            essence[old] = essence.pop(new)
        return hashlib.sha256(json.dumps(essence, sort_keys=True).encode()).hexdigest()[:8]

    def make(self, job: Job) -> Outcome | None:
        try:
            return self._make(job)
        except LabError:
            raise
        except (ValueError, RuntimeError) as error:
            raise LabError(f"{job.name}: {error}") from error

    def _make(self, job: Job) -> Outcome | None:
        plays = "elo_first" in job.extras
        if plays and job.first and not (job.first / "weights.npz").exists():
            raise LabError(
                f"{job.name}: {job.first / 'weights.npz'} isn't there to play against; where the "
                "first variant's run was removed, remove its record too and run it again"
            )
        write_text(
            job.folder / "config.json", json.dumps(self.to_table(job.config), indent=2) + "\n"
        )
        split = _split(job)
        outcome = _learned(job, split)
        if outcome is None or not plays:
            return outcome
        if job.first is None:
            match: Mapping[str, float] | None = {"elo_first": 0.0, "score_first": 0.5}
        else:
            match = _play(job, job.first)
        if match is None:
            return None
        facts = {**outcome.facts, "games": GAMES, "nodes": NODES}
        return replace(outcome, measures={**outcome.measures, **match}, facts=facts)

    def options(self, size: Size) -> str:
        return f" --test-positions {size.test_positions}"

    def budget_text(self, config: Mapping[str, Any]) -> str:
        epochs = config["settings"]["epochs"]
        return "one epoch" if epochs == 1 else f"{epochs} epochs"

    def how(self, size: Size, facts: Mapping[str, Any], *, scale: bool, machine: str) -> str:
        match = ""
        if "games" in facts:
            match = (
                f" Elo is from {facts['games']} games of alpha-beta with these weights against the "
                f"first variant's, {facts['nodes']:,} nodes per move, each opening of "
                f"{arena.openings.RANDOM_PLIES} random plies played with both colours."
            )
        return (
            f"{machine}. Drawn games are left out. Losses are cross entropies against the game's "
            "result and the teacher's win rate, minus the entropy of the target; best move in the "
            "first k: the teacher's move is among the k best by one ply and quiescence."
            f"{match} Times are of training, on a busy machine."
        )


def _essence(config: KppConfig) -> KppConfig:
    plain = Settings()
    settings = replace(
        config.settings, threads=plain.threads, checkpoint_minutes=plain.checkpoint_minutes
    )
    return replace(config, settings=settings)


def _split(job: Job) -> Split[Part]:
    """Disjoint parts by whole games, of positions with a move."""
    config: KppConfig = job.config
    part = job.samples if isinstance(job.samples, Part) else Part.whole(job.samples)
    part = part.only(part.rows[part.samples.move16[part.rows] != 0])
    seed = config.settings.seed
    split = training.make_split(
        *training.split_by_game(part, config.test_fraction, seed),
        train_limit=config.train_limit,
        test_limit=config.test_limit,
        seed=seed,
    )
    if not len(split.train) or not len(split.test):
        raise LabError(
            f"{job.name}: {len(split.train)} positions to learn from, {len(split.test)} to "
            "measure on"
        )
    return split


def _positions(part: Part) -> Positions:
    if not isinstance(part.samples, records.Samples):
        raise LabError("KPP learns from samples of records")
    return Positions.of(part.samples, part.rows)


def _learned(job: Job, split: Split[Part]) -> Outcome | None:
    """The results of training, or those stored; None if it was stopped."""
    path = job.folder / "learned.json"
    known = _read(path)
    if "outcome" in known:
        outcome = Outcome(**known["outcome"])
        if outcome.facts["data"] != split.fingerprint:
            raise LabError(f"{job.folder}: has learned from other data; choose another folder")
        return outcome
    settings: Settings = job.config.settings
    test = _positions(split.test)
    resume = has_learner_state(job.folder)
    started = time.monotonic()
    learner = Learner(settings, _positions(split.train), test, job.folder, resume=resume)
    watch = _Watch(job, learner)
    learner.run(watch, stop=job.stop)
    seconds = known.get("seconds", 0.0) + time.monotonic() - started
    if learner.state.epoch < settings.epochs:
        write_text(path, json.dumps({"seconds": seconds}))
        return None
    log = (job.folder / "log.jsonl").read_bytes().splitlines()
    weights = KppWeights.load(job.folder / "weights.npz").core()
    held_out = measure(weights, test, LossSettings(), settings.threads)
    result, teacher = held_out.loss.above_floor
    outcome = Outcome(
        measures={
            "result_loss": result,
            "teacher_loss": teacher,
            **{f"agreement_{k}": held_out.agreement[k - 1] for k in _BEST},
            "weights_touched": parse_table(log[-1])["touched"],
        },
        samples=settings.epochs * len(learner.train),
        seconds=seconds,
        cpu_seconds=watch.cpu.seconds,
        cpu_samples=watch.cpu.samples,
        facts={
            "train_positions": len(split.train),
            "test_positions": len(split.test),
            "data": split.fingerprint,
        },
    )
    write_text(path, json.dumps({"seconds": seconds, "outcome": asdict(outcome)}, indent=2))
    (job.folder / LEARNER_STATE).unlink()
    return outcome


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_table(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise LabError(f"{path}: can't be read ({error})") from error


class _Watch:
    """Reports the learner's progress to the job and times its updates."""

    def __init__(self, job: Job, learner: Learner) -> None:
        self._job = job
        self._updates = learner.updates
        self._positions = len(learner.train) / learner.updates
        self._total = learner.settings.epochs * learner.updates
        self._before = self._done(learner.state)
        self._began = time.monotonic()
        self.cpu = Stopwatch()

    def _done(self, state: State) -> int:
        return state.epoch * self._updates + state.update

    def __call__(self, state: State) -> None:
        done = self._done(state)
        self.cpu.step(round(done * self._positions))
        a_second = (done - self._before) / max(time.monotonic() - self._began, 1e-9)
        self._job.progress(
            Progress(
                done,
                done / self._total,
                (self._total - done) / a_second,
                f"{a_second * self._positions:,.0f} samples/s  {state.loss}",
            )
        )


class _Stopped(Exception):  # noqa: N818 (not an error)
    """The match was stopped; it resumes with the next call."""


def _play(job: Job, first: Path) -> dict[str, float] | None:
    """The match against the first variant's weights; None if it was stopped."""
    started, before = time.monotonic(), 0

    def on_game(_: arena.GameRecord, match: arena.MatchResult) -> None:
        nonlocal before
        before = before or match.played - 1
        left = GAMES - match.played
        seconds = (time.monotonic() - started) / max(match.played - before, 1)
        job.progress(
            Progress(
                match.played,
                match.played / GAMES,
                left * seconds,
                f"match +{match.wins} -{match.losses} ={match.draws}",
            )
        )
        if left and job.stop():
            raise _Stopped

    if job.stop():
        return None
    try:
        match = arena.play_match(
            _source(job.folder),
            _source(first),
            games=GAMES,
            conditions=arena.Conditions(nodes=NODES),
            concurrency=min(_MAX_TABLES, available_threads()),
            names=(job.folder.name, first.name),
            out=job.folder / f"against-{first.name}",
            on_game=on_game,
        )
    except _Stopped:
        return None
    return _figures(match.score, match.estimate)


def _figures(score: float, estimate: arena.EloEstimate) -> dict[str, float]:
    """Of a match. Where one side won every game, elo_first is the 95 % bound nearer to 0, without
    an error; with too few games for an error there is only the score."""
    found = {"score_first": score}
    if math.isinf(estimate.elo):
        bound = max(0.0, estimate.low) if estimate.elo > 0 else min(0.0, estimate.high)
        return {**found, "elo_first": bound}
    if math.isinf(estimate.error):
        return found
    return {**found, "elo_first": estimate.elo, "elo_first_error": estimate.error}


def _source(folder: Path) -> Callable[[], players.Player]:
    """A factory: the stored specification would tie the match to the folder's present place."""
    weights = option_value(folder / "weights.npz")
    specification = f"alphabeta?Eval=kpp&EvalFile={weights}&USI_Hash=16"
    return lambda: players.make(specification)
