"""The option tables agree with the settings that they map to."""

from __future__ import annotations

from typing import Any

import pytest

from komadori._core.tree import TreeOptions
from komadori.encoding.value import DLSHOGI_COEF
from komadori.players.searchers import SEARCHERS
from komadori.search import PuctOptions
from komadori.search.alphabeta import AlphaBetaOptions
from komadori.search.puct import tree_options
from komadori.usi.option_tables import (
    ALPHABETA_OPTIONS,
    DRAW_OPTIONS,
    OPTIONS_BY_KIND,
    SEARCH_OPTIONS,
    SERVER_OPTIONS,
    markdown,
)
from komadori.usi.options import (
    EvaluationOptions,
    NetworkOptions,
    Scope,
    ServerOptions,
    option_table,
)


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ((*SEARCH_OPTIONS, *DRAW_OPTIONS), PuctOptions()),
        ((*ALPHABETA_OPTIONS, *DRAW_OPTIONS), AlphaBetaOptions()),
    ],
)
def test_declared_defaults_are_the_searchers(options: Any, settings: Any) -> None:
    """To the option's unit: a searcher's own default may be finer."""
    for option in options:
        if option.scope is not Scope.SEARCHER:
            continue
        declared, own = option.setting(option.line.default), getattr(settings, option.field)
        if declared is None:
            continue  # the searcher's own default stays
        if isinstance(own, float):
            assert declared == pytest.approx(own, abs=0.51 / option.divisor), option.name
        else:
            assert declared == own, option.name


def test_the_tree_s_defaults_are_the_searcher_s() -> None:
    core, own = TreeOptions(), tree_options(PuctOptions())
    names = [n for n in dir(core) if not (n.startswith("_") or callable(getattr(core, n)))]
    assert "c_growth" in names
    for name in names:
        assert getattr(core, name) == pytest.approx(getattr(own, name)), name


def test_every_kind_has_options_a_searcher_and_help() -> None:
    assert OPTIONS_BY_KIND.keys() == SEARCHERS.keys()
    for kind in OPTIONS_BY_KIND:
        table = option_table(kind)
        assert table.group(ServerOptions) == ServerOptions()
        assert table.settings() == {}
        if table.has("DNN_Model"):
            assert table.group(NetworkOptions) == NetworkOptions(eval_coef=756)
        assert table.group(EvaluationOptions) == EvaluationOptions()
    page = markdown()
    for options in (SERVER_OPTIONS, *OPTIONS_BY_KIND.values()):
        for option in options:
            assert option.help
            assert (f"| `{option.name}` |" in page) == option.is_listed


def test_the_server_reads_its_options_typed() -> None:
    table = option_table("model")
    for name, value in {
        "NodesLimit": "7",
        "UCT_NodeLimit": "9",
        "USI_OwnBook": "true",
        "BookFile": "b.db",
        "DfPn_Hash": "128",
    }.items():
        assert table.set(name, value) == ""
    assert table.group(ServerOptions) == ServerOptions(
        nodes_limit=7, visit_limit=9, own_book=True, book_file="b.db", mate_memory_mb=128
    )
    assert table.settings() == {"mate_memory_mb": 128}


def test_the_coefficient_is_dlshogis() -> None:
    """A number in the table, since the USI server loads no numpy before `usiok`."""
    assert int(option_table("model").values()["Eval_Coef"]) == round(DLSHOGI_COEF)
