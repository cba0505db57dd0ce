"""Every network that can be trained plays: the experiments' and the laboratory's, tiny.

Each distinct combination of network, feature table and label scheme is trained for a few steps,
exported, quantised where OpenVINO can, and plays a game over USI: float32 against int8.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

from komadori import arena, players, records, training
from komadori.inference import load
from komadori.inference.quantization import quantize
from komadori.lab import experiment
from komadori.lab.size import Size
from komadori.training.config import ScheduleConfig

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
STEPS = 3
PLIES = 24

#: Networks of the default run: several inputs and outputs of each kind.
QUICK = ("attention1x64", "lab/separate-outputs/from-to", "win-draw-loss")


def every_config() -> Iterator[tuple[str, training.Config]]:
    """Name and config of each experiment file and each row of the laboratory."""
    for path in sorted(EXPERIMENTS.glob("*.toml")):
        yield path.stem, training.load_config(path)
    for one in experiment.load_all(EXPERIMENTS / "lab"):
        if one.learner == "network":
            for variant in one.variants:
                yield f"lab/{one.name}/{variant.name}", one.training_config(variant, Size())
    resnet = training.load_config(EXPERIMENTS / "resnet5x64.toml")
    net = dataclasses.replace(resnet.model.net, value="wdl")
    yield (
        "win-draw-loss",
        dataclasses.replace(resnet, model=dataclasses.replace(resnet.model, net=net)),
    )


def tiny(net: Any) -> Any:
    """The network with few channels and blocks."""
    at_most = {"blocks": 2, "layers": 3, "channels": 48, "width": 64, "cross": 1}
    at_most |= {"value_hidden": 16, "head_units": 16, "policy_planes": 8, "feed_forward": 16}
    small = {
        field.name: min(getattr(net, field.name), at_most[field.name])
        for field in dataclasses.fields(net)
        if field.name in at_most
    }
    if hasattr(net, "norms"):
        small["norms"] = min(net.norms, small["layers"] - 1)
    return dataclasses.replace(net, **small)


def tiny_config(config: training.Config) -> training.Config:
    return dataclasses.replace(
        config,
        model=dataclasses.replace(config.model, net=tiny(config.model.net)),
        data=dataclasses.replace(config.data, test_fraction=0.2, test_limit=50),
        schedule=ScheduleConfig(kind="constant", rate=1e-3, warmup_steps=0),
        loop=dataclasses.replace(
            config.loop, batch_size=16, max_steps=STEPS, epochs=0, tensorboard=False
        ),
        device=training.DeviceConfig(device="cpu", replicas=1),
    )


def distinct() -> dict[str, training.Config]:
    """One name for each combination of network, table and scheme."""
    found: dict[str, tuple[str, training.Config]] = {}
    for name, config in every_config():
        small = tiny_config(config)
        model = small.model
        found.setdefault(repr((model.net, model.features, model.labels)), (name, small))
    return dict(found.values())


CONFIGS = distinct()


@pytest.fixture(scope="module")
def samples() -> records.Samples:
    everything = records.load_samples(records.sample_path())
    return everything.take(everything.game < 12)


@pytest.fixture(scope="module")
def export(
    samples: records.Samples, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The network trained for a few steps, as an ONNX file without a separate card."""

    @functools.cache
    def made(name: str) -> Path:
        folder = tmp_path_factory.mktemp("network")
        result = training.train(CONFIGS[name], samples, None, folder / "run")
        path = folder / f"{name.replace('/', '-')}.onnx"
        training.export(result.checkpoint, path)
        path.with_suffix(".json").unlink()
        return path

    return made


def engine(model: Path, precision: str) -> str:
    options = f"DNN_Model={model}&DNN_Precision={precision}&UCT_Threads=1&PV_Interval=0"
    command = f"{sys.executable} -m komadori usi --player model"
    return f"usi:{command}?{options}&nodes=12&name={precision}"


def play(black: str, white: str) -> None:
    """A game of a few moves, ended by the rules or by its length."""
    sides = players.make(black), players.make(white)
    try:
        conditions = arena.Conditions(max_plies=PLIES)
        record = arena.play_game(*sides, arena.Opening(), conditions)
    finally:
        for side in sides:
            side.close()
    failures = ("illegal_move", "false_declaration", "time", "engine_failure")
    assert record.reason not in failures, record
    assert len(record.moves) > 4


def check(name: str, path: Path, samples: records.Samples) -> None:
    model = CONFIGS[name].model
    evaluator = load(path)
    assert (evaluator.features, evaluator.labels) == (model.features, model.labels)
    evaluator.close()
    pytest.importorskip("nncf")
    int8 = path.with_name(f"{path.stem}-int8.xml")
    quantize(path, int8, samples, calibration=8, held_out=40, tolerance=100)
    play(engine(path, "float32"), engine(int8, "int8"))


@pytest.mark.parametrize("name", QUICK)
def test_it_plays_over_usi(
    name: str, export: Callable[[str], Path], samples: records.Samples
) -> None:
    check(name, export(name), samples)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in QUICK])
def test_every_other_one_plays_over_usi(
    name: str, export: Callable[[str], Path], samples: records.Samples
) -> None:
    check(name, export(name), samples)


def test_networks_of_different_tables_play_each_other(export: Callable[[str], Path]) -> None:
    first, second, third = (export(name) for name in QUICK)
    play(f"model:{first}?nodes=12", f"model:{second}?nodes=12")
    play(f"policy:{second}", f"one-ply:{first}")
    play(f"model:{third}?nodes=12", f"policy:{first}")
