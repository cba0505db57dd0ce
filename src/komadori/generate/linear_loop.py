"""elmo's loop (diary 000): play teacher games with the weights, learn from them, repeat.

    round-1/games/00000.hcpe3 ...   played with the first weights
    round-1/run/                    the learner's folder
    round-1/weights.npz             (nn.bin of NNUE) what round 2 plays with
    loop.json                       what was asked for

Whatever is there is kept: games by the file, learning by the learner's own checkpoints.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from komadori import records, training
from komadori.atomic import atomic_writer, write_text
from komadori.generate.folder import GameFolder, differences, segment_files
from komadori.generate.openings import Lines
from komadori.generate.settings import TeacherSettings
from komadori.generate.sources import BuiltinGames, Evaluation
from komadori.generate.teacher import Progress as Played
from komadori.generate.teacher import generate_games, teacher_card
from komadori.linear import kpp, nnue, two_piece
from komadori.linear.regression import Positions
from komadori.run_lock import RunLock
from komadori.training import Part


@dataclass(frozen=True)
class LoopSettings:
    """How often, and what a round learns from besides its own games."""

    evaluation: str = "two-piece"
    rounds: int = 2
    games: int = 1000
    """Of a round."""
    window: int = 3
    """Rounds whose games are learned from, the latest ones."""
    test_share: float = 0.02
    test_limit: int = 5000

    def __post_init__(self) -> None:
        if self.evaluation not in LEARNERS:
            names = ", ".join(LEARNERS)
            raise ValueError(f"evaluation is {self.evaluation!r}, one of {names} is needed")
        for name in ("rounds", "games", "window"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, at least 1 is needed")


@dataclass(frozen=True)
class Stage:
    """Where the loop is: its round, what it does, how much of it is done."""

    round: int
    what: str
    done: int
    total: int


Show = Callable[[str], None]
Progress = Callable[[int, int], None]
Stop = Callable[[], bool]


@dataclass(frozen=True)
class LearnerKind:
    """One learner behind the loop's interface.

    settings: its class of settings. learn: settings, (training, test) samples by rows, folder ->
    the file of weights, or None where it was stopped before its end.
    """

    settings: type[Any]
    suffix: str
    learn: Callable[[Any, Part, Part, Path, Show, Progress, Stop], Path | None]


def _learn_two_piece(
    settings: Any, train: Part, test: Part, folder: Path, show: Show, progress: Progress, stop: Stop
) -> Path | None:
    def of(part: Part) -> two_piece.Records:
        samples = part.samples
        return two_piece.Records(
            np.ascontiguousarray(samples.hcp[part.rows]), samples.move16[part.rows]
        )

    learner = two_piece.Learner(settings, of(train), of(test), folder, resume=_is_begun(folder))

    def report(found: two_piece.Report) -> None:
        progress(found.iteration, settings.iterations)
        show(
            f"iteration {found.iteration}: loss {found.loss_before:.4f} to {found.loss_after:.4f}, "
            f"agreement {100 * found.agreement[0]:.1f} %"
        )

    learner.run(report, stop)
    return None if learner.state.iteration < settings.iterations else folder / "weights.npz"


def _learn_kpp(
    settings: Any, train: Part, test: Part, folder: Path, show: Show, progress: Progress, stop: Stop
) -> Path | None:
    positions, held_out = (_positions(part) for part in (train, test))
    learner = kpp.Learner(settings, positions, held_out, folder, resume=_is_begun(folder))
    updates = learner.updates
    learner.run(
        lambda state: progress(state.epoch * updates + state.update, settings.epochs * updates),
        lambda found: show(
            f"epoch {found.epoch}: held-out {found.held_out.loss}, "
            f"agreement {100 * found.held_out.agreement[0]:.1f} %"
        ),
        stop,
    )
    return None if learner.state.epoch < settings.epochs else folder / "weights.npz"


def _learn_nnue(
    settings: Any, train: Part, test: Part, folder: Path, show: Show, progress: Progress, stop: Stop
) -> Path | None:
    positions, held_out = (_positions(part) for part in (train, test))
    learner = nnue.Learner(settings, positions, held_out, folder, resume=_is_begun(folder))

    def report(found: nnue.Report) -> None:
        progress(found.epoch, settings.epochs)
        show(f"epoch {found.epoch}: agreement {100 * found.agreement[0]:.1f} %")

    learner.run(report, stop=stop)
    return folder / "nn.bin" if learner.is_done else None


#: By the evaluation's name in the engine.
LEARNERS: Mapping[str, LearnerKind] = {
    "two-piece": LearnerKind(two_piece.Settings, "npz", _learn_two_piece),
    "kpp": LearnerKind(kpp.Settings, "npz", _learn_kpp),
    "nnue": LearnerKind(nnue.Settings, "bin", _learn_nnue),
}


class LinearLoop:
    """The loop in a folder."""

    def __init__(
        self,
        settings: LoopSettings,
        teacher: TeacherSettings,
        learner: Any,
        folder: Path,
        *,
        data: Sequence[Path] = (),
        weights: Path | None = None,
        resume: bool = False,
    ) -> None:
        """`learner`: settings of the evaluation's learner. `data`: records that every round learns
        from too. `weights`: what the first round plays with; None: what comes with the package, or
        material where nothing does.

        Raises ValueError where the folder holds a loop and `resume` isn't given or the other way
        round, or a loop begun with other settings (`rounds` may differ), and InUseError while
        another process runs one there. The folder's lock is held until `run` returns.
        """
        self.settings, self.teacher, self.learner = settings, teacher, learner
        self.folder, self.data, self.weights = folder, list(data), weights
        card = {
            "loop": asdict(settings),
            "teacher": asdict(teacher),
            "learner": asdict(learner),
            "data": [str(path) for path in self.data],
            "weights": None if weights is None else str(weights),
        }
        path = folder / "loop.json"
        if resume and not path.exists():
            raise ValueError(f"{folder}: nothing to resume there")
        self.lock = RunLock(folder).acquire()
        try:
            if path.exists():
                if not resume:
                    raise ValueError(f"{folder}: holds a loop already; resume it or choose another")
                _check(folder, json.loads(path.read_text(encoding="utf-8")), card)
            write_text(path, json.dumps(card, indent=2) + "\n")
        except BaseException:
            self.lock.release()
            raise

    def run(
        self,
        show: Show = lambda _: None,
        progress: Callable[[Stage], None] = lambda _: None,
        stop: Stop = bool,
        concurrency: int = 1,
    ) -> Path | None:
        """Do every round that isn't done. Returns the last weights, None where it was stopped."""
        with self.lock:
            return self._run(show, progress, stop, concurrency)

    def _run(
        self, show: Show, progress: Callable[[Stage], None], stop: Stop, concurrency: int
    ) -> Path | None:
        weights = self.weights
        for number in range(1, self.settings.rounds + 1):
            finished = self._finished(number)
            if not finished.exists():
                if not self._play(number, weights, show, progress, stop, concurrency):
                    return None
                if not self._learn(number, finished, show, progress, stop):
                    return None
            weights = finished
        return weights

    def games(self, number: int) -> Path:
        """The folder of a round's games."""
        return self.folder / f"round-{number}" / "games"

    def _finished(self, number: int) -> Path:
        suffix = LEARNERS[self.settings.evaluation].suffix
        return self.folder / f"round-{number}" / f"weights.{suffix}"

    def _evaluation(self, weights: Path | None) -> Evaluation:
        if weights is None and self.settings.evaluation == "kpp":
            return Evaluation("material")
        return Evaluation(self.settings.evaluation, weights)

    def _play(
        self,
        number: int,
        weights: Path | None,
        show: Show,
        progress: Callable[[Stage], None],
        stop: Stop,
        concurrency: int,
    ) -> bool:
        # Rounds play different games even where the weights are the same.
        teacher = replace(self.teacher, seed=self.teacher.seed * 1_000_003 + number)
        what, games = f"round {number}: games", self.settings.games
        evaluation, lines = self._evaluation(weights), Lines()

        def report(at: Played) -> None:
            progress(Stage(number, what, at.games, games))

        card = teacher_card(teacher, lines, {"player": evaluation.card()})
        with GameFolder(self.games(number), card) as folder:
            if folder.games < games:
                progress(Stage(number, what, folder.games, games))
                source = BuiltinGames(teacher, lines, evaluation, threads=concurrency)
                if not generate_games(
                    folder, source, games, threads=concurrency, on_progress=report, stop=stop
                ):
                    return False
        samples = records.load_samples(segment_files(self.games(number)))
        show(f"round {number}: {games:,} games, {len(samples):,} positions")
        return True

    def _learn(
        self,
        number: int,
        finished: Path,
        show: Show,
        progress: Callable[[Stage], None],
        stop: Stop,
    ) -> bool:
        paths = list(self.data)
        for one in range(max(1, number - self.settings.window + 1), number + 1):
            paths += segment_files(self.games(one))
        samples = records.load_samples(paths)
        moved = np.flatnonzero(samples.move16 != 0).astype(np.int64)
        seed = self.teacher.seed
        parts = training.split_by_game(Part(samples, moved), self.settings.test_share, seed)
        split = training.make_split(*parts, test_limit=self.settings.test_limit, seed=seed)
        show(
            f"round {number}: {len(split.train):,} positions of {split.train_games:,} games to "
            f"learn from, {len(split.test):,} of {split.test_games:,} games held out"
        )
        what = f"round {number}: learning"
        made = LEARNERS[self.settings.evaluation].learn(
            self.learner,
            split.train,
            split.test,
            self.folder / f"round-{number}" / "run",
            lambda text: show(f"round {number}: {text}"),
            lambda done, total: progress(Stage(number, what, done, total)),
            stop,
        )
        if made is None:
            return False
        with made.open("rb") as source, atomic_writer(finished) as copy:
            shutil.copyfileobj(source, copy)
        return True


def _positions(part: Part) -> Positions:
    assert isinstance(part.samples, records.Samples)
    return Positions.of(part.samples, part.rows)


def _is_begun(folder: Path) -> bool:
    return (folder / "state.npz").exists()


def _check(folder: Path, begun: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raises ValueError where the two differ in more than the number of rounds."""
    other = [
        difference
        for difference in differences(begun, asked)
        if difference.split(" ", 1)[0] not in ("loop.rounds", "learner.threads")
    ]
    if other:
        raise ValueError(f"{folder}: was begun with other settings: {'; '.join(other)}")
