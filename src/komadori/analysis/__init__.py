"""Whole games searched position by position: mistakes, annotated records, reports.

game -> positions -> PositionAnalyser -> Found -> AnalysedGame -> record, table, page
"""

from komadori.analysis.games import AnalysedGame, Mistake, annotated
from komadori.analysis.journal import Journal
from komadori.analysis.positions import Effort, Found, Line, PositionAnalyser
from komadori.analysis.report import html_report

__all__ = [
    "AnalysedGame",
    "Effort",
    "Found",
    "Journal",
    "Line",
    "Mistake",
    "PositionAnalyser",
    "annotated",
    "html_report",
]
