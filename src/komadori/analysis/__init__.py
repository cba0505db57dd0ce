"""Analysis of whole games: mistakes, annotated records, pages.

game -> positions -> PositionAnalyser -> Found -> AnalysedGame -> record, table, page
"""

from komadori.analysis.comments import annotated, from_comments
from komadori.analysis.games import GRADES, AnalysedGame, Grade, Mistake, Phase, SideSummary
from komadori.analysis.journal import Journal, is_journal
from komadori.analysis.page import (
    IndexEntry,
    PageOptions,
    html_index,
    html_report,
    page_data,
    result_text,
)
from komadori.analysis.positions import Effort, Found, Line, PositionAnalyser

__all__ = [
    "GRADES",
    "AnalysedGame",
    "Effort",
    "Found",
    "Grade",
    "IndexEntry",
    "Journal",
    "Line",
    "Mistake",
    "PageOptions",
    "Phase",
    "PositionAnalyser",
    "SideSummary",
    "annotated",
    "from_comments",
    "html_index",
    "html_report",
    "is_journal",
    "page_data",
    "result_text",
]
