"""What messages and answers are made of. Values are in [0, 1], the side to move's view unless the
field says otherwise; a position is what follows USI's `position` (`startpos moves 7g7f`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Color = Literal["black", "white"]
Proof = Literal["none", "win", "loss", "draw"]
#: What searches: the alpha-beta search over the package's NNUE, or the tree search with a network.
Engine = Literal["alphabeta", "model"]

#: USI text of a move.
MoveText = Annotated[
    str, Field(pattern=r"^([1-9][a-i][1-9][a-i]\+?|[PLNSBRG]\*[1-9][a-i])$", examples=["7g7f"])
]
#: A position with its moves, as USI's `position` has it.
PositionText = Annotated[str, Field(max_length=20_000, examples=["startpos moves 7g7f 3c3d"])]
#: What the server calls a model: never a path.
ModelId = Annotated[str, Field(max_length=200, examples=["default"])]


class Shape(BaseModel):
    """A JSON object without unknown fields."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Line(Shape):
    """A move and what is expected after it."""

    multipv: int
    """1 for the best line."""
    win_rate: float
    score_cp: int | None
    """Centipawns; null where `mate_plies` says it."""
    mate_plies: int | None
    """Plies to a mate: positive where the side to move wins."""
    visits: int
    """Playouts of its first move; of an alpha-beta search all its nodes."""
    depth: int
    pv: list[str]
    """USI moves, the line's own first."""


class Candidate(Shape):
    """A legal move in the tree."""

    move: str
    prior: float
    """The policy's probability at the search's temperature."""
    visits: int
    value: float | None
    """Q: the win rate found; null where the move hasn't been visited."""
    proof: Proof
    proof_plies: int


class PolicyMove(Shape):
    """A legal move and the policy's probability of it at temperature 1."""

    move: str
    p: float


class ModelInfo(Shape):
    """A network that can be asked for by its id."""

    id: str
    name: str
    kind: Literal["file", "folder", "checkpoint", "fake"]
    run: str | None = None
    """Id of the training run that it is a checkpoint of."""
    step: int | None = None
    net: str = ""
    """Short name of the architecture, "" where no card says it."""
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
    """A person at the page."""

    kind: Literal["human"] = "human"
    name: Annotated[str, Field(max_length=100)] = ""


class Opponent(Shape):
    """An engine at a strength. `player` is an id of GET /api/players."""

    kind: Literal["engine"] = "engine"
    player: Annotated[str, Field(max_length=200, examples=["model:default"])]
    playouts: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    """Per move; null: the clock decides, or the player's own limit."""
    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Moves are drawn by visits^(1/temperature), of a policy by its probabilities; 0: the best."""
    temperature_plies: Annotated[int, Field(ge=0, le=1000)] = 1000
    """Only the first so many plies are drawn."""
    elo: float | None = None
    """In place of playouts: a rating of GET /api/players' `levels`; the nearest level plays."""
    name: Annotated[str, Field(max_length=200)] = ""
    """In the game and its record; "": the player's own."""


Seat = Annotated[Human | Opponent, Field(discriminator="kind")]


class SeatState(Shape):
    """Who sits there."""

    kind: Literal["human", "engine"]
    name: str


class ClockState(Shape):
    """The clocks when the message was sent; the running one goes on from there."""

    black_ms: int
    """Of the main time; below 0 so much of a byoyomi period is used."""
    white_ms: int
    byoyomi_ms: int
    increment_ms: int
    running: Color | None
    in_byoyomi: list[Color]
    """The sides whose main time is used up."""


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
    """What an engine thought of the move it made last, in its own view."""

    color: Color
    score_cp: int | None
    mate_plies: int | None
    depth: int | None
    nodes: int | None
    pv: list[str]


class GameState(Shape):
    """A game as it stands; every change sends it whole."""

    game: int
    """The game's number in the library."""
    black: SeatState
    white: SeatState
    sfen: str
    """The start."""
    moves: list[str]
    turn: Color
    phase: Literal["playing", "paused", "over"]
    thinking: Color | None
    """The engine that is thinking."""
    clock: ClockState | None
    times_ms: list[int]
    """Of each move."""
    scores_cp: list[int | None]
    """The mover's view; null for people's moves."""
    result: GameResult | None
    can_declare: bool
    """The side to move fulfils the entering-king rule."""
    is_check: bool
    occurrences: int
    """How often the position stood on the board, 1 to 4: at 4 it is sennichite."""
    last_thought: Thought | None


class Mistake(Shape):
    """A move that gave win rate away; rates are those of the side that made it."""

    game: int
    ply: int
    turn: Color
    played: str
    before: float
    after: float
    loss: float
    grade: str
    """inaccuracy (5 points or more), mistake (10), blunder (20), or "" below."""
    best: Line
    reply: Line | None


class Found(Shape):
    """A position of a game, searched."""

    game: int
    ply: int
    """Moves made before it."""
    turn: Color
    win_rate: float
    black_win_rate: float
    visits: int
    declares: bool
    lines: list[Line]


class StudyGame(Shape):
    """A game to analyse: one of the library, or as it stands in the page."""

    game: int | None = None
    position: PositionText | None = None
    black: Annotated[str, Field(max_length=200)] = ""
    white: Annotated[str, Field(max_length=200)] = ""
