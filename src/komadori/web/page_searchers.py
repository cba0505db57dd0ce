"""The searchers of a page, created on first use, and how they share the CPUs."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

from komadori._core.alphabeta import Turns
from komadori.search import PuctSearcher
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.web.errors import RefusedError
from komadori.web.models import Engine, Models
from komadori.wording import reason_of

#: Niceness of background searches; Linux gives them a third of the CPU time of a normal thread.
NICENESS = 5


def lower_priority() -> None:
    """Lower the priority of this thread and of those it starts, where the system has priorities
    per thread.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            thread = threading.get_native_id()
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, nice + NICENESS)


class ThreadBudget:
    """Divides the CPUs among concurrent alpha-beta analyses."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        #: Lets only as many of their threads run at a time as there are CPUs: with more, the
        #: server's own threads would rarely run.
        self.turns = Turns(threads)
        self._count = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def share(self) -> Iterator[int]:
        """Yield the number of threads for one more search, which runs during the block."""
        with self._lock:
            self._count += 1
            threads = max(1, self._threads // self._count)
        try:
            yield threads
        finally:
            with self._lock:
                self._count -= 1


class PageSearcher:
    """A tree search with a shared network."""

    def __init__(self, models: Models, memory_mb: int, *, is_short: bool = False) -> None:
        self._models = models
        self._is_short = is_short
        self._memory_mb = memory_mb
        self._engine: Engine | None = None
        self._searcher: PuctSearcher | None = None
        self.model = ""

    def prepare(self, model: str | None, **options: Any) -> PuctSearcher:
        """Return the searcher with this network and these options. Blocks. Raises RefusedError."""
        info, _ = self._models.find(model)
        if self._searcher is None or self._engine is None or info.id != self.model:
            self.close()
            engine = self._models.acquire(info.id)
            self._engine, self.model = engine, info.id
            self._searcher = PuctSearcher(
                engine.shared.lane(urgent=self._is_short),
                engine.search_options(memory_mb=self._memory_mb, **options),
            )
        else:
            new_options = self._engine.search_options(memory_mb=self._memory_mb, **options)
            if new_options != self._searcher.options:
                self._searcher.options = new_options
        return self._searcher

    @property
    def searcher(self) -> PuctSearcher | None:
        return self._searcher

    def close(self) -> None:
        if self._searcher is not None and self._engine is not None:
            self._searcher.close()
            self._searcher.evaluator.close()
            self._models.release(self._engine)
        self._searcher = self._engine = None


class PageAlphaBeta:
    """An alpha-beta search with the bundled NNUE and its own hash table.

    With a budget, its threads have a lower priority and take turns. The thread that waits for them
    doesn't: it holds the GIL from time to time, and the server would wait for it.
    """

    def __init__(self, hash_mb: int, budget: ThreadBudget | None = None) -> None:
        self._hash_mb = hash_mb
        self._turns = budget.turns if budget else None
        self._niceness = NICENESS if budget else 0
        self._searcher: AlphaBetaSearcher | None = None

    def prepare(self, threads: int, multipv: int) -> AlphaBetaSearcher:
        """Return the searcher with these options; a new number of threads clears the hash
        table. Raises RefusedError.
        """
        options = AlphaBetaOptions(
            threads=threads, hash_mb=self._hash_mb, multipv=multipv, niceness=self._niceness
        )
        try:
            if self._searcher is None:
                self._searcher = AlphaBetaSearcher("nnue", None, options, turns=self._turns)
            elif self._searcher.options != options:
                self._searcher.options = options
        except (MemoryError, ValueError, OSError) as error:
            raise RefusedError("failed", f"alphabeta: {reason_of(error)}") from error
        return self._searcher

    def close(self) -> None:
        if self._searcher is not None:
            self._searcher.close()
        self._searcher = None
