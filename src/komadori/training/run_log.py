"""A run's log: JSON lines, and TensorBoard event files if it is installed."""

from __future__ import annotations

import contextlib
import importlib.util
import math
from pathlib import Path
from typing import IO, Any

from komadori.atomic import write_text
from komadori.json_file import dump_json, parse_table
from komadori.training.errors import TrainingError
from komadori.wording import names_arguments

LOG_FILE = "log.jsonl"
#: How every log begins.
LOG_START = b'{"kind": "'


class RunLog:
    """Appends to RUN/log.jsonl. Kinds of entries: run, data, train, test, end; each has a step.

    A resumed log is cut to `resume_step`, without that step's test if it is measured again. NaN and
    infinity are written as null. silent: write nothing (every process but rank 0).
    """

    def __init__(
        self,
        run_dir: Path,
        *,
        resume_step: int | None,
        is_measured_again: bool = False,
        tensorboard: bool,
        silent: bool = False,
    ) -> None:
        self._board: Any = None
        self._file: IO[str] | None = None
        if silent:
            return
        run_dir.mkdir(parents=True, exist_ok=True)
        self.path = run_dir / LOG_FILE
        if resume_step is None:
            self.path.unlink(missing_ok=True)
        elif self.path.exists():
            last_test = ("test", resume_step) if is_measured_again else None
            kept = [
                entry
                for entry in read_log(run_dir)
                if entry["step"] <= resume_step
                and entry["kind"] != "end"
                and (entry["kind"], entry["step"]) != last_test
            ]
            write_text(self.path, "".join(dump_json(entry) + "\n" for entry in kept))
        self._file = self.path.open("a", encoding="utf-8")
        if tensorboard and importlib.util.find_spec("tensorboard"):
            from komadori.training.event_file import EventFile

            first_step = None if resume_step is None else resume_step + 1
            folder = run_dir / "tensorboard"
            try:
                self._board = EventFile(folder, first_step=first_step)
            except OSError as error:
                raise TrainingError(f"{folder}: can't be written: {error.strerror}") from error

    def write(self, kind: str, step: int, values: dict[str, Any]) -> dict[str, Any]:
        """Append one entry and return it."""
        entry = {"kind": kind, "step": step} | {k: _plain(v) for k, v in values.items()}
        if self._file is None:
            return entry
        try:
            self._file.write(dump_json(entry) + "\n")
            self._file.flush()
        except OSError as error:
            raise TrainingError(f"{self.path}: can't be written: {error.strerror}") from error
        if self._board is not None and kind in ("train", "test"):
            scalars = {
                f"{kind}/{name}": value
                for name, value in values.items()
                if isinstance(value, (int, float)) and math.isfinite(value)
            }
            try:
                self._board.write(step, scalars)
            except OSError as error:
                raise TrainingError(
                    f"{self._board.path}: can't be written: {error.strerror}"
                ) from error
        return entry

    def close(self) -> None:
        """Close the log; idempotent."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # each line was flushed when written
                self._file.close()
        if self._board is not None:
            self._board.close()


@names_arguments
def read_log(run_dir: Path | str) -> list[dict[str, Any]]:
    """The entries of a run's log, without an unfinished last line and damaged lines."""
    entries = []
    for line in (Path(run_dir) / LOG_FILE).read_bytes().splitlines():
        try:
            entry = parse_table(line)
        except ValueError:
            continue
        if _has_keys(entry):
            entries.append(entry)
    return entries


def _has_keys(entry: dict[str, Any]) -> bool:
    has_samples = type(entry.get("samples", 0)) is int
    return type(entry.get("kind")) is str and type(entry.get("step")) is int and has_samples


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
