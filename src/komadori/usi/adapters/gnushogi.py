"""GNU Shogi: xshogi protocol instead of USI; no scores; games from the start position only.

Limits: `depth` in go, or the option `depth` (3, 4, 5, 6 take about 5, 30, 150, 600 ms per move
in openings); with neither, depth 4. The book is off unless the option `book` is `true`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from komadori.usi.client import STOP_GRACE_S, EngineError, EngineTimeoutError, LineProcess, Thought
from komadori.usi.protocol import STARTPOS, BestMove, GoCommand, is_move_text

DEFAULT_DEPTH = 4

#: `3. ... 3a2b 299990` is the engine's move, `3. 3a2b 300000` repeats ours. The first line after
#: `depth` is preceded by that command's prompt.
_OWN_MOVE = re.compile(r"(?:depth = )?\d+\. \.\.\. (\S+)")

#: Not a command: the engine's error message about it shows that all earlier lines were processed.
_MARKER = "komadori-marker"


def unsupported(go: GoCommand) -> str:
    """Return why the engine doesn't support a command's limits; "" if it does."""
    return "can't be limited by nodes; give depth" if go.nodes is not None else ""


def unsupported_start(sfen: str) -> str:
    """Return why the engine doesn't play games from a position; "" if it does."""
    return "" if sfen == STARTPOS else "plays from the start position only"


class GnuShogi:
    """Keeps the game on the engine's board and sends only new moves."""

    def __init__(self, command: Sequence[str], options: Mapping[str, str] | None = None) -> None:
        options = dict(options or {})
        self._depth = int(options.pop("depth", str(DEFAULT_DEPTH)))
        book = options.pop("book", "false").lower()
        if book not in ("true", "false"):
            raise EngineError(f"gnushogi: option book: {book!r} is neither true nor false")
        self._book = book == "true"
        if options:
            raise EngineError(f"gnushogi has no option {', '.join(options)}; it has depth, book")
        self.name = "GNU Shogi"
        self._process = LineProcess(command, self.name)
        self._played: list[str] | None = None
        self._depth_set = 0
        self._is_first_game = True

    def new_game(self) -> None:
        self._played = None

    def think(self, sfen: str, moves: Sequence[str], go: GoCommand, limit_s: float) -> Thought:
        """As `ExternalEngine.think`. The caller must check that the move is legal."""
        if problem := unsupported_start(sfen) or unsupported(go):
            raise EngineError(f"gnushogi {problem}")
        start = time.monotonic()
        deadline = start + limit_s
        self._process.pending()
        depth = go.depth or self._depth
        moves = list(moves)
        is_continued = self._played is not None and moves[:-1] == self._played
        if is_continued and depth == self._depth_set:
            self._process.send(moves[-1])
        else:
            self._set_up(moves, depth, deadline)
        best = self._read_move(deadline, start)
        if is_move_text(best.move):
            self._played = [*moves, best.move]
        else:
            self._played = None
        return Thought(best, [], (time.monotonic() - start) * 1000.0)

    def _set_up(self, moves: Sequence[str], depth: int, deadline: float) -> None:
        # Skip output of the last game (`Black mates!`) that may not have arrived yet.
        self._process.send("new")
        self._process.send(_MARKER)
        while _MARKER not in self._process.read(deadline):
            pass
        if self._is_first_game and not self._book:
            self._process.send("book")  # toggles the book; new games don't reset it
        self._is_first_game = False
        self._process.send("depth")
        self._process.send(str(depth))
        self._depth_set = depth
        self._process.send("force")
        for move in moves:
            self._process.send(move)
        self._process.send("go")

    def _read_move(self, deadline: float, start: float) -> BestMove:
        while True:
            try:
                line = self._process.read(deadline)
            except EngineTimeoutError:
                raise EngineTimeoutError(
                    f"gnushogi gave no move in {time.monotonic() - start:.1f} s"
                ) from None
            if match := _OWN_MOVE.match(line):
                return BestMove(match[1])
            if line.startswith("Illegal move"):
                raise EngineError(f"gnushogi: {line}")
            if "mates!" in line or "resigns" in line:
                return BestMove("resign")

    def close(self) -> None:
        self._process.close(farewell="quit", grace_s=min(2.0, STOP_GRACE_S))
