"""Reclaim tree memory while the opponent thinks."""

from __future__ import annotations

import threading

from komadori._core.tree import Tree
from komadori.rules import Board

#: Unreachable nodes are freed if the tree is fuller than this.
FULLNESS = 0.5


class Reclaimer:
    """Frees positions that the game can no longer reach, in the background."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def start(self, tree: Tree, root: int, board: Board) -> bool:
        """Move the root to the position and free the rest, if memory is short.

        Returns whether it started; then the tree must not be used until `wait` returns.
        """
        if tree.fullness < FULLNESS:
            return False

        def work() -> None:
            tree.set_root(root, board)
            tree.reclaim(0.0)

        thread = threading.Thread(target=work, name="reclaim", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads
            work()
        else:
            self._thread = thread
        return True

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None
