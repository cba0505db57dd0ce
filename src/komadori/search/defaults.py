"""Default search limits of game analysis and of players; limits of numbers of games."""

from __future__ import annotations

#: Nodes per position, by player: about half a second on one CPU.
ANALYSIS_NODES = {"alphabeta": 200_000, "model": 800}
#: Number of lines stored per position.
ANALYSIS_LINES = 2
#: Nodes per move of a player with a search, if neither the match nor the player sets a limit.
PLAYER_NODES = 100
#: Maximum number of games of a match: all its openings are chosen before it begins.
MAX_GAMES = 1_000_000
#: Maximum number of concurrent games of self-play.
MAX_AT_ONCE = 1 << 20
