"""Sjaak II: UCI with a shogi variant; drops are written `B@4e`, byoyomi is ignored.

Observed in version 1.4.1: it sends no bestmove if the side to move is mated, and its score
saturates near 16,000 at mate. Options: `Hash` (MB).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from komadori.usi.client import EngineError, Thought, UsiEngine
from komadori.usi.protocol import GoCommand, InfoLine, Score

#: Larger absolute scores are mates (15,999: mate by the next move).
MATE_CP = 15_000


def unsupported(go: GoCommand) -> str:
    """Return why the engine doesn't support a command's limits; "" if it does."""
    if go.nodes is not None:
        return "can't be limited by nodes; give movetime or depth"
    if go.depth is None and go.movetime_ms is None and not go.has_clock:
        return "needs movetime, depth or a clock"
    return ""


class SjaakII(UsiEngine):
    DEFAULT_OPTIONS: ClassVar[Mapping[str, str]] = {"UCI_Variant": "shogi", "Hash": "16"}

    def drop_in(self, move: str) -> str:
        return move.replace("@", "*")

    def drop_out(self, move: str) -> str:
        return move.replace("*", "@")

    def request(self, go: GoCommand) -> GoCommand:
        if problem := unsupported(go):
            raise EngineError(f"{self.name} {problem}")
        if go.depth is not None:
            return GoCommand(depth=go.depth)
        if go.movetime_ms is not None:
            return GoCommand(movetime_ms=go.movetime_ms)
        if go.byoyomi_ms:
            return GoCommand(movetime_ms=max(1, go.byoyomi_ms - MARGIN_MS))
        return go

    def adjust(self, info: InfoLine) -> InfoLine:
        score = info.score
        if score is not None and score.cp is not None and abs(score.cp) >= MATE_CP:
            info.score = Score(mate_sign=1 if score.cp > 0 else -1)
        return info

    def think(self, sfen: str, moves: Sequence[str], go: GoCommand, limit_s: float) -> Thought:
        """As `UsiEngine.think`; not to be called if the side to move is mated: it never answers."""
        return super().think(sfen, moves, go, limit_s)


#: Safety margin subtracted from the byoyomi.
MARGIN_MS = 50
