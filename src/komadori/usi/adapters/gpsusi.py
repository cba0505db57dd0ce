"""GPS Shogi's USI program: aborts on a `go` without clocks, and plays from a book.

The option `LimitDepth`, set before isready, fixes its search depth; it is declared as 4 to 10, and
lower depths are obeyed too. A byoyomi below 1,000 ms counts as a second. By default the book is
off and one thread is used (options `BookDepth` and `Thread`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from komadori.usi.client import EngineError, UsiEngine
from komadori.usi.protocol import GoCommand, InfoLine, OptionLine, Score

#: Larger absolute scores are mates (observed: 1,148,897 at mate in one).
MATE_CP = 1_000_000

#: Byoyomi for searches limited by LimitDepth alone.
UNLIMITED_MS = 3_600_000


def unsupported(go: GoCommand) -> str:
    """Return why the engine doesn't support a command's limits; "" if it does."""
    if go.nodes is not None or go.depth is not None:
        return "takes no nodes or depth in go; give movetime, and limit its depth by LimitDepth"
    return ""


class GpsUsi(UsiEngine):
    DEFAULT_OPTIONS: ClassVar[Mapping[str, str]] = {"BookDepth": "0", "Thread": "1"}

    def corrected(self, option: OptionLine) -> OptionLine:
        return replace(option, min=1) if option.name == "LimitDepth" else option

    def request(self, go: GoCommand) -> GoCommand:
        if problem := unsupported(go):
            raise EngineError(f"{self.name} {problem}")
        if go.movetime_ms is not None:
            return GoCommand(btime_ms=0, wtime_ms=0, byoyomi_ms=max(1000, go.movetime_ms))
        if go.has_clock:
            # It doesn't support increments: they count as byoyomi, not as part of the clocks.
            increments = (go.binc_ms or 0, go.winc_ms or 0)
            return GoCommand(
                btime_ms=max(0, (go.btime_ms or 0) - increments[0]),
                wtime_ms=max(0, (go.wtime_ms or 0) - increments[1]),
                byoyomi_ms=max(go.byoyomi_ms or 0, min(increments)),
            )
        return GoCommand(btime_ms=0, wtime_ms=0, byoyomi_ms=UNLIMITED_MS)

    def adjust(self, info: InfoLine) -> InfoLine:
        score = info.score
        if score is not None and score.cp is not None and abs(score.cp) >= MATE_CP:
            info.score = Score(mate_sign=1 if score.cp > 0 else -1)
        return info
