"""Play one game between two players by the rules.

Checked before each move, in this order: checkmate, fourfold repetition (perpetual check loses),
the ply limit, 27-point declaration, adjudication. A player loses by an illegal move or a false
declaration, by exceeding its time, and if its engine fails.
"""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from komadori.arena.openings import Opening
from komadori.search.defaults import PLAYER_NODES
from komadori.usi.client import EngineError
from komadori.usi.protocol import GoCommand, one_line
from komadori.wording import check_type, counted, names_arguments, not_expected

if TYPE_CHECKING:
    from komadori.players import Decision, Player
    from komadori.rules import Board

Winner = Literal["black", "white", "draw"]
Reason = Literal[
    "checkmate",
    "resignation",
    "declaration",
    "repetition",
    "perpetual_check",
    "max_plies",
    "illegal_move",
    "false_declaration",
    "time",
    "engine_failure",
    "adjudication",
]
SIDES: tuple[Literal["black"], Literal["white"]] = ("black", "white")


@names_arguments
@dataclass(frozen=True)
class Conditions:
    """Conditions of a game, the same for both sides. Times in milliseconds.

    Without a clock, a move is limited only by `nodes`, `depth` and `movetime_ms` (or the players'
    own limits), and its time isn't enforced. With a clock, a move may exceed it by `margin_ms`,
    since time is measured outside the engine's process.
    """

    main_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    nodes: int | None = None
    depth: int | None = None
    movetime_ms: int | None = None
    margin_ms: int = 0
    max_plies: int = 320
    """The game is drawn after this many moves, including the opening."""
    auto_declare: bool = True
    """A player to move that fulfils the 27-point rule wins without declaring."""
    adjudicate_cp: int = 0
    """A game is adjudicated a win when both players' scores have agreed for `adjudicate_moves`
    moves each that the same side is ahead by at least this (centipawns); 0: never."""
    adjudicate_moves: int = 5
    adjudicate_draw_cp: int = 0
    """A game is adjudicated a draw when all scores of the last `adjudicate_draw_moves` moves of
    each side are within this (centipawns), after `adjudicate_draw_ply` plies; 0: never."""
    adjudicate_draw_moves: int = 20
    adjudicate_draw_ply: int = 160

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            limit = name in ("nodes", "depth", "movetime_ms")
            if not (isinstance(value, numbers.Integral) or (limit and value is None)):
                raise not_expected(name, value, "int or None" if limit else "int")
            if value is not None and value < 0:
                raise ValueError(f"{name} can't be negative: {value}")
            if limit and value == 0:
                raise ValueError(f"{name} is 0, at least 1 is needed")  # or None: no limit
        if self.byoyomi_ms and self.increment_ms:
            raise ValueError("a clock has byoyomi or an increment, not both")
        if not (self.adjudicate_moves and self.adjudicate_draw_moves):
            raise ValueError("adjudication needs at least one move of each side")

    @property
    def has_clock(self) -> bool:
        return bool(self.main_ms or self.byoyomi_ms or self.increment_ms)

    def go(self, left_ms: list[float]) -> GoCommand:
        """Return the `go` command for a player: the limits and, if any, the clocks.

        The increment is added before the move, so the clocks include it.
        """
        if not self.has_clock:
            return GoCommand(nodes=self.nodes, depth=self.depth, movetime_ms=self.movetime_ms)
        return GoCommand(
            btime_ms=int(left_ms[0]) + self.increment_ms,
            wtime_ms=int(left_ms[1]) + self.increment_ms,
            nodes=self.nodes,
            depth=self.depth,
            movetime_ms=self.movetime_ms,
            byoyomi_ms=None if self.increment_ms else self.byoyomi_ms,
            binc_ms=self.increment_ms or None,
            winc_ms=self.increment_ms or None,
        )

    def __str__(self) -> str:
        limits = limits_text(self.go([0.0, 0.0]))
        if self.default_nodes is not None:
            limits = f"{self.default_nodes} nodes per move unless a player sets a limit"
        return self.described(limits)

    @property
    def default_nodes(self) -> int | None:
        """Nodes per move of players that set no limit themselves; None if the conditions limit
        their moves."""
        is_limited = self.has_clock or limits_text(self.go([0.0, 0.0]))
        return None if is_limited else PLAYER_NODES

    def described(self, limits: str) -> str:
        """Describe the conditions; `limits` is the text of what limits the players' moves beside
        a clock."""
        parts = []
        if self.has_clock:
            text = f"{self.main_ms / 1000:g} s"
            if self.byoyomi_ms:
                text += f" + {self.byoyomi_ms / 1000:g} s byoyomi"
            if self.increment_ms:
                text += f" + {self.increment_ms / 1000:g} s per move"
            parts.append(text)
        if self.has_clock and self.margin_ms:
            parts.append(f"{self.margin_ms / 1000:g} s of overtime tolerated")
        if limits:
            parts.append(limits)
        parts.append(f"draw after {counted(self.max_plies, 'ply', 'plies')}")
        if self.adjudicate_cp:
            parts.append(
                f"won at {self.adjudicate_cp} cp in "
                f"{counted(self.adjudicate_moves, 'move')} of each side"
            )
        if self.adjudicate_draw_cp:
            parts.append(
                f"drawn within {self.adjudicate_draw_cp} cp in "
                f"{counted(self.adjudicate_draw_moves, 'move')} "
                f"of each side from ply {self.adjudicate_draw_ply}"
            )
        return ", ".join(parts)


def limits_text(go: GoCommand) -> str:
    """Describe a command's limits other than the clock; "" if it has none."""
    parts = []
    if go.nodes is not None:
        parts.append(f"{counted(go.nodes, 'node')} per move")
    if go.depth is not None:
        parts.append(f"{counted(go.depth, 'ply', 'plies')} per move")
    if go.movetime_ms is not None:
        parts.append(f"{go.movetime_ms} ms per move")
    return ", ".join(parts)


@names_arguments
@dataclass
class GameRecord:
    """A finished game. `moves` are USI, starting with the opening; scores are the mover's view."""

    index: int
    opening: int
    names: tuple[str, str]
    """Black's and White's names."""
    first_is_black: bool
    """Whether player A of the match had Black."""
    sfen: str
    moves: list[str]
    opening_plies: int
    winner: Winner
    reason: Reason
    detail: str = ""
    scores_cp: list[int | None] = field(default_factory=list)
    """One per move after the opening."""
    times_ms: list[int] = field(default_factory=list)
    """Wall-clock time per move, likewise."""
    seed: int = 0

    @property
    def points(self) -> float:
        """A's points: 1, 0.5 or 0."""
        if self.winner == "draw":
            return 0.5
        return 1.0 if (self.winner == "black") == self.first_is_black else 0.0

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON parser returns them, which `from_json` reads."""
        return {**asdict(self), "names": list(self.names)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GameRecord:
        """Raises TypeError if fields are missing or unknown or have another type."""
        record = cls(**data)
        for name, is_sound in _FIELDS.items():
            if not is_sound(getattr(record, name)):
                raise TypeError(f"a game's {name} can't be {getattr(record, name)!r}")
        record.names = (record.names[0], record.names[1])
        return record


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list) and all(type(item) in kinds for item in value)


#: What a field read from JSON may hold.
_FIELDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("index", "opening", "opening_plies", "seed"), _is_count),
    "names": lambda value: _is_list(value, str) and len(value) == 2,
    "first_is_black": lambda value: isinstance(value, bool),
    "sfen": lambda value: isinstance(value, str),
    "moves": lambda value: _is_list(value, str),
    "winner": lambda value: value in get_args(Winner),
    "reason": lambda value: value in get_args(Reason),
    "detail": lambda value: isinstance(value, str),
    "scores_cp": lambda value: _is_list(value, int, type(None)),
    "times_ms": lambda value: _is_list(value, int, type(None)),
}


def play_game(
    black: Player,
    white: Player,
    opening: Opening,
    conditions: Conditions,
    *,
    index: int = 0,
    opening_index: int = 0,
    first_is_black: bool = True,
    seed: int = 0,
) -> GameRecord:
    """Play one game to its end. Raises ValueError if the opening itself is illegal."""
    from komadori.players.player import tell

    check_type("opening", opening, Opening)
    check_type("conditions", conditions, Conditions)
    board = opening.board()
    record = GameRecord(
        index=index,
        opening=opening_index,
        names=(black.name, white.name),
        first_is_black=first_is_black,
        sfen=opening.sfen,
        moves=list(opening.moves),
        opening_plies=len(opening.moves),
        winner="draw",
        reason="max_plies",
        seed=seed,
    )
    record.winner, record.reason, record.detail = _play(
        (black, white), board, conditions, record, seed
    )
    for player, color in ((black, "black"), (white, "white")):
        if record.winner == "draw":
            tell(player, "draw")
        else:
            tell(player, "win" if record.winner == color else "lose")
    return record


def _play(
    players: tuple[Player, Player],
    board: Board,
    conditions: Conditions,
    record: GameRecord,
    seed: int,
) -> tuple[Winner, Reason, str]:
    side = board.turn
    draw_ply = board.ply - len(board.moves) - 1 + conditions.max_plies
    try:
        for side, player in enumerate(players):
            player.new_game(seed * 2 + side, draw_ply)
        left_ms = [float(conditions.main_ms)] * 2
        while True:
            side = board.turn
            if end := judge(board, conditions) or adjudicate(board, record.scores_cp, conditions):
                return end
            plies = board.ply
            start = time.perf_counter()
            decision = players[side].play(board, conditions.go(left_ms))
            spent_ms = (time.perf_counter() - start) * 1000.0
            _check_answer(players[side], decision, board, plies)
            if conditions.has_clock and not charge(left_ms, side, spent_ms, conditions):
                record.times_ms.append(round(spent_ms))
                late_ms = spent_ms - left_ms[side] - conditions.increment_ms - conditions.byoyomi_ms
                detail = f"thought {spent_ms:.0f} ms, {late_ms:.0f} ms too long"
                return SIDES[1 - side], "time", detail
            if end := _apply(board, decision, side):
                return end
            assert decision.move is not None
            record.moves.append(decision.move.usi())
            record.scores_cp.append(decision.recorded_cp)
            record.times_ms.append(round(spent_ms))
    except EngineError as error:
        return SIDES[1 - side], "engine_failure", one_line(str(error), 1000)


def _check_answer(player: Player, decision: Decision, board: Board, plies: int) -> None:
    """Raise TypeError for an answer that isn't a Decision or whose move isn't a Move, ValueError if
    the player changed the board, whose ply was `plies`."""
    from komadori.players import Decision
    from komadori.rules import Move

    name = f"{type(player).__name__}.play"
    check_type(name, decision, Decision)
    if decision.move is not None:
        check_type(f"{name}: move", decision.move, Move)
    if board.ply != plies:
        raise ValueError(f"{name} changed the board; play its moves on board.copy()")


def judge(board: Board, conditions: Conditions) -> tuple[Winner, Reason, str] | None:
    """Return the result by the rules before the next move; None if the game continues."""
    from komadori.rules import Repetition

    side = board.turn
    if not board.legal_moves:
        return SIDES[1 - side], "checkmate", ""
    match board.repetition():
        case Repetition.DRAW:
            return "draw", "repetition", ""
        case Repetition.WIN:
            return SIDES[side], "perpetual_check", ""
        case Repetition.LOSS:
            return SIDES[1 - side], "perpetual_check", ""
    if len(board.moves) >= conditions.max_plies:
        return "draw", "max_plies", ""
    if conditions.auto_declare and board.can_declare_win():
        return SIDES[side], "declaration", ""
    return None


def adjudicate(
    board: Board, scores_cp: Sequence[int | None], conditions: Conditions
) -> tuple[Winner, Reason, str] | None:
    """Return the adjudicated result if both players' scores agree, else None.

    `scores_cp` are the scores so far, each from its mover's view, the last by the side not to
    move. Players without scores never agree.
    """
    if conditions.adjudicate_cp:
        last = scores_cp[-2 * conditions.adjudicate_moves :]
        if len(last) == 2 * conditions.adjudicate_moves:
            ahead = [s is not None and s >= conditions.adjudicate_cp for s in last]
            behind = [s is not None and s <= -conditions.adjudicate_cp for s in last]
            text = f"both saw {conditions.adjudicate_cp} cp or more"
            if all(ahead[1::2]) and all(behind[::2]):
                return SIDES[1 - board.turn], "adjudication", text
            if all(ahead[::2]) and all(behind[1::2]):
                return SIDES[board.turn], "adjudication", text
    if conditions.adjudicate_draw_cp and len(board.moves) >= conditions.adjudicate_draw_ply:
        last = scores_cp[-2 * conditions.adjudicate_draw_moves :]
        if len(last) == 2 * conditions.adjudicate_draw_moves and all(
            s is not None and abs(s) <= conditions.adjudicate_draw_cp for s in last
        ):
            return (
                "draw",
                "adjudication",
                f"both saw {conditions.adjudicate_draw_cp} cp or less",
            )
    return None


def _apply(board: Board, decision: Decision, side: int) -> tuple[Winner, Reason, str] | None:
    if decision.resigns:
        return SIDES[1 - side], "resignation", ""
    if decision.declares_win:
        if board.can_declare_win():
            return SIDES[side], "declaration", ""
        return SIDES[1 - side], "false_declaration", ""
    if decision.move is None or decision.move not in board.legal_moves:
        text = decision.illegal or (decision.move.usi() if decision.move else "no move")
        return SIDES[1 - side], "illegal_move", one_line(text, 80)
    board.push(decision.move)
    return None


def charge(left_ms: list[float], side: int, spent_ms: float, conditions: Conditions) -> bool:
    """Subtract the time from the clock; return False if it exceeds the time left."""
    left = left_ms[side] + conditions.increment_ms - spent_ms
    if left < 0.0:
        if left + conditions.byoyomi_ms + conditions.margin_ms < 0.0:
            return False
        left = 0.0
    left_ms[side] = left
    return True
