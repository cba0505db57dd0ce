"""Search a position in one call."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from komadori.inference import Evaluator, card_of, load
from komadori.inference.protocol import check_evaluator
from komadori.rules import Board
from komadori.search.options import PuctOptions
from komadori.search.protocol import Limits, SearchResult
from komadori.search.puct import PuctSearcher
from komadori.wording import check_type

_LIMITS = tuple(f.name for f in fields(Limits))
_OPTIONS = {f.name for f in fields(PuctOptions)}
_NO_LIMITS = ("searchmoves", "infinite", "ponder")


def search(
    position: Board | str, model: Evaluator | Path | str = "default", **settings: Any
) -> SearchResult:
    """Search a position (a board, an SFEN or "startpos") with the tree search.

    `model` is a file, a name known to `inference.load`, or an evaluator; by default the bundled
    network. `settings` are limits (fields of `Limits`, such as nodes=800 or movetime_ms=1000) and
    options (fields of `PuctOptions`, such as multipv=3; `eval_coef` defaults to that of the
    model's card). Without a limit, also of `searchmoves` alone, it searches 800 nodes.

    Raises TypeError for a position, model or setting of another type and for an unknown setting,
    ValueError for a negative limit, and for one that waits for a `stop`, which only a searcher
    takes.
    """
    for name in settings:
        if name not in _LIMITS and name not in _OPTIONS:
            names = ", ".join(_LIMITS)
            raise TypeError(f"no limit {name!r} (they are {names}), nor an option of PuctOptions")
    limits = {name: value for name, value in settings.items() if name in _LIMITS}
    if all(limits.get(name) is None for name in _LIMITS if name not in _NO_LIMITS):
        limits["nodes"] = 800
    bounds = Limits(**limits)
    if bounds.waits or bounds.mate == 0:
        name = "mate=0" if bounds.mate == 0 else "infinite" if bounds.infinite else "ponder"
        raise ValueError(f"{name} waits for a stop, which this function can't receive")
    options = {name: value for name, value in settings.items() if name not in _LIMITS}
    board = Board(position) if isinstance(position, str) else position
    check_type("position", board, Board)
    evaluator: Evaluator
    if isinstance(model, str | Path):
        evaluator = load(model, precision="auto")
        card = card_of(model)
        options = {"eval_coef": card["eval_coef"], **options} if "eval_coef" in card else options
    else:
        check_evaluator("model", model)
        evaluator = model
    searcher = PuctSearcher(evaluator, PuctOptions(**{"pv_interval_ms": 0, **options}))
    try:
        searcher.set_position(board)
        return searcher.search(bounds)
    finally:
        searcher.close()
        if evaluator is not model:
            evaluator.close()
