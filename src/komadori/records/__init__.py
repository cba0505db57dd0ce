"""Game records in and out."""

from komadori.records.errors import RecordError, Skipped
from komadori.records.formats import FORMATS, Format
from komadori.records.game import MATE_CP, NO_SCORE, NO_TIME, Candidates, End, Game, Source, Winner
from komadori.records.games import GameReader, Games, GameWriter, read_games, write_games
from komadori.records.sample import sample_path
from komadori.records.samples import Samples, load_samples

__all__ = [
    "FORMATS",
    "MATE_CP",
    "NO_SCORE",
    "NO_TIME",
    "Candidates",
    "End",
    "Format",
    "Game",
    "GameReader",
    "GameWriter",
    "Games",
    "RecordError",
    "Samples",
    "Skipped",
    "Source",
    "Winner",
    "load_samples",
    "read_games",
    "sample_path",
    "write_games",
]
