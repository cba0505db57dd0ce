"""One user of an evaluator's slots at a time.

Calls in several threads would overwrite each other's inputs. A call of `evaluate` is short, so that
another waits for it; a search isn't.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from komadori.inference.leaving import ended_before_exit

#: Seconds between two looks at what a call waits for.
_POLL_S = 0.05


class BusyError(Exception):
    """A search uses the evaluator, or a call that this one is part of."""


class _Use:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_search = False
        self.thread: int | None = None


_uses: WeakKeyDictionary[Any, _Use] = WeakKeyDictionary()
_uses_lock = threading.Lock()


@contextlib.contextmanager
def exclusive(evaluator: Any, *, by_search: bool = False) -> Iterator[None]:
    """Use an evaluator's slots, after other calls have ended. Raises BusyError during a search, and
    during a call of this thread, which would wait for itself."""
    use = _use_of(evaluator)
    this = threading.get_ident()
    while not use.lock.acquire(timeout=_POLL_S):
        if use.by_search or use.thread == this:
            raise BusyError
    try:
        use.by_search, use.thread = by_search, this
        # A search is stopped at exit.
        with contextlib.nullcontext() if by_search else ended_before_exit():
            yield
    finally:
        use.by_search, use.thread = False, None
        use.lock.release()


def _use_of(evaluator: Any) -> _Use:
    try:
        with _uses_lock:
            return _uses.setdefault(evaluator, _Use())
    except TypeError:  # one of the caller's classes, without hashes or weak references
        return _Use()
