"""Persistence of a run: what its folder holds, and when it may be resumed.

RUN/config.json                 the settings, as given and as defaulted
RUN/log.jsonl                   training.run_log
RUN/checkpoints/step-00001000/  training.checkpoint
"""

from __future__ import annotations

from pathlib import Path

from komadori import nets
from komadori.atomic import check_writable, write_text
from komadori.json_file import dump_json, read_table
from komadori.model_folder import WEIGHTS_FILE, newest_checkpoint
from komadori.nets import ModelCard
from komadori.training import checkpoint
from komadori.training.checkpoint import Progress
from komadori.training.config import Config, config_to_dict
from komadori.training.errors import TrainingError
from komadori.training.run_log import LOG_FILE, LOG_START, RunLog
from komadori.training.schedule import is_due
from komadori.training.setup import Setup
from komadori.wording import no_such_file

_CONFIG = "config.json"


class RunFolder:
    """A run's folder, new or resumed. Rank 0 alone writes to it."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        """Raises TrainingError if a new run's folder holds a run, also one of `komadori linear`, or
        a file of others that the run would replace, or if nothing can be resumed; OSError if it
        can't be written. Changes nothing.
        """
        self.path, self.is_resumed = path, resume
        self._restored = newest_checkpoint(path)
        if resume and self._restored is None:
            missing = None if path.exists() else no_such_file(path)
            raise TrainingError(f"{path}: nothing to resume: no checkpoint there") from missing
        if not resume and self._restored is not None:
            raise TrainingError(
                f"{path}: holds a run already; resume it (--resume) or choose another folder "
                "(--out)"
            )
        if not resume and (path / "run.json").exists():  # its log would be replaced
            raise TrainingError(f"{path}: holds a run of komadori linear; choose another folder")
        if not resume and (other := _file_of_others(path)):
            raise TrainingError(f"{path}: holds {other} of something else; choose another folder")
        check_writable(path)

    def restore(self, setup: Setup) -> Progress:
        """Load the newest checkpoint into the set-up; returns the progress, zero for a new run.

        Raises TrainingError if the run has another network, optimizer, seed or data.
        """
        if setup.world.is_first:
            checkpoint.clear_unfinished(self.path)
        if self._restored is None:
            return Progress(data=setup.split.fingerprint)
        at, saved = checkpoint.read_progress(self._restored)
        _check_same(saved, setup.config, self.path)
        if at.data not in ("", setup.split.fingerprint):
            raise TrainingError(
                f"{self.path}: the {len(setup.split.train):,} training positions are not those "
                "of the run; resume it with its own data and seed, or start another run"
            )
        model = setup.model(at.step)
        checkpoint.restore(self._restored, model, setup.trained, setup.optimizer, setup.scaler)
        return at

    def open_log(self, setup: Setup, step: int) -> RunLog:
        """Write the config and open the log, truncated to `step` if the run is resumed."""
        loop, is_first = setup.config.loop, setup.world.is_first
        log = RunLog(
            self.path,
            resume_step=step if self.is_resumed else None,
            is_measured_again=is_due(step, loop.evaluate_every),
            tensorboard=loop.tensorboard,
            silent=not is_first,
        )
        if is_first:
            self._write_config(setup.config)
        return log

    def save(self, setup: Setup, at: Progress, card: ModelCard) -> Path:
        """Write the checkpoint of this step, remove those beyond `loop.keep`, return its folder."""
        return checkpoint.save(
            self.path,
            at,
            setup.config,
            card,
            setup.model(at.step),
            setup.trained,
            setup.optimizer,
            setup.scaler,
            setup.config.loop.keep,
        )

    def newest(self) -> Path:
        """The newest checkpoint. Precondition: the run has saved one or was resumed."""
        found = newest_checkpoint(self.path)
        assert found is not None
        return found

    def _write_config(self, config: Config) -> None:
        path = self.path / _CONFIG
        try:
            write_text(path, dump_json(config_to_dict(config), indent=2) + "\n")
        except OSError as error:
            raise TrainingError(f"{path}: can't be written: {error.strerror or error}") from error


def _file_of_others(path: Path) -> str:
    """The name of a file that isn't of a run without a checkpoint and would be replaced, or used in
    the run's place; or ""."""
    if (path / WEIGHTS_FILE).exists():  # the folder's name would mean that model, not the run
        return WEIGHTS_FILE
    config, log = path / _CONFIG, path / LOG_FILE
    try:
        if config.exists() and not {"model", "loop"} <= read_table(config).keys():
            return _CONFIG
    except ValueError:
        return _CONFIG
    if log.exists():
        with log.open("rb") as file:
            begun = file.read(len(LOG_START))
        if not LOG_START.startswith(begun):  # one that is cut off is the run's
            return LOG_FILE
    return ""


def _check_same(saved: Config, config: Config, path: Path) -> None:
    """Raises TrainingError if the run can't be resumed with this config."""
    for what, own, given in (
        ("network", nets.short_name(saved.model.net), nets.short_name(config.model.net)),
        ("network's settings", saved.model.net, config.model.net),
        ("features", saved.model.features, config.model.features),
        ("labels", saved.model.labels, config.model.labels),
        ("optimizer", saved.optimizer.name, config.optimizer.name),
        ("seed", saved.seed, config.seed),
    ):
        if own != given:
            raise TrainingError(
                f"{path}: the run's {what} is {own}, not {given}; resume it with its own, or "
                "start another run"
            )
