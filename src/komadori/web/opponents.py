"""Whom a page can play: networks over the shared evaluator, and players of other kinds."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from komadori import players
from komadori.arena.ratings import Rating
from komadori.players import Decision, Player, PlayerSpec, PlayerSpecError
from komadori.players.searching import LookPlayer, SearchPlayer
from komadori.rules import HANDICAPS, Board
from komadori.search import OnePlySearcher, PolicySearcher, PuctSearcher, Searcher
from komadori.usi import adapters
from komadori.usi.client import EngineError
from komadori.usi.models import find_model
from komadori.usi.protocol import GoCommand
from komadori.web.errors import RefusedError
from komadori.web.http_shapes import HandicapInfo, Level, PlayerInfo, Players
from komadori.web.ladders import Ladders, Rung
from komadori.web.models import Models
from komadori.web.shapes import ModelInfo, Opponent

#: Megabytes of a player's tree.
MEMORY_MB = 64

#: A search of so many playouts goes before the searches that have no end.
SHORT_PLAYOUTS = 400

#: Strengths offered of a network with search: label, playouts, temperature.
LEVELS: tuple[tuple[str, int | None, float], ...] = (
    ("10 playouts, varied", 10, 1.0),
    ("10 playouts", 10, 0.0),
    ("50 playouts", 50, 0.0),
    ("200 playouts", 200, 0.0),
    ("800 playouts", 800, 0.0),
    ("3200 playouts", 3200, 0.0),
    ("by the clock", None, 0.0),
)
#: Of other searchers: label, nodes, temperature.
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
    """A player at a board, and how to make it stop thinking."""

    def __init__(self, player: Player, name: str, limits: GoCommand | None) -> None:
        self._player = player
        self.name = name
        self.limits = limits
        self._stop: threading.Event | None = None
        if isinstance(player, SearchPlayer):
            self._stop = player.stop = threading.Event()
        self._lock = threading.Lock()

    def play(self, board: Board, go: GoCommand, cancelled: threading.Event) -> Decision:
        """The move, thought out in the calling thread; no move once `cancelled` is set."""
        with self._lock:
            if self._stop is not None:
                self._stop.clear()
            if cancelled.is_set():
                return Decision()
            return self._player.play(board, go)

    def new_game(self, draw_ply: int) -> None:
        with self._lock:
            self._player.new_game(None, draw_ply)

    def stop(self) -> None:
        """Answer soon. An engine outside ends by its own limits."""
        if self._stop is not None:
            self._stop.set()

    def close(self) -> None:
        self.stop()
        with self._lock:
            self._player.close()


class Opponents:
    """The list of players, and the making of one."""

    def __init__(
        self, models: Models, specs: Sequence[str] = (), ladders: Ladders | None = None
    ) -> None:
        """`specs`: players named by the one who started the server. Raises PlayerSpecError."""
        self._models = models
        self._specs = {f"spec:{n}": PlayerSpec.parse(text) for n, text in enumerate(specs, 1)}
        self._ladders = ladders

    def list(self) -> Players:
        rungs = self._ladders.rungs() if self._ladders else []
        rated = self._rated(rungs)
        found = []
        for model in self._models.infos():
            for kind in ("model", "policy", "one-ply"):
                found.append(_model_player(kind, model, rated))
        found += _ladder_players(rungs)
        for kind in (*BUILT_IN, *_installed()):
            found.append(_plain(kind, kind, kind))
        for player, spec in self._specs.items():
            found.append(_plain(player, spec.name, spec.kind))
        handicaps = [
            HandicapInfo(name=h.name, kif=h.kif, position=f"sfen {h.sfen}")
            for h in HANDICAPS.values()
        ]
        return Players(players=found, handicaps=handicaps)

    def _rated(self, rungs: Sequence[Rung]) -> dict[tuple[str, int | None], Rating]:
        """Ratings of networks by id of the player and playouts; of several the newest ladder's."""
        found: dict[tuple[str, int | None], Rating] = {}
        by_path = {Path(path).resolve(): info.id for info, path in self._models.paths()}
        for rung in rungs:
            spec = rung.spec
            if spec.kind not in ("model", "policy") or spec.own_options:
                continue
            model = by_path.get(Path(find_model(spec.argument)).resolve())
            limits = rung.limits
            if model is None or (limits and (limits.depth or limits.movetime_ms)):
                continue
            playouts = limits.nodes if limits and spec.kind == "model" else None
            if playouts is not None or spec.kind == "policy":
                found.setdefault((f"{spec.kind}:{model}", playouts), rung.rating)
        return found

    def seat(self, wanted: Opponent) -> SeatedPlayer:
        """Make the player. Blocks: networks are loaded, engines started. Raises RefusedError."""
        kind, _, argument = wanted.player.partition(":")
        playouts, temperature = wanted.playouts, wanted.temperature
        try:
            if kind == "ladder":
                return self._rung(wanted)
            if wanted.elo is not None:
                playouts, temperature = self._at_elo(wanted)
            if kind in ("model", "policy", "one-ply"):
                return self._network(kind, argument, playouts, temperature, wanted)
            spec = self._specs.get(wanted.player)
            if spec is None and wanted.player in (*BUILT_IN, *_installed()):
                spec = PlayerSpec.parse(wanted.player)
            if spec is None:
                raise RefusedError("unknown_name", f"no player {wanted.player!r}")
            limits = GoCommand(nodes=playouts) if playouts else spec.limits
            player = players.make(spec)
        except (PlayerSpecError, EngineError, ValueError, OSError) as error:
            if isinstance(error, RefusedError):
                raise
            raise RefusedError("failed", f"{wanted.player}: {error}") from error
        return SeatedPlayer(player, player.name, limits)

    def _at_elo(self, wanted: Opponent) -> tuple[int | None, float]:
        info = next((p for p in self.list().players if p.id == wanted.player), None)
        rated = [level for level in (info.levels if info else []) if level.elo is not None]
        if not rated:
            raise RefusedError("not_possible", f"no rating is known of {wanted.player}")
        elo = wanted.elo or 0.0
        nearest = min(rated, key=lambda level: abs((level.elo or 0.0) - elo))
        return nearest.playouts, nearest.temperature

    def _rung(self, wanted: Opponent) -> SeatedPlayer:
        """The player of a ladder whose rating is nearest to what is wanted."""
        name = wanted.player.partition(":")[2]
        rungs = [r for r in (self._ladders.rungs() if self._ladders else []) if r.ladder == name]
        if not rungs:
            raise RefusedError("unknown_name", f"no player {wanted.player!r}")
        elo = max(r.rating.elo for r in rungs) if wanted.elo is None else wanted.elo
        rung = min(rungs, key=lambda r: abs(r.rating.elo - elo))
        player = players.make(rung.spec)
        return SeatedPlayer(player, rung.player.name, rung.limits)

    def _network(
        self, kind: str, model: str, playouts: int | None, temperature: float, wanted: Opponent
    ) -> SeatedPlayer:
        engine = self._models.acquire(model)
        is_short = kind != "model" or (playouts is not None and playouts <= SHORT_PLAYOUTS)
        lane = engine.shared.lane(urgent=is_short)

        def give_back() -> None:
            lane.close()
            self._models.release(engine)

        coef = engine.search_options().eval_coef
        name, limits = engine.model.name, GoCommand(nodes=playouts) if playouts else None
        player: Player
        if kind == "model":
            drawn: dict[str, Any] = {}
            if temperature:
                drawn = {
                    "random_plies": wanted.temperature_plies,
                    "random_temperature": temperature,
                    "random_cutoff": 1.0,
                }
            options = engine.search_options(memory_mb=MEMORY_MB, pv_interval_ms=200, **drawn)
            player = SearchPlayer(PuctSearcher(lane, options), name, limits, give_back)
        else:

            def make(seed: int | None) -> Searcher:
                if kind == "policy":
                    return PolicySearcher(lane, temperature=temperature, seed=seed, eval_coef=coef)
                return OnePlySearcher(lane, seed=seed, eval_coef=coef)

            name = f"{name} ({kind})"
            player = LookPlayer(make, name, give_back)
        if playouts and kind == "model":
            name = f"{name}, {playouts} playouts"
        return SeatedPlayer(player, name, limits)


def _model_player(
    kind: str, model: ModelInfo, rated: Mapping[tuple[str, int | None], Rating]
) -> PlayerInfo:
    player = f"{kind}:{model.id}"
    levels = []
    for label, playouts, temperature in {"model": LEVELS, "policy": POLICY_LEVELS}.get(kind, ()):
        rating = None if temperature else rated.get((player, playouts))
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


def _ladder_players(rungs: Sequence[Rung]) -> list[PlayerInfo]:
    """An opponent for each ladder, its levels by rating."""
    by_ladder: dict[str, list[Rung]] = {}
    for rung in rungs:
        by_ladder.setdefault(rung.ladder, []).append(rung)
    return [
        PlayerInfo(
            id=f"ladder:{name}",
            name=Path(name).stem,
            kind="ladder",
            takes_playouts=False,
            takes_temperature=False,
            levels=[
                Level(
                    label=rung.player.name,
                    playouts=rung.limits.nodes if rung.limits else None,
                    temperature=0.0,
                    elo=rung.rating.elo,
                    elo_error=rung.rating.error,
                )
                for rung in sorted(found, key=lambda one: one.rating.elo)
            ],
        )
        for name, found in by_ladder.items()
    ]


def _plain(player: str, name: str, kind: str) -> PlayerInfo:
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
    """Engines with adapters that this machine has."""
    return [kind for kind in adapters.ADAPTERS if adapters.program(kind)]
