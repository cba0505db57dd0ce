"""`komadori export`: export a trained network to ONNX, or quantised to int8."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from komadori.atomic import is_stream
from komadori.cli.console import say
from komadori.cli.given import first_given
from komadori.cli.outputs import (
    IsKind,
    OutputFile,
    begins_with,
    check_outputs,
    exclusive,
    force_option,
)
from komadori.extras import missing
from komadori.model_folder import CARD_FILE, WEIGHTS_FILE, find_model


@click.command()
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--out",
    "output",
    type=OutputFile(),
    help="Output file. [default: SOURCE's name with .onnx, or with -int8.xml beside a file]",
)
@force_option
@click.option("--name", default="", help="Engine name shown in GUIs.")
@click.option("--int8", "is_int8", is_flag=True, help="Quantise: an OpenVINO model for CPUs.")
@click.option(
    "--data",
    multiple=True,
    help="With --int8: games for calibration and measurement, a file or quoted pattern; "
    "repeatable. [default: the bundled sample]",
)
@click.option(
    "--calibration",
    default=512,
    show_default=True,
    type=click.IntRange(min=1),
    help="With --int8: calibration positions.",
)
@click.option(
    "--held-out",
    default=16384,
    show_default=True,
    type=click.IntRange(min=1),
    help="With --int8: positions of other games to measure accuracy.",
)
@click.option(
    "--gate",
    default=0.99,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="With --int8: minimum ratio of top-1 accuracy to float32's; 0: no check.",
)
def command(
    source: Path,
    output: Path | None,
    force: bool,
    name: str,
    is_int8: bool,
    data: tuple[str, ...],
    calibration: int,
    held_out: int,
    gate: float,
) -> None:
    """Export the network of SOURCE, a run or a checkpoint, to an ONNX file.

    Inputs and outputs have dlshogi's names; the outputs are checked against torch. With --int8,
    SOURCE may also be an ONNX file. The accuracy lost against float32 is printed; it is an error
    if it exceeds what --gate allows.
    """
    stem = source.resolve().stem if source.is_file() else source.resolve().name
    if is_int8:
        if name and source.is_file():
            raise click.UsageError("--name: an ONNX file has its name in its card")
        folder = source.parent if source.is_file() else Path()
        output = output or folder / f"{stem}-int8.xml"
        if output.suffix != ".xml":
            raise click.UsageError(f"{output}: an int8 model is an OpenVINO IR, named NAME.xml")
        check_outputs(_kinds(output, ".bin", ".json"), _inputs(source, data), force=force)
        with exclusive(output):
            _export_int8(source, output, name, data, calibration, held_out, gate)
        return
    if unused := first_given("data", "calibration", "held_out", "gate"):
        raise click.UsageError(f"{unused} needs --int8")
    if source.is_file():
        if source.suffix.lower() == ".onnx":
            raise click.UsageError(f"{source} is an ONNX file already; --int8 quantises it")
        raise click.UsageError(f"{source} is a file; SOURCE is a run or a checkpoint, both folders")
    output = output or Path(f"{stem}.onnx")
    if output.suffix == ".xml":
        raise click.UsageError(f"{output}: NAME.xml is an int8 model, an OpenVINO IR; give --int8")
    if output.suffix.lower() not in ("", ".onnx") and not is_stream(output):
        raise click.UsageError(f"{output}: the output is an ONNX file, named NAME.onnx")
    check_outputs(_kinds(output, ".json"), _inputs(source, ()), force=force)
    with exclusive(output):
        _export_onnx(source, output, name)


def _kinds(output: Path, *beside: str) -> dict[Path, tuple[str, IsKind]]:
    """Return the expected kinds of the output and of its companion files, for `check_outputs`."""
    if not output.name:
        raise click.UsageError(f"{output} is a folder; name a file for the output")
    if output.suffix in beside:
        raise click.UsageError(f"{output}: {output.suffix} is for a file beside the model")
    is_model = begins_with(b"\x08") if output.suffix != ".xml" else begins_with(b"<?xml", b"<net")
    kinds: dict[Path, tuple[str, IsKind]] = {output: ("model", is_model)}
    for suffix in beside:
        kinds[output.with_suffix(suffix)] = (f"part of {output.name}", lambda _: output.exists())
    return kinds


def _inputs(source: Path, data: tuple[str, ...]) -> list[Path]:
    from komadori.cli.sample_files import find_files

    if source.is_file():
        files = [source, source.with_suffix(".json")]
    else:
        folder = find_model(source)
        files = [folder / CARD_FILE, folder / WEIGHTS_FILE] if folder else []
    return files + (find_files(data) if data else [])


def _export_onnx(source: Path, output: Path, name: str, *, is_temporary: bool = False) -> None:
    try:
        from komadori import training
    except ModuleNotFoundError as error:
        raise click.ClickException(f"a run or a checkpoint needs {missing(error)}") from error
    from komadori.nets import ModelFileError

    try:
        result = training.export(source, output, name=name)
    except (training.CheckpointError, training.ExportError, ModelFileError, OSError) as error:
        if is_temporary and isinstance(error, OSError):
            raise  # of a file that the user didn't name
        raise click.ClickException(str(error)) from error
    to_stderr = is_stream(output)
    if not is_temporary:
        card = "" if result.card_path is None else f" and its card {result.card_path}"
        say(f"wrote {result.path}{card}", err=to_stderr)
    say(
        f"largest difference between torch and {result.checked_with}: "
        f"policy {result.policy_difference:.1e}, value {result.value_difference:.1e}",
        err=to_stderr,
    )


@contextmanager
def _as_file(source: Path, name: str, output: Path) -> Iterator[Path]:
    """Provide SOURCE if it is a file, else a temporary ONNX export of the run or checkpoint."""
    if source.is_file():
        yield source
        return
    from komadori.inference.quantization import temporary_folder

    with temporary_folder(output) as folder:
        path = folder / "model.onnx"
        _export_onnx(source, path, name, is_temporary=True)
        yield path


def _export_int8(
    source: Path,
    output: Path,
    name: str,
    data: tuple[str, ...],
    calibration: int,
    held_out: int,
    gate: float,
) -> None:
    from komadori import records
    from komadori.cli.sample_files import load_samples
    from komadori.inference import InferenceError, ModelError, available_threads
    from komadori.inference.quantization import TOP1_TOLERANCE, QuantizationError, quantize

    samples = load_samples(data or [str(records.sample_path())])
    started = time.monotonic()

    def show_step(step: str) -> None:
        say(f"{time.monotonic() - started:6.1f} s  {step}", err=True)

    try:
        with _as_file(source, name, output) as model:
            result = quantize(
                model,
                output,
                samples,
                calibration=calibration,
                held_out=held_out,
                gate=gate,
                threads=available_threads(),
                on_step=show_step,
            )
    except (QuantizationError, ModelError, InferenceError, ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    size = sum(result.path.with_suffix(suffix).stat().st_size for suffix in (".xml", ".bin"))
    kept = f", the {' and the '.join(result.kept)} in float" if result.kept else ""
    say(f"wrote {result.path} and its .bin ({size / 1e6:.1f} MB{kept})")
    say(str(result.accuracy))
    if result.accuracy.top1_lost > TOP1_TOLERANCE:
        say(f"warning: more than {TOP1_TOLERANCE} points of top-1 are lost", err=True)
