"""The page of an analysis: one HTML file that needs nothing else.

`page_data` turns analysed games into plain JSON, `html_report` puts it into a page together with
the modules beside this file and of `komadori.pages`. The browser interface shows the same page for
an analysed game:

graph.js    the win rate over the moves, to click and drag on
summary.js  accuracy, mistakes, losses and phases of both sides
view.js     `mount(element, data, options)`: everything together
"""

from komadori.analysis.page.bundle import (
    Language,
    PageOptions,
    html_index,
    html_report,
    page_module,
    result_text,
)
from komadori.analysis.page.data import IndexEntry, page_data

__all__ = [
    "IndexEntry",
    "Language",
    "PageOptions",
    "html_index",
    "html_report",
    "page_data",
    "page_module",
    "result_text",
]
