"""The pages of matches and tunings in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from komadori import arena
from komadori.arena.page import elo_curve, write_page
from komadori.arena.spsa import Parameter
from komadori.arena.tune import TuneConfig, tune
from komadori.records import MATE_CP
from komadori.rules import Board

CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_pages_fit_a_phone(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    name = "distilled_" * 12  # without a place to break at
    arena.play_match(
        f"material?name=a{name}", f"random?name=b{name}", games=2, out=tmp_path / "match"
    )
    config = TuneConfig((Parameter("C_init", 144, 10, 400, 60),), pairs=1, opening_plies=2)
    tune("model:random:1?nodes=2", config, tmp_path / "tune")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        phone = browser.new_page(viewport={"width": 320, "height": 640})
        for name in ("match", "tune"):
            phone.goto((tmp_path / name / "index.html").as_uri())
            assert phone.locator("svg").count(), name
            assert phone.evaluate("document.documentElement.scrollWidth") == 320, name
            cut = "[...document.querySelectorAll('div')].filter(e => e.scrollWidth > e.clientWidth)"
            assert phone.evaluate(f"{cut}.length") == 0, name
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_long_names_leave_the_results_in_sight(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    name = "runs/resnet5x64/checkpoints/step-00000030"
    arena.play_match(f"random?name={name}", f"random?name={name}b", games=2, out=tmp_path)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto((tmp_path / "index.html").as_uri())
        assert page.locator("#list").evaluate("e => e.scrollWidth <= e.clientWidth")
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_numbers_stay_whole_on_a_phone(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    name = "distilled_" * 12
    arena.play_match(
        f"material?name=a{name}",
        f"random?name=b{name}",
        games=12,
        conditions=arena.Conditions(max_plies=110),
        out=tmp_path,
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto((tmp_path / "index.html").as_uri())
        lines = page.evaluate(
            """() => [...document.querySelectorAll("td")].filter(e => /^\\d+$/.test(e.textContent))
              .map(e => {
                const range = document.createRange();
                range.selectNodeContents(e);
                return [e.textContent, range.getClientRects().length];
              })"""
        )
        assert {"10", "11", "12"} <= {number for number, _ in lines}
        assert [number for number, count in lines if count > 1] == []
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_board_follows_the_game_and_needs_no_font(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    hostile = "random?name=__DATA__</title><script>document.title='taken'</script>"
    played = arena.play_match("material", hostile, games=2, seed=3, out=tmp_path)
    game = min(played.games, key=lambda one: one.index)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto((tmp_path / "index.html").as_uri())
        assert page.title() == f"material – {hostile.partition('=')[2]}"
        board = Board(game.sfen)
        moves = list(game.moves)
        for usi in moves:
            board.push(usi)
        while moves:  # from the end to the beginning
            assert page.locator("#sfen").inner_text() == board.sfen()
            assert page.locator("#board .last").count() == 1
            page.keyboard.press("ArrowLeft")
            board.pop()
            moves.pop()
        assert page.locator("#sfen").inner_text() == board.sfen() == game.sfen
        for style in ("kanji", "western"):
            assert page.locator(f"#board use[href^='#kmd-{style}-']").count() == 40
            assert page.locator("#board text").count() == 0
            page.locator("#pieces").click()
        assert errors == []
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_mates_are_no_centipawns(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    conditions = arena.Conditions(max_plies=40)
    played = arena.play_match("random", "random", games=2, conditions=conditions)
    game = played.games[0]
    game.scores_cp[-2:] = [MATE_CP, -MATE_CP]
    write_page(tmp_path / "index.html", played)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((tmp_path / "index.html").as_uri())
        assert "the mover is mated" in page.locator("#where").inner_text()
        page.locator("button", has_text="‹").click()
        assert "the mover mates" in page.locator("#where").inner_text()
        browser.close()


def test_four_games_are_too_few_for_a_curve_not_an_empty_graph() -> None:
    games = arena.play_match("random", "random", games=6).games
    assert elo_curve(games[:4]) == []
    assert [row[0] for row in elo_curve(games)] == [4, 5, 6]
