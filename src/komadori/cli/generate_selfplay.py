"""`komadori generate selfplay`: self-play games of a network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from komadori.cli.generate_teacher import Plies
from komadori.cli.generated_games import (
    DECLARATION,
    GAMES,
    MAX_PLIES,
    RAY,
    SEED,
    SEGMENT_GAMES,
    settings_of,
)
from komadori.cli.network_options import BACKEND, PRECISIONS
from komadori.cli.numbers import BATCH, THREADS
from komadori.cli.resumed_folder import games_folder
from komadori.cli.settings_command import SettingsCommand
from komadori.search.defaults import MAX_AT_ONCE

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FRACTION = click.FloatRange(0, 1)
#: Default number of concurrent games per machine of a cluster.
CLUSTER_AT_ONCE = 256
_POSITIVE = click.FloatRange(min=0, min_open=True)
#: Options of one kind of root.
_OF_ROOT = {
    "noise": ("noise_alpha", "noise_fraction", "prune_targets"),
    "gumbel": ("gumbel_moves", "gumbel_scale"),
}


@click.command(
    "selfplay", cls=SettingsCommand, settings="komadori.generate.selfplay_settings:SelfPlaySettings"
)
@games_folder()
@click.option("--model", default="default", show_default=True, help="The network.")
@GAMES
@SEED
@RAY
# the network
@click.option(
    "--backend", default="auto", show_default=True, type=BACKEND, help="As in `komadori bench`."
)
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default="auto",
    show_default=True,
    help="Precision of the network, as in `komadori bench`.",
)
@click.option("--threads", type=THREADS, help="Threads of the network. [default: all cores]")
@click.option("--batch", type=BATCH, help="Batch size. [default: by the network]")
@click.option(
    "--at-once",
    type=click.IntRange(1, MAX_AT_ONCE),
    help="Concurrent games. [default: 2 per row of all slots]",
)
# the search
@click.option("--root", type=click.Choice(["gumbel", "noise"]), help="Root search and target.")
@click.option("--playouts", type=click.IntRange(min=2), help="Playouts of a full search.")
@click.option(
    "--fast-playouts",
    type=click.IntRange(min=1),
    help="Playouts of a fast search, whose ply isn't trained on.",
)
@click.option("--full-fraction", type=_FRACTION, help="Fraction of plies with a full search.")
@click.option("--noise-alpha", type=_POSITIVE, help="Total Dirichlet concentration over all moves.")
@click.option("--noise-fraction", type=_FRACTION, help="Fraction of noise in the root's prior.")
@click.option(
    "--prune-targets/--keep-targets", default=None, help="Remove visits due to noise from targets."
)
@click.option(
    "--gumbel-moves", type=click.IntRange(min=1), help="Moves considered by sequential halving."
)
@click.option("--gumbel-scale", type=_POSITIVE, help="c_scale in sigma(q).")
@click.option("--temperature", type=click.FloatRange(min=0), help="Temperature at the first ply.")
@click.option("--temperature-halflife", type=_POSITIVE, help="Plies until the temperature halves.")
@click.option(
    "--leaf-weight",
    type=_FRACTION,
    help="Weight of an alpha-beta search's value at each leaf beside the network's; 0: off.",
)
@click.option("--leaf-nodes", type=click.IntRange(min=1), help="Nodes of that search.")
@click.option("--leaf-file", help="NNUE of that search. [default: the bundled one]")
@click.option("--mate-nodes", type=click.IntRange(min=0), help="df-pn moves per ply; 0: off.")
@click.option(
    "--memory", "memory_mb", type=click.IntRange(min=1), help="Size of each game's tree, MiB."
)
# diversity
@click.option(
    "--openings",
    type=_FILE,
    multiple=True,
    help="Openings: USI or SFEN lines, or games in any format.",
)
@click.option(
    "--opening-fraction", type=_FRACTION, help="Fraction of games that start from an opening."
)
@click.option(
    "--opening-plies", type=Plies(), help="Moves of the opening that are played, drawn from N to M."
)
# ends
@click.option("--resign", "resign_win_rate", type=_FRACTION, help="Resign below this win rate.")
@click.option(
    "--resign-moves",
    type=click.IntRange(min=0),
    help="Consecutive moves below it; 0: never resign.",
)
@click.option(
    "--play-on",
    "play_on_fraction",
    type=_FRACTION,
    help="Fraction of games played without resignation.",
)
@click.option(
    "--repetitions", type=click.IntRange(2, 4), help="Occurrences of a position that end a game."
)
@DECLARATION
@MAX_PLIES
@SEGMENT_GAMES
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
    """Play self-play games with a network, hundreds of them concurrently.

    Plies with a full search are training samples: hcpe3 with the search's policy as candidates.
    The same command resumes a folder; finished games are never lost.
    """
    from functools import partial

    from komadori import inference
    from komadori.arena.openings import OpeningError
    from komadori.cli.console import say, say_skipped
    from komadori.cli.generate_run import run
    from komadori.generate.cluster_games import (
        ClusterGames,
        recover_games,
        remove_journals,
        selfplay_job,
    )
    from komadori.generate.folder import GameFolder
    from komadori.generate.openings import Lines
    from komadori.generate.selfplay import SelfPlayGames, model_digest, selfplay_card
    from komadori.generate.selfplay_settings import SelfPlaySettings
    from komadori.inference.model_file import load_identified
    from komadori.usi.models import find_model, is_fake

    _refuse_unused({"openings": openings, **given})
    try:
        # An empty name means the default, as everywhere, not the working directory.
        path = model if model and Path(model).exists() else find_model(model, is_typed=True)
        card = {} if is_fake(path) else inference.card_of(path)
        if coefficient := card.get("eval_coef"):
            given["eval_coef"] = float(coefficient)
        settings = settings_of(SelfPlaySettings.from_mapping, given)
        lines = Lines(openings, say_skipped)
        options: dict[str, Any] = {"max_batch": batch} if batch else {}
        if not is_fake(path):
            options |= {"precision": precision} | ({"threads": threads} if threads else {})
        if address is None:
            evaluator, digest = load_identified(
                str(path), lambda: inference.load(path, backend=backend, **options), model_digest
            )
            try:
                settings_card = selfplay_card(settings, lines, digest)
                with GameFolder(folder, settings_card, segment_games) as held:
                    source = SelfPlayGames(evaluator, settings, lines.openings, at_once)
                    run(held, source, games, source.games_at_once // 16 + 1)
            finally:
                evaluator.close()
            return
        digest = model_digest(str(path))
        settings_card = selfplay_card(settings, lines, digest)
        with GameFolder(folder, settings_card, segment_games) as held:
            held.add(recover_games(folder))
            remove_journals(folder)
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
            remove_journals(folder)
    except (ValueError, OpeningError, OSError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


def _refuse_unused(given: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that was given and that these games would ignore."""
    from komadori.generate.selfplay_settings import SelfPlaySettings

    root = given["root"] or SelfPlaySettings.root
    unused = {
        name: f"--root {kind}" for kind in _OF_ROOT if kind != root for name in _OF_ROOT[kind]
    }
    if not given["openings"]:
        unused |= dict.fromkeys(("opening_fraction", "opening_plies"), "--openings")
    if not given["leaf_weight"]:
        unused |= dict.fromkeys(("leaf_nodes", "leaf_file"), "--leaf-weight")
    for name, needed in unused.items():
        if given[name] is not None:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} needs {needed}")
