"""Matches between players: paired games, Elo with its error, the sequential test.

result = arena.play_match("model:new.onnx?nodes=100", "material", games=60, concurrency=2)
print(result)        # 41 won, 12 lost, 7 drawn; Elo +184 ± 85 (95 %), p = 3.9e-05
"""

from komadori.arena.elo import EloEstimate, Sprt, pentanomial, sign_test, trinomial
from komadori.arena.game import Conditions, GameRecord, play_game
from komadori.arena.match import MatchResult, play_match
from komadori.arena.openings import Opening, OpeningError, random_openings, read_openings
from komadori.arena.store import MatchStoreError
from komadori.arena.workers import WorkerError

__all__ = [
    "Conditions",
    "EloEstimate",
    "GameRecord",
    "MatchResult",
    "MatchStoreError",
    "Opening",
    "OpeningError",
    "Sprt",
    "WorkerError",
    "pentanomial",
    "play_game",
    "play_match",
    "random_openings",
    "read_openings",
    "sign_test",
    "trinomial",
]
