"""`komadori generate`: training data."""

from __future__ import annotations

from pathlib import Path

import click

from komadori.cli import generate_nearby, generate_relabel, generate_selfplay, generate_teacher
from komadori.cli.console import console, say


@click.group()
def command() -> None:
    """Generate training data: games, nearby positions, new labels, statistics."""


command.add_command(generate_teacher.command)
command.add_command(generate_selfplay.command)
command.add_command(generate_nearby.command)
command.add_command(generate_relabel.command, "relabel")


@command.command("stats")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def stats(folder: Path, as_json: bool) -> None:
    """Print statistics of a folder of generated games.

    Reads every game: about five seconds per million positions.
    """
    import json

    from komadori.cli.linear_data import progress_bar
    from komadori.generate.folder import FolderError
    from komadori.generate.statistics import folder_statistics
    from komadori.records import RecordError

    try:
        with progress_bar(console(err=True)) as bar:
            task = bar.add_task("reading", total=None)
            found = folder_statistics(
                folder, lambda done, total: bar.update(task, completed=done, total=total)
            )
    except (FolderError, RecordError, OSError) as error:
        raise click.ClickException(str(error)) from error
    text = json.dumps(found.to_json(), indent=2)
    for line in text.splitlines() if as_json else found.lines():
        say(line)
