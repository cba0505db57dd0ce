"""The laboratory on a tiny set: every experiment's file, runs that go on, claims, pages."""

import dataclasses
import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records, training
from komadori.cli.lab import command
from komadori.cli.train import command as train_command
from komadori.lab import claims, experiment, measures, report, runner, speed
from komadori.lab.experiment import Claim, LabError, Size
from komadori.lab.report import format_measure, write_report
from komadori.lab.results import Record, Store
from komadori.lab.runner import Laboratory, Observer, Task

FOLDER = Path(__file__).parents[2] / "experiments" / "lab"
TINY = Size(positions=400, width=8, test_positions=60)

TOY = """
title = "A toy"
source = "nowhere"
question = "Which?"
[base.model]
net = "resnet1x8"
[base.loop]
batch_size = 16
log_every = 1
[base.device]
precision = "float32"
replicas = 1
[[variants]]
name = "slow"
title = "a low rate"
diary = { train_loss = 3.0, policy_top1 = 0.25, time = "0:01:00" }
set = { schedule.rate = 1e-6 }
[[variants]]
name = "fast"
title = "a usual rate"
set = { schedule.rate = 0.05 }
[[claims]]
text = "A usual rate learns more."
measure = "train_loss"
higher = ["slow"]
lower = ["fast"]
"""


class Watch(Observer):
    def __init__(self):
        self.began, self.ended, self.steps = [], [], []

    def begin(self, task, done, left, seconds_left):
        self.began.append((task.variant.name, task.seed))
        assert seconds_left > 0

    def progress(self, progress):
        self.steps.append(progress.step)

    def end(self, task, record):
        self.ended.append(task.variant.name)


def record(variant, seed=1, **values):
    return Record(variant, seed, TINY, {}, values, 400, 1.0, 1.0, 400)


def test_every_row_of_the_diary_has_a_variant():
    found = {e.name: {v.name for v in e.variants} for e in experiment.load_all(FOLDER)}
    assert len(found["hand-input"]) == 3
    assert len(found["turn-input"]) == 6
    assert len(found["batch-norm"]) == 13
    assert len(found["optimizer"]) == 10
    assert {"bn-order", "from-square", "in-check", "label", "head", "label-head"} <= set(found)
    assert {"resnet", "value-output", "attention", "separate-outputs", "pydlshogi"} <= set(found)


@pytest.mark.parametrize(
    "one",
    [one for one in experiment.load_all(FOLDER) if one.learner == "network"],
    ids=lambda one: one.name,
)
def test_every_variant_trains(one, samples, tmp_path):
    """A step of each at an eighth of the smallest width that its heads allow."""
    for variant in one.variants:
        config = one.training_config(
            variant, dataclasses.replace(TINY, positions=64, test_positions=8)
        )
        loop = dataclasses.replace(config.loop, batch_size=8, max_steps=1, epochs=0.0)
        device = dataclasses.replace(config.device, device="cpu", precision="float32", replicas=1)
        net = config.model.net
        if getattr(net, "channels", 0) > 32:
            net = dataclasses.replace(net, channels=48)
        config = dataclasses.replace(
            config,
            model=dataclasses.replace(config.model, net=net),
            loop=loop,
            device=device,
        )
        result = training.train(config, samples, None, tmp_path / variant.name)
        assert result.step == 1
        assert result.test.positions > 0


def test_runs_are_made_once_and_go_on_where_they_stopped(toy, samples, tmp_path):
    store, watch = Store(tmp_path / "results"), Watch()
    asked = 0

    def stop_after_ten():
        nonlocal asked
        asked += 1
        return asked == 10

    laboratory = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu", watch, stop_after_ten)
    assert not laboratory.run([toy], [1])
    assert watch.began == [("slow", 1)]
    assert watch.ended == []
    stopped_at = watch.steps[-1]
    laboratory.stop = lambda: False
    watch.steps = []
    (begun,) = (tmp_path / "runs" / "toy").iterdir()
    begun.rename(begun.with_name("slow-seed1-0123abcd"))  # as a komadori of other settings names it
    assert laboratory.run([toy], [1])
    assert watch.steps[0] == stopped_at + 1  # from the checkpoint, not anew
    assert watch.ended == ["slow", "fast"]
    assert laboratory.run([toy], [1])
    assert watch.ended == ["slow", "fast"]
    slow, fast = store.records("toy")
    assert slow.facts["data"] == fast.facts["data"]
    assert slow.measure("train_loss") > fast.measure("train_loss")
    assert fast.samples == 400


def test_processes_share_the_runs(toy, samples, tmp_path, monkeypatch):
    """The other one makes `slow`, and has ended it when there is nothing else left to do."""
    monkeypatch.setattr(runner, "WAIT_S", 0.01)
    store = Store(tmp_path / "results")
    other = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu", threads=1)
    task, claim = other._claim(other.tasks([toy], [1]))
    assert task.variant.name == "slow"

    class Ending(Watch):
        def wait(self, left):
            assert self.ended == ["fast"]
            assert left == 1
            store.add("toy", other._make(task))
            claim.release()

    watch = Ending()
    mine = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu", watch)
    assert mine.run([toy], [1])
    assert watch.ended == ["fast"]
    assert {r.variant for r in store.records("toy")} == {"slow", "fast"}


def test_the_same_run_of_two_experiments_is_made_by_one_process(toy, samples, tmp_path):
    twin = dataclasses.replace(toy, name="twin")
    laboratory = Laboratory(Store(tmp_path / "results"), tmp_path / "runs", TINY, samples)
    tasks = laboratory.tasks([toy, twin], [1])
    claims_held = [laboratory._claim(tasks) for _ in range(3)]
    assert [held and held[0].name for held in claims_held] == [
        "toy/slow, seed 1",
        "toy/fast, seed 1",
        None,
    ]


def test_who_plays_against_the_first_waits_for_it(toy, samples, tmp_path, monkeypatch):
    monkeypatch.setattr(experiment.Experiment, "against_first", True)
    laboratory = Laboratory(Store(tmp_path / "results"), tmp_path / "runs", TINY, samples)
    tasks = laboratory.tasks([toy], [1])
    first, claim = laboratory._claim(tasks)
    assert first.variant.name == "slow"
    assert laboratory._claim(tasks) is None
    claim.release()


def test_records_added_at_once_are_all_kept(tmp_path):
    def add(seed):
        Store(tmp_path).add("toy", record("fast", seed))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert sorted(r.seed for r in Store(tmp_path).records("toy")) == list(range(40))


def test_changed_settings_are_run_again(toy, samples, tmp_path):
    store = Store(tmp_path / "results")
    laboratory = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu")
    laboratory.run([toy], [1])
    changed = dataclasses.replace(
        toy,
        variants=(
            toy.variants[0],
            dataclasses.replace(toy.variants[1], settings={"schedule": {"rate": 0.02}}),
        ),
    )
    assert [t.variant.name for t in laboratory.tasks([toy], [1])] == []
    assert [t.variant.name for t in laboratory.tasks([changed], [1])] == ["fast"]
    assert laboratory.run([changed], [1])
    kept = {r.variant: r.config["schedule"]["rate"] for r in store.records("toy")}
    assert kept == {"slow": 1e-6, "fast": 0.02}


def test_small_gaps_get_more_seeds(toy, tmp_path):
    claim = Claim("?", higher=("fast",), lower=("slow",))
    near = [record("fast", policy_top1=0.31), record("slow", policy_top1=0.30)]
    far = [record("fast", policy_top1=0.35), record("slow", policy_top1=0.30)]
    assert claims.needs_seeds(claim, near) == {"fast", "slow"}
    assert claims.needs_seeds(claim, far) == set()
    assert claims.needs_seeds(claim, far, all_seeds=True) == {"fast", "slow"}


@pytest.mark.parametrize(
    ("fast", "verdict"),
    [
        ({1: 0.35}, "holds"),
        ({1: 0.31}, "open"),
        ({1: 0.25}, "does not hold"),
        ({1: 0.310, 2: 0.311, 3: 0.309}, "holds"),
        ({1: 0.290, 2: 0.289, 3: 0.291}, "does not hold"),
        ({1: 0.330, 2: 0.280, 3: 0.301}, "open"),
    ],
)
def test_verdicts(fast, verdict, toy):
    claim = Claim("?", higher=("fast",), lower=("slow",))
    runs = [record("slow", s, policy_top1=0.30) for s in (1, 2, 3)]
    runs += [record("fast", s, policy_top1=v) for s, v in fast.items()]
    assert claims.judge(claim, runs, toy).verdict == verdict


def seeds_of(name: str, *values: float) -> list[Record]:
    return [record(name, seed, policy_top1=v) for seed, v in enumerate(values, 1)]


def test_every_pair_is_judged_by_its_own_error(toy):
    """The least gap is sure, a larger one isn't."""
    claim = Claim("?", higher=("a",), lower=("b", "c"))
    runs = [
        *seeds_of("a", 0.320, 0.321, 0.319),
        *seeds_of("b", 0.300, 0.301, 0.299),
        *seeds_of("c", 0.400, 0.200, 0.250),
    ]
    verdict = claims.judge(claim, runs, toy)
    assert verdict.verdict == "open"
    assert verdict.sentence.startswith("not decided: a to c: +3.67")
    assert verdict.sentence.endswith("within its error")
    assert claims.judge(claim, runs[:6], toy).verdict == "open"  # c has not run
    runs[6:] = seeds_of("c", 0.340, 0.341, 0.339)
    assert claims.judge(claim, runs, toy).sentence.startswith("does not hold: a to c: -2.00")


def test_equal_means_equal_within_the_error(toy):
    claim = Claim("?", equal=("a", "b"), within=0.01)
    wild = [*seeds_of("a", 0.30, 0.30, 0.30), *seeds_of("b", 0.36, 0.25, 0.29)]
    open_ = claims.judge(claim, wild, toy)
    assert open_.verdict == "open"
    assert open_.sentence.endswith(
        "(3 seeds), its error reaching beyond the 1.0 points of alike ones"
    )
    calm = [*seeds_of("a", 0.30, 0.30, 0.30), *seeds_of("b", 0.301, 0.302, 0.301)]
    assert claims.judge(claim, calm, toy).verdict == "holds"
    apart = [*seeds_of("a", 0.30, 0.30, 0.30), *seeds_of("b", 0.33, 0.331, 0.329)]
    assert claims.judge(claim, apart, toy).verdict == "does not hold"


SIZES = Claim("?", higher=("a",), lower=("small", "large"), sizes_of="ResNet", at_equal="int8_time")


def sizes(at: float, *values: float) -> list[Record]:
    """Sizes of time 1 and 4 with accuracies 0.30 and 0.40, and another network."""
    runs = [record("a", seed, policy_top1=v, int8_time=at) for seed, v in enumerate(values, 1)]
    for seed in range(1, len(values) + 1):
        timed = {"int8_time": 4.0} if seed == 1 else {}  # speed is measured with one seed
        runs.append(record("large", seed, policy_top1=0.40, **timed))
        timed = {"int8_time": 1.0} if seed == 1 else {}
        runs.append(record("small", seed, policy_top1=0.30, **timed))
    return runs


@pytest.mark.parametrize(
    ("at", "value", "gap"),
    [
        (2.0, 0.37, 0.02),  # half way by the logarithm
        (1.0, 0.37, 0.07),
        (4.0, 0.37, -0.03),
        (4.4, 0.37, -0.03 - 0.05 * math.log2(1.1)),  # a little beyond
        (0.9, 0.37, 0.07 - 0.05 * math.log2(0.9)),
    ],
)
def test_a_network_stands_beside_one_of_equal_time(at, value, gap):
    assert claims.beside_sizes(SIZES, sizes(at, value)).mean == pytest.approx(gap, abs=1e-12)


def test_the_one_beside_sizes_may_be_lower(toy):
    smaller = dataclasses.replace(SIZES, higher=SIZES.lower, lower=SIZES.higher)
    runs = sizes(2.0, 0.33, 0.331, 0.329)
    assert claims.beside_sizes(smaller, runs).mean == pytest.approx(-0.02)
    verdict = claims.judge(smaller, runs, toy)
    assert (verdict.verdict, verdict.sentence) == (
        "holds",
        "holds: the ResNet to a: +2.00 ± 0.25 points (3 seeds)",
    )
    assert claims.judge(smaller, sizes(2.0, 0.37, 0.371, 0.369), toy).verdict == "does not hold"


def test_verdicts_at_equal_time(toy):
    better = claims.judge(SIZES, sizes(2.0, 0.37, 0.371, 0.369), toy)
    assert (better.verdict, better.sentence) == (
        "holds",
        "holds: a to the ResNet: +2.00 ± 0.25 points (3 seeds)",  # 4.30 * 0.1 / sqrt(3)
    )
    assert claims.judge(SIZES, sizes(2.0, 0.33, 0.331, 0.329), toy).verdict == "does not hold"
    assert claims.judge(SIZES, sizes(2.0, 0.36), toy).verdict == "open"
    assert claims.needs_seeds(SIZES, sizes(2.0, 0.36)) == {"a", "small", "large"}
    assert claims.needs_seeds(SIZES, sizes(2.0, 0.39)) == set()
    alike = [record(r.variant, policy_top1=0.3, int8_time=1.0) for r in sizes(1.0, 0.37)]
    assert claims.judge(SIZES, alike, toy).verdict == "open"  # no line through one place
    far = claims.judge(SIZES, sizes(5.0, 0.45), toy)
    assert far.sentence == "not decided: no ResNet of its size has run"
    untimed = [record(name, policy_top1=0.3) for name in ("a", "small", "large")]
    assert claims.judge(SIZES, untimed, toy).sentence == (
        "not decided: a, large, small have no such figure"
    )


def test_a_page_shows_what_is_had_at_equal_time(toy, tmp_path):
    names = ("a", "small", "large")
    of_sizes = dataclasses.replace(
        toy,
        variants=tuple(dataclasses.replace(toy.variants[0], name=n, title=n) for n in names),
        claims=(SIZES,),
    )
    table = report.table(of_sizes, sizes(2.0, 0.37, 0.371, 0.369))
    head, _, first, *_ = table.splitlines()
    assert "policy accuracy beside the ResNet of its int8 time" in head
    assert "| +2.0 ± 0.1 |" in first
    assert table.count("+2.0") == 1
    picture = report.picture(of_sizes, sizes(2.0, 0.37))
    assert all(f">{text}<" in picture for text in (*names, "sizes of the ResNet"))


def test_one_seed_decides_nothing_where_all_are_asked_for(toy):
    claim = Claim("?", higher=("a",), lower=("b",))
    runs = [*seeds_of("a", 0.40), *seeds_of("b", 0.30)]
    assert claims.judge(claim, runs, toy).verdict == "holds"
    noisy = dataclasses.replace(toy, all_seeds=True)
    verdict = claims.judge(claim, runs, noisy)
    assert (verdict.verdict, verdict.sentence) == (
        "open",
        "not decided: a to b: +10.00 points (one seed)",
    )


def test_verdicts_of_equality_and_failure(toy):
    equal = Claim("?", equal=("fast", "slow"), within=0.01)
    runs = [record("slow", policy_top1=0.30), record("fast", policy_top1=0.305)]
    assert claims.judge(equal, runs, toy).verdict == "open"  # of one seed
    more = [record("slow", 2, policy_top1=0.31), record("fast", 2, policy_top1=0.3149)]
    assert claims.judge(equal, [*runs, *more], toy).verdict == "holds"
    runs = [record("slow", policy_top1=0.30), record("fast", policy_top1=0.35)]
    assert claims.judge(equal, runs, toy).verdict == "does not hold"
    assert claims.judge(equal, runs[:1], toy).verdict == "open"
    fails = Claim("?", fails=("fast",))
    assert claims.judge(fails, [record("fast", policy_top1=0.2)], toy).verdict == "does not hold"
    diverged = dataclasses.replace(record("fast"), diverged=7)
    assert claims.judge(fails, [diverged], toy).sentence == "holds: fast diverged at step 7"


def test_a_run_that_diverges_is_a_result(toy, samples, tmp_path):
    wild = dataclasses.replace(
        toy,
        variants=(
            dataclasses.replace(
                toy.variants[0],
                settings={"schedule": {"rate": 1e6, "warmup_steps": 0}, "loop": {"clip": 0.0}},
            ),
        ),
    )
    store = Store(tmp_path / "results")
    assert Laboratory(store, tmp_path / "runs", TINY, samples, "cpu").run([wild], [1])
    (found,) = store.records("toy")
    assert found.diverged is not None
    assert Laboratory(store, tmp_path / "runs", TINY, samples, "cpu").tasks([wild], [1]) == []


def test_search_shows_how_sharp_the_policy_is(samples, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.setattr(measures, "SEARCHED", 3)
    monkeypatch.setattr(measures, "PLAYOUTS", 64)
    config = training.config_from_dict(
        {"model": {"net": "resnet1x8"}, "loop": {"max_steps": 1, "tensorboard": False}}
    )
    result = training.train(config, samples, None, tmp_path / "run")
    found = measures.root_moves(result, training.split_of(config, samples, None).test)
    assert 1 < found["root_moves"] <= 64
    assert 0 < found["root_share"] < 1


def test_int8_speed_is_added_to_the_records(toy, samples, tmp_path, monkeypatch):
    pytest.importorskip("nncf")
    monkeypatch.setattr(speed, "CALIBRATION", 8)
    store = Store(tmp_path / "results")
    laboratory = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu")
    laboratory.run([toy], [1])
    tasks = [Task(toy, variant, 1) for variant in toy.variants]
    found = speed.measure_int8(laboratory, "toy", tasks, held_out=32)
    assert set(found) == {"slow", "fast"}
    slow, fast = store.records("toy")
    assert slow.measure("int8_time") == 1
    assert 0.1 < fast.measure("int8_time") < 10  # the same network
    assert fast.measure("int8_per_s") > 100
    assert laboratory.tasks([toy], [1]) == []


def test_commands_make_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "toy.toml").write_text(TOY)
    common = ["--experiments", str(folder), "--results", "results"]
    runner = CliRunner()
    run = ["run", "toy", *common, "--positions", "300", "--width", "8", "--test-positions", "50"]
    made = runner.invoke(command, [*run, "--device", "cpu", "--seeds", "1"])
    assert made.exit_code == 0, made.output
    listed = runner.invoke(command, ["list", *common])
    assert "toy" in listed.output
    told = runner.invoke(command, ["report", *common, "-o", "pages", "--machine", "A machine"])
    assert told.exit_code == 0, told.output
    page = (tmp_path / "pages" / "toy.md").read_text()
    lines = page.splitlines()
    cells = [[c.strip() for c in line.split("|")] for line in lines if line.startswith("|")]
    assert cells[0][2:4] == ["diary: train loss", "train loss"]
    assert cells[0][4:6] == ["diary: policy accuracy", "policy accuracy"]
    slow = dict(zip(cells[0], next(row for row in cells if "`slow`" in row[1]), strict=True))
    diary = {name: slow[f"diary: {name}"] for name in ("train loss", "policy accuracy", "time")}
    assert diary == {"train loss": "3.0", "policy accuracy": "25 %", "time": "0:01:00"}
    assert re.fullmatch(r"\d\.\d{3}", slow["train loss"])
    assert "A usual rate learns more. **Holds" in page
    assert "A machine" in page
    assert (tmp_path / "pages" / "toy.svg").read_text().startswith("<?xml")
    index = (tmp_path / "pages" / "index.md").read_text()
    assert "[A toy](toy.md) | 2 of 2 |" in index
    kept = json.loads((tmp_path / "pages" / "data" / "toy.json").read_text())
    assert len(kept["records"]) == 2
    again = write_report(
        experiment.load_all(folder), Store(tmp_path / "pages" / "data"), tmp_path / "two", "", ""
    )
    assert len(again) == 1


def test_different_data_is_no_comparison(toy, tmp_path):
    store = Store(tmp_path)
    facts = {
        "train_positions": 300,
        "test_positions": 60,
        "dtype": "float32",
        "torch": "2",
        "machine": "m",
    }
    for name, data in (("slow", "a"), ("fast", "b")):
        one = record(name, train_loss=1.0, policy_top1=0.3)
        config = toy.kind.to_table(toy.config(toy.variant(name), TINY))
        store.add("toy", dataclasses.replace(one, config=config, facts=facts | {"data": data}))
    with pytest.raises(LabError, match="different positions"):
        write_report([toy], store, tmp_path / "out", "", "")


def test_runs_of_other_games_do_not_stand_beside_each_other(toy, samples, tmp_path):
    store = Store(tmp_path / "results")
    part = training.Part(samples, np.arange(len(samples.hcp) - 1))
    games = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu", files=("games.hcpe3",))
    assert games.run([toy.only(["slow"])], [1])
    assert store.records("toy")[0].facts["files"] == ["games.hcpe3"]
    other = dataclasses.replace(samples, move16=samples.move16 ^ 1)
    laboratory = Laboratory(store, tmp_path / "runs", TINY, other, "cpu")
    with pytest.raises(LabError, match=r"slow learned from games\.hcpe3"):
        laboratory.run([toy], [1])
    assert Laboratory(store, tmp_path / "runs", TINY, part, "cpu").digest == games.digest


def test_records_of_settings_that_have_changed_are_not_reported(toy, samples, tmp_path):
    store = Store(tmp_path / "results")
    Laboratory(store, tmp_path / "runs", TINY, samples, "cpu").run([toy], [1])
    slow, fast = store.records("toy")
    divided = {**slow.config, "device": {**slow.config["device"], "replicas": 2}}
    store.add("toy", dataclasses.replace(slow, config=divided))  # batch norm saw shares
    assert store.current(toy) == [fast]
    (page,) = write_report([toy], store, tmp_path / "out", "", "")
    assert "not run" in page.read_text()
    store.add("toy", dataclasses.replace(fast, config=divided))
    assert write_report([toy], store, tmp_path / "out", "", "") == []
    assert not page.exists()


def test_ratios_are_judged():
    toy = experiment.load_all(FOLDER)[0]
    claim = Claim("?", measure="policy_loss", higher=("a",), lower=("b",), ratio=2.0, within=0.1)
    for value, verdict in ((2.05, "holds"), (2.2, "does not hold"), (1.8, "does not hold")):
        runs = [record("a", policy_loss=value), record("b", policy_loss=1.0)]
        assert claims.judge(claim, runs, toy).verdict == verdict
        assert not claims.needs_seeds(claim, runs)
    assert claims.judge(claim, [record("a", policy_loss=1.0)], toy).verdict == "open"


def test_train_takes_a_variant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "toy.toml"
    path.write_text(TOY)
    data = ["--data", str(records.sample_path()), "--set", "data.train_limit=64"]
    data += ["--set", "data.test_limit=8", "--set", "device.device=cpu"]
    runner = CliRunner()
    missing = runner.invoke(train_command, [str(path), *data])
    assert "one of slow, fast" in missing.output
    made = runner.invoke(train_command, [str(path), "--variant", "fast", *data])
    assert made.exit_code == 0, made.output
    saved = json.loads((tmp_path / "runs" / "toy-fast" / "config.json").read_text())
    assert saved["schedule"]["rate"] == 0.05


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (('name = "fast"', 'name = "slow"'), "names, each its own"),
        (("question =", "qestion ="), "unknown key 'qestion'"),
        (('lower = ["fast"]', 'lower = ["quick"]'), "no variant 'quick'"),
        (('lower = ["fast"]', 'lower = ["fast"]\nat_equal = "int8_time"'), "at_equal needs"),
        (("schedule.rate = 0.05", "schedule.speed = 0.05"), "unknown key 'schedule.speed'"),
    ],
)
def test_a_wrong_file_is_told(change, text, tmp_path):
    path = tmp_path / "toy.toml"
    path.write_text(TOY.replace(*change))
    with pytest.raises(LabError, match=text):
        experiment.load(path)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("policy_top1", 0.4065, "40.6 %"),
        ("int8_top1_lost", 0.269, "+0.27"),  # points, not a share
        ("int8_top1_lost", -0.024, "-0.02"),
        ("int8_time", 0.6497, "0.650"),
        ("channels", 64.0, "64"),
        ("root_moves", 52.04, "52.0"),
        ("time", 3725.0, "1:02:05"),
        ("policy_loss", float("nan"), ""),
    ],
)
def test_measures_as_text(name, value, text):
    assert format_measure(name, value) == text
