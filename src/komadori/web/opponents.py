"""Opponents of a page: players with a shared network, ladder players, and others."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from komadori import players
from komadori.arena.ratings import Rating
from komadori.players import Decision, Player, PlayerSpec, PlayerSpecError
from komadori.players.external import DECLARATION_OPTION, EnginePlayer
from komadori.players.searching import LookPlayer, SearchPlayer
from komadori.players.simple import SimplePlayer
from komadori.rules import HANDICAPS, Board
from komadori.search import OnePlySearcher, PolicySearcher, PuctSearcher, Searcher, StopEvent
from komadori.usi import adapters
from komadori.usi.client import EngineError
from komadori.usi.models import find_model
from komadori.usi.protocol import GoCommand
from komadori.web.errors import RefusedError
from komadori.web.folders import printable
from komadori.web.http_shapes import HandicapInfo, Level, PlayerInfo, Players
from komadori.web.ladders import Ladders, RatedPlayer
from komadori.web.models import Models
from komadori.web.shapes import ModelInfo, Opponent
from komadori.wording import counted, reason_of

#: Memory of a player's tree in MB.
MEMORY_MB = 64

#: Searches of at most this many playouts use an urgent lane.
SHORT_PLAYOUTS = 400

#: Levels of a network with search: label, playouts, temperature.
LEVELS: tuple[tuple[str, int | None, float], ...] = (
    ("10 playouts, varied", 10, 1.0),
    ("10 playouts", 10, 0.0),
    ("50 playouts", 50, 0.0),
    ("200 playouts", 200, 0.0),
    ("800 playouts", 800, 0.0),
    ("3200 playouts", 3200, 0.0),
    ("by the clock", None, 0.0),
)
#: Levels of other engines: label, nodes, temperature.
NODE_LEVELS: tuple[tuple[str, int | None, float], ...] = (
    ("100 nodes", 100, 0.0),
    ("1000 nodes", 1000, 0.0),
    ("10000 nodes", 10_000, 0.0),
    ("100000 nodes", 100_000, 0.0),
    ("1000000 nodes", 1_000_000, 0.0),
    ("by the clock", None, 0.0),
)
POLICY_LEVELS: tuple[tuple[str, int | None, float], ...] = (
    ("most likely move", None, 0.0),
    ("drawn, temperature 0.5", None, 0.5),
    ("drawn, temperature 1", None, 1.0),
)

#: Kinds that need no file.
BUILT_IN = ("alphabeta", "material", "random")


class SeatedPlayer:
    """A player in a game, whose search can be stopped."""

    def __init__(
        self, player: Player, name: str, limits: GoCommand | None, *, keeps_rule: bool = False
    ) -> None:
        """`keeps_rule`: whether the user chose the rule by which the player declares wins."""
        self._player = player
        self._keeps_rule = keeps_rule
        self.name = name
        self.limits = limits
        self._stop: StopEvent | None = None
        if isinstance(player, SearchPlayer):
            self._stop = player.stop = StopEvent()
        self._lock = threading.Lock()

    def play(self, board: Board, go: GoCommand, cancelled: threading.Event) -> Decision:
        """Search for a move. Blocks. The decision is empty if `cancelled` is set beforehand."""
        with self._lock:
            if self._stop is not None:
                self._stop.clear()
            if cancelled.is_set():
                return Decision()
            return self._player.play(board, go)

    def new_game(self, draw_ply: int, declaration: str) -> None:
        """Prepare for a game; `declaration`: its rule of declared wins."""
        with self._lock:
            self._player.new_game(None, draw_ply)
            if (
                isinstance(self._player, SearchPlayer | EnginePlayer | SimplePlayer)
                and not self._keeps_rule
            ):
                self._player.set_declaration(declaration)

    def stop(self) -> None:
        """Stop the search. Players that aren't a `SearchPlayer` run until their limits."""
        if self._stop is not None:
            self._stop.set()

    def close(self) -> None:
        self.stop()
        with self._lock:
            self._player.close()


class Opponents:
    """Lists and creates players."""

    def __init__(
        self, models: Models, specs: Sequence[str] = (), ladders: Ladders | None = None
    ) -> None:
        """`specs`: additional players (`--player`). Raises PlayerSpecError."""
        self._models = models
        self._specs = {f"spec:{n}": PlayerSpec.parse(text) for n, text in enumerate(specs, 1)}
        self._ladders = ladders

    def list(self) -> Players:
        rated_players = self._ladders.playable() if self._ladders else []
        ratings = self._ratings(rated_players)
        found = []
        for model in self._models.infos():
            for kind in ("model", "policy", "one-ply"):
                found.append(_model_player(kind, model, ratings))
        found += _ladder_players(rated_players)
        for kind in (*BUILT_IN, *_installed()):
            found.append(_other_player(kind, kind, kind))
        for player, spec in self._specs.items():
            found.append(_other_player(player, printable(self._name(spec)), spec.kind))
        handicaps = [
            HandicapInfo(name=h.name, kif=h.kif, position=f"sfen {h.sfen}")
            for h in HANDICAPS.values()
        ]
        return Players(players=found, handicaps=handicaps)

    def _name(self, spec: PlayerSpec) -> str:
        """Return a name that tells one `--player` from others of the same name."""
        offered = map(PlayerSpec.parse, (*BUILT_IN, *_installed()))
        others = [s for s in (*offered, *self._specs.values()) if s is not spec]
        names = [spec.name_beside(other) for other in others if other.name == spec.name]
        return max(names, key=len, default=spec.name)

    def _ratings(
        self, rated_players: Sequence[RatedPlayer]
    ) -> dict[tuple[str, int | None], Rating]:
        """Return ratings of networks by player id and playouts; the newest ladder's if several."""
        found: dict[tuple[str, int | None], Rating] = {}
        by_path = {Path(path).resolve(): info.id for info, path in self._models.paths()}
        for rated in rated_players:
            spec = rated.spec
            if spec.kind not in ("model", "policy") or spec.own_options:
                continue
            model = by_path.get(Path(find_model(spec.argument)).resolve())
            limits = rated.limits
            if model is None or (limits and (limits.depth or limits.movetime_ms)):
                continue
            playouts = limits.nodes if limits and spec.kind == "model" else None
            if playouts is not None or spec.kind == "policy":
                found.setdefault((f"{spec.kind}:{model}", playouts), rated.rating)
        return found

    def seat(self, opponent: Opponent) -> SeatedPlayer:
        """Create the player. Blocks: networks are loaded, engines started. Raises RefusedError."""
        kind, _, argument = opponent.player.partition(":")
        playouts, temperature = opponent.playouts, opponent.temperature
        try:
            if kind == "ladder":
                return self._ladder_player(opponent)
            if opponent.elo is not None:
                playouts, temperature = self._at_elo(opponent)
            if kind in ("model", "policy", "one-ply"):
                return self._network_player(kind, argument, playouts, temperature, opponent)
            spec = self._specs.get(opponent.player)
            if spec is None and opponent.player in (*BUILT_IN, *_installed()):
                spec = PlayerSpec.parse(opponent.player)
            if spec is None:
                raise RefusedError("unknown_name", f"no player {opponent.player!r}")
            limits = GoCommand(nodes=playouts) if playouts else spec.limits
            player = players.make(spec)
        except (PlayerSpecError, EngineError, ValueError, OSError) as error:
            if isinstance(error, RefusedError):
                raise
            reason = reason_of(error)
            if opponent.player not in self._specs:  # whose ids mean nothing to users
                reason = f"{opponent.player}: {reason}"
            raise RefusedError("failed", reason) from error
        return SeatedPlayer(player, player.name, limits, keeps_rule=_has_rule(spec))

    def check_start(self, opponent: Opponent, sfen: str) -> None:
        """Raise RefusedError if the player is known not to play games from a position."""
        spec = self._specs.get(opponent.player)
        kind = spec.kind if spec else opponent.player
        if problem := adapters.unsupported_start(kind, sfen):
            raise RefusedError("not_possible", f"{spec.name if spec else kind} {problem}")

    def _at_elo(self, opponent: Opponent) -> tuple[int | None, float]:
        """Return playouts and temperature of the level with the nearest rating."""
        info = next((p for p in self.list().players if p.id == opponent.player), None)
        rated = [level for level in (info.levels if info else []) if level.elo is not None]
        if not rated:
            raise RefusedError("not_possible", f"{opponent.player} has no rating")
        elo = opponent.elo or 0.0
        nearest = min(rated, key=lambda level: abs((level.elo or 0.0) - elo))
        return nearest.playouts, nearest.temperature

    def _ladder_player(self, opponent: Opponent) -> SeatedPlayer:
        """Create the ladder's player with the nearest rating; without a rating, the strongest."""
        name = opponent.player.partition(":")[2]
        playable = self._ladders.playable() if self._ladders else []
        rated_players = [player for player in playable if player.ladder == name]
        if not rated_players:
            raise RefusedError("unknown_name", f"no player {opponent.player!r}")
        elo = max(r.rating.elo for r in rated_players) if opponent.elo is None else opponent.elo
        rated = min(rated_players, key=lambda r: abs(r.rating.elo - elo))
        player = players.make(rated.spec)
        keeps_rule = _has_rule(rated.spec)
        return SeatedPlayer(player, rated.player.name, rated.limits, keeps_rule=keeps_rule)

    def _network_player(
        self, kind: str, model: str, playouts: int | None, temperature: float, opponent: Opponent
    ) -> SeatedPlayer:
        engine = self._models.acquire(model)
        is_urgent = kind != "model" or (playouts is not None and playouts <= SHORT_PLAYOUTS)
        lane = engine.shared.lane(urgent=is_urgent)

        def release() -> None:
            lane.close()
            self._models.release(engine)

        coef = engine.search_options().eval_coef
        name, limits = engine.model.name, GoCommand(nodes=playouts) if playouts else None
        player: Player
        if kind == "model":
            sampling: dict[str, Any] = {}
            if temperature:
                sampling = {
                    "random_plies": opponent.temperature_plies,
                    "random_temperature": temperature,
                    "random_cutoff": 1.0,
                }
            options = engine.search_options(memory_mb=MEMORY_MB, pv_interval_ms=200, **sampling)
            player = SearchPlayer(PuctSearcher(lane, options), name, limits, release)
        else:

            def make(seed: int | None) -> Searcher:
                if kind == "policy":
                    return PolicySearcher(lane, temperature=temperature, seed=seed, eval_coef=coef)
                return OnePlySearcher(lane, seed=seed, eval_coef=coef)

            name = f"{name} ({kind})"
            player = LookPlayer(make, name, release)
        if playouts and kind == "model":
            name = f"{name}, {counted(playouts, 'playout')}"
        return SeatedPlayer(player, name, limits)


def _has_rule(spec: PlayerSpec) -> bool:
    """Return whether a specification sets the rule by which the player declares wins."""
    return DECLARATION_OPTION.lower() in map(str.lower, spec.own_options)


def _model_player(
    kind: str, model: ModelInfo, ratings: Mapping[tuple[str, int | None], Rating]
) -> PlayerInfo:
    player = f"{kind}:{model.id}"
    levels = []
    for label, playouts, temperature in {"model": LEVELS, "policy": POLICY_LEVELS}.get(kind, ()):
        rating = None if temperature else ratings.get((player, playouts))
        levels.append(
            Level(
                label=label,
                playouts=playouts,
                temperature=temperature,
                elo=rating.elo if rating else None,
                elo_error=rating.error if rating else None,
            )
        )
    return PlayerInfo(
        id=player,
        name=model.name,
        kind=kind,
        takes_playouts=kind == "model",
        takes_temperature=kind != "one-ply",
        levels=levels,
    )


def _ladder_players(rated_players: Sequence[RatedPlayer]) -> list[PlayerInfo]:
    """Return an opponent per ladder, with its players as levels, weakest first."""
    by_ladder: dict[str, list[RatedPlayer]] = {}
    for rated in rated_players:
        by_ladder.setdefault(rated.ladder, []).append(rated)
    return [
        PlayerInfo(
            id=f"ladder:{name}",
            name=Path(name).stem,
            kind="ladder",
            takes_playouts=False,
            takes_temperature=False,
            levels=[
                Level(
                    label=rated.player.name,
                    playouts=rated.limits.nodes if rated.limits else None,
                    temperature=0.0,
                    elo=rated.rating.elo,
                    elo_error=rated.rating.error,
                )
                for rated in sorted(found, key=lambda rated: rated.rating.elo)
            ],
        )
        for name, found in by_ladder.items()
    ]


def _other_player(player: str, name: str, kind: str) -> PlayerInfo:
    takes_nodes = kind in ("alphabeta", "usi")
    return PlayerInfo(
        id=player,
        name=name,
        kind=kind,
        takes_playouts=takes_nodes,
        takes_temperature=False,
        levels=[
            Level(label=label, playouts=nodes, temperature=temperature, elo=None)
            for label, nodes, temperature in (NODE_LEVELS if takes_nodes else ())
        ],
    )


def _installed() -> list[str]:
    """Return the engines with adapters that are installed."""
    return [kind for kind in adapters.ADAPTERS if adapters.program(kind)]
