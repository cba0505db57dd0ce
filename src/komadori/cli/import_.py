"""`komadori import`: converts dlshogi's weights to a model folder."""

from __future__ import annotations

from pathlib import Path

import click

from komadori.cli.console import say
from komadori.model_folder import CARD_FILE


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Model folder to write. [default: the file's name without suffix]",
)
@click.option(
    "--part",
    type=click.Choice(["model", "swa_model"]),
    help="Weights of a checkpoint. [default: the average if there is one]",
)
@click.option(
    "--activation",
    type=click.Choice(["relu", "swish"]),
    help="Activation of a resnetBxC network, which the file doesn't contain. [default: relu]",
)
@click.option("--eval-coef", type=click.FloatRange(min=0, min_open=True), help="For the card.")
@click.option("--force", is_flag=True, help="Replace an existing model.")
def command(
    source: Path,
    output: Path | None,
    part: str | None,
    activation: str | None,
    eval_coef: float | None,
    force: bool,
) -> None:
    """Convert SOURCE, a checkpoint (.pth) or published model (.npz) of dlshogi, to a model folder.

    Only tensors and plain values are read; no code in the file is executed.
    """
    folder = output or Path(source.stem)
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"{folder} is a file; name a folder with --out")
    if (folder / CARD_FILE).exists() and not force:
        raise click.UsageError(f"{folder} holds a model already; --force replaces it")
    _check_source(source)
    from komadori import nets
    from komadori.encoding.value import DLSHOGI_COEF

    try:
        network, card = nets.import_dlshogi(
            source,
            part=part or "",
            activation=activation or "",
            eval_coef=eval_coef or DLSHOGI_COEF,
        )
        folder.mkdir(parents=True, exist_ok=True)
        nets.save_model(folder, network, card)
    except (nets.ModelFileError, OSError) as error:
        raise click.ClickException(str(error)) from error
    say(
        f"{nets.short_name(card.net)}, {nets.parameter_count(network):,} parameters, "
        f"{card.features} planes: {folder}"
    )
    say(f"next: komadori export {folder} -o {source.stem}.onnx")


def _check_source(source: Path) -> None:
    """Raise ClickException if the file is neither a zip archive nor a pickle."""
    with source.open("rb") as file:
        head = file.read(4)
    if not head.startswith((b"PK", b"\x80")):  # the first byte of a pickle of protocol 2 or later
        raise click.ClickException(f"{source}: neither a torch checkpoint (.pth) nor an .npz file")
