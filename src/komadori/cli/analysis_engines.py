"""The engines of `komadori analyse`: the alpha-beta search, and the tree search with a network."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from komadori.cli.usi import DEFAULT_PLAYER
from komadori.cpus import available_threads
from komadori.usi.models import ENVIRONMENT

if TYPE_CHECKING:
    from komadori.analysis import Effort, Found
    from komadori.rules import Board

#: Nodes per position where neither nodes nor time is given, by player.
DEFAULT_NODES = {"alphabeta": 200_000, "model": 800}
#: Lines kept of each position.
LINES = 2


def player_of(player: str | None, model: str) -> str:
    """The player where one is named or not, as `komadori usi` chooses it. Raises UsageError."""
    if player == "alphabeta" and model:
        raise click.UsageError("--player alphabeta takes no network: leave out --model")
    return player or ("model" if names_network(model) else DEFAULT_PLAYER)


def names_network(model: str) -> bool:
    """Whether the user names a network, by option or by the environment."""
    return bool(model or os.environ.get(ENVIRONMENT))


def start(player: str, model: str, threads: int) -> AnalysisEngine:
    """The engine of a player. Raises ClickException where its network can't be loaded."""
    return alphabeta_engine(threads) if player == "alphabeta" else network_engine(model, threads)


class Analyser(Protocol):
    """Finds something of positions, in any order."""

    def analyse(self, positions: Iterable[tuple[str, Board]]) -> Iterator[tuple[str, Found]]: ...


@dataclass(frozen=True)
class AnalysisEngine:
    """What searches the positions."""

    name: str
    facts: Mapping[str, Any]
    """What it is, by name: results hold for these alone."""
    begin: Callable[[Effort], Analyser]
    shares: bool
    """Whether what is found of a position depends on those searched beside it."""
    close: Callable[[], None]


def network_engine(model: str, threads: int) -> AnalysisEngine:
    """The tree search with a network, which may bring options. Raises ClickException."""
    from komadori import inference
    from komadori.analysis import PositionAnalyser
    from komadori.players.evaluators import load_evaluator
    from komadori.search import PuctOptions
    from komadori.usi.models import ModelDefaultsError, find_model
    from komadori.usi.options import option_table

    options = option_table("model")
    path = Path(model)
    options.set("DNN_Model", str(path.resolve()) if model and path.exists() else model)
    options.set("UCT_Threads", str(threads))
    try:
        found = Path(find_model(options.value("DNN_Model")))
        evaluator = load_evaluator(options)
        facts: dict[str, Any] = {"model": found.name, "evaluator": evaluator.name}
        if found.is_file():
            facts["sha256"] = inference.digest(found)
    except (inference.ModelError, ModelDefaultsError, OSError) as error:
        raise click.ClickException(str(error)) from error
    own = options.settings()  # what the model brings
    facts["options"] = own
    search = PuctOptions(**{**own, "multipv": LINES})  # type: ignore[arg-type]
    return AnalysisEngine(
        found.name,
        facts,
        lambda effort: PositionAnalyser(evaluator, effort, search),
        shares=True,
        close=evaluator.close,
    )


def alphabeta_engine(threads: int) -> AnalysisEngine:
    """The alpha-beta search over the package's NNUE, a position per thread."""
    from importlib import resources

    from komadori.analysis.alphabeta import HASH_MB, AlphaBetaAnalyser
    from komadori.inference import digest
    from komadori.search.alphabeta import EVALUATIONS, AlphaBetaOptions, AlphaBetaSearcher

    weights = EVALUATIONS["nnue"]
    assert weights is not None
    with resources.as_file(resources.files("komadori") / "data" / weights) as path:
        facts = {"player": "alphabeta", "weights": weights, "sha256": digest(path)}
    options = AlphaBetaOptions(hash_mb=HASH_MB)

    def close() -> None:
        for searcher in searchers:
            searcher.close()

    searchers = [
        AlphaBetaSearcher("nnue", None, options) for _ in range(threads or available_threads())
    ]
    return AnalysisEngine(
        "alphabeta",
        facts,
        lambda effort: AlphaBetaAnalyser(searchers, effort, lines=LINES),
        shares=False,
        close=close,
    )
