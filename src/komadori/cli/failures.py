"""The lines of commands that play games about engines that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from komadori.wording import counted

if TYPE_CHECKING:
    from komadori.arena.game import GameRecord

#: Maximum number of reasons that are shown.
SHOWN_FAILURES = 4


def failure_lines(games: Iterable[GameRecord]) -> list[str]:
    """Return a line for each player's most frequent reasons of engine failures."""
    counts: Counter[tuple[str, str]] = Counter()
    for game in games:
        if game.reason == "engine_failure":
            counts[game.names[game.winner == "black"], game.detail] += 1
    return [
        f"{name} failed in {counted(count, 'game')}: {detail}"
        for (name, detail), count in counts.most_common(SHOWN_FAILURES)
    ]
