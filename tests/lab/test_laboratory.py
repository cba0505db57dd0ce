"""The laboratory on a tiny set: experiment files, resumed runs, claims, pages."""

import dataclasses
import json
import math
import re
import shlex
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from komadori import records, training
from komadori.cli.lab import command
from komadori.cli.train import command as train_command
from komadori.lab import claims, experiment, measures, pages, runner, speed, student
from komadori.lab.experiment import Claim, LabError, Size
from komadori.lab.measures import measure_of
from komadori.lab.pages import write_pages
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
        self.started, self.ended, self.steps = [], [], []

    def begin(self, task, done, left, seconds_left):
        self.started.append((task.variant.name, task.seed))
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


def test_a_folder_without_experiments_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"no experiment \(\*\.toml\) in it"):
        experiment.load_all(tmp_path)
    with pytest.raises(LabError, match="no such folder"):
        experiment.load_all(tmp_path / "none")


@pytest.mark.parametrize("one", experiment.load_all(FOLDER), ids=lambda one: one.name)
def test_no_published_record_is_lost_to_a_renamed_setting(one):
    """The pages leave out records of other settings; published variants have theirs."""
    store = Store(FOLDER.parents[1] / "docs/results/lab/data")
    variants = {variant.name for variant in one.variants}
    published = [r for r in store.records(one.name) if r.variant in variants]
    assert published
    assert store.current(one) == published


def test_measures_of_older_records_are_found_by_their_present_names(tmp_path):
    store = Store(tmp_path)
    store.add("toy", record("fast", 1, root_share=0.5))
    (found,) = Store(tmp_path).records("toy")
    assert found.measure("root_fraction") == 0.5


@pytest.mark.parametrize(
    "one",
    [one for one in experiment.load_all(FOLDER) if one.learner == "network"],
    ids=lambda one: one.name,
)
def test_every_variant_trains(one, samples, candidates, tmp_path):
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
        data = candidates if one.kind.needs_candidates(config) else samples
        result = training.train(config, data, None, tmp_path / variant.name)
        assert result.step == 1
        assert result.test.positions > 0


def test_runs_are_made_once_and_resume(toy, samples, tmp_path):
    store, watch = Store(tmp_path / "results"), Watch()
    asked = 0

    def stop_after_ten():
        nonlocal asked
        asked += 1
        return asked == 10

    laboratory = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu", watch, stop_after_ten)
    assert not laboratory.run([toy], [1])
    assert watch.started == [("slow", 1)]
    assert watch.ended == []
    stopped_at = watch.steps[-1]
    laboratory.stop = lambda: False
    watch.steps = []
    (run_folder,) = (tmp_path / "runs" / "toy").iterdir()
    run_folder.rename(run_folder.with_name("slow-seed1-0123abcd"))  # as under other settings
    assert laboratory.run([toy], [1])
    assert watch.steps[0] == stopped_at + 1  # from the checkpoint, not anew
    assert watch.ended == ["slow", "fast"]
    assert laboratory.run([toy], [1])
    assert watch.ended == ["slow", "fast"]
    slow, fast = store.records("toy")
    assert slow.facts["data"] == fast.facts["data"]
    assert slow.measure("train_loss") > fast.measure("train_loss")
    assert fast.samples == 400


def test_a_network_that_takes_other_features_is_named_before_any_run(toy, samples, tmp_path):
    bad = dataclasses.replace(toy.variants[1], settings={"model": {"features": "attention"}})
    experiment = dataclasses.replace(toy, variants=(toy.variants[0], bad))
    laboratory = Laboratory(Store(tmp_path / "results"), tmp_path / "runs", TINY, samples, "cpu")
    with pytest.raises(LabError, match=r"toy/fast: model\.net = resnet1x8: "):
        laboratory.run([experiment])
    assert not (tmp_path / "runs").exists()


def test_a_variant_learns_from_candidates_only_if_it_says_so(toy, samples, candidates, tmp_path):
    labels = dataclasses.replace(
        toy.variants[1], name="labels", settings={"loss": {"policy_target": "visits"}}
    )
    both = dataclasses.replace(toy, variants=(toy.variants[1], labels), claims=())
    losses = {}
    for name, data in (("moves", samples), ("candidates", candidates)):
        store = Store(tmp_path / name)
        laboratory = Laboratory(store, tmp_path / f"runs-{name}", TINY, data, "cpu")
        if data is samples:
            with pytest.raises(LabError, match="toy/labels learns from candidates, which"):
                laboratory.run([both], [1])
            assert not (tmp_path / "runs-moves").exists()
            assert laboratory.run([dataclasses.replace(both, variants=both.variants[:1])], [1])
        else:
            assert laboratory.run([both], [1])
        for record in store.records("toy"):
            losses[name, record.variant] = record.measure("train_loss")
    assert losses["moves", "fast"] == losses["candidates", "fast"]
    assert losses["candidates", "labels"] != losses["candidates", "fast"]


def test_processes_share_the_runs(toy, samples, tmp_path, monkeypatch):
    """Another process runs `slow`, and finishes it once nothing else is left."""
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
    laboratory = Laboratory(store, tmp_path / "runs", TINY, samples, "cpu", watch)
    assert laboratory.run([toy], [1])
    assert watch.ended == ["fast"]
    assert {r.variant for r in store.records("toy")} == {"slow", "fast"}


def test_waiting_for_another_process_ends_on_a_stop(toy, samples, tmp_path):
    stop = threading.Event()
    other = Laboratory(Store(tmp_path / "results"), tmp_path / "runs", TINY, samples)
    claims_held = [other._claim(other.tasks([toy], [1])) for _ in range(2)]

    class Waiting(Watch):
        def wait(self, left):
            threading.Timer(0.3, stop.set).start()

    laboratory = dataclasses.replace(other, observer=Waiting(), stop=stop.is_set)
    started = time.monotonic()
    assert not laboratory.run([toy], [1])
    assert 0.3 <= time.monotonic() - started < 1
    for _, claim in claims_held:
        claim.release()


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


def test_a_variant_that_plays_the_first_waits_for_it(toy, samples, tmp_path, monkeypatch):
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


def test_every_variant_runs_with_three_seeds(toy, samples, tmp_path):
    laboratory = Laboratory(Store(tmp_path / "results"), tmp_path / "runs", TINY, samples)
    order = [(task.variant.name, task.seed) for task in laboratory.tasks([toy], None)]
    assert order == [(name, seed) for seed in (1, 2, 3) for name in ("slow", "fast")]


def seeds_of(name: str, *values: float) -> list[Record]:
    return [record(name, seed, policy_top1=v) for seed, v in enumerate(values, 1)]


def verdict_of(claim: Claim, runs: list[Record]) -> str:
    (found,) = claims.judge([claim], runs)
    return found.verdict


FASTER = Claim("?", higher=("fast",), lower=("slow",))


@pytest.mark.parametrize(
    ("fast", "verdict"),
    [
        ((0.35,), "not decided"),  # one seed is no evidence, whatever the gap
        ((0.35, 0.35001), "not decided"),  # nor are two
        ((0.310, 0.311, 0.309), "holds"),
        ((0.290, 0.289, 0.291), "does not hold"),
        ((0.330, 0.280, 0.301), "not decided"),
        ((), "not decided"),
    ],
)
def test_verdicts(fast, verdict):
    runs = [*seeds_of("slow", 0.3, 0.3, 0.3), *seeds_of("fast", *fast)]
    assert verdict_of(FASTER, runs) == verdict


def test_gaps_are_paired_by_seed():
    """Seeds differ a lot; within each seed the variants differ little."""
    runs = [*seeds_of("slow", 0.2, 0.3, 0.4), *seeds_of("fast", 0.210, 0.311, 0.409)]
    (found,) = claims.judge([FASTER], runs)
    (gap,) = found.comparisons
    assert gap.gap.mean == pytest.approx(0.01)
    half = 4.302653 * 0.001 / math.sqrt(3)  # Student's t of two degrees of freedom
    assert gap.interval.low == pytest.approx(0.01 - half, rel=1e-6)
    assert gap.interval.high == pytest.approx(0.01 + half, rel=1e-6)
    assert found.verdict == "holds"


def test_every_pair_must_pass():
    """The smallest gap is significant, a larger one isn't."""
    claim = Claim("?", higher=("a",), lower=("b", "c"))
    runs = [
        *seeds_of("a", 0.320, 0.321, 0.319),
        *seeds_of("b", 0.300, 0.301, 0.299),
        *seeds_of("c", 0.400, 0.200, 0.250),
    ]
    assert verdict_of(claim, runs) == "not decided"
    assert verdict_of(claim, runs[:6]) == "not decided"  # c has not run
    runs[6:] = seeds_of("c", 0.340, 0.342, 0.339)
    assert verdict_of(claim, runs) == "does not hold"
    runs[6:] = seeds_of("c", 0.280, 0.282, 0.279)
    assert verdict_of(claim, runs) == "holds"


def test_verdicts_are_corrected_for_the_claims_of_the_page():
    """A single finding is exploratory among nine claims without one."""
    runs = [*seeds_of("slow", 0.3, 0.3, 0.3), *seeds_of("fast", 0.301, 0.302, 0.3018)]
    runs += seeds_of("other", 0.27, 0.33, 0.3)
    others = [Claim(f"{i}?", higher=("other",), lower=("slow",)) for i in range(9)]
    (alone,) = claims.judge([FASTER], runs)
    among, *rest = claims.judge([FASTER, *others], runs)
    assert alone.verdict == "holds"
    assert 0.01 < alone.p < 0.05
    assert among.verdict == "exploratory: holds"
    assert among.p == pytest.approx(10 * alone.p)
    assert {one.verdict for one in rest} == {"not decided"}


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (7, 2.3646), (30, 2.0423)]
)
def test_students_t(freedom, t):
    assert student.quantile(freedom) == pytest.approx(t, abs=5e-5)
    assert student.p_value(t, freedom) == pytest.approx(0.05, abs=1e-5)
    assert student.p_value(0.0, freedom) == pytest.approx(1.0)


def test_holm():
    assert student.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert student.holm([0.5, 0.6]) == pytest.approx([1.0, 1.0])
    assert student.holm([]) == []


def test_equal_means_equal_within_the_interval():
    claim = Claim("?", equal=("a", "b"), within=0.01)
    wild = [*seeds_of("a", 0.30, 0.30, 0.30), *seeds_of("b", 0.36, 0.25, 0.29)]
    assert verdict_of(claim, wild) == "not decided"
    calm = [*seeds_of("a", 0.30, 0.30, 0.30), *seeds_of("b", 0.301, 0.302, 0.301)]
    assert verdict_of(claim, calm) == "holds"
    apart = [*seeds_of("a", 0.30, 0.30, 0.30), *seeds_of("b", 0.33, 0.331, 0.329)]
    assert verdict_of(claim, apart) == "does not hold"


def test_a_ratio_is_one_of_each_seed():
    claim = Claim("?", measure="cpu_us", ratio=2.0, within=0.2, higher=("a",), lower=("b",))

    def timed(name, *seconds):
        return [
            dataclasses.replace(record(name, seed), cpu_seconds=s)
            for seed, s in enumerate(seconds, 1)
        ]

    b = timed("b", 1.0, 2.0, 3.0)
    assert verdict_of(claim, [*b, *timed("a", 2.0, 4.01, 6.02)]) == "holds"
    assert verdict_of(claim, [*b, *timed("a", 3.0, 6.01, 9.02)]) == "does not hold"
    assert verdict_of(claim, [*b, *timed("a", 1.6, 4.4, 6.0)]) == "not decided"


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
        (2.0, 0.37, 0.02),  # half way on the logarithmic scale
        (1.0, 0.37, 0.07),
        (4.0, 0.37, -0.03),
        (4.4, 0.37, -0.03 - 0.05 * math.log2(1.1)),  # a little beyond
        (0.9, 0.37, 0.07 - 0.05 * math.log2(0.9)),
    ],
)
def test_a_network_is_compared_to_one_of_equal_time(at, value, gap):
    assert claims.gap_to_sizes(SIZES, sizes(at, value)).mean == pytest.approx(gap, abs=1e-12)


def test_the_one_beside_sizes_may_be_lower():
    smaller = dataclasses.replace(SIZES, higher=SIZES.lower, lower=SIZES.higher)
    (found,) = claims.judge([smaller], sizes(2.0, 0.33, 0.331, 0.329))
    assert found.comparisons[0].label == "ResNet - a"
    assert found.comparisons[0].gap.mean == pytest.approx(0.02)
    assert found.verdict == "holds"
    assert verdict_of(smaller, sizes(2.0, 0.37, 0.371, 0.369)) == "does not hold"


def test_verdicts_at_equal_time():
    assert verdict_of(SIZES, sizes(2.0, 0.37, 0.371, 0.369)) == "holds"
    assert verdict_of(SIZES, sizes(2.0, 0.33, 0.331, 0.329)) == "does not hold"
    assert verdict_of(SIZES, sizes(2.0, 0.37)) == "not decided"
    alike = [record(r.variant, policy_top1=0.3, int8_time=1.0) for r in sizes(1.0, 0.37)]
    assert verdict_of(SIZES, alike) == "not decided"  # no line through one place
    assert verdict_of(SIZES, sizes(5.0, 0.45, 0.46, 0.45)) == "not decided"  # beyond the sizes
    untimed = [record(name, policy_top1=0.3) for name in ("a", "small", "large")]
    assert verdict_of(SIZES, untimed) == "not decided"


def test_a_page_shows_measures_at_equal_time(toy):
    names = ("a", "small", "large")
    of_sizes = dataclasses.replace(
        toy,
        variants=tuple(dataclasses.replace(toy.variants[0], name=n, title=n) for n in names),
        claims=(SIZES,),
    )
    runs = sizes(2.0, 0.37, 0.371, 0.369)
    _, _, row = pages.claims_table(claims.judge([SIZES], runs)).splitlines()
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "Diary: ?",
        "a - ResNet: policy accuracy, at equal int8 time",
        "+2.00 points",
        "+1.75 to +2.25",  # 4.303 * 0.1 / sqrt(3)
        "3",
        "< 0.001",
        "**holds**",
    ]
    picture = pages.picture(of_sizes, sizes(2.0, 0.37))
    assert all(f">{text}<" in picture for text in (*names, "sizes of the ResNet"))


def test_verdicts_of_failure():
    fails = Claim("?", fails=("fast",))
    assert verdict_of(fails, [record("fast", policy_top1=0.2)]) == "not decided"  # one seed
    assert verdict_of(fails, seeds_of("fast", 0.2, 0.03, 0.03)) == "does not hold"
    diverged = dataclasses.replace(record("fast"), diverged=7)
    (found,) = claims.judge([fails], [diverged, *seeds_of("fast", 0.0, 0.03, 0.03)[1:]])
    assert found.verdict == "holds"
    assert found.comparisons[0].text == "diverged at step 7, 3.0 %, 3.0 %"


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
    test = training.split_of(config, samples, None).test
    found = measures.root_moves(result, test)
    assert 1 < found["root_moves"] <= 64
    assert 0 < found["root_fraction"] < 1
    assert found["root_moves_error"] >= 0
    monkeypatch.setattr(measures, "SEARCHED", 1)  # one position has no spread
    assert measures.root_moves(result, test).keys() == found.keys() - {"root_moves_error"}


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


def _toy_folder(tmp_path, monkeypatch):
    """The folder of experiments that has the toy alone, in the working directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "toy.toml").write_text(TOY)
    return folder


def test_commands_make_pages(tmp_path, monkeypatch):
    folder = _toy_folder(tmp_path, monkeypatch)
    common = ["--experiments", str(folder), "--results", "results"]
    runner = CliRunner()
    run = ["run", "toy", *common, "--positions", "300", "--width", "8", "--test-positions", "50"]
    made = runner.invoke(command, [*run, "--device", "cpu", "--seeds", "1"])
    assert made.exit_code == 0, made.output
    proposed = made.output.splitlines()[-1].removeprefix("next: komadori lab ")
    followed = runner.invoke(command, shlex.split(proposed))
    assert followed.output == f"1 page: {Path('runs/lab/report/index.md')}\n"
    listed = runner.invoke(command, ["list", *common])
    assert "toy" in listed.output
    variants = runner.invoke(command, ["list", "toy", *common]).output
    assert "toy/slow" in variants
    assert "1 of 3" in variants
    assert runner.invoke(command, ["list", "nosuch", *common]).exit_code == 2
    report = runner.invoke(command, ["report", *common, "-o", "pages", "--machine", "A machine"])
    assert report.exit_code == 0, report.output
    assert report.output.startswith("1 page: ")
    page = (tmp_path / "pages" / "toy.md").read_text()
    lines = page.splitlines()
    cells = [[c.strip() for c in line.split("|")] for line in lines if line.startswith("|")]
    assert cells[0][2:4] == ["diary: train loss", "train loss"]
    assert cells[0][4:6] == ["diary: policy accuracy", "policy accuracy"]
    slow = dict(zip(cells[0], next(row for row in cells if "`slow`" in row[1]), strict=True))
    diary = {name: slow[f"diary: {name}"] for name in ("train loss", "policy accuracy", "time")}
    assert diary == {"train loss": "3.0", "policy accuracy": "25 %", "time": "0:01:00"}
    assert re.fullmatch(r"\d\.\d{3}", slow["train loss"])
    assert "| Diary: A usual rate learns more. | slow - fast: train loss |" in page
    assert "train loss |  |  | 1 |  | **not decided** |" in page  # no gap of one seed
    assert "| 1 run (seed 1) |" in page
    assert "A machine" in page
    assert f"(nowhere; `{folder.as_posix()}/toy.toml`)" in page
    assert f"`komadori lab run toy --experiments {folder.as_posix()} " in page
    assert "No claim was tested: that needs 3 seeds of each variant." in page
    assert (tmp_path / "pages" / "toy.svg").read_text().startswith("<?xml")
    index = (tmp_path / "pages" / "index.md").read_text()
    assert "[A toy](toy.md) | 2 of 6 |" in index
    kept = json.loads((tmp_path / "pages" / "data" / "toy.json").read_text())
    assert len(kept["records"]) == 2
    again = write_pages(
        experiment.load_all(folder), Store(tmp_path / "pages" / "data"), tmp_path / "two", "", ""
    )
    assert len(again) == 1


def test_further_seeds_are_counted_and_named(tmp_path, monkeypatch):
    """Runs of a variant with further seeds don't stand for those that other variants lack."""
    folder = _toy_folder(tmp_path, monkeypatch)
    common = ["--experiments", str(folder), "--results", "results"]
    runner = CliRunner()
    size = ["--positions", "300", "--width", "8", "--test-positions", "50", "--device", "cpu"]
    made = runner.invoke(command, ["run", "toy/slow", *common, *size, "--seeds", "4"])
    assert made.exit_code == 0, made.output
    listed = runner.invoke(command, ["list", "toy", *common]).output
    assert "1 of 4" in listed
    assert "0 of 4" in listed
    assert "1 of 8" in " ".join(runner.invoke(command, ["list", *common]).output.split())
    assert runner.invoke(command, ["report", *common, "-o", "pages"]).exit_code == 0
    assert "[A toy](toy.md) | 1 of 8 |" in (tmp_path / "pages" / "index.md").read_text()
    assert "--test-positions 50 --seeds 1,2,3,4`" in (tmp_path / "pages" / "toy.md").read_text()


@pytest.mark.parametrize("place", ["docs/results/lab", "runs/lab/report"])
def test_pages_outside_the_documentation_have_no_dead_links(tmp_path, place):
    for name in ("docs/sources.md", "docs/concepts/laboratory.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    results = Store(FOLDER.parents[1] / "docs" / "results" / "lab" / "data")
    out = tmp_path / place
    write_pages(experiment.load_all(FOLDER), results, out, "", "")
    links = set()
    for page in out.glob("*.md"):
        links |= set(re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")))
    assert [link for link in links if not (out / link).exists()] == []
    assert ("../../sources.md" in links) == ("docs" in place)
    if "docs" not in place:
        assert "(diary, その4, May 2017;" in (out / "hand-input.md").read_text(encoding="utf-8")


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
        write_pages([toy], store, tmp_path / "out", "", "")


def test_runs_on_different_games_are_not_compared(toy, samples, tmp_path):
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
    store.add("toy", dataclasses.replace(slow, config=divided))  # batch norm per replica
    assert store.current(toy) == [fast]
    (page,) = write_pages([toy], store, tmp_path / "out", "", "")
    assert "not run" in page.read_text()
    with pytest.raises(
        LabError, match="no such folder of records"
    ):  # another folder's pages aren't removed
        write_pages([toy], Store(tmp_path / "none"), tmp_path / "out", "", "")
    assert page.exists()
    store.add("toy", dataclasses.replace(fast, config=divided))
    assert write_pages([toy], store, tmp_path / "out", "", "") == []
    assert not page.exists()


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
        (('name = "fast"', 'name = "slow"'), "a name of its own"),
        (("question =", "qestion ="), "unknown key 'qestion'"),
        (('lower = ["fast"]', 'lower = ["quick"]'), "no variant 'quick'"),
        (('lower = ["fast"]', 'lower = ["fast"]\nat_equal = "int8_time"'), "at_equal needs"),
        (("schedule.rate = 0.05", "schedule.speed = 0.05"), "unknown key 'schedule.speed'"),
        (('measure = "train_loss"', 'measure = "trainloss"'), "claims.measure: unknown measure"),
        (("question =", 'columns = ["top1"]\nquestion ='), "columns: unknown measure 'top1'"),
        (("train_loss = 3.0", "trainloss = 3.0"), "variants.diary: unknown measure 'trainloss'"),
        (("train_loss = 3.0", "train_loss = [3.0]"), "variants.diary.train_loss must be a number"),
        (('name = "slow"', 'name = ""'), "variants.name is ''; 1 to 100 bytes"),
        (('name = "slow"', 'name = " slow"'), "variants.name is ' slow'"),
        (('name = "slow"', r'name = "a\nb"'), "variants.name is 'a.nb'"),
        (('name = "slow"', r'name = "\u001b[31m"'), "variants.name is '.x1b"),
        (("[base.model]\nnet = ", "[base]\nmodel = "), "toy/slow: model"),
        (("[base.loop]", "[base]\ndata = 3\n[base.loop]"), "toy/slow: data must be a table"),
        (("[base.loop]\nbatch_size", "[base]\nloop = 3\n[base.x]\ny"), "loop must be a table"),
        (('"resnet1x8"', '{ family = "resnet", blocks = 1, channels = "8" }'), "channels must be"),
        (('"resnet1x8"', '{ family = ["resnet"] }'), "model.net.family: unknown"),
        (("schedule.rate = 0.05", 'model.features = "nope"'), "toy/fast: model.features: unknown"),
        (("schedule.rate = 0.05", 'model.labels = "9999"'), "toy/fast: model.labels: unknown"),
        (("batch_size = 16", "batch_size = 1979-05-27"), "base: a date or time is no setting's"),
        (("rate = 0.05", "rate = 07:32:00"), "variants.set of fast: a date or time"),
        (('lower = ["fast"]', ""), "claims: 'A usual rate.*' needs higher and lower"),
        (('higher = ["slow"]\nlower = ["fast"]', ""), "claims: .* needs higher and lower"),
        (('higher = ["slow"]\nlower', "equal"), "claims: .* two variants or more in equal"),
        (('lower = ["fast"]', 'lower = ["slow"]'), "claims: .* names a variant twice"),
        (('lower = ["fast"]', 'lower = ["fast"]\nwithin = -1'), "claims: .* within above 0"),
        (('name = "slow"', f'name = "{34 * "遅"}"'), "variants.name is '遅*'; 1 to 100 bytes"),
    ],
)
def test_a_wrong_file_is_reported(change, text, tmp_path):
    path = tmp_path / "toy.toml"
    path.write_text(TOY.replace(*change))
    with pytest.raises(LabError, match=text):
        experiment.load(path)


def test_texts_of_an_experiment_keep_the_tables_whole(tmp_path):
    """A cell with a bar or a line break would split its row."""
    path = tmp_path / "toy.toml"
    changed = TOY.replace('"a low rate"', r'"low | slow\nrate"').replace("more.", r"more | a\nb.")
    path.write_text(changed)
    toy = experiment.load(path)
    table = pages.variants_table(toy, [record("slow", policy_top1=0.5)])
    assert r"| low \| slow rate (`slow`) |" in table
    assert len(table.splitlines()) == 2 + len(toy.variants)
    found = claims.judge(toy.claims, [record("slow", train_loss=3.0)])
    assert r"A usual rate learns more \| a b." in pages.claims_table(found)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("policy_top1", 0.4065, "40.6 %"),
        ("int8_top1_lost", 0.269, "+0.27"),  # percentage points, not a fraction
        ("int8_top1_lost", -0.024, "-0.02"),
        ("int8_time", 0.6497, "0.650"),
        ("channels", 64.0, "64"),
        ("root_moves", 52.04, "52.0"),
        ("time", 3725.0, "1:02:05"),
        ("policy_loss", float("nan"), ""),
    ],
)
def test_measures_as_text(name, value, text):
    assert measure_of(name).format(value) == text


def test_divergence_at_step_0_is_a_step():
    """Step 0 is a step, not a missing one."""
    fails = Claim("?", fails=("fast",))
    runs = [dataclasses.replace(record("fast", seed), diverged=0) for seed in (1, 2, 3)]
    (found,) = claims.judge([fails], runs)
    assert found.verdict == "holds"
    assert found.comparisons[0].text == ", ".join(["diverged at step 0"] * 3)


def _results(**changes):
    """A file of results with one record, changed."""
    one = {**dataclasses.asdict(record("slow")), **changes}
    return json.dumps({"format_version": 1, "records": [one]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, r"name\.json: not a file of results: "),
        ('{"format_version": 99}', r"^[^:]*name\.json: format version 99$"),
        ('{"format_version": 1, "records": [{}]}', "'size' is missing"),
        ('{"format_version": 1, "records": [3]}', "not a file of results: "),
        (_results(measures=[]), "not a file of results: measures must be an object"),
        (_results(measures={"loss": "low"}), r"not a file of results: measures\.loss must be a"),
        (_results(facts=None), "not a file of results: facts must be an object"),
        (_results(seconds="1"), "not a file of results: seconds must be a number"),
    ],
)
def test_damaged_results_are_named(text, message, tmp_path) -> None:
    (tmp_path / "name.json").write_text(text)
    with pytest.raises(LabError, match=message):
        Store(tmp_path).records("name")


@pytest.mark.parametrize(
    "net",
    ['"resnet2x192"', '{ family = "resnet", blocks = 2, channels = 192 }', "{ family = 'cnn' }"],
)
def test_channels_are_scaled_however_the_network_is_given(net, tmp_path):
    path = tmp_path / "toy.toml"
    path.write_text(TOY.replace('"resnet1x8"', net))
    toy = experiment.load(path)
    assert [
        toy.config(toy.variants[0], Size(width=width)).model.net.channels for width in (16, 64, 192)
    ] == [16, 64, 192]
    path.write_text("scale = false\n" + TOY.replace('"resnet1x8"', net))
    toy = experiment.load(path)
    assert toy.config(toy.variants[0], Size(width=16)).model.net.channels == 192


def test_a_width_that_a_network_does_not_take_is_named(tmp_path):
    path = tmp_path / "toy.toml"
    heads = '{ family = "bottleneck", blocks = 1, attention = 1, heads = 32 }'
    path.write_text(TOY.replace('"resnet1x8"', heads))
    toy = experiment.load(path)
    with pytest.raises(LabError, match=r"toy/slow: model\.net at width 8: half of 8 channels"):
        toy.config(toy.variants[0], Size(width=8))


def test_the_documented_experiment_names_measures():
    known = set(measures.MEASURES)
    example = re.findall(r"diary = \{(.*)\}", experiment.__doc__ or "")
    assert example
    assert {part.split("=")[0].strip() for part in example[0].split(",")} <= known


def test_one_claim_is_counted_in_the_singular(toy):
    records = [
        record(name, seed=seed, train_loss=loss + seed / 10, policy_top1=0.3)
        for name, loss in (("slow", 5.0), ("fast", 1.0))
        for seed in (1, 2, 3)
    ]
    text = pages._claims_text(claims.judge(toy.claims, records))
    assert "corrected for the 1 claim tested" in text
