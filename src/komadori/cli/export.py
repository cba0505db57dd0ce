"""`komadori export`: a trained network as an ONNX file."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The ONNX file; SOURCE's name with .onnx where left out.",
)
@click.option("--name", default="", help="The name that the engine shows.")
def command(source: Path, output: Path | None, name: str) -> None:
    """Write the network of SOURCE, a run or a checkpoint, as an ONNX file.

    The inputs and outputs have dlshogi's names; the result is compared with torch.
    """
    from komadori import training
    from komadori.nets import ModelFileError

    output = output or Path(f"{source.resolve().name}.onnx")
    try:
        result = training.export(source, output, name=name)
    except (training.CheckpointError, training.ExportError, ModelFileError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"wrote {result.path} and its card {result.card_path}")
    click.echo(
        f"largest difference between torch and {result.checked_with}: "
        f"policy {result.policy_difference:.1e}, value {result.value_difference:.1e}"
    )
