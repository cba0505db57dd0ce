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

#: Seconds between two looks at what a call waits for.
_POLL_S = 0.05


class BusyError(Exception):
    """A search of another thread uses the evaluator."""


class _Use:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_search = False


_uses: WeakKeyDictionary[Any, _Use] = WeakKeyDictionary()
_uses_lock = threading.Lock()


@contextlib.contextmanager
def exclusive(evaluator: Any, *, by_search: bool = False) -> Iterator[None]:
    """Use an evaluator's slots, after other calls have ended. Raises BusyError during a search."""
    try:
        with _uses_lock:
            use = _uses.setdefault(evaluator, _Use())
    except TypeError:  # one of the caller's classes, without hashes or weak references
        yield
        return
    while not use.lock.acquire(timeout=_POLL_S):
        if use.by_search:
            raise BusyError
    use.by_search = by_search
    try:
        yield
    finally:
        use.by_search = False
        use.lock.release()
