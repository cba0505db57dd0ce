"""JSON files that are damaged or from others."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import komadori
from komadori.arena import MatchStoreError, play_match
from komadori.json_file import parse_json, parse_table, read_table

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
