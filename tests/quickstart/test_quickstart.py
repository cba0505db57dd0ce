"""The whole quickstart on a tiny network: every output exists."""

import json
import re
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import click
from click.testing import CliRunner

from komadori import arena, quickstart
from komadori.cli import interrupt
from komadori.cli._group import group
from komadori.cli.quickstart import command
from komadori.cli.report import command as report_command
from komadori.nets import parse
from komadori.quickstart.page import MatchView, Page, render
from komadori.report.figures import Curve, Plot
from komadori.run_lock import InUseError, RunLock


def run(folder: Path) -> quickstart.Outcome:
    settings = quickstart.Settings(train_seconds=1, games=2, nodes=1, concurrency=1)
    base = quickstart.config(settings)
    tiny = replace(
        base,
        model=replace(base.model, net=parse("resnet1x8")),
        data=replace(base.data, test_limit=64),
        loop=replace(base.loop, batch_size=32, max_seconds=0, max_steps=2, log_every=1),
    )
    return quickstart.run(folder, settings, run_config=tiny)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> quickstart.Outcome:
    return run(tmp_path_factory.mktemp("quickstart"))


def test_it_resumes_in_its_matches_and_begins_again_once_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = arena.play_match

    def killed(player: str, opponent: str, **settings: Any) -> arena.MatchResult:
        if settings["out"].name == "match-2":
            raise KeyboardInterrupt
        return play(player, opponent, **settings)

    # The fixture's run shows that the page can be drawn.
    monkeypatch.setattr(sys.modules["komadori.quickstart.run"], "render", lambda page: "")
    with monkeypatch.context() as patched:
        patched.setattr(arena, "play_match", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    log = (tmp_path / "training" / "log.jsonl").read_text()
    first = (tmp_path / "match-1" / "games.jsonl").read_bytes()
    done = run(tmp_path)
    steps = [row for row in map(json.loads, log.splitlines()) if row["kind"] == "train"]
    again = (tmp_path / "training" / "log.jsonl").read_text().splitlines()
    assert [row for row in map(json.loads, again) if row["kind"] == "train"] == steps
    assert (tmp_path / "match-1" / "games.jsonl").read_bytes() == first
    assert [match.played for match in done.matches.values()] == [2, 2]
    assert [match.played for match in run(tmp_path).matches.values()] == [2, 2]


@pytest.mark.parametrize("package", ["onnx", "matplotlib", "jinja2"])
def test_a_package_of_a_later_step_is_missed_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=package):
        run(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_files_of_others_are_kept(tmp_path: Path) -> None:
    for name in ("training/notes.txt", "match-notes/one.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("mine")
    for name in ("summary.json", "index.html", "model.onnx", "model.json", "untrained.onnx"):
        for text in ('{"mine": 1}', "mine"):
            (tmp_path / name).write_text(text)
            refused = CliRunner().invoke(command, ["--out", str(tmp_path)])
            assert refused.exit_code == 1
            expected = f"Error: {tmp_path / name} is not of a quickstart; choose another folder\n"
            assert refused.output == expected
            assert (tmp_path / name).read_text() == text
        (tmp_path / name).unlink()
    assert (tmp_path / "training" / "notes.txt").read_text() == "mine"


def test_only_its_own_folders_are_removed(
    outcome: quickstart.Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["komadori.quickstart.run"], "render", lambda page: "")
    (tmp_path / "summary.json").write_bytes((outcome.folder / "summary.json").read_bytes())
    kept = [
        tmp_path / name
        for name in (
            "match-notes/one.txt",
            "match-3/games.jsonl",
            "match-1/notes.txt",
            "training/notes.txt",
        )
    ]
    for path in kept:
        path.parent.mkdir()
        path.write_text("mine")
    run(tmp_path)
    assert [path.read_text() for path in kept] == ["mine"] * len(kept)


@pytest.mark.parametrize("part", ["training", "match-2"])
def test_a_finished_run_that_is_in_use_is_kept(
    outcome: quickstart.Outcome, tmp_path: Path, part: str
) -> None:
    shutil.copytree(outcome.folder, tmp_path, dirs_exist_ok=True)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    with RunLock(tmp_path / part), pytest.raises(InUseError, match=f"{part}: in use by process"):
        run(tmp_path)
    for path, written in before.items():
        assert ".lock" in path.name or path.stat().st_mtime_ns == written


def test_the_hint_says_whether_anything_was_saved(
    outcome: quickstart.Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quickstart, "run", lambda *_: outcome)
    for folder, expected in (
        (tmp_path, "nothing was saved; the same command starts over"),
        (outcome.folder, "the same command resumes"),
    ):
        CliRunner().invoke(command, ["--out", str(folder)])
        assert interrupt._current_hint() == expected


def test_two_matches_are_played(outcome: quickstart.Outcome) -> None:
    assert [match.played for match in outcome.matches.values()] == [2, 2]


def test_two_steps_do_not_pass(outcome: quickstart.Outcome) -> None:
    assert not outcome.passed
    assert len(outcome.unbeaten) == 2


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (quickstart.Settings(games=4), "4 games can't show one, whoever wins them."),
        (quickstart.Settings(games=6), "by default it trains for 180 s and plays 60 games."),
        (
            quickstart.Settings(train_seconds=40),
            "by default it trains for 180 s and plays 60 games.",
        ),
        (quickstart.Settings(), ""),
    ],
)
def test_missing_packages_are_named(
    outcome: quickstart.Outcome, settings: quickstart.Settings, advice: str
) -> None:
    text = quickstart.shortfall(outcome, settings)
    assert text.startswith("No win with p < 0.05 against ")
    for name in outcome.matches:
        assert f"{name}: +" in text
    assert text.endswith(advice)
    assert ("default" in text) == ("default" in advice)


def test_options_are_the_settings(
    outcome: quickstart.Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[quickstart.Settings] = []

    def run(_folder: Path, settings: quickstart.Settings, _observer: object) -> quickstart.Outcome:
        given.append(settings)
        return outcome

    monkeypatch.setattr(quickstart, "run", run)
    words = "--time 5 --games 4 --nodes 7 --seed 9"
    result = CliRunner().invoke(command, ["--out", str(tmp_path), *words.split()])
    assert given == [quickstart.Settings(train_seconds=5, games=4, nodes=7, seed=9)]
    assert result.exit_code == 1
    assert result.output.rstrip().endswith("4 games can't show one, whoever wins them.")


def test_the_summary_holds_the_figures(outcome: quickstart.Outcome) -> None:
    summary = json.loads((outcome.folder / "summary.json").read_text())
    assert summary["metrics"]["positions"] == 64
    assert set(summary["matches"]) == set(outcome.matches)


def test_the_page_shows_boards_curves_and_matches(outcome: quickstart.Outcome) -> None:
    page = outcome.page.read_text()
    assert page.count("<svg") >= 6  # two plots, four boards
    assert "Not passed" in page
    for name in outcome.matches:
        assert name in page
    assert "http://" not in page.replace("http://www.w3.org/", "")  # loads nothing


def test_the_models_differ(outcome: quickstart.Outcome) -> None:
    assert outcome.model.read_bytes() != (outcome.folder / "untrained.onnx").read_bytes()


def test_page_escapes_text() -> None:
    page = Page(
        title="<b>",
        verdict="",
        passed=True,
        figures={},
        plots=[Plot("t", "x", [Curve("c", [0, 1], [0, 1])])],
        positions=[],
        matches=[MatchView("a & b", 1, 0, 1, "+0", 0.5)],
        facts={},
        next_commands=[],
    )
    text = render(page)
    assert "<title>&lt;b&gt;</title>" in text
    assert "a &amp; b" in text


def test_report_finds_the_run_inside(
    outcome: quickstart.Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("komadori.report.run_page.plot_svg", lambda plot, **_: "<svg/>")
    monkeypatch.setattr("komadori.report.run_page.plot_png", lambda plot: b"")
    made = CliRunner().invoke(report_command, [str(outcome.folder), "--device", "cpu"])
    assert made.exit_code == 0, made.output
    assert (outcome.folder / "training" / "report" / "index.html").is_file()
    wrong = CliRunner().invoke(report_command, [str(outcome.folder), "--device", "foo"])
    assert wrong.exit_code == 2
    assert "foo" in wrong.output.splitlines()[-1]


def test_the_next_commands_work_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the environment on the path, and with names that a shell would expand."""
    program = tmp_path / "bin" / "komadori"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(program), "quickstart"])
    monkeypatch.setenv("PATH", "/nowhere")
    lines = dict(quickstart.next_commands(Path("a run/model.onnx")))
    for line in lines.values():
        words = shlex.split(line)
        assert words[0] == str(program)
        command = group.get_command(click.Context(group), words[1])
        assert command is not None
    played = lines["Measure it against an engine"]
    assert "'model:a run/model.onnx?nodes=200'" in played
    assert "'alphabeta?depth=1'" in played
    assert "--model 'a run/model.onnx'" in lines["Play against it in a GUI, or over USI"]
    monkeypatch.setenv("PATH", str(program.parent))
    assert quickstart.next_commands(Path("m"))[-1][1] == "komadori doctor"


def test_the_page_is_in_english(outcome: quickstart.Outcome) -> None:
    """Moves and pieces; a button shows those of Japan."""
    page = (outcome.folder / "index.html").read_text("utf-8")
    assert page.count('<div class="board western">') == page.count('<div class="board kanji">') > 0
    shown = re.findall(r'<span class="western">(.*?)</span><span class="kanji">(.*?)</span>', page)
    assert shown
    assert all(western.isascii() and not kanji.isascii() for western, kanji in shown)
    assert 'id="pieces"' in page


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_figures_take_one_line() -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    values = ("59.9%", "88.8%", "100.0%", "88,888,888", "48 min 48 s")
    figures = {f"figure {number}": value for number, value in enumerate(values)}
    page = Page("t", "", True, figures, [], [], [], {}, [])
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        shown = browser.new_page()
        shown.set_content(render(page))
        for width in (320, 760, 940, 1080, 1400):
            shown.set_viewport_size({"width": width, "height": 640})
            heights = shown.eval_on_selector_all(
                ".figures .value", "all => all.map(e => e.getBoundingClientRect().height)"
            )
            assert len(heights) == len(values)
            assert max(heights) < 1.5 * 25 * 1.55, width
            cut = "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
            assert shown.eval_on_selector_all(".figures .value", cut) == 0, width
        browser.close()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium")
def test_the_page_fits_a_phone(outcome: quickstart.Outcome) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        phone = browser.new_page(viewport={"width": 360, "height": 640}, color_scheme="dark")
        phone.goto((outcome.folder / "index.html").as_uri())
        cut = "[...document.querySelectorAll('div')].filter(e => e.scrollWidth > e.clientWidth)"
        assert phone.evaluate(f"{cut}.length") == 0
        board = phone.locator(".board.western").first
        colour = board.evaluate("e => getComputedStyle(e).backgroundColor")
        assert colour != "rgb(255, 255, 255)"
        assert phone.locator(".board.kanji").first.is_hidden()
        phone.locator("#pieces").click()
        assert phone.locator(".board.kanji").first.is_visible()
        assert phone.locator("#pieces").inner_text() == "Western pieces"
        browser.close()
