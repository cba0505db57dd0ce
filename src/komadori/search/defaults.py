"""How long a position of a game is searched where nobody says it."""

from __future__ import annotations

#: Nodes per position of an analysed game, by player: half a second or so of a CPU.
ANALYSIS_NODES = {"alphabeta": 200_000, "model": 800}
#: Lines kept of each.
ANALYSIS_LINES = 2
