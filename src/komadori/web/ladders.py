"""Ladders (`komadori.arena.ladder`): ratings, games, and players as opponents."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from komadori.arena.game import GameRecord
from komadori.arena.ladder import Ladder, LadderError, LadderPlayer
from komadori.arena.ratings import Fit, Rating, Tally
from komadori.players import PlayerSpec, PlayerSpecError
from komadori.usi.models import ModelNotFoundError, find_model
from komadori.usi.protocol import GoCommand
from komadori.web.errors import RefusedError
from komadori.web.folders import Folders
from komadori.web.http_shapes import LadderInfo, LadderPairing, LadderPlayerInfo
from komadori.web.trainings import is_alive, modified_at, terms_of

#: Kinds of ladder players that pages may play; commands in ladder files are never run.
PLAYABLE = ("model", "policy", "one-ply", "alphabeta", "material", "random")


@dataclass(frozen=True)
class RatedPlayer:
    """A playable player of a ladder."""

    ladder: str
    player: LadderPlayer
    spec: PlayerSpec
    limits: GoCommand | None
    """The player's own limits, else the ladder's."""
    rating: Rating


@dataclass(frozen=True)
class _Contents:
    """The contents of a ladder file."""

    info: LadderInfo
    playable: list[RatedPlayer]


class Ladders:
    """The ladders of some folders, reloaded when their files change. Thread-safe."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._lock = threading.Lock()
        self._cache: dict[str, tuple[tuple[float, int], _Contents]] = {}

    def infos(self) -> list[LadderInfo]:
        """Return all ladders, newest first."""
        found = [ladder.info for ladder in self._all()]
        for info in found:
            info.is_running = is_alive(self._folders.scan().ladders[info.name], {})
        return sorted(found, key=lambda ladder: -ladder.updated)

    def playable(self) -> list[RatedPlayer]:
        """Return all playable players: newest ladder first, then strongest first."""
        contents = sorted(self._all(), key=lambda ladder: -ladder.info.updated)
        return [player for ladder in contents for player in ladder.playable]

    def games(
        self, name: str, player: str, against: str, offset: int, limit: int
    ) -> list[GameRecord]:
        """Return games, newest first. Raises RefusedError."""
        path = self._folders.scan().ladders.get(name)
        if path is None or self._read(name, path) is None:
            raise RefusedError("unknown_name", f"no ladder {name!r}")
        try:
            with closing(Ladder(path, reads_only=True)) as ladder:
                return list(
                    ladder.games(player, against, newest_first=True, offset=offset, limit=limit)
                )
        except LadderError as error:
            raise RefusedError("unknown_name", str(error)) from error

    def _all(self) -> Iterator[_Contents]:
        for name, path in self._folders.scan().ladders.items():
            contents = self._read(name, path)
            if contents is not None:
                yield contents

    def _read(self, name: str, path: Path) -> _Contents | None:
        """Return a ladder, from the cache if unchanged; None if the file isn't one."""
        try:
            stat = path.stat()
        except OSError:
            return None
        stamp = (stat.st_mtime, stat.st_size)
        with self._lock:
            if name not in self._cache or self._cache[name][0] != stamp:
                contents = _read(name, path)
                if contents is None:  # tried again: a process may have mended it
                    return None
                self._cache[name] = (stamp, contents)
            return self._cache[name][1]


def _read(name: str, path: Path) -> _Contents | None:
    try:
        with closing(Ladder(path, reads_only=True)) as ladder:
            # In this order: a process may add players and games, and removes none.
            tallies, fit, players = ladder.tallies(), ladder.fit(), ladder.players()
            conditions = ladder.settings.conditions
            are_same = {text for text, _ in ladder.conditions()} <= {str(conditions)}
            limits = None if conditions.has_clock else conditions.go([0.0, 0.0])
    except (LadderError, ValueError, OSError):
        return None
    by_name = {player.name: player for player in players}
    info = LadderInfo(
        name=name,
        title=Path(name).stem,
        terms=terms_of(conditions) if are_same else None,
        games=sum(tally.games for tally in tallies),
        players=[_player(by_name[rating.name], rating) for rating in fit.ratings],
        pairings=_pairings(tallies, fit),
        first_move_elo=fit.first_move_elo,
        draw_fraction=fit.draw_fraction,
        is_running=False,
        updated=modified_at(path),
    )
    playable = [
        player
        for rating in fit.ratings
        if (player := _playable(name, by_name[rating.name], limits, rating)) is not None
    ]
    return _Contents(info, playable)


def _player(player: LadderPlayer, rating: Rating) -> LadderPlayerInfo:
    return LadderPlayerInfo(
        name=player.name,
        spec=player.spec,
        note=player.note,
        elo=rating.elo,
        elo_error=rating.error,
        is_anchor=player.anchor_elo is not None,
        games=rating.games,
        wins=rating.wins,
        draws=rating.draws,
        losses=rating.losses,
    )


def _pairings(tallies: list[Tally], fit: Fit) -> list[LadderPairing]:
    """Return the results of each pair with both colours, from the higher-rated player's view."""
    rank = {rating.name: n for n, rating in enumerate(fit.ratings)}
    found: dict[tuple[str, str], LadderPairing] = {}
    for tally in tallies:
        is_swapped = rank[tally.black] > rank[tally.white]
        pair = (tally.white, tally.black) if is_swapped else (tally.black, tally.white)
        pairing = found.setdefault(
            pair, LadderPairing(player=pair[0], against=pair[1], wins=0, draws=0, losses=0)
        )
        pairing.wins += tally.white_wins if is_swapped else tally.black_wins
        pairing.losses += tally.black_wins if is_swapped else tally.white_wins
        pairing.draws += tally.draws
    return sorted(found.values(), key=lambda pairing: (rank[pairing.player], rank[pairing.against]))


def _playable(
    name: str, player: LadderPlayer, limits: GoCommand | None, rating: Rating
) -> RatedPlayer | None:
    """Return the player; None if pages can't play against it."""
    try:
        spec = PlayerSpec.parse(player.spec)
    except PlayerSpecError:
        return None
    if spec.kind not in PLAYABLE or not rating.games:
        return None
    if spec.kind in ("model", "policy", "one-ply"):
        try:
            if not Path(find_model(spec.argument)).exists() and ":" not in spec.argument:
                return None
        except ModelNotFoundError:
            return None
    return RatedPlayer(name, player, spec, spec.limits or limits, rating)
