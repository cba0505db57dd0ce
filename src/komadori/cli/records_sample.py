"""`komadori records sample`: write the bundled games to a file."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import click

from komadori.atomic import is_stream
from komadori.cli.console import say
from komadori.cli.outputs import OutputFile
from komadori.cli.record_inputs import WriteError
from komadori.wording import counted


@click.command()
@click.argument("output", type=OutputFile())
@click.option("--games", type=click.IntRange(min=1), help="Number of games. [default: all]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def sample(output: Path, games: int | None, force: bool) -> None:
    """Write the bundled engine games to OUTPUT, in the format of its suffix.

    Game records: .csa, .kif, .ki2, .jkf, .usi, .hcpe3; for training .hcpe3.
    """
    from komadori import records

    if output.exists() and not is_stream(output) and not force:
        raise WriteError(f"{output} exists; --force replaces it")
    bundled = islice(iter(records.GameReader(records.sample_path())), games)
    try:
        with records.GameWriter(output) as writer:
            count = 0
            for game in bundled:
                if isinstance(game, records.Game):
                    writer.write(game)
                    count += 1
    except (records.RecordError, OSError) as error:
        raise WriteError(str(error)) from error
    say(f"{output}: {counted(count, 'game')}", err=is_stream(output))
