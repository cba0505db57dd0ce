"""The learners of a loop: linear evaluations and networks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from komadori import records
from komadori.atomic import atomic_writer
from komadori.generate.sources import Evaluation
from komadori.linear import kpp, nnue, two_piece
from komadori.linear.regression import Positions
from komadori.model_folder import has_learner_state
from komadori.players.spec import option_value
from komadori.search.alphabeta import engine_factory
from komadori.shipped import experiment_path
from komadori.typed_settings import build, build_part
from komadori.usi.models import find_model
from komadori.wording import counted

Show = Callable[[str], None]
Progress = Callable[[int, int], None]
Stop = Callable[[], bool]


@dataclass(frozen=True)
class TrainTask:
    """One generation's training.

    files: games to train on. settings: those of the learner. folder: the run's folder; an existing
    run is resumed. candidate: the file to write. before: run folder of the best generation, None
    for generation 0. init_from: initial weights of the first generation. show: prints a line.
    progress: called with the steps done and their total.
    """

    files: list[Path]
    settings: Mapping[str, Any]
    folder: Path
    candidate: Path
    before: Path | None
    init_from: Path | None
    test_fraction: float
    test_limit: int
    seed: int
    threads: int
    show: Show
    progress: Progress
    stop: Stop


class Learner(Protocol):
    """Trains players. suffix: suffix of their files. saves_when_stopped: whether training ends soon
    when stopped, with what it learned until then; otherwise what follows the last iteration is lost
    however it ends."""

    @property
    def saves_when_stopped(self) -> bool: ...

    @property
    def suffix(self) -> str: ...

    def check(self, settings: Mapping[str, Any]) -> None:
        """Raises ValueError for invalid settings."""

    def begin_from(self, settings: Mapping[str, Any], weights: str, candidate: Path) -> None:
        """Create the player of generation 0 from given weights. Raises ValueError, OSError."""

    def begin(self, settings: Mapping[str, Any], candidate: Path) -> Path | None:
        """Create the default player of generation 0 at `candidate`; None if it needs no file."""

    def learn(self, task: TrainTask) -> bool:
        """Train and write the candidate. Returns True when done, False if stopped."""

    def player(self, file: Path | None, nodes: int) -> str:
        """The specification of the player for `komadori.players`; None for the default player."""

    def evaluation(self, file: Path | None) -> Evaluation:
        """The evaluation that plays teacher games. Raises ValueError if the learner has none."""


def _copy(made: Path, to: Path) -> None:
    with made.open("rb") as source, atomic_writer(to) as copy:
        shutil.copyfileobj(source, copy)


@dataclass(frozen=True)
class _WarmStart:
    warm_start: bool = False


@dataclass(frozen=True)
class LinearLearner:
    """Trains one of the linear evaluations."""

    name: str
    kind: type[Any]
    suffix: str
    run: Callable[[TrainTask, Any, Positions, Positions], Path | None]
    saves_when_stopped: bool = True

    def settings(self, table: Mapping[str, Any]) -> Any:
        if "warm_start" in table and self.name != "nnue":
            raise ValueError(f"warm_start: {self.name} always trains from scratch")
        _, rest = build_part(_WarmStart, table)
        return build(self.kind, rest)

    def check(self, settings: Mapping[str, Any]) -> None:
        self.settings(settings)

    def begin_from(self, settings: Mapping[str, Any], weights: str, candidate: Path) -> None:
        if not Path(weights).is_file():
            raise ValueError(f"init_from: {weights} is not a file of weights")
        engine_factory(self.name, weights)  # raises ValueError for a file of something else
        if self.name == "nnue" and settings.get("warm_start"):
            nnue.check_init_from(Path(weights), self.settings(settings).architecture)
        _copy(Path(weights), candidate)

    def begin(self, settings: Mapping[str, Any], candidate: Path) -> Path | None:
        return None

    def learn(self, task: TrainTask) -> bool:
        from komadori import training
        from komadori.training import Part

        settings = replace(self.settings(task.settings), threads=task.threads)
        samples = records.load_samples(task.files)
        moved = np.flatnonzero(samples.move16 != 0).astype(np.int64)
        parts = training.split_by_game(Part(samples, moved), task.test_fraction, task.seed)
        split = training.make_split(*parts, test_limit=task.test_limit, seed=task.seed)
        task.show(
            f"{counted(len(split.train), 'training position')} of "
            f"{counted(split.train_games, 'game')}, "
            f"{counted(len(split.test), 'held-out position')} of "
            f"{counted(split.test_games, 'game')}"
        )
        train, test = (Positions.of(samples, part.rows) for part in (split.train, split.test))
        made = self.run(task, settings, train, test)
        if made is None:
            return False
        _copy(made, task.candidate)
        return True

    def evaluation(self, file: Path | None) -> Evaluation:
        if file is None and self.name == "kpp":
            return Evaluation("material")
        return Evaluation(self.name, file)

    def player(self, file: Path | None, nodes: int) -> str:
        evaluation = self.evaluation(file)
        weights = evaluation.weights
        where = "" if weights is None else f"&EvalFile={option_value(weights)}"
        return f"alphabeta?Eval={evaluation.name}{where}&nodes={nodes}&USI_Hash=16"


def _two_piece(task: TrainTask, settings: Any, train: Positions, test: Positions) -> Path | None:
    train_records, test_records = (
        two_piece.Records(np.ascontiguousarray(part.hcp), part.move16) for part in (train, test)
    )
    learner = two_piece.Learner(
        settings, train_records, test_records, task.folder, resume=has_learner_state(task.folder)
    )

    def report(found: two_piece.Report) -> None:
        task.progress(found.iteration, settings.iterations)
        task.show(
            f"iteration {found.iteration}: loss {found.loss_before:.4f} to {found.loss_after:.4f}, "
            f"agreement {100 * found.agreement[0]:.1f} %"
        )

    learner.run(report, task.stop)
    return None if learner.state.iteration < settings.iterations else task.folder / "weights.npz"


def _kpp(task: TrainTask, settings: Any, train: Positions, test: Positions) -> Path | None:
    learner = kpp.Learner(settings, train, test, task.folder, resume=has_learner_state(task.folder))
    updates = learner.updates
    learner.run(
        lambda state: task.progress(
            state.epoch * updates + state.update, settings.epochs * updates
        ),
        lambda found: task.show(
            f"epoch {found.epoch}: held-out {found.held_out.loss}, "
            f"agreement {_best(found.held_out.agreement)}"
        ),
        task.stop,
    )
    return None if learner.state.epoch < settings.epochs else task.folder / "weights.npz"


def _best(agreement: Sequence[float]) -> str:
    """Return the first of `HeldOut.agreement` as text."""
    return f"{100 * agreement[0]:.1f} %" if agreement else "unknown (no moves)"


def _nnue(task: TrainTask, settings: Any, train: Positions, test: Positions) -> Path | None:
    resume = has_learner_state(task.folder)
    before = task.before if task.settings.get("warm_start") and not resume else None
    learner = nnue.Learner(settings, train, test, task.folder, resume=resume, init_from=before)

    def report(found: nnue.Report) -> None:
        task.progress(found.epoch, settings.epochs)
        task.show(f"epoch {found.epoch}: agreement {_best(found.agreement)}")

    learner.run(report, stop=task.stop)
    return task.folder / "nn.bin" if learner.is_done else None


@dataclass(frozen=True)
class _NetworkSettings(_WarmStart):
    """Settings of `NetworkLearner` besides those of `komadori train`."""

    config: str = ""
    set: tuple[str, ...] = ()


class NetworkLearner:
    """Trains a network.

    Settings are those of `komadori train`, or `config`, the path of a file with them or the name of
    a shipped one. `set`: list of KEY=VALUE overrides. `warm_start`: start from the weights of the
    best generation.
    """

    suffix = "onnx"
    saves_when_stopped = True

    def check(self, settings: Mapping[str, Any]) -> None:
        """Check the settings if torch is installed; without it loops can still be displayed."""
        if find_spec("torch") is not None:
            self._config(settings)

    def _config(self, settings: Mapping[str, Any]) -> Any:
        from komadori import training

        own, table = build_part(_NetworkSettings, settings)
        if own.config:
            if table:
                raise ValueError(f"config excludes {', '.join(table)}")
            try:
                return training.load_config(experiment_path(Path(own.config)), own.set)
            except OSError as error:
                raise ValueError(str(error)) from error
        return training.config_from_dict(table, "train", own.set)

    def begin_from(self, settings: Mapping[str, Any], weights: str, candidate: Path) -> None:
        """Create the player from a model folder or run, or from an exported model (`default`: the
        bundled one), which is imported to the folder PLAYER beside the candidate PLAYER.onnx."""
        from komadori import nets, training
        from komadori.training.importing import import_exported

        config = self._config(settings)
        source = Path(find_model(weights)) if weights == "default" else Path(weights)
        if not source.is_file():
            training.check_init_from(self._with_init_from(config, source))
            training.export(source, candidate)
            return
        found = import_exported(source, records.load_samples(records.sample_path()))
        folder = candidate.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        nets.save_model(folder, found.network, found.card)
        training.check_init_from(self._with_init_from(config, folder))
        training.export(folder, candidate)

    @staticmethod
    def _with_init_from(config: Any, weights: Path) -> Any:
        return replace(config, model=replace(config.model, init_from=str(weights)))

    def begin(self, settings: Mapping[str, Any], candidate: Path) -> Path | None:
        from komadori import training

        folder = training.save_untrained(self._config(settings), candidate.with_suffix(""))
        training.export(folder, candidate)
        return candidate

    def learn(self, task: TrainTask) -> bool:
        from komadori import training

        config = self._config(task.settings)
        config = replace(
            config,
            seed=config.seed + task.seed,
            data=replace(config.data, test_fraction=task.test_fraction, test_limit=task.test_limit),
        )
        begin = task.before if task.settings.get("warm_start") else None
        if begin is None and task.init_from is not None and task.init_from.is_dir():
            begin = task.init_from
        if begin is not None:
            config = self._with_init_from(config, begin)
        samples: Any
        if config.loss.policy_target == "visits":
            samples = training.load_visits(task.files)
        else:
            samples = records.load_samples(task.files)

        def report(found: training.Report) -> None:
            task.progress(round(1000 * found.progress), 1000)
            if found.entry.get("kind") == "test":
                policy, value = (
                    "not measured" if accuracy is None else f"{100 * accuracy:.1f} %"
                    for accuracy in map(found.entry.get, ("policy_top1", "value_accuracy"))
                )
                task.show(f"step {found.step}: policy {policy}, value {value}")

        result = training.train(
            config,
            samples,
            None,
            task.folder,
            resume=training.newest_checkpoint(task.folder) is not None,
            progress=report,
            stop=task.stop,
            stop_test=task.stop,
        )
        if not result.is_complete:
            return False
        training.export(result.checkpoint, task.candidate)
        return True

    def player(self, file: Path | None, nodes: int) -> str:
        return f"model:{file}?nodes={nodes}"

    def evaluation(self, file: Path | None) -> Evaluation:
        raise ValueError(
            "games.settings: teacher games need an evaluation; networks play games.kind = selfplay"
        )


#: Learners by their name in the config.
LEARNERS: dict[str, Learner] = {
    "nnue": LinearLearner("nnue", nnue.Settings, "bin", _nnue),
    "two-piece": LinearLearner("two-piece", two_piece.Settings, "npz", _two_piece, False),
    "kpp": LinearLearner("kpp", kpp.Settings, "npz", _kpp),
    "network": NetworkLearner(),
}
