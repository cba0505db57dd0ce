"""JSON files that are damaged or from others."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import komadori
from komadori.analysis import Journal
from komadori.arena import Conditions, MatchStoreError, play_match
from komadori.json_file import dump_json, parse_json, parse_table, read_table

DAMAGED = [b"", b"\x00\xff", b"{", b"[1]", b"null", b"5", b'"a"', b"9" * 6000]
DAMAGED += [b"[" * 100_000, b'{"a":' * 100_000]


@pytest.mark.parametrize("content", DAMAGED, ids=[str(text[:6]) for text in DAMAGED])
def test_whatever_is_wrong_is_a_value_error(tmp_path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        read_table(path)
    with pytest.raises(ValueError, match=r"."):
        parse_table(content)


def test_numpys_numbers_are_written_as_pythons() -> None:
    values = {"a": np.int64(3), "b": [np.float32(0.5), np.bool_(True)], "c": None}
    assert parse_json(dump_json(values)) == {"a": 3, "b": [0.5, True], "c": None}
    with pytest.raises(TypeError, match="ndarray"):
        dump_json({"a": np.zeros(2)})


def test_settings_of_numpys_numbers_are_those_of_pythons(tmp_path) -> None:
    for number in (np.int64(2), 2):  # the second resumes the first
        found = play_match(
            "material",
            "random",
            games=number,
            conditions=Conditions(nodes=number, max_plies=20),
            seed=number,
            out=tmp_path / "match",
        )
        assert found.played == 2
        Journal(tmp_path / "a.journal", {"nodes": number}).close()


def test_a_configuration_of_numpys_numbers() -> None:
    training = pytest.importorskip("komadori.training", exc_type=ImportError)
    config = training.Config()
    given = replace(config, seed=np.int64(3), loop=replace(config.loop, batch_size=np.int32(16)))
    table = training.config_to_dict(given)
    assert training.config_from_dict(table) == given


def test_a_pipe_is_not_waited_for(tmp_path) -> None:
    path = tmp_path / "a.json"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        read_table(path)
    journal = tmp_path / "games.jsonl"
    os.mkfifo(journal)
    with pytest.raises(MatchStoreError, match=r"games\.jsonl is not a regular file"):
        play_match("random", "random", games=2, out=tmp_path)


def test_json_is_read(tmp_path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": [1, "▲"]}', encoding="utf-8")
    assert read_table(path) == parse_json(path.read_bytes()) == {"a": [1, "▲"]}
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "b.json")


@pytest.mark.parametrize("text", ["[" * 101 + "]" * 101, '{"a":' * 101 + "1" + "}" * 101])
def test_json_too_deep_for_its_readers_is_damaged(text: str) -> None:
    """Python parses some hundred levels more than functions that recurse over them can take."""
    for given in (text, text.encode()):
        with pytest.raises(ValueError, match="too deeply nested"):
            parse_json(given)
    inner = text[1:-1] if text[0] == "[" else text[5:-1]
    assert parse_json(inner) == parse_json(inner.encode())
    assert parse_json("[" + "[]," * 1000 + "{}]") == [*[[] for _ in range(1000)], {}]
    assert len(parse_json(text, deepest=101)) == 1


def test_nothing_else_parses_the_json_of_files() -> None:
    """`json.loads` raises RecursionError for a nested file, and returns what isn't a table."""
    own = {  # what komadori itself sends, stores in a database or ships
        *("json_file.py", "arena/workers.py", "web/library.py", "rules/svg.py"),
        *("analysis/page/bundle.py", "analysis/strength.py"),
    }
    folder = Path(komadori.__file__).parent
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(r"\bjson\.loads?\((?!json\.dumps)", path.read_text(encoding="utf-8"))
    }
    assert found <= own
