"""`komadori import`: convert dlshogi's weights and exported models to a model folder."""

from __future__ import annotations

import os
from pathlib import Path

import click

from komadori.cli.console import next_command, say
from komadori.cli.outputs import OutputFolder, exclusive
from komadori.model_folder import CARD_FILE, WEIGHTS_FILE, has_learner_state, newest_checkpoint

#: Suffixes of models of `komadori export`.
EXPORTED = (".onnx", ".xml")


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    "output",
    type=OutputFolder(),
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
@click.option(
    "--eval-coef",
    type=click.FloatRange(min=0, min_open=True),
    help="Eval_Coef for the card of dlshogi's weights; exported models have one.",
)
@click.option(
    "--data",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Records for the statistics of batch norms (exported models). [default: bundled games]",
)
@click.option("--force", is_flag=True, help="Replace an existing model.")
def command(
    source: Path,
    output: Path | None,
    part: str | None,
    activation: str | None,
    eval_coef: float | None,
    data: tuple[Path, ...],
    force: bool,
) -> None:
    """Convert SOURCE to a model folder, which can be trained further.

    SOURCE: a checkpoint (.pth) or published model (.npz) of dlshogi; a model of `komadori export`
    (.onnx, or .xml of --int8, whose weights are dequantized); or `default`, the bundled network.
    Exported models have batch norms folded into their weights; their statistics are measured on
    some positions, and the outputs compared. No code in the file is executed.
    """
    folder = output or Path(source.stem)
    source = _find(source)
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"{folder} is a file; name a folder with --out")
    click.get_current_context().with_resource(exclusive(folder))
    if newest_checkpoint(folder) is not None or has_learner_state(folder):
        raise click.UsageError(f"{folder} holds a run; choose another folder with --out")
    if any((folder / name).exists() for name in (CARD_FILE, WEIGHTS_FILE)) and not force:
        raise click.UsageError(f"{folder} holds a model already; --force replaces it")
    if source.suffix in EXPORTED:
        if part or activation or eval_coef:
            raise click.UsageError("--part, --activation and --eval-coef are for dlshogi's weights")
        _import_exported(source, folder, data)
        return
    if data:
        raise click.UsageError("--data is for exported models")
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
    say(next_command("export", folder, "-o", f"{source.stem}.onnx"))


def _find(source: Path) -> Path:
    """Return the file, or the bundled network for "default"."""
    if str(source) == "default" and not source.exists():
        from komadori.usi.models import find_model

        return Path(find_model("default"))
    if os.path.isdir(source):  # noqa: PTH112 (False for a name that no file can have)
        raise click.UsageError(f"{source} is a folder; name an exported model or a checkpoint")
    if not os.path.isfile(source):  # noqa: PTH113 (as above)
        raise click.UsageError(f"{source}: no such file")
    return source


def _import_exported(source: Path, folder: Path, data: tuple[Path, ...]) -> None:
    from komadori import nets, records
    from komadori.training.importing import import_exported

    try:
        found = import_exported(source, records.load_samples(data or [records.sample_path()]))
        folder.mkdir(parents=True, exist_ok=True)
        nets.save_model(folder, found.network, found.card)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    say(
        f"{nets.short_name(found.card.net)}, {nets.parameter_count(found.network):,} parameters"
        f"{', dequantized from int8' if found.is_int8 else ''}: {folder}"
    )
    say(
        f"largest difference from the file: policy {found.policy_difference:.2g}, value "
        f"{found.value_difference:.2g}; the same label first in {found.agreement:.1%}"
    )
    say(next_command("train", "CONFIG", "--from", folder))


def _check_source(source: Path) -> None:
    """Raise ClickException if the file is neither a zip archive nor a pickle."""
    with source.open("rb") as file:
        head = file.read(4)
    if not head.startswith((b"PK", b"\x80")):  # the first byte of a pickle of protocol 2 or later
        known = f".pth, .npz, {' or '.join(EXPORTED)}"
        raise click.ClickException(f"{source}: not a network that can be imported ({known})")
