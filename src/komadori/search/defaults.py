"""Default search limits of game analysis and of players."""

from __future__ import annotations

#: Nodes per position, by player: about half a second on one CPU.
ANALYSIS_NODES = {"alphabeta": 200_000, "model": 800}
#: Number of lines stored per position.
ANALYSIS_LINES = 2
#: Nodes per move of a player with a search, if neither the match nor the player sets a limit.
PLAYER_NODES = 100
