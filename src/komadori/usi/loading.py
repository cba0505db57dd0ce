"""The searcher that the options describe: built, rebuilt, configured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from komadori.usi.options import OptionTable, Scope

if TYPE_CHECKING:
    from komadori.search.protocol import Searcher

#: While loading, a newline this often keeps the GUI waiting.
KEEP_ALIVE_S = 5.0


class SearcherSource(Protocol):
    """Where the server gets its searcher from. Called by the worker thread alone."""

    def build(self, options: OptionTable) -> Searcher:
        """Load what the options name. May take long, may raise anything."""

    def configure(self, searcher: Searcher, options: OptionTable) -> Searcher:
        """The searcher with settings that changed: the same, or another in its place."""


class LoadedSearcher:
    """The searcher that plays, kept in step with the options."""

    def __init__(
        self,
        source: SearcherSource,
        options: OptionTable,
        write: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        self.searcher: Searcher | None = None
        self._source, self._options = source, options
        self._write, self._say = write, say
        self._is_stale = True

    def load(self) -> Searcher:
        """The searcher of the options as they are now. Raises what building it raises, and again
        each time until the options name something that can be built.
        """
        changed = self._options.take_changes()
        self._is_stale = self._is_stale or Scope.BUILD in changed
        if self._is_stale or self.searcher is None:
            self._build()
        elif Scope.SEARCHER in changed:
            try:
                self.searcher = self._source.configure(self.searcher, self._options)
            except Exception as error:  # the settings before hold
                self._say(f"error: {error}")
        assert self.searcher is not None
        return self.searcher

    def _build(self) -> None:
        loaded = threading.Event()

        def keep_alive() -> None:
            while not loaded.wait(KEEP_ALIVE_S):
                self._write("")

        threading.Thread(target=keep_alive, name="usi keep-alive", daemon=True).start()
        try:
            old, self.searcher = self.searcher, self._source.build(self._options)
            self._is_stale = False
            if old is not None:
                old.close()
        finally:
            loaded.set()
            for note in self._options.take_notes():
                self._say(note)
