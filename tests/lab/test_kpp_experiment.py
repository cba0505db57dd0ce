"""KPP experiments in the laboratory: elmo's file, resumed runs, matches, pages."""

import dataclasses
import json
import math
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from komadori import arena
from komadori.cli.lab import command
from komadori.cli.train import command as train_command
from komadori.lab import experiment, kpp_learner, speed
from komadori.lab.pages import write_pages
from komadori.lab.results import Store
from komadori.lab.runner import Laboratory, Observer, Task
from komadori.lab.size import LabError, Size

FOLDER = Path(__file__).parents[2] / "experiments" / "lab"
TINY = Size(positions=300, width=64, test_positions=30)

TOY = """
title = "A toy of KPP"
source = "nowhere"
question = "What is the teacher worth?"
learner = "kpp"
extras = ["elo_first"]
[base]
batch = 100
epochs = 1
[[variants]]
name = "both"
title = "both"
[[variants]]
name = "squared"
title = "squared errors"
set = { loss = "squared" }
[[claims]]
text = "Both foretell results better."
measure = "result_loss"
higher = ["squared"]
lower = ["both"]
[[claims]]
text = "Both play better."
measure = "elo_first"
higher = ["both"]
lower = ["squared"]
"""


@pytest.fixture(autouse=True)
def short_matches(monkeypatch):
    monkeypatch.setattr(kpp_learner, "GAMES", 4)
    monkeypatch.setattr(kpp_learner, "NODES", 50)


class Watch(Observer):
    def __init__(self):
        self.ended, self.steps = [], []

    def begin(self, task, done, left, seconds_left):
        assert seconds_left > 0

    def progress(self, progress):
        assert 0 < progress.progress <= 1
        assert progress.seconds_left >= 0
        self.steps.append((progress.text.split()[0] == "match", progress.step))

    def end(self, task, record):
        self.ended.append(task.variant.name)


def test_elmos_file():
    one = experiment.load(FOLDER / "elmo.toml")
    settings = {v.name: one.config(v, Size()).settings for v in one.variants}
    assert {name: (s.loss, s.result_weight, s.teacher_weight) for name, s in settings.items()} == {
        "lambda-0.5": ("cross-entropy", 1, 0.5),
        "lambda-0": ("cross-entropy", 1, 0),
        "lambda-0.33": ("cross-entropy", 1, 0.33),
        "lambda-1": ("cross-entropy", 1, 1),
        "teacher": ("cross-entropy", 0, 1),
        "squared-0.5": ("squared", 1, 0.5),
        "squared-teacher": ("squared", 0, 1),
    }
    assert {(s.batch, s.rate, s.singles_rate, s.lower_rate) for s in settings.values()} == {
        (40_000, 3, 3, 30)
    }
    with pytest.raises(LabError, match="its learner is kpp"):
        one.training_config(one.variants[0], Size())


def test_runs_resume_wherever_they_stopped(toy, samples, tmp_path):
    """Stopped while learning, then while playing; then nothing is left to do."""
    store, watch = Store(tmp_path / "results"), Watch()
    laboratory = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu", watch)

    laboratory.stop = lambda: len(watch.steps) == 1
    assert not laboratory.run([toy], [1])
    assert watch.steps == [(False, 1)]
    assert watch.ended == []

    laboratory.stop = lambda: watch.steps[-1] == (True, 1)  # a game of the second has been played
    assert not laboratory.run([toy], [1])
    assert watch.steps[1] == (False, 2)  # from the checkpoint, not anew
    assert watch.steps[-1] == (True, 1)
    assert watch.ended == ["both"]
    first, second = (laboratory.folder(Task(toy, v, 1)) for v in toy.variants)
    assert not (second / "state.npz").exists()
    games = second / f"against-{first.name}" / "games.jsonl"
    assert len(games.read_text().splitlines()) == 1 + 1

    laboratory.stop = lambda: False
    watch.steps = []
    moved = tmp_path / "elsewhere"
    shutil.move(tmp_path / "runs", moved)
    laboratory.runs = moved
    assert laboratory.run([toy], [1])
    assert watch.steps == [(True, 2), (True, 3), (True, 4)]
    assert watch.ended == ["both", "squared"]
    assert laboratory.run([toy], [1])
    other_width = dataclasses.replace(laboratory, size=dataclasses.replace(TINY, width=8))
    assert other_width.tasks([toy], [1]) == []

    both, squared = store.records("toy")
    assert both.size == squared.size == dataclasses.replace(TINY, width=0)
    assert both.facts["data"] == squared.facts["data"]
    assert (both.facts["train_positions"], both.facts["test_positions"]) == (300, 30)
    assert 200 < both.samples == squared.samples <= 300  # without drawn games
    assert squared.cpu_samples > squared.samples / 2
    assert both.measure("elo_first") == 0
    assert 0 <= squared.measure("score_first") <= 1
    for record in (both, squared):
        tops = [record.measure(f"agreement_{k}") for k in (1, 2, 4, 8)]
        assert 0 <= tops[0] <= tops[1] <= tops[2] <= tops[3] <= 1
        assert 0 < record.measure("teacher_loss") < record.measure("result_loss") < 2
        assert record.measure("weights_touched") > 10_000

    changed = dataclasses.replace(toy, base={**toy.base, "rate": 1.0})
    assert len(laboratory.tasks([changed], [1])) == 2
    first_changed = dataclasses.replace(
        toy,
        variants=(dataclasses.replace(toy.variants[0], settings={"rate": 1.0}), toy.variants[1]),
    )
    again = laboratory.tasks([first_changed], [1])  # the other plays against it anew
    assert [task.variant.name for task in again] == ["both", "squared"]
    assert laboratory.folder(again[1]) == moved / "toy" / second.name
    with pytest.raises(LabError, match=r"weights\.npz isn't there to play against"):
        laboratory._make(again[1])
    with pytest.raises(LabError, match="its learner is kpp"):
        speed.measure_int8(laboratory, "toy", again)

    write_pages([toy], store, tmp_path / "pages", "", "A machine")
    page = (tmp_path / "pages" / "toy.md").read_text()
    variants, claims = page.split("## Claims")
    head, _, *rows = (line for line in variants.splitlines() if line.startswith("|"))
    assert "| Diary: Both play better. | both - squared: Elo against the first |" in claims
    assert "| result loss above floor (nats) | teacher loss above floor (nats) |" in head
    assert "| Elo against the first |" in head
    assert [row.split(" | ")[0] for row in rows] == ["| both", "| squared errors (`squared`)"]
    assert "komadori lab run toy --positions 300 --test-positions 30" in page
    assert "4 games of alpha-beta" in page
    assert "torch" not in page
    assert "width" not in page
    assert "best move in the first 1, held-out games" in (tmp_path / "pages/toy.svg").read_text()


def test_other_data_is_refused(toy, samples, tmp_path):
    alone = dataclasses.replace(toy, extras=())
    laboratory = Laboratory(Store(tmp_path / "results"), tmp_path / "runs", TINY, samples)
    task = Task(alone, alone.variants[0], 1)
    assert laboratory._make(task) is not None
    laboratory.samples = samples.take(slice(500, 2000))
    with pytest.raises(LabError, match="other data"):
        laboratory._make(task)
    (laboratory.folder(task) / "learned.json").write_text("{")
    with pytest.raises(LabError, match=r"learned\.json: can't be read"):
        laboratory._make(task)


def test_variants_come_with_the_first_that_they_play_against(toy):
    assert [v.name for v in toy.only(["squared"]).variants] == ["both", "squared"]
    assert [v.name for v in toy.only(["both"]).variants] == ["both"]
    alone = dataclasses.replace(toy, extras=())
    assert [v.name for v in alone.only(["squared"]).variants] == ["squared"]
    with pytest.raises(LabError, match="no variant 'quick'"):
        toy.only(["quick"])


@pytest.mark.parametrize(
    ("wins", "draws", "losses", "elo"),
    [
        (60, 0, 40, "elo and error"),
        (100, 0, 0, "elo above 0"),
        (0, 0, 100, "elo below 0"),
        (2, 0, 0, "elo at 0"),
        (1, 0, 1, "elo and error"),
    ],
)
def test_figures_of_a_match_are_finite(wins, draws, losses, elo):
    estimate = arena.trinomial(wins, draws, losses)
    found = kpp_learner._figures(0.5, estimate)
    assert all(math.isfinite(value) for value in found.values())
    assert ("elo_first_error" in found) == ("error" in elo and math.isfinite(estimate.error))
    if "error" not in elo:
        sign = {"above": 1, "below": -1, "at": 0}[elo.split()[1]]
        assert (found["elo_first"] > 0) - (found["elo_first"] < 0) == sign


@pytest.mark.parametrize(
    ("seeds", "reason"),
    [
        ("1,1", "seed 1 is named twice"),
        ("1, 01", "seed 1 is named twice"),
        ("3,2,3", "seed 3 is named twice"),
        (",", "--seeds ,: expected numbers separated by commas"),
        (" ", "--seeds  : expected numbers separated by commas"),
        (",,", "--seeds ,,: expected numbers separated by commas"),
    ],
)
def test_repeated_or_missing_seeds_are_refused(seeds, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "toy.toml").write_text(TOY)
    options = ["--experiments", "lab", "--results", "results", "--positions", "200"]
    done = CliRunner().invoke(command, ["run", "toy/both", *options, "--seeds", seeds])
    assert done.exit_code == 2
    assert reason in done.output
    assert not (tmp_path / "results").exists()


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab").mkdir()
    path = tmp_path / "lab" / "toy.toml"
    path.write_text(TOY.replace('extras = ["elo_first"]', ""))
    runner = CliRunner()
    common = ["--experiments", "lab", "--results", "results"]
    run = ["run", "toy/both", *common, "--positions", "200", "--test-positions", "20"]
    made = runner.invoke(command, [*run, "--seeds", "2"])
    assert made.exit_code == 0, made.output
    assert "toy/both, seed 2: result 0." in made.output
    assert "best move" in made.output
    kept = json.loads((tmp_path / "results" / "toy.json").read_text())
    assert [record["config"]["settings"]["seed"] for record in kept["records"]] == [2]
    refused = runner.invoke(train_command, [str(path), "--variant", "both"])
    assert "its learner is kpp" in refused.output
    assert refused.exit_code == 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("batch = 100", "bach = 60"), "toy/both: unknown key 'bach'"),
        (("batch = 100", 'batch = "many"'), "toy/both: batch must be int, not 'many'"),
        (("batch = 100", "rate = true"), "toy/both: rate must be float, not True"),
        (('loss = "squared"', 'loss = "cubed"'), "toy/squared: loss is 'cubed'"),
        (('"kpp"', '"kppt"'), "learner = 'kppt'; there are network, kpp"),
        (('"elo_first"]', '"elo"]'), "extras: unknown 'elo'; there are elo_first"),
    ],
)
def test_a_wrong_file_is_reported(change, text, tmp_path):
    path = tmp_path / "toy.toml"
    path.write_text(TOY.replace(*change))
    with pytest.raises(LabError, match=r"toy\.toml") as error:
        experiment.load(path)
    assert text in str(error.value)
