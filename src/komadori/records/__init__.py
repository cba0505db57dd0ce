"""Game records: readers, writers, and training samples from them."""

from komadori.records.errors import RecordError, Skipped
from komadori.records.formats import FORMATS, Format
from komadori.records.game import (
    MATE_CP,
    NO_SCORE,
    NO_TIME,
    STARTPOS,
    Candidates,
    End,
    Game,
    Source,
    Winner,
    score_to_record,
)
from komadori.records.games import GameReader, Games, GameWriter, read_games, write_games
from komadori.records.mapped import map_sample_moves, map_samples
from komadori.records.sample import sample_path
from komadori.records.sample_moves import SampleMoves, load_sample_moves
from komadori.records.samples import (
    LAYOUTS,
    Sample,
    SampleReader,
    Samples,
    SampleWriter,
    load_samples,
    samples_by_game,
    samples_of,
)

__all__ = [
    "FORMATS",
    "LAYOUTS",
    "MATE_CP",
    "NO_SCORE",
    "NO_TIME",
    "STARTPOS",
    "Candidates",
    "End",
    "Format",
    "Game",
    "GameReader",
    "GameWriter",
    "Games",
    "RecordError",
    "Sample",
    "SampleMoves",
    "SampleReader",
    "SampleWriter",
    "Samples",
    "Skipped",
    "Source",
    "Winner",
    "load_sample_moves",
    "load_samples",
    "map_sample_moves",
    "map_samples",
    "read_games",
    "sample_path",
    "samples_by_game",
    "samples_of",
    "score_to_record",
    "write_games",
]
