"""A worker that runs command lines concurrently, for commands that write their results to files."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping
from typing import Any

from komadori.reaper import reaper

#: Maximum length of the end of the output that a result contains.
_OUTPUT_CHARS = 2000


class CommandWorker:
    """Runs command lines. Items are argument lists; a result is {"code": exit status, "words": the
    end of the output}. A command ends with this process, even if that is killed.

    job: "folder": working directory; "threads_each": cores per command.
    """

    def __init__(self, job: Mapping[str, Any], name: str, threads: int) -> None:
        self._folder = job.get("folder")
        self._items: queue.Queue[list[str] | None] = queue.Queue()
        self._done: queue.Queue[tuple[list[str], dict[str, Any]]] = queue.Queue()
        self._running: set[subprocess.Popen[Any]] = set()
        self._stopping = False
        at_once = max(1, threads // int(job.get("threads_each", 1)))
        for _ in range(at_once):
            threading.Thread(target=self._run, daemon=True).start()

    def add(self, items: list[Any]) -> None:
        for item in items:
            self._items.put(item)

    def take(self) -> list[tuple[Any, Any]]:
        try:
            found = [self._done.get(timeout=0.1)]
        except queue.Empty:
            return []
        with contextlib.suppress(queue.Empty):
            while True:
                found.append(self._done.get_nowait())
        return list(found)

    def stop(self) -> None:
        self._stopping = True
        for process in list(self._running):
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGTERM)

    def _run(self) -> None:
        while not self._stopping and (item := self._items.get()) is not None:
            try:
                process = reaper.start(
                    item,
                    cwd=self._folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
            except OSError as error:
                self._done.put((item, {"code": 127, "words": str(error)}))
                continue
            self._running.add(process)
            output, _ = process.communicate()
            reaper.release(process.pid)
            self._running.discard(process)
            self._done.put((item, {"code": process.returncode, "words": output[-_OUTPUT_CHARS:]}))
