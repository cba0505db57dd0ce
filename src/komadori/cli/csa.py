"""`komadori csa PLAYER`: play on a CSA server such as floodgate."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from komadori.atomic import check_writable
from komadori.cli.console import say
from komadori.cli.game_options import MARGIN
from komadori.cli.interrupt import InterruptError
from komadori.cli.outputs import OutputFolder
from komadori.wording import counted

#: The outcomes of games in totals.
_COUNTED = {
    "win": "won",
    "lose": "lost",
    "draw": "drawn",
    "censored": "censored",
    "unknown": "without result",
}


@click.command()
@click.argument("player")
@click.option("--host", required=True, help="Server, such as wdoor.c.u-tokyo.ac.jp.")
@click.option(
    "--port",
    default=4081,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="The server's port.",
)
@click.option("--name", required=True, help="The login name.")
@click.option(
    "--password",
    required=True,
    envvar="KOMADORI_CSA_PASSWORD",
    help="On floodgate GAME_NAME,TRIP: floodgate-300-10F,secret. [env: KOMADORI_CSA_PASSWORD]",
)
@click.option("--games", type=click.IntRange(1), help="Number of games. [default: no limit]")
@click.option(
    "--margin",
    default=1.0,
    show_default=True,
    type=MARGIN,
    help="Safety margin of the clock, in seconds.",
)
@click.option("-o", "--out", type=OutputFolder(), help="Folder for the game records.")
@click.option("--verbose", is_flag=True, help="Print every line of the protocol.")
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

    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    # not the root's: other libraries keep theirs to themselves
    logging.getLogger("komadori").setLevel(logging.DEBUG if verbose else logging.INFO)
    tally: dict[str, int] = {}

    def show(game: CsaGame) -> None:
        tally[game.outcome] = tally.get(game.outcome, 0) + 1
        score = ", ".join(
            f"{tally[name]} {word}" for name, word in _COUNTED.items() if name in tally
        )
        black, white = (one_line(name, 60) for name in game.summary.names)
        say(
            f"{black} - {white}: {game.outcome} ({game.reason.lower() or 'no reason given'}), "
            f"{counted(len(game.moves), 'move')}; so far {score}"
        )

    try:
        if out is not None:
            check_writable(out)
        account = CsaAccount(host, name, password, port)
        made = players.make(player)
        try:
            client = CsaClient(account, made, margin_ms=round(1000 * margin), out=out, on_game=show)
            client.play(games)
        finally:
            made.close()
        if client.unsaved:
            raise click.ClickException(
                f"{out}: {counted(client.unsaved, 'game')} couldn't be written; the moves are above"
            )
    except players.PlayerSpecError as error:
        raise click.UsageError(str(error)) from error
    except (ValueError, EngineError, CsaLoginError, OSError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        raise InterruptError("finished games are kept") from None
