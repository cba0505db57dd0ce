"""The modules, styles, texts, pieces and font of the page, put into one HTML file."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Any, Literal, get_args

from komadori.analysis.games import AnalysedGame
from komadori.analysis.page.data import IndexEntry, handicap_of, index_data, page_data
from komadori.analysis.strength import Strength
from komadori.pages import board_assets, join_modules, json_in_script, part
from komadori.records import Game, Winner
from komadori.rules.svg import PieceStyle
from komadori.wording import check_choice, check_type, names_arguments

#: "auto": the browser's language decides.
Language = Literal["auto", "ja", "en"]

#: In the order of their imports, after those of `komadori.pages`.
_MODULES = ("graph.js", "summary.js", "view.js")

#: Nothing is fetched, whatever a record says.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:"
)


@dataclass(frozen=True)
class PageOptions:
    """How a page is shown at first; readers can change both. Raises ValueError for a language or
    pieces that a page doesn't have."""

    language: Language = "auto"
    pieces: PieceStyle | None = None
    """None: kanji in Japanese, Western in English."""

    def __post_init__(self) -> None:
        check_choice("language", self.language, get_args(Language))
        if self.pieces is not None:
            check_choice("pieces", self.pieces, get_args(PieceStyle))


@names_arguments
def html_report(
    games: Sequence[AnalysedGame],
    title: str,
    note: str | Mapping[str, str] = "",
    *,
    strength: Strength | None = None,
    options: PageOptions | None = None,
) -> str:
    """The page of one or several games.

    note: how they were analysed, the same in all languages or by language. strength: the
    engine's; players who may be stronger are named.
    """
    return _page(page_data(games, title, note, strength), title, options or PageOptions())


@names_arguments
def html_index(
    entries: Sequence[IndexEntry],
    title: str,
    note: str | Mapping[str, str] = "",
    *,
    options: PageOptions | None = None,
) -> str:
    """A page that lists games of several pages, with their results and mistakes."""
    return _page(index_data(entries, title, note), title, options or PageOptions())


def _text(name: str) -> str:
    return resources.files("komadori.analysis.page").joinpath(name).read_text("utf-8")


@cache
def page_module() -> str:
    """The page's modules as one script that defines `mount`; see view.js."""
    return join_modules(part("dom.js"), part("board.js"), *map(_text, _MODULES))


@cache
def page_assets() -> Mapping[str, Any]:
    """Texts by language, pieces and empty boards: what `mount` takes beside the data."""
    return {"texts": json.loads(_text("texts.json")), **board_assets()}


@cache
def page_style() -> str:
    """The page's style sheet with its font inside."""
    data = resources.files("komadori.analysis.page").joinpath("ui.woff2").read_bytes()
    url = "data:font/woff2;base64," + base64.b64encode(data).decode("ascii")
    return _text("page.css").replace("ui.woff2", url) + part("board.css")


def result_text(game: Game, language: Literal["ja", "en"]) -> str:
    """Winner and end in the page's words: "Black won (resignation)"."""
    check_type("game", game, Game)
    if language not in list(page_assets()["texts"]):
        raise ValueError(f"language: expected ja or en, got {language!r}")
    words = page_assets()["texts"][language]
    sides = ("black", "white") if handicap_of(game) is None else ("lower", "upper")
    who = {
        Winner.BLACK: words["won"].format(words[sides[0]]),
        Winner.WHITE: words["won"].format(words[sides[1]]),
        Winner.DRAW: words["drawn"],
        Winner.UNKNOWN: words["noResult"],
    }[game.winner]
    why = words.get(f"end_{game.end.name.lower()}", "")
    if not why:
        return str(who)
    return f"{who}（{why}）" if language == "ja" else f"{who} ({why})"


def _page(data: Mapping[str, Any], title: str, options: PageOptions) -> str:
    assets = json_in_script(page_assets())
    shown = {"language": options.language, "pieces": options.pieces}
    language = "ja" if options.language == "ja" else "en"
    noscript = page_assets()["texts"][language]["noscript"]
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="generator" content="komadori">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{page_style()}</style>\n</head>\n<body>\n"
        f'<main id="komadori"><noscript>{escape(noscript)}</noscript></main>\n'
        f'<script type="application/json" id="komadori-data">{json_in_script(data)}</script>\n'
        f'<script type="application/json" id="komadori-assets">{assets}</script>\n'
        f'<script>\n"use strict";\n(() => {{\n{page_module()}\n'
        "const read = (id) => JSON.parse(document.getElementById(id).textContent);\n"
        'mount(document.getElementById("komadori"), read("komadori-data"), '
        f'{{assets: read("komadori-assets"), ...{json_in_script(shown)}}});\n'
        "})();\n</script>\n</body>\n</html>\n"
    )
