"""A watchdog that ends a search on time and answers for a searcher that doesn't stop."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from komadori.usi.job import Job

#: Time for a search to end after `stop`; then the server answers with the last line.
STOP_GRACE_S = 1.0


class Watch:
    """Supervises one search of a job."""

    def __init__(self, job: Job, on_unresponsive: Callable[[], None]) -> None:
        """`on_unresponsive` is called if the search doesn't react to `stop`."""
        self._job = job
        self._halt = job.halt
        self._finished = threading.Event()
        self._on_unresponsive = on_unresponsive

    def start(self, limit_ms: float | None) -> None:
        """Stop the search this long after its clock started; None: only check that it reacts to
        `stop`. Called again after `ponderhit`.
        """
        watch = threading.Thread(
            target=self._watch, args=(limit_ms,), name="usi watch", daemon=True
        )
        with contextlib.suppress(RuntimeError):  # no more threads: rely on the searcher's own clock
            watch.start()

    def finish(self) -> None:
        """End the supervision; call when the search has ended."""
        self._finished.set()
        self._halt.set()  # ends the watchdog's thread

    def _watch(self, limit_ms: float | None) -> None:
        if limit_ms is None:
            self._halt.wait()
        else:
            self._halt.wait(max(0.0, limit_ms / 1000.0 - self._job.elapsed_s()))
            self._halt.set()
        if not self._finished.wait(STOP_GRACE_S) and self._job.released.is_set():
            self._on_unresponsive()
