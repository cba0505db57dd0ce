"""`komadori generate selfplay`: games of a network's search against itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from komadori.cli.generate_teacher import Plies
from komadori.cli.network_options import BACKEND

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SHARE = click.FloatRange(0, 1)
#: Games at once of each machine of a cluster where nobody says.
CLUSTER_AT_ONCE = 256
_POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command("selfplay")
@click.option(
    "-o",
    "--out",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the games go; the same command resumes it.",
)
@click.option("--model", default="default", show_default=True, help="The network.")
@click.option(
    "--games", type=click.IntRange(min=0), default=1000, show_default=True, help="0: until stopped."
)
@click.option("--seed", type=click.IntRange(min=0))
@click.option("--ray", "address", metavar="ADDRESS", help="Play on all machines of a Ray cluster.")
# the network
@click.option(
    "--backend", default="auto", show_default=True, type=BACKEND, help="As in `komadori bench`."
)
@click.option("--precision", default="auto", show_default=True)
@click.option("--threads", type=click.IntRange(min=1), help="Of the network. [default: all CPUs]")
@click.option("--batch", type=click.IntRange(min=1), help="Rows. [default: by the network]")
@click.option(
    "--at-once", type=click.IntRange(min=1), help="Games at once. [default: 2 per row of all slots]"
)
# the search
@click.option("--root", type=click.Choice(["gumbel", "noise"]), help="How the root is searched.")
@click.option("--playouts", type=click.IntRange(min=2), help="Of a full search.")
@click.option("--fast-playouts", type=click.IntRange(min=1), help="Of one that isn't learnt.")
@click.option("--full-share", type=_SHARE, help="Plies with a full search.")
@click.option("--noise-alpha", type=_POSITIVE, help="Dirichlet's, times the number of moves.")
@click.option("--noise-share", type=_SHARE, help="Of the root's prior.")
@click.option("--prune-targets/--keep-targets", default=None, help="Visits that noise brought.")
@click.option("--gumbel-moves", type=click.IntRange(min=1), help="Of sequential halving.")
@click.option("--gumbel-scale", type=_POSITIVE, help="c_scale of sigma(q).")
@click.option("--temperature", type=click.FloatRange(min=0), help="At the first ply.")
@click.option("--temperature-halflife", type=_POSITIVE, help="Plies.")
@click.option("--mate-nodes", type=click.IntRange(min=0), help="Of df-pn per ply; 0: none.")
@click.option("--memory", "memory_mb", type=click.IntRange(min=1), help="MiB of each game's tree.")
# diversity
@click.option(
    "--openings", type=_FILE, multiple=True, help="USI or SFEN lines, or games of any format."
)
@click.option("--opening-share", type=_SHARE, help="Games that begin with one of them.")
@click.option("--opening-plies", type=Plies(), help="How many of an opening's moves are played.")
# ends
@click.option("--resign", "resign_win_rate", type=_SHARE, help="Win rate.")
@click.option("--resign-moves", type=click.IntRange(min=0), help="In a row; 0: never resign.")
@click.option("--play-on", "play_on_share", type=_SHARE, help="Games that nobody resigns.")
@click.option("--repetitions", type=click.IntRange(2, 4), help="That end a game.")
@click.option("--declaration", type=click.Choice(["27", "24", "none"]))
@click.option("--max-plies", type=click.IntRange(1, 513))
@click.option(
    "--segment-games", type=click.IntRange(min=1), default=1000, show_default=True, help="Per file."
)
def command(
    folder: Path,
    model: str,
    games: int,
    backend: str,
    precision: str,
    threads: int | None,
    batch: int | None,
    at_once: int | None,
    openings: tuple[Path, ...],
    address: str | None,
    segment_games: int,
    **given: Any,
) -> None:
    """Play a network's search against itself, hundreds of games at once.

    Plies with a full search are learnt: hcpe3 with the search's policy as candidates. The same
    command resumes a folder; a finished game is never lost.
    """
    from functools import partial

    from komadori import inference
    from komadori.arena.openings import OpeningError
    from komadori.cli.console import say
    from komadori.cli.generate_run import run
    from komadori.generate.cluster_games import ClusterGames, adopt, forget, selfplay_job
    from komadori.generate.folder import GameFolder
    from komadori.generate.openings import Lines
    from komadori.generate.selfplay import SelfPlayGames, model_digest, selfplay_card
    from komadori.generate.selfplay_settings import SelfPlaySettings
    from komadori.usi.models import find_model, is_fake

    try:
        path = model if is_fake(model) or Path(model).exists() else find_model(model)
        card = {} if is_fake(path) else inference.card_of(path)
        if coefficient := card.get("eval_coef"):
            given["eval_coef"] = float(coefficient)
        settings = SelfPlaySettings.from_mapping(
            {name: value for name, value in given.items() if value is not None}
        )
        lines = Lines(openings)
        options: dict[str, Any] = {"max_batch": batch} if batch else {}
        if not is_fake(path):
            options |= {"precision": precision} | ({"threads": threads} if threads else {})
        digest = model_digest(str(path))
        begun = selfplay_card(settings, lines, digest)
        with GameFolder(folder, begun, segment_games) as held:
            if address is not None:
                held.add(adopt(folder))
                forget(folder)
                job = selfplay_job(
                    folder,
                    settings,
                    lines,
                    str(path),
                    digest,
                    at_once or CLUSTER_AT_ONCE,
                    options | {"backend": backend},
                )
                machines = ClusterGames(
                    address,
                    folder,
                    job,
                    worker="SelfPlayWorker",
                    threads=threads,
                    on_change=partial(say, err=True),
                )
                run(held, machines, games, 2 * job["at_once"] * machines.machines // 32 + 1)
                forget(folder)
                return
            evaluator = inference.load(path, backend=backend, **options)
            try:
                source = SelfPlayGames(evaluator, settings, lines.openings, at_once)
                run(held, source, games, source.games_at_once // 16 + 1)
            finally:
                evaluator.close()
    except (ValueError, OpeningError, OSError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error
