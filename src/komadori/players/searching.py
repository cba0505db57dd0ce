"""Adapters between searchers and players."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from komadori.players.evaluators import load_evaluator, load_policy
from komadori.players.player import (
    Decision,
    Named,
    OptionRange,
    Player,
    effective_limits,
    option_range,
)
from komadori.players.searchers import SEARCHERS
from komadori.players.spec import PlayerSpec, PlayerSpecError
from komadori.search.defaults import PLAYER_NODES
from komadori.search.protocol import (
    Info,
    Limits,
    OneAtATime,
    Searcher,
    SearchResult,
    one_at_a_time,
)
from komadori.usi.limits import search_limits
from komadori.usi.options import NetworkOptions, OptionTable, Scope, option_table
from komadori.usi.protocol import GoCommand
from komadori.wording import names_arguments

if TYPE_CHECKING:
    from komadori.rules import Board

#: Default size of a player's tree, MiB; games have few nodes per move.
PLAYER_HASH_MB = 64


@names_arguments
class SearchPlayer(Named, OneAtATime):
    """Plays with a searcher, under its own limits or the match's.

    A call while another thread uses the player raises RuntimeError: it would change the position
    that is being searched.
    """

    BUSY = "the player is already playing; use one player per thread"

    def __init__(
        self,
        searcher: Searcher,
        name: str,
        limits: GoCommand | None = None,
        on_close: Callable[[], None] | None = None,
        has_draw_ply: bool = False,
        changing: ChangingOptions | None = None,
    ) -> None:
        """`has_draw_ply`: whether the user set the searcher's draw ply. `changing`: the options
        that can change between games.
        """
        super().__init__()
        self.name = name
        #: Stops the running search; the player's owner may set it.
        self.stop: threading.Event | None = None
        self._searcher = searcher
        self._limits = limits
        self._on_close = on_close
        self._has_draw_ply = has_draw_ply
        self._changing = changing
        options = getattr(searcher, "options", None)
        self._has_seed = getattr(options, "random_seed", None) is not None

    @one_at_a_time
    def set_options(self, values: Mapping[str, str]) -> None:
        self._options_between_games().set(values)

    def option_range(self, name: str) -> OptionRange:
        return self._options_between_games().range(name)

    def _options_between_games(self) -> ChangingOptions:
        if self._changing is None:
            raise PlayerSpecError(f"{self.name} has no options that can change between games")
        return self._changing

    @one_at_a_time
    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        if not self._has_draw_ply:
            _set_draw_ply(self._searcher, draw_ply)
        if not self._has_seed:
            _set_seed(self._searcher, seed)
        self._searcher.new_game()

    @one_at_a_time
    def set_declaration(self, rule: str) -> None:
        """Declare wins by a rule, a key of `rules.DECLARATION_POINTS`, from now on."""
        _set_declaration(self._searcher, rule)

    @one_at_a_time
    def play(self, board: Board, go: GoCommand) -> Decision:
        go = effective_limits(self._limits, go)
        if go == GoCommand():
            go = GoCommand(nodes=PLAYER_NODES)
        self._searcher.set_position(board)
        result = self._searcher.search(search_limits(go), stop=self.stop)
        info = result.infos[0] if result.infos else None
        return Decision(
            move=result.best_move,
            resigns=result.resign,
            declares_win=result.declare_win,
            score_cp=info.score_cp if info else None,
            mate_plies=info.mate_plies if info else None,
            depth=info.depth if info else None,
            nodes=info.nodes if info else None,
            pv=tuple(move.usi() for move in info.pv) if info else (),
        )

    @one_at_a_time
    def close(self) -> None:
        self._searcher.close()
        if self._on_close is not None:
            on_close, self._on_close = self._on_close, None
            on_close()


def _sets_draw_ply(options: OptionTable, names: Iterable[str]) -> bool:
    return any(options.canonical(name) == "Draw_Ply" for name in names)


def _preset(options: OptionTable, kind: str, values: Mapping[str, str]) -> None:
    """Set the options of a player's specification; a model's defaults don't override them.

    Options that only the USI server obeys, such as those of books, are refused.
    """
    try:
        options.preset(values)
        for name in values:
            if options.option(name).scope is Scope.SERVER:
                raise ValueError(
                    f"{options.canonical(name)} has no effect on this player, only on the engine "
                    "that a GUI runs: usi:COMMAND"
                )
    except ValueError as error:
        raise PlayerSpecError(f"{kind}: {error}") from error


class ChangingOptions:
    """The options of a searcher that can change between games: those that don't need a new
    searcher.
    """

    def __init__(self, kind: str, searcher: Searcher, options: OptionTable) -> None:
        """`kind`: a key of SEARCHERS; `options`: those that the searcher was built from."""
        self._kind = kind
        self._searcher = searcher
        self._options = options
        options.take_changes()

    def set(self, values: Mapping[str, str]) -> None:
        """Set options by name. Raises PlayerSpecError."""
        for name, value in values.items():
            if problem := self._options.set(self._long(name), value):
                raise PlayerSpecError(f"{self._kind}: {problem}")
        if Scope.BUILD in self._options.take_changes():
            raise self._error(", ".join(values))
        SEARCHERS[self._kind].configure(self._searcher, self._options)

    def range(self, name: str) -> OptionRange:
        """Return the numbers that an option takes. Raises PlayerSpecError."""
        try:
            option = self._options.option(self._long(name))
            if option.scope is not Scope.SEARCHER:
                raise self._error(name)
            return option_range(option.line)
        except ValueError as error:
            if isinstance(error, PlayerSpecError):
                raise
            raise PlayerSpecError(f"{self._kind}: {error}") from error

    def _long(self, name: str) -> str:
        return SEARCHERS[self._kind].short.get(name, name)

    def _error(self, names: str) -> PlayerSpecError:
        return PlayerSpecError(
            f"{self._kind}: {names}: only options of the search change between games"
        )


def _set_draw_ply(searcher: Searcher, draw_ply: int) -> None:
    """Pass the game's ply limit to a searcher that has such an option."""
    options: Any = getattr(searcher, "options", None)
    draw_ply = min(draw_ply, 2**31 - 1)  # an int of the core
    if hasattr(options, "draw_ply") and options.draw_ply != draw_ply:
        searcher.options = replace(options, draw_ply=draw_ply)  # type: ignore[attr-defined]


def _set_seed(searcher: Searcher, seed: int | None) -> None:
    """Pass a game's seed to a searcher that draws moves, before its `new_game`."""
    options: Any = getattr(searcher, "options", None)
    if getattr(options, "random_plies", 0) and options.random_seed != seed:
        searcher.options = replace(options, random_seed=seed)  # type: ignore[attr-defined]


def _set_declaration(searcher: Searcher, rule: str) -> None:
    """Pass the rule of declarations to a searcher that declares wins."""
    options: Any = getattr(searcher, "options", None)
    if hasattr(options, "declaration"):
        if options.declaration != rule:
            searcher.options = replace(options, declaration=rule)  # type: ignore[attr-defined]
    elif hasattr(searcher, "declaration"):
        searcher.declaration = rule


class LookPlayer(SearchPlayer):
    """Plays with a searcher that is rebuilt for each game with the game's seed."""

    def __init__(
        self, make: Callable[[int | None], Searcher], name: str, on_close: Callable[[], None]
    ) -> None:
        super().__init__(make(None), name, None, on_close)
        self._make = make
        self._declaration: str | None = None

    @one_at_a_time
    def set_declaration(self, rule: str) -> None:
        self._declaration = rule
        _set_declaration(self._searcher, rule)

    @one_at_a_time
    def new_game(self, seed: int | None = None, draw_ply: int = 0) -> None:
        self._searcher = self._make(seed)
        if self._declaration is not None:
            _set_declaration(self._searcher, self._declaration)


class PlayerSearcher:
    """Wraps a player without a search in the searcher protocol."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._board: Board | None = None

    def set_position(self, board: Board) -> None:
        self._board = board

    def search(
        self,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        stop: threading.Event | None = None,
    ) -> SearchResult:
        board = self._board
        if board is None:
            raise RuntimeError("set_position comes before search")
        go = GoCommand(searchmoves=tuple(move.usi() for move in limits.searchmoves))
        decision = self._player.play(board, go)
        if decision.declares_win:
            return SearchResult(best_move=None, declare_win=True)
        if decision.move is None:
            return SearchResult(best_move=None, resign=True)
        info = Info(
            depth=1,
            seldepth=1,
            nodes=1,
            nps=0,
            time_ms=0,
            hashfull=0,
            multipv=1,
            score_cp=decision.score_cp,
            mate_plies=decision.mate_plies,
            win_rate=0.5,
            pv=[decision.move],
            visits=1,
        )
        return SearchResult(best_move=decision.move, infos=[info])

    def ponderhit(self, limits: Limits) -> None:
        """Do nothing: the result doesn't depend on limits."""

    def new_game(self) -> None:
        self._player.new_game()

    def close(self) -> None:
        self._player.close()


def options_of(spec: PlayerSpec) -> OptionTable:
    """Return the options of a player with a searcher as its specification sets them.

    Raises PlayerSpecError.
    """
    options = option_table(spec.kind)
    if spec.kind in ("alphabeta", "model"):
        options.set("USI_Hash", str(PLAYER_HASH_MB))
    if spec.kind != "alphabeta":
        options.set("DNN_Model", _resolve_path(spec.argument))
    if spec.kind == "policy":
        _temperature(spec)
    own = long_names(spec)
    given = Counter(options.canonical(name) for name in own)
    if twice := ", ".join(name for name, times in given.items() if times > 1):
        raise PlayerSpecError(f"{spec.kind}: {twice} is given twice")
    if spec.kind == "alphabeta" and "PolicyModel" in own:
        own["PolicyModel"] = _resolve_path(own["PolicyModel"])
    if own.get("EvalFile"):
        own["EvalFile"] = os.path.abspath(own["EvalFile"])  # noqa: PTH100 - as typed, with links
    _preset(options, spec.kind, own)
    return options


def long_names(spec: PlayerSpec) -> dict[str, str]:
    """Return the searcher's own options by their USI names. Raises PlayerSpecError."""
    short = SEARCHERS[spec.kind].short
    own: dict[str, str] = {}
    for name, value in spec.own_options.items():
        if (spec.kind, name) == ("policy", "temperature"):
            continue
        long = short.get(name, name)
        if long in own:
            raise PlayerSpecError(f"{spec.kind}: {long} is given twice")
        own[long] = value
    return own


def make_alphabeta_player(spec: PlayerSpec) -> SearchPlayer:
    """Build an `alphabeta` player."""
    options = options_of(spec)
    policy = load_policy(options, is_typed=True)
    try:
        searcher = SEARCHERS["alphabeta"].make(policy, options)
    except BaseException as error:
        if policy is not None:
            policy.close()
        if isinstance(error, ValueError):
            raise PlayerSpecError(f"alphabeta: {error}") from error
        raise
    on_close = policy.close if policy else None
    return SearchPlayer(
        searcher,
        spec.name,
        spec.limits,
        on_close,
        _sets_draw_ply(options, long_names(spec)),
        ChangingOptions("alphabeta", searcher, options),
    )


def make_network_player(spec: PlayerSpec) -> SearchPlayer:
    """Build a `model:`, `policy:` or `one-ply:` player."""
    options = options_of(spec)
    temperature = _temperature(spec) if spec.kind == "policy" else 0.0
    evaluator = load_evaluator(options, is_typed=True)
    if spec.kind == "model":
        searcher = SEARCHERS["model"].make(evaluator, options)
        return SearchPlayer(
            searcher,
            spec.name,
            spec.limits,
            evaluator.close,
            _sets_draw_ply(options, long_names(spec)),
            ChangingOptions("model", searcher, options),
        )

    from komadori import search

    coef = options.group(NetworkOptions).eval_coef

    def make(seed: int | None) -> Searcher:
        if spec.kind == "policy":
            return search.PolicySearcher(
                evaluator, temperature=temperature, seed=seed, eval_coef=coef
            )
        return search.OnePlySearcher(evaluator, seed=seed, eval_coef=coef)

    return LookPlayer(make, spec.name, evaluator.close)


def _temperature(spec: PlayerSpec) -> float:
    text = spec.own_options.get("temperature", "0")
    try:
        value = float(text)
    except ValueError:
        raise PlayerSpecError(f"policy: temperature={text} is no number") from None
    if not 0.0 <= value <= 1000.0:
        raise PlayerSpecError(f"policy: temperature={text} isn't between 0 and 1000")
    return value


def _resolve_path(model: str) -> str:
    """Resolve a path relative to the working directory; other names are returned unchanged."""
    path = Path(model)
    return str(path.resolve()) if path.exists() else model
