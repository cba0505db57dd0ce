"""Settings from tables: types, nesting, older names, range checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from komadori.arena.tune import read_config
from komadori.cli.game_options import parse_clock
from komadori.generate.loop.config import load_config as load_loop
from komadori.lab.experiment import load as load_experiment
from komadori.training.config import load_config as load_training
from komadori.typed_settings import (
    MAX_DEPTH,
    at_least,
    at_most,
    build,
    fractions,
    one_of,
    parse_toml,
    positive,
)


@dataclass(frozen=True)
class Inner:
    rate: float = 0.1
    name: str = "a"

    def __post_init__(self) -> None:
        positive(self, "rate")
        one_of(self, "name", ("a", "b"))


@dataclass(frozen=True)
class Outer:
    count: int
    fraction: float = 0.5
    pair: tuple[int, int] = (1, 2)
    words: tuple[str, ...] = ()
    inner: Inner = field(default_factory=Inner)
    many: tuple[Inner, ...] = ()
    free: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        at_least(self, count=1)
        at_most(self, count=1000)
        fractions(self, "fraction")


def test_a_table_becomes_a_dataclass() -> None:
    table = {
        "count": 3,
        "share": 1,
        "pair": [4, 5],
        "words": "one",
        "inner": {"rate": 2},
        "many": [{"name": "b"}, {}],
        "free": {"anything": [1, "x"]},
    }
    assert build(Outer, table, renamed={"share": "fraction"}) == Outer(
        3, 1.0, (4, 5), ("one",), Inner(2.0), (Inner(name="b"), Inner()), {"anything": [1, "x"]}
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cuont": 1}, "unknown key 'cuont'; known: count, fraction"),
        ({"inner": {"rat": 1}}, "unknown key 'inner.rat'; known: rate, name"),
        ({"inner": 3}, "inner must be a table, not 3"),
        ({"count": "3"}, "count must be int, not '3'"),
        ({"count": True}, "count must be int, not True"),
        ({"count": 2**63}, r"count must be below 2\^63"),
        ({"count": 10**400}, r"count must be below 2\^63"),
        ({"fraction": 10**400}, r"fraction must be below 2\^63"),
        ({"fraction": "x"}, "fraction must be float, not 'x'"),
        ({"fraction": float("nan")}, "fraction must be finite"),
        ({"pair": [1]}, r"pair must be array of 2: int, int, not \[1\]"),
        ({"words": 1}, "words must be array of str, not 1"),
        ({"many": {"name": "b"}}, "many must be array of table, not {'name': 'b'}"),
        ({"pair": [1, 2.5]}, "pair must be int, not 2.5"),
        ({"words": [1]}, "words must be str, not 1"),
        ({"free": 1}, "free must be table, not 1"),
        ({"words": "a\0"}, r"words has a NUL character: 'a\\x00'"),
        ({"words": ["b", "a\0"]}, "words has a NUL character"),
        ({"inner": {"name": "\0"}}, "name has a NUL character"),
        ({"count": 0}, "count is 0, at least 1 is needed"),
        ({"fraction": 1.5}, "fraction is 1.5, 0 to 1 is needed"),
        ({"inner": {"rate": 0}}, "rate is 0.0, more than 0 is needed"),
        ({"inner": {"name": "c"}}, "name is 'c', one of a, b is needed"),
    ],
)
def test_errors_name_the_setting(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(Outer, {"count": 1, **change})


def test_a_required_key_may_not_be_missing() -> None:
    with pytest.raises(ValueError, match="missing key 'count'"):
        build(Outer, {})
    with pytest.raises(ValueError, match="the settings must be a table, not 3"):
        build(Outer, 3)


#: TOML files that a parser may give up on, or that later steps may.
HOSTILE = {
    "arrays": "a = " + "[" * 5000 + "]" * 5000,
    "tables": "a = " + "{a=" * 5000 + "1" + "}" * 5000,
    "names": "[" + ".".join("a" * 3000) + "]",
    "key": ".".join("a" * 100_000) + " = 1",
    "inline": "a = {" + ".".join("a" * 100_000) + " = 1}",
    "digits": "seed = " + "9" * 5000,
    "hexadecimal": "seed = 0x" + "f" * 5000,
    "number": "seed = " + "9" * 400,
    "date": "seed = 2020-01-01",
    "variants": "variants = 3",
    "variant": "variants = [3]",
    "bytes": "seed = '\udcff'",
    "syntax": "seed = [",
}


@pytest.mark.parametrize(
    "load",
    [load_training, load_loop, load_experiment, lambda path: read_config(path, parse_clock)],
    ids=["training", "loop", "lab", "tune"],
)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_toml_is_an_error_of_the_file(load: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.toml"
    path.write_bytes(HOSTILE[name].encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=r"hostile\.toml: ") as caught:
        load(path)
    assert type(caught.value).__module__.startswith("komadori.")


def test_deep_toml_is_read_up_to_a_limit() -> None:
    depth = MAX_DEPTH - 1
    assert parse_toml("a = " + "[" * depth + "]" * depth)
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        parse_toml("a = " + "[" * MAX_DEPTH + "]" * MAX_DEPTH)
