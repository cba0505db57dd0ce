"""Data types of messages and responses. Values are in [0, 1], from the side to move's view unless
noted otherwise; positions are the arguments of USI's `position` (`startpos moves 7g7f`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

from komadori.encoding.value import ELMO_COEF, win_rate_from_score

Color = Literal["black", "white"]
Proof = Literal["none", "win", "loss", "draw"]
#: The alpha-beta search with the bundled NNUE, or the tree search with a network.
Engine = Literal["alphabeta", "model"]

#: USI text of a move.
MoveText = Annotated[
    str, Field(pattern=r"^([1-9][a-i][1-9][a-i]\+?|[PLNSBRG]\*[1-9][a-i])$", examples=["7g7f"])
]
#: A position with its moves, as in USI's `position`.
PositionText = Annotated[str, Field(max_length=20_000, examples=["startpos moves 7g7f 3c3d"])]
#: A model id, which is never a path.
ModelId = Annotated[str, Field(max_length=200, examples=["default"])]
#: A number of moves played.
PlyNumber = Annotated[int, Field(ge=0, le=20_000)]
#: Text of a record. The limit has it checked for lone surrogates, which can't be stored, too.
LongText = Annotated[str, Field(max_length=2_000_000)]


class Shape(BaseModel):
    """A JSON object without unknown fields."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ScoredMoves(Shape):
    """The scores of a game's moves."""

    scores_cp: list[int | None]
    """One per move, from the mover's view; null without a score, as for moves of humans."""

    @computed_field
    def win_rates(self) -> list[float | None]:
        """The scores as win rates, with elmo's coefficient: records don't state their engine's."""
        return [
            None if score is None else win_rate_from_score(score, ELMO_COEF)
            for score in self.scores_cp
        ]


class Line(Shape):
    """A move with its expected continuation."""

    multipv: int
    """1 for the best line."""
    win_rate: float
    score_cp: int | None
    """Centipawns; null if `mate_plies` is set."""
    mate_plies: int | None
    """Plies to mate: positive if the side to move wins."""
    visits: int
    """Playouts of its first move; for alpha-beta, all nodes of the search."""
    depth: int
    pv: list[str]
    """USI moves, starting with the move itself."""


class Candidate(Shape):
    """A legal move in the tree."""

    move: str
    prior: float
    """The policy's probability at the search temperature."""
    visits: int
    value: float | None
    """Q, the win rate found by the search; null without visits."""
    proof: Proof
    proof_plies: int


class PolicyMove(Shape):
    """A legal move and its policy probability at temperature 1."""

    move: str
    p: float


class ModelInfo(Shape):
    """An available network."""

    id: str
    name: str
    kind: Literal["file", "folder", "checkpoint", "fake"]
    run: str | None = None
    """Id of its training run, for checkpoints."""
    step: int | None = None
    net: str = ""
    """Short name of the architecture; "" if there is no card."""
    features: str = ""
    labels: str = ""
    has_attention: bool = False
    is_default: bool = False


class Clock(Shape):
    """Times of both sides. Byoyomi and increment exclude each other; all 0: no clock."""

    main_ms: Annotated[int, Field(ge=0, le=86_400_000)] = 0
    byoyomi_ms: Annotated[int, Field(ge=0, le=3_600_000)] = 0
    increment_ms: Annotated[int, Field(ge=0, le=3_600_000)] = 0


class Human(Shape):
    """A human at the page."""

    kind: Literal["human"] = "human"
    name: Annotated[str, Field(max_length=100)] = ""


class Opponent(Shape):
    """An engine at a given strength. `player` is an id of GET /api/players."""

    kind: Literal["engine"] = "engine"
    player: Annotated[str, Field(max_length=200, examples=["model:default"])]
    playouts: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    """Playouts per move; null: by the clock, or the player's own limit."""
    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Moves are sampled by visits^(1/temperature), or by policy probability; 0: the best move."""
    temperature_plies: Annotated[int, Field(ge=0, le=1000)] = 1000
    """Number of plies at the start for which moves are sampled."""
    elo: float | None = None
    """Instead of playouts: a rating from `levels` of GET /api/players; the nearest level plays."""
    name: Annotated[str, Field(max_length=200)] = ""
    """Name in the game and its record; "": the player's."""


Seat = Annotated[Human | Opponent, Field(discriminator="kind")]


class SeatState(Shape):
    """The player of a side."""

    kind: Literal["human", "engine"]
    name: str
    counts: Literal["playouts", "nodes"] = "nodes"
    """What an engine's `Thought.nodes` counts."""


class ClockState(Shape):
    """The clocks when the message was sent; the running one continues from there."""

    black_ms: int
    """Remaining main time; if negative, the time used of a byoyomi period."""
    white_ms: int
    byoyomi_ms: int
    increment_ms: int
    running: Color | None
    in_byoyomi: list[Color]
    """The sides that have used up their main time."""


class GameResult(Shape):
    """How a game ended."""

    winner: Literal["black", "white", "draw", "none"]
    reason: Literal[
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
        "interrupted",
    ]
    detail: str = ""


class Thought(Shape):
    """An engine's analysis of its last move, from its own view."""

    color: Color
    score_cp: int | None
    mate_plies: int | None
    depth: int | None
    nodes: int | None
    pv: list[str]


class GameState(ScoredMoves):
    """The complete state of a game."""

    game: int
    """The game's number in the library."""
    black: SeatState
    white: SeatState
    sfen: str
    """The starting position."""
    moves: list[str]
    turn: Color
    phase: Literal["playing", "paused", "over"]
    thinking: Color | None
    """The engine that is thinking."""
    clock: ClockState | None
    times_ms: list[int]
    """Time per move."""
    result: GameResult | None
    can_declare: bool
    """The side to move may declare a win."""
    is_check: bool
    occurrences: int
    """Number of occurrences of the position, 1 to 4; 4 is sennichite."""
    last_thought: Thought | None


class Mistake(Shape):
    """A move that lost win rate; rates are from the mover's view."""

    game: int
    ply: int
    turn: Color
    played: str
    before: float
    after: float
    loss: float
    grade: str
    """inaccuracy (5 points or more), mistake (10), blunder (20) or major blunder (50)."""
    best: Line
    reply: Line | None


class Found(Shape):
    """The analysis of a position of a game."""

    game: int
    ply: int
    """Number of moves before it."""
    turn: Color
    win_rate: float
    black_win_rate: float
    visits: int
    declares: bool
    lines: list[Line]


class StudyGame(Shape):
    """A game to analyse: from the library, or from the page."""

    game: Annotated[int | None, Field(ge=1, lt=1 << 62)] = None
    """With `position`: the game to use if several in the library have its moves and players."""
    position: PositionText | None = None
    black: Annotated[str, Field(max_length=200)] = ""
    white: Annotated[str, Field(max_length=200)] = ""
    winner: Literal["black", "white", "draw", "none"] = "none"
    end: Annotated[str, Field(max_length=40)] = ""
    """As in `SaveGame`."""
    headers: Annotated[dict[LongText, LongText], Field(max_length=100, default_factory=dict)]
    comments: Annotated[dict[PlyNumber, LongText], Field(max_length=2000, default_factory=dict)]
    record: LongText = ""
    """The game as a record, with its times and variations, for the library."""
