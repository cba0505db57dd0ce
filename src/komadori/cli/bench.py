"""`komadori bench`: speed of networks and searches on this machine."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from komadori.cli.bench_alphabeta import command as alphabeta
from komadori.cli.console import say
from komadori.cli.given import first_given
from komadori.cli.network_options import BACKEND, FILE_BACKENDS, PRECISIONS
from komadori.cli.numbers import BATCH_OR_AUTO, MAX_BATCH
from komadori.inference import Evaluator
from komadori.inference.measure import Setting, compare, recommend
from komadori.wording import counted


@click.group()
def command() -> None:
    """Benchmark networks and searches."""


command.add_command(alphabeta, "alphabeta")


#: Duration of a measurement.
SECONDS = click.FloatRange(min=0, min_open=True, max=86_400)


def _model_options(function: Any) -> Any:
    for option in (
        click.option(
            "--model",
            type=click.Path(exists=True, path_type=Path),
            help="An ONNX file, a run or a model folder.",
        ),
        click.option(
            "--net",
            default="5x64",
            show_default=True,
            help="Without a model: size of a ResNet with random weights, blocks x channels.",
        ),
        click.option("--channels2", default=57, type=click.Choice(["57", "119"]), hidden=True),
    ):
        function = option(function)
    return function


@contextmanager
def _model_file(model: Path | None, net: str, channels2: str | int) -> Iterator[Path]:
    """Provide the given model, or a temporary random one of the given size."""
    if model is not None:
        if first_given("net"):
            raise click.UsageError("--net is the size of a random network: leave out --model")
        yield model
        return
    from komadori.inference.synthetic import write_random_resnet

    try:
        blocks, channels = (int(part) for part in net.split("x"))
    except ValueError:
        raise click.BadParameter(f"{net!r}: expected BLOCKSxCHANNELS, such as 5x64") from None
    if blocks < 1 or channels < 1:
        raise click.BadParameter(f"{net!r}: blocks and channels are at least 1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"random-{net}.onnx"
        try:
            write_random_resnet(path, blocks, channels, channels2=int(channels2))
        except OSError as error:
            place = path.parent.parent
            raise click.ClickException(
                f"temporary files in {place}: {error.strerror or error}"
            ) from error
        yield path


def _check_file(model: Path | None, option: str) -> None:
    """Raise UsageError for an option of files if the model is a folder."""
    if model is not None and model.is_dir():
        raise click.UsageError(f"{option} is for an ONNX file; {model} is a folder")


@contextmanager
def _int8_of(path: Path) -> Iterator[Path]:
    """Provide a temporary int8 version of a model, or the model itself if it is int8."""
    if path.suffix == ".xml":
        yield path
        return
    from komadori import records
    from komadori.inference.quantization import QuantizationError, quantize

    samples = records.load_samples(records.sample_path())
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / f"{path.stem}-int8.xml"
        say("quantising ...", err=True)
        try:
            # Only speed is measured, so accuracy doesn't matter.
            quantize(path, output, samples, calibration=64, held_out=64, tolerance=100)
        except QuantizationError as error:
            reason = str(error).removeprefix(f"{output}: ")  # a temporary name
            raise click.ClickException(f"{path.name}: int8: {reason}") from error
        yield output


@command.command()
@_model_options
@click.option(
    "--int8", "with_int8", is_flag=True, help="Also measure an int8 version, quantised first."
)
@click.option("--batches", default="1,4,16,64", show_default=True, help="Batch sizes.")
@click.option("--streams", default="", help="Numbers of OpenVINO streams. [default: 1 and all]")
@click.option(
    "--time",
    "seconds",
    default=1.0,
    show_default=True,
    type=SECONDS,
    help="Time for each measurement.",
)
@click.option("--backend", default="auto", type=BACKEND, help="Only this backend. [default: all]")
def inference(
    model: Path | None,
    net: str,
    channels2: str,
    with_int8: bool,
    batches: str,
    streams: str,
    seconds: float,
    backend: str,
) -> None:
    """Print positions/s for the available backends, precisions, batch sizes and streams.

    Each figure is the median of three measurements, taken in turns with the others of its row.
    The recommended setting has the smallest batch within 5% of the fastest.
    """
    from komadori.inference import ModelError, available_threads

    if with_int8:
        _check_file(model, "--int8")
    if backend in FILE_BACKENDS:
        _check_file(model, f"--backend {backend}")
    elif backend != "auto" and (model is None or model.is_file()):
        raise click.UsageError(
            f"--backend {backend} is for a run or a model folder: give it with --model"
        )
    if backend == "onnxruntime" and model is not None and model.suffix == ".xml":
        raise click.UsageError(f"--backend {backend} is for an ONNX file; {model} isn't one")
    sizes = _numbers(batches, "--batches")
    counts = _numbers(streams, "--streams") if streams else sorted({1, available_threads()})
    speeds: dict[Setting, float] = {}
    failures: dict[str, str] = {}  # backend's message -> first setting that failed
    with ExitStack() as files:
        path = files.enter_context(_model_file(model, net, channels2))
        say(f"{path.name}, {counted(available_threads(), 'thread')}, positions/s")
        header = "".join(f"{f'batch {n}':>12}" for n in sizes)
        say(f"{'backend':<13}{'precision':<11}{'streams':<9}{header}")
        rows = [(path, *variant) for variant in _variants(path)]
        if with_int8 and path.suffix != ".xml":
            rows.append((files.enter_context(_int8_of(path)), "openvino", "int8"))
        for file, name, precision in rows:
            if backend not in ("auto", name):
                continue
            for count in counts if name == "openvino" else [0]:
                try:
                    speeds |= _row(file, name, precision, count, sizes, seconds)
                except (ModelError, ValueError) as error:
                    failures.setdefault(str(error), f"{name}, {precision}")
    if not speeds:
        raise click.ClickException(next(iter(failures), f"{path}: no backend runs it"))
    for failure, setting in failures.items():
        say(f"{setting}: {failure}", err=True)
    chosen = recommend(speeds)
    say(f"fastest: {max(speeds, key=lambda s: speeds[s])}: {max(speeds.values()):,.0f}")
    say(f"recommended: {chosen}: {speeds[chosen]:,.0f} positions/s")


def _variants(path: Path) -> list[tuple[str, str]]:
    """Return the (backend, precision) pairs to measure."""
    from komadori.inference.openvino_backend import best_precision
    from komadori.inference.torch_backend import best_device

    if path.is_dir():
        on_gpu = best_device() == "cuda"
        return [("torch", "float32"), ("torch", "float16" if on_gpu else "bfloat16")]
    if path.suffix == ".xml":
        return [("openvino", "int8")]
    fast = best_precision()
    own = [("openvino", "float32")]
    return [*own, *([("openvino", fast)] if fast != "float32" else []), ("onnxruntime", "float32")]


def _row(
    path: Path, backend: str, precision: str, streams: int, sizes: list[int], seconds: float
) -> dict[Setting, float]:
    """Measure and print one row of the table."""
    settings = [Setting(backend, precision, size, streams) for size in sizes]
    label = f"{backend:<13}{precision:<11}{streams or '-':<9}"
    with _loaded(path, settings) as evaluators:
        speeds = compare(evaluators, seconds)
    say(label + "".join(f"{speeds[setting]:>12,.0f}" for setting in settings))
    return speeds


@contextmanager
def _loaded(path: Path, settings: Iterable[Setting]) -> Iterator[dict[Setting, Evaluator]]:
    with ExitStack() as stack:
        evaluators = {}
        for setting in settings:
            evaluators[setting] = setting.load(path)
            stack.callback(evaluators[setting].close)
        yield evaluators


@command.command()
@_model_options
@click.option(
    "--precision",
    default="auto",
    show_default=True,
    type=click.Choice(PRECISIONS),
    help="auto: the engine's default; int8: quantise the model first.",
)
@click.option("--batch", default=0, type=BATCH_OR_AUTO, help="Batch size. [default: the engine's]")
@click.option(
    "--time",
    "seconds",
    default=4.0,
    show_default=True,
    type=SECONDS,
    help="Search time per position.",
)
@click.option(
    "--positions", default=0, type=click.IntRange(min=0), help="Number of positions. [default: all]"
)
@click.option(
    "--beside-onnxruntime",
    is_flag=True,
    help="Also measure ONNX Runtime in float32 with the same network.",
)
def search(
    model: Path | None,
    net: str,
    channels2: str,
    precision: str,
    batch: int,
    seconds: float,
    positions: int,
    beside_onnxruntime: bool,
) -> None:
    """Print nodes/s of the search, and their ratio to positions/s of the network alone.

    A node is a leaf evaluated by the network. Playouts that end by the rules (terminal), at a
    position known from another path (transposed) or at a leaf in flight (dropped) are counted
    separately. All options have the engine's defaults, including the mate search at the root.
    The network alone is measured at the same precision with its fastest batch size and number
    of streams, before and after each search.
    """
    from komadori.search.measure import POSITIONS, measure_search
    from komadori.search.options import PuctOptions

    if precision == "int8":
        _check_file(model, "--precision int8")
    if beside_onnxruntime:
        _check_file(model, "--beside-onnxruntime")
        if model is not None and model.suffix == ".xml":
            raise click.UsageError(f"--beside-onnxruntime is for an ONNX file; {model} isn't one")
    chosen = dict(list(POSITIONS.items())[: positions or None])
    with ExitStack() as files:
        original = files.enter_context(_model_file(model, net, channels2))
        path = original if precision != "int8" else files.enter_context(_int8_of(original))
        backend = "torch" if path.is_dir() else "openvino"
        setting = Setting(backend, precision, batch)
        evaluator = files.enter_context(_loaded(path, [setting]))[setting]
        found = str(getattr(evaluator, "precision", precision))
        batch = evaluator.max_batch
        best = _best_raw(path, replace(setting, batch=batch), min(0.6, seconds))
        raw = files.enter_context(_loaded(path, [best]))[best]
        say(
            f"{path.name}, {found}: search by {backend}, batch {batch}, {evaluator.slots} slots; "
            f"alone by {replace(best, precision=found)}; {seconds:g} s per position"
        )
        say(
            f"{'position':<22}{'nodes/s':>9}{'raw/s':>9}{'ratio':>7}{'nodes':>9}"
            f"{'terminal':>10}{'transposed':>12}{'dropped':>9}{'df-pn moves':>13}"
        )
        speeds = []
        for s in measure_search(evaluator, PuctOptions(), seconds, chosen, raw):
            speeds.append(s)
            say(
                f"{s.name:<22}{s.nodes_per_second:>9,.0f}{s.raw:>9,.0f}{s.ratio:>7.3f}"
                f"{s.evaluated:>9,}{s.terminal:>10,}{s.transposed:>12,}{s.dropped:>9,}"
                f"{s.mate_nodes:>13,}"
            )
        nodes = sum(s.evaluated for s in speeds) / sum(s.seconds for s in speeds)
        alone = sum(s.raw for s in speeds) / len(speeds)
        median = statistics.median(s.ratio for s in speeds)
        say(
            f"{'all':<22}{nodes:>9,.0f}{alone:>9,.0f}{nodes / alone:>7.3f}"
            f"  median of the ratios {median:.3f}"
        )
        if beside_onnxruntime:
            _beside_onnxruntime(original, nodes, seconds)


def _best_raw(path: Path, setting: Setting, seconds: float) -> Setting:
    """Find the batch size and streams with which the network alone is fastest, measuring each for
    `seconds`."""
    from komadori.inference import available_threads

    streams = sorted({1, available_threads()}) if setting.backend == "openvino" else [0]
    settings = [
        replace(setting, batch=batch, streams=count)
        for batch in sorted({8, 16, 32, 64, setting.batch})
        for count in streams
    ]
    with _loaded(path, settings) as evaluators:
        speeds = compare(evaluators, seconds, rounds=5)
    return max(speeds, key=lambda s: speeds[s])


def _beside_onnxruntime(path: Path, nodes_per_second: float, seconds: float) -> None:
    settings = [Setting("onnxruntime", "float32", batch) for batch in (8, 16, 32, 64)]
    with _loaded(path, settings) as evaluators:
        speeds = compare(evaluators, seconds)
    best = max(speeds, key=lambda s: speeds[s])
    say(
        f"{best} alone: {speeds[best]:,.0f} positions/s; the search's nodes/s are "
        f"{nodes_per_second / speeds[best]:.2f} times that"
    )


def _numbers(text: str, option: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = [0]
    if not 1 <= min(numbers) <= max(numbers) <= MAX_BATCH:
        raise click.BadParameter(
            f"{text!r} is not a list of numbers from 1 to {MAX_BATCH:,}", param_hint=option
        )
    return numbers
