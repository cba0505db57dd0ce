"""`komadori evaluate`: measure how well a network predicts moves and results."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from komadori.cli.console import say
from komadori.cli.given import first_given
from komadori.cli.network_options import DEVICE, FILE_BACKEND

if TYPE_CHECKING:
    from komadori.training import Metrics, Samples


class _Model(click.Path):
    """The path of a model, or `default`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "default":
            from komadori.inference import default_model

            return default_model()
        if not Path(value).exists():
            self.fail(
                f"{value}: no such run, checkpoint or ONNX file; default is the bundled network",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


@click.command()
@click.argument("model", type=_Model(path_type=Path))
@click.option(
    "--data",
    required=True,
    multiple=True,
    help="File of games or quoted pattern; repeatable.",
)
@click.option(
    "--batch",
    "batch_size",
    default=1024,
    show_default=True,
    type=click.IntRange(1, 1 << 16),
    help="Positions per batch.",
)
@click.option(
    "--device",
    default="auto",
    show_default=True,
    type=DEVICE,
    help="Device for a run: auto, cpu, cuda, mps.",
)
@click.option(
    "--backend",
    default="auto",
    show_default=True,
    type=FILE_BACKEND,
    help="Backend for an ONNX file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    model: Path, data: tuple[str, ...], batch_size: int, device: str, backend: str, as_json: bool
) -> None:
    """Measure MODEL on all positions of the data.

    MODEL is a run, a checkpoint, an ONNX file, or default (the bundled network). Data that a run
    was trained on is measured too, with a warning.
    """
    from komadori import inference, nets, training
    from komadori.cli.sample_files import load_samples

    if unused := first_given("backend" if model.is_dir() else "device"):
        kind = "an ONNX file" if model.is_dir() else "a run or a checkpoint"
        raise click.UsageError(f"{unused} is for {kind}; {model} isn't one")
    samples = load_samples(data)
    started = time.monotonic()
    try:
        if model.is_dir():
            metrics = _measure_checkpoint(model, samples, batch_size, device)
        else:
            metrics = _measure_onnx(model, samples, batch_size, backend)
    except (
        training.TrainingError,
        training.ConfigError,
        nets.ModelFileError,
        inference.InferenceError,
        inference.ModelError,
    ) as error:
        raise click.ClickException(str(error)) from error
    seconds = time.monotonic() - started
    if as_json:
        say(json.dumps(metrics.to_dict()))
    else:
        from komadori.cli.training_display import metrics_table, print_rich

        print_rich(metrics_table(metrics))
        name = "default" if model == inference.default_model() else model
        print_rich(f"{name}: {len(samples) / seconds:,.0f} positions/s")
    if model.is_dir() and (seen := _trained_on(model, data)):
        say(
            f"{model} was trained on {', '.join(map(str, seen))}: the figures aren't those of "
            "held-out games",
            err=True,
        )


def _trained_on(run: Path, data: tuple[str, ...]) -> list[Path]:
    """The files of the data that the run or checkpoint names as its training games."""
    from komadori import nets, training
    from komadori.cli.sample_files import find_files

    found = nets.load_card(training.resolve(run)).facts("config", "data").get("train")
    known: set[Path] = set()
    for name in found if isinstance(found, list) else ():
        with contextlib.suppress(click.ClickException):  # no longer there
            known.update(path.resolve() for path in find_files([str(name)]))
    return [path for path in find_files(data) if path.resolve() in known]


def _measure_checkpoint(model: Path, samples: Samples, batch_size: int, device: str) -> Metrics:
    from komadori import nets, training
    from komadori.training.encoder import CoreEncoder

    network, card = nets.load_model(training.resolve(model))
    compute = training.Compute.of(training.DeviceConfig(device=device))
    return training.evaluate(
        compute.place(network),
        training.Part.whole(samples),
        CoreEncoder(card.features, card.labels),
        training.loss_config_of(card),
        compute,
        batch_size,
    )


def _measure_onnx(model: Path, samples: Samples, batch_size: int, backend: str) -> Metrics:
    import numpy as np
    import torch
    from torch import Tensor

    from komadori import inference, nets, training
    from komadori.inference.model_file import find_card
    from komadori.training.encoder import CoreEncoder

    evaluator = inference.load(model, backend, max_batch=min(batch_size, 64))
    loss = training.LossConfig()
    card, card_path = find_card(model)
    if card:
        net = card.get("net")
        if isinstance(net, dict) and str(net.get("family", "resnet")) not in nets.FAMILIES:
            card["net"] = {"family": "resnet"}  # a custom family: only the loss is needed
        loss = training.loss_config_of(nets.ModelCard.from_json(card, card_path))

    def predict(batch: training.Batch) -> tuple[Tensor, Tensor]:
        inputs = (array.astype(np.float32) for array in batch.inputs)
        policy, value = inference.evaluate(evaluator, *inputs)
        return torch.from_numpy(policy), torch.logit(torch.from_numpy(value), eps=1e-7)

    encoder = CoreEncoder(evaluator.features, evaluator.labels)
    try:
        part = training.Part.whole(samples)
        return training.measure(predict, part, encoder, loss, batch_size)
    finally:
        evaluator.close()
