"""The pages of matches and tunings in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from komadori import arena
from komadori.arena.spsa import Parameter
from komadori.arena.tune import TuneConfig, tune

CHROMIUM = shutil.which("chromium")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_pages_fit_a_phone(tmp_path: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    arena.play_match("material", "random", games=2, out=tmp_path / "match")
    config = TuneConfig((Parameter("C_init", 144, 10, 400, 60),), pairs=1, opening_plies=2)
    tune("model:random:1?nodes=2", config, tmp_path / "tune")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        phone = browser.new_page(viewport={"width": 320, "height": 640})
        for name in ("match", "tune"):
            phone.goto((tmp_path / name / "index.html").as_uri())
            assert phone.locator("svg").count(), name
            assert phone.evaluate("document.documentElement.scrollWidth") == 320, name
        browser.close()
