"""`komadori report`: write a report page for a training run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from komadori.cli.console import say
from komadori.cli.network_options import DEVICE
from komadori.cli.outputs import OutputFolder, check_outputs, force_option, is_page
from komadori.model_folder import CHECKPOINTS

if TYPE_CHECKING:
    from komadori.nets import ModelCard


@click.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--data",
    multiple=True,
    help="The run's training games, if its config doesn't name them; the test part is split off.",
)
@click.option("--test", multiple=True, help="The run's test games, if it had separate ones.")
@click.option(
    "-o",
    "--out",
    type=OutputFolder(),
    help="Folder for the page and its plots. [default: RUN/report]",
)
@click.option(
    "--device", default="auto", show_default=True, type=DEVICE, help="Device: auto, cpu, cuda, mps."
)
@force_option
def command(
    run: Path,
    data: tuple[str, ...],
    test: tuple[str, ...],
    out: Path | None,
    device: str,
    force: bool,
) -> None:
    """Write RUN/report/index.html: curves, accuracy by ply and phase, calibration, and the
    positions with the largest loss as boards; each plot as SVG and PNG beside it.

    RUN is a training run's folder, or a folder that contains one, such as runs/quickstart.
    """
    if out is not None:  # RUN/report is the command's own
        check_outputs({out / "index.html": ("komadori page", is_page)}, (), force=force)
    from komadori import nets, training
    from komadori.cli.sample_files import load_samples, load_visits
    from komadori.records import sample_path
    from komadori.report import write_run_report

    run, is_quickstart = _find_run(run)
    if is_quickstart and not data:
        data = (str(sample_path()),)
    try:
        card = nets.load_card(training.resolve(run))
        train_files = data or _names(card, "train")
        test_files = test or _names(card, "test")
        if not train_files:
            raise click.ClickException(f"{run}: the run doesn't name its games: give --data")
        cache = card.facts("config", "data").get("cache", "")
        cache = cache if isinstance(cache, str) else ""
        needs_visits = card.facts("config", "loss").get("policy_target") == "visits"
        load = load_visits if needs_visits else load_samples
        page = write_run_report(
            run,
            load(train_files, cache),
            load_samples(test_files, cache) if test_files else None,
            out or run / "report",
            device,
        )
    except (
        training.TrainingError,
        training.ConfigError,
        nets.ModelFileError,
        ValueError,
        OSError,
    ) as error:
        raise click.ClickException(str(error)) from error
    say(f"page: {page}")


def _find_run(folder: Path) -> tuple[Path, bool]:
    """Find the run, and whether it is a quickstart's, which trains on the bundled sample."""
    from komadori import training

    try:
        training.resolve(folder)
    except training.CheckpointError:
        runs = [path for path in folder.iterdir() if (path / CHECKPOINTS).is_dir()]
        if len(runs) == 1:
            return runs[0], (folder / "summary.json").exists() and runs[0].name == "training"
        if runs:
            names = ", ".join(sorted(path.name for path in runs))
            raise click.ClickException(f"{folder} holds several runs; name one: {names}") from None
    return folder, (folder.parent / "summary.json").exists() and folder.name == "training"


def _names(card: ModelCard, key: str) -> tuple[str, ...]:
    """The run's own files of games; none if the card is damaged there."""
    names = card.facts("config", "data").get(key)
    return tuple(map(str, names)) if isinstance(names, (list, tuple)) else ()
