"""Build, rebuild and configure the searcher described by the options."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from komadori.usi.options import OptionTable, Scope

if TYPE_CHECKING:
    from komadori.search.protocol import Searcher

#: Interval of newlines while loading, which keep the GUI from timing out.
KEEP_ALIVE_S = 5.0


class SearcherSource(Protocol):
    """Supplies the server's searcher. Called only by the worker thread."""

    def build(self, options: OptionTable) -> Searcher:
        """Build the searcher. May take long and may raise anything."""

    def configure(self, searcher: Searcher, options: OptionTable) -> Searcher:
        """Apply changed settings; returns the same searcher or a replacement."""


class LoadedSearcher:
    """The current searcher, kept in sync with the options."""

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
        self._is_stale = self._is_unconfigured = True

    def load(self) -> Searcher:
        """Return the searcher for the current options.

        If it can't be built, or can't take the settings, each call tries again and raises the
        error: a searcher with other options than the GUI's never plays.
        """
        changed = self._options.take_changes()
        self._is_stale = self._is_stale or Scope.BUILD in changed
        self._is_unconfigured = self._is_unconfigured or Scope.SEARCHER in changed
        if self._is_stale or self.searcher is None:
            self._build()
        elif self._is_unconfigured:
            self.searcher = self._source.configure(self.searcher, self._options)
        self._is_unconfigured = False
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
