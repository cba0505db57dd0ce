"""`komadori evaluate`: how well a network predicts the moves and results of games."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click


@click.command()
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--data",
    required=True,
    multiple=True,
    help="A file of games, or a pattern in quotes; may be given again.",
)
@click.option("--batch-size", default=1024, show_default=True, type=click.IntRange(min=1))
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, mps.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    model: Path, data: tuple[str, ...], batch_size: int, device: str, as_json: bool
) -> None:
    """Measure MODEL, a run or a checkpoint, on every position of the data."""
    from komadori import nets, training
    from komadori.cli.sample_files import load_samples
    from komadori.training.encoder import CoreEncoder

    samples = load_samples(data)
    try:
        folder = training.resolve(model)
        network, card = nets.load_model(folder)
        compute = training.Compute.of(training.DeviceConfig(device=device))
    except (training.CheckpointError, nets.ModelFileError, training.ConfigError) as error:
        raise click.ClickException(str(error)) from error
    encoder = CoreEncoder(card.features, card.labels)
    began = time.monotonic()
    metrics = training.evaluate(
        compute.place(network),
        training.Part.whole(samples),
        encoder,
        training.loss_config_of(card),
        compute,
        batch_size,
    )
    seconds = time.monotonic() - began
    if as_json:
        click.echo(json.dumps(metrics.to_dict()))
    else:
        from komadori.cli.training_display import metrics_table, print_rich

        print_rich(metrics_table(metrics))
        print_rich(f"{folder}: {len(samples) / seconds:,.0f} positions/s")
