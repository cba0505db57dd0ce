"""TensorBoard event files, written by the thread that trains.

TensorBoard's own writer uses a thread of its own, which prints a traceback if the disk is full.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

_PREFIX = "events.out.tfevents."


class EventFile:
    """A new event file in a folder. Raises OSError where it can't be written."""

    def __init__(self, folder: Path, *, first_step: int | None = None) -> None:
        """first_step: hides what earlier files of the folder hold from this step on."""
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{_PREFIX}{_next_number(folder)}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / name
        self._file = self.path.open("xb")
        self._records = RecordWriter(self._file)
        self._add(file_version="brain.Event:2")
        if first_step is not None:
            self._add(step=first_step, session_log=SessionLog(status=SessionLog.START))
        self._file.flush()

    def write(self, step: int, values: dict[str, float]) -> None:
        """Append the values of a step."""
        scalars = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._add(step=step, summary=Summary(value=scalars))
        self._file.flush()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # each step was flushed when written
            self._file.close()

    def _add(self, **fields: Any) -> None:
        self._records.write(Event(wall_time=time.time(), **fields).SerializeToString())


def _next_number(folder: Path) -> int:
    """Return the time in nanoseconds or, if the clock was set back since, a number after those of
    the folder's files: TensorBoard reads them in the order of their names.
    """
    words = (
        path.name.removeprefix(_PREFIX).partition(".")[0] for path in folder.glob(f"{_PREFIX}*")
    )
    return max(time.time_ns(), *(int(word) + 1 for word in words if word.isdecimal()), 0)
