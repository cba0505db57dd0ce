"""`komadori bench`: how fast networks are on this machine, and what the search keeps of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from komadori.cli.bench_alphabeta import command as alphabeta

#: What is tried where nothing is said: backend, precision.
_VARIANTS = (
    ("openvino", "float32"),
    ("openvino", "bfloat16"),
    ("onnxruntime", "float32"),
)


@click.group()
def command() -> None:
    """Measure networks and the searches."""


command.add_command(alphabeta, "alphabeta")


def _model_options(function: Any) -> Any:
    for option in (
        click.option("--model", type=click.Path(exists=True, path_type=Path), help="An ONNX file."),
        click.option(
            "--net",
            default="5x64",
            show_default=True,
            help="Without a model: a ResNet of random weights, blocks x channels.",
        ),
        click.option("--channels2", default=57, type=click.Choice(["57", "119"]), hidden=True),
    ):
        function = option(function)
    return function


@contextmanager
def _model_file(model: Path | None, net: str, channels2: str | int) -> Iterator[Path]:
    """The model given, or a random one of the size given for as long as it is needed."""
    if model is not None:
        yield model
        return
    from komadori.inference.synthetic import write_random_resnet

    try:
        blocks, channels = (int(part) for part in net.split("x"))
    except ValueError:
        raise click.BadParameter(f"{net!r} is not blocks x channels, as 5x64 is") from None
    with tempfile.TemporaryDirectory() as folder:
        yield write_random_resnet(
            Path(folder) / f"random-{net}.onnx", blocks, channels, channels2=int(channels2)
        )


@command.command()
@_model_options
@click.option("--batches", default="1,4,16,64", show_default=True, help="Batch sizes.")
@click.option("--streams", default="", help="Numbers of OpenVINO streams. [default: 1 and all]")
@click.option("--seconds", default=1.0, show_default=True, help="Time for each measurement.")
@click.option("--backend", default="", help="Only this backend.")
def inference(
    model: Path | None,
    net: str,
    channels2: str,
    batches: str,
    streams: str,
    seconds: float,
    backend: str,
) -> None:
    """Print positions/s for the backends, precisions, batch sizes and streams present."""
    from komadori.inference.processors import available_threads

    sizes = _numbers(batches, "--batches")
    counts = _numbers(streams, "--streams") if streams else sorted({1, available_threads()})
    best: tuple[float, str] = (0.0, "nothing")
    with _model_file(model, net, channels2) as path:
        click.echo(f"{path.name}, {available_threads()} threads, positions/s")
        header = "".join(f"{f'batch {n}':>12}" for n in sizes)
        click.echo(f"{'backend':<13}{'precision':<11}{'streams':<9}{header}")
        for name, precision in _VARIANTS:
            if backend and name != backend:
                continue
            for count in counts if name == "openvino" else [0]:
                row = []
                for size in sizes:
                    speed = _speed(path, name, precision, count, size, seconds)
                    if isinstance(speed, str):
                        click.echo(f"{name:<13}{precision:<11}{speed}")
                        break
                    row.append(f"{speed:>12,.0f}")
                    label = f"{name} {precision}, batch {size}" + (
                        f", {count} streams" if count else ""
                    )
                    best = max(best, (speed, label))
                else:
                    click.echo(f"{name:<13}{precision:<11}{count or '-':<9}{''.join(row)}")
    click.echo(f"fastest: {best[1]}: {best[0]:,.0f} positions/s")


def _speed(
    path: Path, backend: str, precision: str, streams: int, batch: int, seconds: float
) -> float | str:
    """Positions a second, or why there are none."""
    from komadori.inference import ModelError, load
    from komadori.inference.measure import fill_inputs, positions_per_second

    options: dict[str, Any] = {"max_batch": batch}
    if backend == "openvino":
        options |= {"precision": precision, "streams": streams}
    try:
        evaluator = load(path, backend=backend, **options)
    except ModelError as error:
        return str(error)
    fill_inputs(evaluator)
    speed = positions_per_second(evaluator, seconds)
    evaluator.close()
    return speed


@command.command()
@_model_options
@click.option("--backend", default="auto", show_default=True)
@click.option("--precision", default="float32", show_default=True, help="Of OpenVINO.")
@click.option("--batch", default=16, show_default=True, help="Rows to a batch.")
@click.option("--seconds", default=2.0, show_default=True, help="Search time for each position.")
@click.option("--positions", default=0, help="Only the first so many. [default: all]")
def search(
    model: Path | None,
    net: str,
    channels2: str,
    backend: str,
    precision: str,
    batch: int,
    seconds: float,
    positions: int,
) -> None:
    """Print nodes/s of the search over positions/s of its network alone.

    A node is a leaf that the network evaluated. Playouts that ended by the rules (terminal), at
    a position known from another path (transposed) or at a leaf in flight (dropped) are counted
    apart. The network alone is measured before and after each search, at the same batch size.
    """
    from komadori.inference import load
    from komadori.search.measure import POSITIONS, measure_search
    from komadori.search.options import PuctOptions

    chosen = dict(list(POSITIONS.items())[: positions or None])
    options: dict[str, Any] = {"max_batch": batch}
    with _model_file(model, net, channels2) as path:
        if backend in ("auto", "openvino") and not path.is_dir():
            options["precision"] = precision
        evaluator = load(path, backend=backend, **options)
        click.echo(
            f"{path.name}, {evaluator.name} {precision}, batch {batch}, {evaluator.slots} slots, "
            f"{seconds:g} s a position"
        )
        click.echo(
            f"{'position':<22}{'nodes/s':>9}{'raw/s':>9}{'ratio':>7}"
            f"{'nodes':>9}{'terminal':>10}{'transposed':>12}{'dropped':>9}"
        )
        speeds = []
        for s in measure_search(evaluator, PuctOptions(pv_interval_ms=0), seconds, chosen):
            speeds.append(s)
            click.echo(
                f"{s.name:<22}{s.nodes_per_second:>9,.0f}{s.raw:>9,.0f}{s.ratio:>7.3f}"
                f"{s.evaluated:>9,}{s.terminal:>10,}{s.transposed:>12,}{s.dropped:>9,}"
            )
        evaluator.close()
    nodes = sum(s.evaluated for s in speeds) / sum(s.seconds for s in speeds)
    raw = sum(s.raw for s in speeds) / len(speeds)
    click.echo(f"{'all':<22}{nodes:>9,.0f}{raw:>9,.0f}{nodes / raw:>7.3f}")


def _numbers(text: str, option: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise click.BadParameter(f"{text!r} is not a list of positive numbers", param_hint=option)
    return numbers
