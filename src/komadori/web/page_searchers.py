"""The searchers of a page, made when they are first needed, and how they share the machine."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

from komadori.search import PuctSearcher
from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher
from komadori.web.errors import RefusedError
from komadori.web.models import Engine, Models

#: How much less a thread that analyses without an end insists on a CPU than one that answers
#: someone: by Linux's weights a third as much.
NICENESS = 5


def step_back() -> None:
    """Let other threads go before this one and those that it starts, where threads have
    priorities of their own.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


class Crowd:
    """Shares the CPUs among the alpha-beta searches that run without an end."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._count = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def share(self) -> Iterator[int]:
        """Threads for one more search, for the time of the block."""
        with self._lock:
            self._count += 1
            threads = max(1, self._threads // self._count)
        try:
            yield threads
        finally:
            with self._lock:
                self._count -= 1


class PageSearcher:
    """A tree search on a shared network."""

    def __init__(self, models: Models, memory_mb: int, *, is_short: bool = False) -> None:
        self._models = models
        self._is_short = is_short
        self._memory_mb = memory_mb
        self._engine: Engine | None = None
        self._searcher: PuctSearcher | None = None
        self.model = ""

    def prepare(self, model: str | None, **options: Any) -> PuctSearcher:
        """The searcher with this network and these options. Blocks. Raises RefusedError."""
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
            wanted = self._engine.search_options(memory_mb=self._memory_mb, **options)
            if wanted != self._searcher.options:
                self._searcher.options = wanted
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
    """An alpha-beta search over the package's NNUE, with a table of its own."""

    def __init__(self, hash_mb: int) -> None:
        self._hash_mb = hash_mb
        self._searcher: AlphaBetaSearcher | None = None

    def prepare(self, threads: int, multipv: int) -> AlphaBetaSearcher:
        """The searcher with these options; another number of threads forgets what was searched.
        Raises RefusedError.
        """
        wanted = AlphaBetaOptions(threads=threads, hash_mb=self._hash_mb, multipv=multipv)
        try:
            if self._searcher is None:
                self._searcher = AlphaBetaSearcher("nnue", None, wanted)
            elif self._searcher.options != wanted:
                self._searcher.options = wanted
        except (MemoryError, ValueError, OSError) as error:
            raise RefusedError("failed", f"alphabeta: {error}") from error
        return self._searcher

    def close(self) -> None:
        if self._searcher is not None:
            self._searcher.close()
        self._searcher = None
