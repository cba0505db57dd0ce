"""Training data: teacher games, self-play, relabelling, and the reinforcement loop."""

from komadori.generate.folder import FolderError, GameFolder, segment_files
from komadori.generate.openings import Lines
from komadori.generate.settings import SearchBounds, TeacherSettings
from komadori.generate.sources import BuiltinGames, Evaluation, GameSource
from komadori.generate.statistics import Statistics, folder_statistics
from komadori.generate.teacher import Progress, generate_games, teacher_card

__all__ = [
    "BuiltinGames",
    "Evaluation",
    "FolderError",
    "GameFolder",
    "GameSource",
    "Lines",
    "Progress",
    "SearchBounds",
    "Statistics",
    "TeacherSettings",
    "folder_statistics",
    "generate_games",
    "segment_files",
    "teacher_card",
]
