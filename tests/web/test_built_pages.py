"""The committed pages: up to date with `web/`, small, and without inline code."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from web_pages import make_server

from komadori.rules.handicaps import HANDICAPS

REPOSITORY = Path(__file__).parents[2]
WEB = REPOSITORY / "web"
STATIC = REPOSITORY / "src/komadori/web/static"
MAX_BYTES = 500_000


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_pages_are_below_500_kb_compressed():
    built = files(STATIC)
    assert "index.html" in built
    assert sum(len(gzip.compress(data, 9, mtime=0)) for data in built.values()) < MAX_BYTES


def test_the_page_has_no_inline_code_and_no_external_resources():
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\son\w+=|javascript:|<style|\sstyle=", page)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    for name, data in files(STATIC).items():
        if name.endswith(".js"):
            code = data.decode()
            assert not re.search(r"\beval\(|new Function\(", code), name


def test_the_generated_message_types_are_current():
    sys.path.insert(0, str(WEB / "tools"))
    try:
        import protocol_types
    finally:
        sys.path.pop(0)
    written = (WEB / "src/protocol.ts").read_text(encoding="utf-8")
    assert written == protocol_types.text(), "run web/tools/protocol_types.py"


def test_pages_know_every_handicap_of_the_rules():
    written = (WEB / "src/shogi/handicaps.ts").read_text(encoding="utf-8")
    found = re.findall(r"key: 'handicap\.([\w-]+)', sfen: '([^']+)'", written)
    assert found == [(h.name, h.sfen) for h in HANDICAPS.values() if h.name != "even"]


def test_the_lock_file_names_no_registry():
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]


@pytest.fixture(scope="session")
def vite() -> str:
    node = shutil.which("node")
    script = WEB / "node_modules/vite/bin/vite.js"
    if node is None or not script.is_file():
        pytest.skip("needs Node and `npm --prefix web ci`")
    return node


def test_a_new_build_equals_the_committed_pages(vite, tmp_path):
    subprocess.run(
        [
            vite,
            "node_modules/vite/bin/vite.js",
            "build",
            "--outDir",
            str(tmp_path),
            "--logLevel",
            "warn",
        ],
        cwd=WEB,
        check=True,
    )
    built, committed = files(tmp_path), files(STATIC)
    assert sorted(built) == sorted(committed)
    assert [name for name in committed if built[name] != committed[name]] == []


@pytest.mark.slow
def test_the_pages_own_tests_pass(vite):
    command = [vite, "node_modules/vitest/vitest.mjs", "run"]
    subprocess.run(command, cwd=WEB, check=True)


def test_a_page_without_an_icon_gets_ours(tmp_path: Path) -> None:
    with make_server(tmp_path) as client:
        icon = client.get("/favicon.ico")
    assert icon.status_code == 200
    assert icon.headers["content-type"].startswith("image/svg+xml")
    assert icon.content == (STATIC / "icon.svg").read_bytes()
