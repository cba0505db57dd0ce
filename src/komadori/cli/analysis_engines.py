"""The engines of `komadori analyse`: the alpha-beta search, and the tree search with a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from komadori.cpus import available_threads
from komadori.search.defaults import ANALYSIS_LINES
from komadori.usi.models import DEFAULT_PLAYER, names_network

if TYPE_CHECKING:
    from komadori.analysis import Effort, Found
    from komadori.rules import Board


def player_of(player: str | None, model: str) -> str:
    """Choose the player as `komadori usi` does. Raises UsageError."""
    if player == "alphabeta" and model:
        raise click.UsageError("--player alphabeta takes no network: leave out --model")
    return player or ("model" if names_network(model) else DEFAULT_PLAYER)


def start(player: str, model: str, threads: int) -> AnalysisEngine:
    """Create a player's engine. Raises ClickException if its network can't be loaded."""
    return alphabeta_engine(threads) if player == "alphabeta" else network_engine(model, threads)


class Analyser(Protocol):
    """Searches positions; yields results in any order."""

    def analyse(self, positions: Iterable[tuple[str, Board]]) -> Iterator[tuple[str, Found]]: ...


@dataclass(frozen=True)
class AnalysisEngine:
    """A search that analyses positions."""

    name: str
    facts: Mapping[str, Any]
    """Identity of the engine; stored results are valid only for the same."""
    begin: Callable[[Effort], Analyser]
    shares_tree: bool
    """Whether a position's result depends on the positions searched with it."""
    close: Callable[[], None]


def network_engine(model: str, threads: int) -> AnalysisEngine:
    """Create the tree search with a network and its options. Raises ClickException."""
    from komadori import inference
    from komadori.analysis import PositionAnalyser
    from komadori.inference.model_file import load_identified
    from komadori.players.evaluators import load_evaluator
    from komadori.search import PuctOptions
    from komadori.usi.models import ModelDefaultsError, find_model
    from komadori.usi.options import option_table

    options = option_table("model")
    options.set("UCT_Threads", str(threads))
    try:
        found = Path(find_model(model, is_typed=True))
        options.set("DNN_Model", str(found))
        sha256 = ""
        if found.is_file():
            evaluator, sha256 = load_identified(found, lambda: load_evaluator(options))
        else:
            evaluator = load_evaluator(options)
        facts: dict[str, Any] = {"model": found.name, "evaluator": evaluator.name}
        facts |= {"sha256": sha256} if sha256 else {}
    except (inference.ModelError, ModelDefaultsError, OSError) as error:
        raise click.ClickException(str(error)) from error
    own = options.settings()  # set by the model
    facts["options"] = own
    search = PuctOptions(**{**own, "multipv": ANALYSIS_LINES})  # type: ignore[arg-type]
    return AnalysisEngine(
        found.name,
        facts,
        lambda effort: PositionAnalyser(evaluator, effort, search),
        shares_tree=True,
        close=evaluator.close,
    )


def alphabeta_engine(threads: int) -> AnalysisEngine:
    """Create alpha-beta with the bundled NNUE, one position per thread."""
    from komadori.analysis.alphabeta import AlphaBetaAnalyser, facts, make_searchers

    def close() -> None:
        for searcher in searchers:
            searcher.close()

    searchers = make_searchers(threads or available_threads())
    return AnalysisEngine(
        "alphabeta",
        facts(),
        lambda effort: AlphaBetaAnalyser(searchers, effort, lines=ANALYSIS_LINES),
        shares_tree=False,
        close=close,
    )
