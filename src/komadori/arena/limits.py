"""The limits that a match's players search under: their own, the match's, or the default; and what
is refused before a match."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from komadori.arena.game import Conditions, limits_text
from komadori.arena.workers import PlayerSource
from komadori.search.defaults import PLAYER_NODES
from komadori.usi.protocol import GoCommand

#: Kinds of players that don't search.
_NO_SEARCH = ("random", "material", "policy", "one-ply")


def describe(conditions: Conditions, sources: Sequence[PlayerSource], names: Sequence[str]) -> str:
    """Describe the conditions as they apply to these players.

    Limits are named by player where they differ.
    """
    texts = [_text(conditions, source) for source in sources]
    known = [(name, text) for name, text in zip(names, texts, strict=True) if text is not None]
    if not known:  # no player searches
        return conditions.described(limits_text(_command(conditions, None)))
    if len({text for _, text in known}) == 1:
        return conditions.described(known[0][1])
    return conditions.described(", ".join(f"{name}: {text or 'the clock'}" for name, text in known))


def check_players(
    conditions: Conditions, sources: Sequence[PlayerSource], starts: Collection[str] = ()
) -> None:
    """Raise PlayerSpecError if a player is known not to have its options, or not to support its
    limits or games from one of the positions `starts` (SFEN)."""
    from komadori import players
    from komadori.players import PlayerSpec, PlayerSpecError
    from komadori.rules import Board
    from komadori.usi import adapters

    for source in sources:
        if isinstance(source, str):
            spec = PlayerSpec.parse(source)
            players.check(spec)
            problem = adapters.unsupported(spec.kind, _command(conditions, spec.limits))
            for sfen in starts:
                problem = problem or adapters.unsupported_start(spec.kind, Board(sfen).sfen())
            if problem:
                raise PlayerSpecError(f"{spec.name} {problem}")


def _text(conditions: Conditions, source: PlayerSource) -> str | None:
    """Return what limits a player beside the clock; None if it doesn't search."""
    from komadori.players import PlayerSpec

    if not isinstance(source, str):
        return limits_text(_command(conditions, None))
    spec = PlayerSpec.parse(source)
    if spec.kind in _NO_SEARCH:
        return None
    text = limits_text(_command(conditions, spec.limits))
    if text or conditions.has_clock:
        return text
    if spec.kind in ("model", "alphabeta"):
        return f"{PLAYER_NODES} nodes per move (default)"
    return "the engine's own limit"


def _command(conditions: Conditions, own: GoCommand | None) -> GoCommand:
    from komadori.players.player import effective_limits

    return effective_limits(own, conditions.go([conditions.main_ms, conditions.main_ms]))
