"""The page of a run: its counts against plain counts, and its contents."""

import json
import math
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import nets, records, training
from komadori.cli.report import command
from komadori.report import run_page
from komadori.report.examine import PHASES, candidates, examine, phase_of
from komadori.report.figures import plot_png
from komadori.rules import Board
from komadori.training.encoder import CoreEncoder

CHROMIUM = shutil.which("chromium")


def small(labels="2187"):
    return {
        "model": {"net": {"family": "resnet", "blocks": 1, "channels": 16}, "labels": labels},
        "data": {"test_fraction": 0.5, "test_limit": 400, "train_limit": 640},
        "schedule": {"warmup_steps": 2, "rate": 0.05},
        "loop": {
            "batch_size": 32,
            "log_every": 2,
            "evaluate_every": 8,
            "checkpoint_every": 0,
            "tensorboard": False,
        },
        "device": {"device": "cpu", "precision": "float32", "replicas": 1},
    }


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    path = tmp_path_factory.mktemp("games") / "some.hcpe3"
    records.write_games(path, list(records.read_games(records.sample_path()))[:20])
    return path


@pytest.fixture(scope="module")
def run(games, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "run"
    config = training.config_from_dict(small())
    return training.train(config, records.load_samples(games), None, folder)


@pytest.mark.parametrize("labels", ["2187", "from-to"])
def test_the_counts_are_those_of_the_measures(games, tmp_path, labels):
    config = training.config_from_dict(small(labels))
    samples = records.load_samples(games)
    result = training.train(config, samples, None, tmp_path / "run")
    network, _ = nets.load_model(result.checkpoint)
    part = training.split_of(config, samples, None).test
    compute = training.Compute.of(config.device)
    seen = examine(network, part, CoreEncoder("dlshogi", labels), config.loss, compute)
    measured = result.test
    assert len(seen.rows) == measured.positions
    assert (seen.rank[seen.labelled] == 0).mean() == pytest.approx(measured.policy_top1)
    assert (seen.rank[seen.labelled] < 5).mean() == pytest.approx(measured.policy_top5)
    assert seen.policy_loss[seen.labelled].mean() == pytest.approx(measured.policy_loss, rel=1e-4)
    assert seen.is_legal.mean() == pytest.approx(measured.best_is_legal)
    decided = seen.result != 0.5
    correct = (seen.win > 0.5) == (seen.result > 0.5)
    assert correct[decided].mean() == pytest.approx(measured.value_accuracy)
    rows = run_page.phase_rows(seen)
    assert sum(row.positions for row in rows) == len(seen.rows)
    whole = sum(row.legal * row.positions for row in rows) / len(seen.rows)
    assert whole == pytest.approx(measured.best_is_legal)
    worst = int(seen.rows[np.argmax(seen.policy_loss)])
    moves = candidates(network, part, worst, CoreEncoder("dlshogi", labels), labels, compute)
    (teacher,) = [one for one in moves if one.is_teacher]
    assert -np.log(teacher.probability) == pytest.approx(seen.policy_loss.max(), rel=1e-3)
    assert moves[0].probability >= moves[1].probability


@pytest.mark.parametrize(
    ("sfen", "phase"),
    [
        ("startpos", "opening"),
        ("lnsgkgsnl/1r5b1/1pppppppp/9/9/9/1PPPPPPPP/1B5R1/LNSGKGSNL b 2P 1", "opening"),
        ("lnsgkgsnl/1r7/1pppppppp/9/9/9/1PPPPPPPP/1B5R1/LNSGKGSNL b 2Pb 1", "middle game"),
        ("lnsgkgsnl/1r7/3pppppp/9/9/9/3PPPPPP/7R1/LNSGKGSNL b 6P2b 1", "endgame"),
        ("lnsgkgsnl/1r5b1/ppppKpppp/9/9/9/PPPPPPPPP/1B5R1/LNSG1GSNL b p 1", PHASES[3]),
        ("lnsg1gsnl/1r5b1/ppppppppp/9/9/9/PPPPkPPPP/1B5R1/LNSGKGSNL w P 1", PHASES[3]),
    ],
)
def test_phases(sfen, phase):
    assert PHASES[phase_of(np.frombuffer(Board(sfen).hcp(), np.uint8))] == phase


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_a_missing_package_is_named_before_the_work(run, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("komadori.report.run_page.examine", None)  # isn't reached
    with pytest.raises(ModuleNotFoundError, match=package):
        run_page.write_run_report(run.run_dir, None, None, run.run_dir / "report")


def test_the_page(run, games):
    made = CliRunner().invoke(command, [str(run.run_dir), "--data", str(games)])
    assert made.exit_code == 0, made.output
    folder = run.run_dir / "report"
    text = (folder / "index.html").read_text()
    for title in ("Policy loss", "Value calibration", "Accuracy by move number", "opening"):
        assert title in text
    assert text.count('class="board"') == run_page.BOARDS
    assert "teacher" in text
    assert "http" not in text.replace("http://www.w3.org", "")  # nothing is loaded
    names = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert names == {path.stem for path in (folder / "figures").glob("*.png")}
    assert {"policy-loss", "calibration", "accuracy-by-ply", "accuracy-by-phase"} <= names
    assert (folder / "figures" / "calibration.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_page_on_a_phone_and_on_paper(run, games, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    page = run_page.write_run_report(run.run_dir, records.load_samples(games), None, tmp_path)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        phone = browser.new_page(viewport={"width": 390, "height": 844})
        phone.goto(page.as_uri())
        assert phone.evaluate("document.documentElement.scrollWidth") == 390
        # No word of the table is cut, and no number parted from its %.
        fits = """cell => { const words = cell.textContent.split(/ (?!%)/).map(word => {
            const one = document.createElement("span"); one.textContent = word; return one; });
            cell.replaceChildren(...words.flatMap(word => [word, " "]));
            return words.every(word => word.getClientRects().length === 1); }"""
        cells = phone.locator("table").first.locator("td").all()
        assert cells
        assert all(cell.evaluate(fits) for cell in cells)
        paper = browser.new_page(viewport={"width": 720, "height": 1000})
        paper.emulate_media(media="print")
        paper.goto(page.as_uri())
        for card in paper.locator(".card").all():
            assert card.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
        assert not paper.locator("button").first.is_visible()
        browser.close()


def test_the_page_of_a_run_that_learned_visits(games, tmp_path):
    table = small() | {"loss": {"policy_target": "visits", "mask_illegal": True}}
    table["data"] = {**table["data"], "train": [str(games)]}
    config = training.config_from_dict(table)
    result = training.train(config, training.load_visits([games]), None, tmp_path / "run")
    made = CliRunner().invoke(command, [str(tmp_path / "run")])
    assert made.exit_code == 0, made.output
    assert (tmp_path / "run" / "report" / "index.html").is_file()
    # Legality is measured on the unmasked policy, in the page's table too.
    network, card = nets.load_model(result.checkpoint)
    part = training.split_of(config, training.load_visits([games]), None).test
    compute = training.Compute.of(config.device)
    loss = training.loss_config_of(card)
    seen = examine(network, part, CoreEncoder("dlshogi", "2187"), loss, compute)
    assert loss.mask_illegal
    assert seen.is_legal.mean() == pytest.approx(result.test.best_is_legal)
    assert seen.is_legal.mean() < 1


def test_other_games_than_the_runs_are_refused(run, games, tmp_path):
    more = tmp_path / "more.hcpe3"
    records.write_games(more, list(records.read_games(records.sample_path()))[20:24])
    made = CliRunner().invoke(
        command, [str(run.run_dir), "--data", str(games), "--data", str(more)]
    )
    assert made.exit_code == 1
    assert "these are not the run's games" in made.output


def test_curves_are_the_log(run):
    plots = run_page.curves(run.history)
    train = [e for e in run.history if e["kind"] == "train"]
    assert list(plots["policy-loss"].curves[0].y) == [e["policy_loss"] for e in train]
    assert plot_png(plots["rate"])[:4] == b"\x89PNG"


def test_damaged_numbers_of_a_log_are_left_out_of_the_curves(run):
    train = [e for e in run.history if e["kind"] == "train"]
    values = ("1", [], math.inf, math.nan, 10**400, -1.7e308)
    damaged = [{**train[0], "policy_loss": value} for value in values]
    without = {key: value for key, value in train[0].items() if key != "samples"}
    damaged += [{**train[0], "samples": 10**400}, without]
    plots = run_page.curves([*damaged, *run.history])
    assert list(plots["policy-loss"].curves[0].y) == [e["policy_loss"] for e in train]


def test_damaged_entries_of_a_log_are_left_out_of_the_page(games, tmp_path, run):
    folder = tmp_path / "run"
    shutil.copytree(run.run_dir, folder)
    log = folder / "log.jsonl"
    text = log.read_bytes().replace(b'"komadori":', b'"komadorj":')
    log.write_bytes(text.replace(b'"test_positions":', b'"test_positions": "x", "y":'))
    made = CliRunner().invoke(command, [str(folder), "--data", str(games)])
    assert made.exit_code == 0, made.output
    page = (folder / "report" / "index.html").read_text()
    assert "Policy loss" in page
    assert "made with" not in page


def test_errors_are_one_line(tmp_path, run):
    missing = CliRunner().invoke(command, [str(run.run_dir)])
    assert "give --data" in missing.output
    empty = CliRunner().invoke(command, [str(tmp_path)])
    assert "neither a model folder nor a run" in empty.output


@pytest.mark.parametrize(
    ("keys", "status"),
    [(("config",), 1), (("config", "data"), 1), (("config", "loss"), 1), (("data",), 0)],
)
def test_damaged_facts_of_a_card_are_named_or_left_out(games, run, tmp_path, keys, status):
    for damage in (None, "x", 5, []):
        shutil.copytree(run.run_dir, tmp_path / "run", dirs_exist_ok=True)
        path = training.resolve(tmp_path / "run") / "model.json"
        card = json.loads(path.read_text())
        table = card["training"]
        for key in keys[:-1]:
            table = table[key]
        table[keys[-1]] = damage
        card["training"] |= {"samples": damage}
        path.write_text(json.dumps(card))
        result = CliRunner().invoke(command, [str(tmp_path / "run"), "--data", str(games)])
        assert result.exit_code == status, result.output
        assert isinstance(result.exception, SystemExit) or not status
        if status:
            assert result.output.startswith("Error: ")
            assert result.output.count("\n") == 1


DRAWINGS = (
    "from komadori.report.figures import Curve, Plot, plot_png; "
    "plot_png(Plot('a', 'b', [Curve('c', [0, 1], [0, 1])]))",
    "from komadori.report.figures import Curve, Plot, plot_svg; "
    "plot_svg(Plot('a', 'b', [Curve('c', [0, 1], [0, 1])]))",
    "from komadori.report.figures import figure_svg; "
    "figure_svg(lambda: __import__('matplotlib.figure').figure.Figure(), 'a')",
)


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_drawing_says_nothing_about_folders_of_matplotlib(drawing, tmp_path):
    (tmp_path / "file").touch()
    none = str(tmp_path / "file" / "none")
    folders = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
    environment = {**os.environ, **dict.fromkeys(folders, none)}
    environment.pop("MPLCONFIGDIR", None)
    check = f"{drawing}; import logging; assert logging.getLogger('matplotlib').level == 0"
    done = subprocess.run(
        [sys.executable, "-c", check], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
