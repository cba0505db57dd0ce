"""`komadori csa PLAYER`: play on a CSA server such as floodgate."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from komadori.cli.console import say
from komadori.cli.game_options import MARGIN
from komadori.cli.interrupt import InterruptError


@click.command()
@click.argument("player")
@click.option("--host", required=True, help="The server, as wdoor.c.u-tokyo.ac.jp.")
@click.option("--port", default=4081, show_default=True)
@click.option("--name", required=True, help="The login name.")
@click.option(
    "--password",
    required=True,
    envvar="KOMADORI_CSA_PASSWORD",
    help="floodgate: GAME_NAME,TRIP, as floodgate-300-10F,secret. [env: KOMADORI_CSA_PASSWORD]",
)
@click.option("--games", type=click.IntRange(1), help="Then stop. [default: go on]")
@click.option(
    "--margin", default=1.0, show_default=True, type=MARGIN, help="Seconds of the clock kept back."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the games' records.")
@click.option("--verbose", is_flag=True, help="Show every line of the conversation.")
def command(
    player: str,
    host: str,
    port: int,
    name: str,
    password: str,
    games: int | None,
    margin: float,
    out: Path | None,
    verbose: bool,
) -> None:
    """Play games on a CSA server with PLAYER (as in `komadori match`), reconnecting when needed."""
    from komadori import players
    from komadori.arena.csa_client import CsaAccount, CsaClient, CsaGame, CsaLoginError
    from komadori.usi.client import EngineError
    from komadori.usi.protocol import one_line

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(message)s",
        datefmt="%H:%M:%S",
    )
    tally: dict[str, int] = {}

    def show(game: CsaGame) -> None:
        tally[game.outcome] = tally.get(game.outcome, 0) + 1
        score = ", ".join(f"{count} {outcome}" for outcome, count in tally.items())
        black, white = (one_line(name, 60) for name in game.summary.names)
        say(
            f"{black} - {white}: {game.outcome} ({game.reason.lower() or 'no reason given'}), "
            f"{len(game.moves)} moves; so far {score}"
        )

    try:
        account = CsaAccount(host, name, password, port)
        made = players.make(player)
        try:
            CsaClient(account, made, margin_ms=round(1000 * margin), out=out, on_game=show).play(
                games
            )
        finally:
            made.close()
    except (ValueError, EngineError, CsaLoginError, OSError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        raise InterruptError("the games that ended are kept") from None
