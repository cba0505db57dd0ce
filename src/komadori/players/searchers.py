"""The registry of searcher kinds, and how each is built from its options."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from komadori.players.evaluators import load_evaluator, load_policy
from komadori.usi.models import find_file
from komadori.usi.options import EvaluationOptions, NetworkOptions, OptionTable

if TYPE_CHECKING:
    from komadori.inference import Evaluator
    from komadori.search.protocol import Searcher


@dataclass(frozen=True)
class SearcherKind:
    """A kind of searcher, with options from `usi.option_tables`."""

    summary: str
    load: Callable[[OptionTable], Evaluator | None]
    """Load the network named by the options, if any."""
    make: Callable[[Evaluator | None, OptionTable], Searcher]
    configure: Callable[[Any, OptionTable], None] = lambda searcher, options: None
    """Apply changed options."""
    short: Mapping[str, str] = field(default_factory=dict)
    """Short names of options in a player's specification."""


def _no_network(options: OptionTable) -> Evaluator | None:
    return None


def _make_puct(evaluator: Evaluator | None, options: OptionTable) -> Searcher:
    from komadori.search import PuctOptions, PuctSearcher

    assert evaluator is not None
    return PuctSearcher(evaluator, PuctOptions(**options.settings()))  # type: ignore[arg-type]


def _configure_puct(searcher: Any, options: OptionTable) -> None:
    from komadori.search import PuctOptions

    searcher.options = PuctOptions(**options.settings())  # type: ignore[arg-type]


def _make_treeless(kind: str) -> Callable[[Evaluator | None, OptionTable], Searcher]:
    def make(evaluator: Evaluator | None, options: OptionTable) -> Searcher:
        from komadori import search

        assert evaluator is not None
        searcher = search.PolicySearcher if kind == "policy" else search.OnePlySearcher
        return searcher(evaluator, eval_coef=options.group(NetworkOptions).eval_coef)

    return make


def _configure_treeless(searcher: Any, options: OptionTable) -> None:
    searcher.eval_coef = options.group(NetworkOptions).eval_coef


def _alphabeta_settings(options: OptionTable) -> dict[str, Any]:
    settings: dict[str, Any] = {"constants": {}}
    for name, value in options.settings().items():
        if name.startswith("constants."):
            settings["constants"][name.removeprefix("constants.")] = value
        else:
            settings[name] = value
    return settings


def _make_alphabeta(policy: Evaluator | None, options: OptionTable) -> Searcher:
    from komadori.search.alphabeta import AlphaBetaOptions, AlphaBetaSearcher

    evaluation_options = options.group(EvaluationOptions)
    weights = evaluation_options.weights
    return AlphaBetaSearcher(
        evaluation_options.evaluation,
        find_file(weights, "weights") if weights else None,
        AlphaBetaOptions(**_alphabeta_settings(options)),
        fv_scale=evaluation_options.fv_scale,
        policy=policy,
    )


def _configure_alphabeta(searcher: Any, options: OptionTable) -> None:
    from komadori.search.alphabeta import AlphaBetaOptions

    searcher.options = AlphaBetaOptions(**_alphabeta_settings(options))


def _make_simple(kind: str) -> Callable[[Evaluator | None, OptionTable], Searcher]:
    def make(evaluator: Evaluator | None, options: OptionTable) -> Searcher:
        from komadori import players
        from komadori.players.searching import PlayerSearcher

        return PlayerSearcher(players.make(kind))

    return make


_NETWORK_NAMES = {
    "backend": "DNN_Backend",
    "threads": "UCT_Threads",
    "batch": "DNN_Batch_Size",
    "precision": "DNN_Precision",
}

#: Keys as in `usi.option_tables.OPTIONS_BY_KIND`.
SEARCHERS: Mapping[str, SearcherKind] = {
    "model": SearcherKind(
        "tree search (PUCT) with a network",
        load_evaluator,
        _make_puct,
        _configure_puct,
        _NETWORK_NAMES,
    ),
    "policy": SearcherKind(
        "the network's policy, no search",
        load_evaluator,
        _make_treeless("policy"),
        _configure_treeless,
        _NETWORK_NAMES,
    ),
    "one-ply": SearcherKind(
        "the network's value after each move, no search",
        load_evaluator,
        _make_treeless("one-ply"),
        _configure_treeless,
        _NETWORK_NAMES,
    ),
    "alphabeta": SearcherKind(
        "alpha-beta search with NNUE, a linear evaluation or material",
        load_policy,
        _make_alphabeta,
        _configure_alphabeta,
        {"eval": "Eval", "weights": "EvalFile", "hash": "USI_Hash", "policy": "PolicyModel"},
    ),
    "material": SearcherKind("one ply of material", _no_network, _make_simple("material")),
    "random": SearcherKind("any legal move", _no_network, _make_simple("random")),
}


class SearcherBuilder:
    """Builds searchers of one kind for the USI server (a `usi.loading.SearcherSource`)."""

    def __init__(self, kind: str) -> None:
        """`kind`: a key of SEARCHERS."""
        self._kind = SEARCHERS[kind]
        self._evaluator: Evaluator | None = None

    def build(self, options: OptionTable) -> Searcher:
        with contextlib.ExitStack() as undo:
            if evaluator := self._kind.load(options):
                undo.callback(evaluator.close)
            searcher = self._kind.make(evaluator, options)
            undo.pop_all()
        self.close()
        self._evaluator = evaluator
        return searcher

    def configure(self, searcher: Searcher, options: OptionTable) -> Searcher:
        self._kind.configure(searcher, options)
        return searcher

    def close(self) -> None:
        """Close the network of the last searcher."""
        if self._evaluator is not None:
            self._evaluator.close()
            self._evaluator = None
