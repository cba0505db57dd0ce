"""The messages of the WebSocket at /ws, one JSON object each.

A page sends requests, each with a number `id` of its choice; every answer repeats the `id` of its
request. A failed request is answered by `error` and affects nothing else.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from komadori.web.shapes import (
    Candidate,
    Clock,
    Color,
    Engine,
    Found,
    GameState,
    Line,
    Mistake,
    ModelId,
    ModelInfo,
    MoveText,
    PolicyMove,
    PositionText,
    Proof,
    Seat,
    Shape,
    StudyGame,
)

#: Incremented when a message changes its meaning; pages with another version ask to be reloaded.
VERSION = 2


class Request(Shape):
    """Fields of all requests."""

    id: Annotated[int, Field(ge=0, le=2**53)]


# -- analysis of a position


class Analyse(Request):
    """Search a position, replacing this page's search. Answered by `analysis`, several times per
    second until `nodes` are reached, the position is solved, or `stop`.
    """

    type: Literal["analyse"]
    position: PositionText
    multipv: Annotated[int, Field(ge=1, le=32)] = 3
    nodes: Annotated[int | None, Field(ge=1, le=10_000_000_000)] = None
    """New playouts; null: until `stop`."""
    engine: Engine | None = None
    """null: the tree search if `model` is given, else the server's default."""
    model: ModelId | None = None
    """null: the server's default."""
    candidates: Annotated[int, Field(ge=0, le=600)] = 0
    """Maximum number of `candidates` to send, best first; an alpha-beta search has none."""
    interval_ms: Annotated[int, Field(ge=50, le=5000)] = 100


class Threats(Request):
    """Find the opponent's threats by a short search after a pass. Runs alongside the analysis.
    Answered by `threats`.
    """

    type: Literal["threats"]
    position: PositionText
    multipv: Annotated[int, Field(ge=1, le=10)] = 1
    nodes: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    """null: 400 playouts of a tree search, 100,000 nodes of an alpha-beta search."""
    engine: Engine | None = None
    model: ModelId | None = None


class AskMate(Request):
    """Search for a mate by consecutive checks, for the side to move or, after a pass, for its
    opponent. Runs alongside the analysis; requests are queued. Answered by `mate`.
    """

    type: Literal["mate"]
    position: PositionText
    after_pass: bool = False
    nodes: Annotated[int, Field(ge=1, le=100_000_000)] = 3_000_000


class Stop(Request):
    """Stop the page's search (`analysis`), its threats, its mate searches, or everything (`all`).
    Answered by `ok`.
    """

    type: Literal["stop"]
    what: Literal["analysis", "threats", "mate", "all"] = "analysis"


class TreeWalk(Request):
    """Show a node of the last tree search. `path`: the moves from the analysed position. Answered
    by `tree`, also while the search runs.
    """

    type: Literal["tree"]
    path: Annotated[list[MoveText], Field(max_length=256, default_factory=list)]
    limit: Annotated[int, Field(ge=1, le=600)] = 600


# -- inside the network


class AskNetwork(Request):
    """Evaluate a position with networks, without a search. Answered by `network`, once per model in
    the given order; name two models to compare them.
    """

    type: Literal["network"]
    position: PositionText
    models: Annotated[list[ModelId], Field(max_length=8, default_factory=list)]
    """Empty: the default."""


class AskPlanes(Request):
    """Show the input planes of a position. Answered by `planes`."""

    type: Literal["planes"]
    position: PositionText
    model: ModelId | None = None


class AskAttention(Request):
    """Show the attention between squares, for a model with `has_attention`. Answered by
    `attention`.
    """

    type: Literal["attention"]
    position: PositionText
    model: ModelId
    layer: Annotated[int, Field(ge=0, le=200)] = 0
    head: Annotated[int | None, Field(ge=0, le=200)] = None
    """null: the mean of the heads."""


class AskCheckpoints(Request):
    """Evaluate a position with each checkpoint of a run. Answered by `checkpoint`, once per
    checkpoint in the order of steps, then `ok`.
    """

    type: Literal["checkpoints"]
    position: PositionText
    run: Annotated[str, Field(max_length=200)]
    """Id of GET /api/runs."""
    moves: Annotated[int, Field(ge=1, le=20)] = 5
    """Number of most probable moves per checkpoint."""


# -- analysis of games


class Study(Request):
    """Analyse whole games. Answered by `study`, repeatedly. Games given by position are first added
    to the library. Earlier results with the same settings are reused, also after a crash.
    """

    type: Literal["study"]
    games: Annotated[list[StudyGame], Field(min_length=1, max_length=500)]
    nodes: Annotated[int | None, Field(ge=1, le=1_000_000_000)] = None
    seconds: Annotated[float | None, Field(gt=0, le=600)] = None
    """Per position, instead of nodes. Default: 200,000 nodes of an alpha-beta search, 800
    playouts of a tree search.
    """
    engine: Engine | None = None
    model: ModelId | None = None
    lines: Annotated[int, Field(ge=1, le=10)] = 2


class FollowStudy(Request):
    """Follow a running study from its beginning. Answered by `study`."""

    type: Literal["study_follow"]
    study: str


class StopStudy(Request):
    """Stop a study; its results are kept. Answered by a last `study`."""

    type: Literal["study_stop"]
    study: str


# -- play


class StartGame(Request):
    """Start a game of humans or engines. Answered by `game`, again after each change; by `error`
    with the code `failed` if a move can't be stored, for example on a full disk. The game goes on;
    the next move stores it all.
    """

    type: Literal["game_start"]
    black: Seat
    white: Seat
    position: PositionText = "startpos"
    """Starting position; handicaps are in GET /api/players. Its moves count as played."""
    clock: Clock | None = None
    declaration: Literal["27", "24", "none"] = "27"
    max_plies: Annotated[int, Field(ge=1, le=2000)] = 512
    pace_ms: Annotated[int, Field(ge=0, le=60_000)] = 500
    """Minimum time between moves of two engines."""


class JoinGame(Request):
    """Follow a running game. Answered as `game_start`."""

    type: Literal["game_join"]
    game: int


class GameMove(Request):
    """Make a move of the human whose turn it is. Answered by `ok`; then `game` is sent."""

    type: Literal["game_move"]
    game: int
    move: MoveText


class GameAction(Request):
    """`take_back`: undo to the human's last turn. `resign`, `declare`: for the human (of two, the
    one to move). `pause`, `resume`: stop and restart clocks and engines. `stop`: end the game
    without a result. Answered by `ok`; then `game` is sent.
    """

    type: Literal["game_action"]
    game: int
    action: Literal["take_back", "resign", "declare", "pause", "resume", "stop"]


class AskHint(Request):
    """Suggest moves in a game. Answered by `hint`."""

    type: Literal["hint"]
    game: int
    nodes: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    """As in `threats`."""


# -- training runs and matches


class Watch(Request):
    """Follow a run's log or a match. Answered by `watched` with all entries from `since` on, then
    with new ones.
    """

    type: Literal["watch"]
    what: Literal["run", "match"]
    name: Annotated[str, Field(max_length=200)]
    since: Annotated[int, Field(ge=0)] = 0


class Unwatch(Request):
    """Stop the watch of this request id. Answered by `ok`."""

    type: Literal["unwatch"]
    watch: int


class Ping(Request):
    """Answered by `ok`."""

    type: Literal["ping"]


ClientMessage = Annotated[
    Analyse
    | Threats
    | AskMate
    | Stop
    | TreeWalk
    | AskNetwork
    | AskPlanes
    | AskAttention
    | AskCheckpoints
    | Study
    | FollowStudy
    | StopStudy
    | StartGame
    | JoinGame
    | GameMove
    | GameAction
    | AskHint
    | Watch
    | Unwatch
    | Ping,
    Field(discriminator="type"),
]

#: Reads a page's message. Raises pydantic.ValidationError.
CLIENT_MESSAGE: TypeAdapter[ClientMessage] = TypeAdapter(ClientMessage)


# -- messages of the server


class Welcome(Shape):
    """The first message of a connection."""

    type: Literal["welcome"] = "welcome"
    protocol: int
    version: str
    """Version of komadori."""
    session: str
    """Reconnect with ?session=...&received=N within 60 s to resume the session; N: the number of
    messages received in it, without `welcome`. The server repeats those after them."""
    resumed: bool
    """Whether a session was resumed; its searches and games continue under their ids."""
    received: int
    """Id of the last request received in this session. The page repeats those after it."""
    default_engine: Engine
    """Engine of requests that don't name one."""
    default_model: ModelInfo | None
    problem: str
    """Why there is no network; "" if there is one."""
    is_lan: bool
    games: list[int]
    """Running games of this session."""
    studies: list[str]
    """Running studies of all sessions."""


class Ok(Shape):
    """Done."""

    type: Literal["ok"] = "ok"
    id: int


class Error(Shape):
    """Refused or failed. `id` is null if the message couldn't be parsed."""

    type: Literal["error"] = "error"
    id: int | None
    code: Literal[
        "bad_message",
        "bad_position",
        "bad_record",
        "illegal_move",
        "unknown_model",
        "unknown_name",
        "no_engine",
        "not_possible",
        "too_many",
        "failed",
    ]
    message: str
    """One English line."""


class Analysis(Shape):
    """The state of the search."""

    type: Literal["analysis"] = "analysis"
    id: int
    state: Literal["running", "done"]
    position: str
    turn: Color
    lines: list[Line]
    """Best first; empty if the game is over."""
    candidates: list[Candidate]
    nodes: int
    nps: int
    time_ms: int
    depth: int
    """Of the best line."""
    seldepth: int
    hashfull: int
    """Memory in use, per mille."""
    root_visits: int
    """Playouts at the root, including those of earlier searches; for alpha-beta, its nodes."""
    win_rate: float
    """Win rate of the best line; of a finished game, its result."""
    outcome: str
    r"""Empty if the game isn't over, else checkmate, no_legal_moves, sennichite, perpetual_check;
    "declaration" if the side to move may declare a win.
    """
    engine: Engine
    model: str
    """Network of a tree search; "" for alpha-beta."""


class ThreatsFound(Shape):
    """The opponent's threats. Lines are the opponent's moves, from the opponent's view."""

    type: Literal["threats"] = "threats"
    id: int
    position: str
    available: bool
    reason: Literal["", "check", "over"]
    """Why there are no lines: the side to move is in check and can't pass, or the game is over."""
    lines: list[Line]


class MateFound(Shape):
    """The result of a mate search."""

    type: Literal["mate"] = "mate"
    id: int
    position: str
    after_pass: bool
    status: Literal["mate", "none", "unknown", "check", "over"]
    """`none`: proven that there is no mate; `unknown`: ended by `nodes` or `stop`; `check`: the
    side to move is in check and can't pass; `over`: it has no legal move."""
    moves: list[str]
    """Up to mate, with the longest defences found."""
    nodes: int
    time_ms: int
    is_shortest: bool
    """Whether no shorter mate exists."""


class TreeNode(Shape):
    """A node of the tree; values are from the view of its side to move."""

    type: Literal["tree"] = "tree"
    id: int
    path: list[str]
    found: bool
    """Whether the node is in the tree."""
    turn: Color
    sfen: str
    visits: int
    value: float | None
    """Mean value of the search."""
    network_value: float | None
    """The network's value without search."""
    proof: Proof
    proof_plies: int
    moves: list[Candidate]
    """Most visited first."""
    total_moves: int


class NetworkAnswer(Shape):
    """A network's evaluation of a position."""

    type: Literal["network"] = "network"
    id: int
    model: str
    index: int
    """Index among the requested models."""
    turn: Color
    value: float
    """Win rate of the side to move."""
    policy: list[PolicyMove]
    """All legal moves, most probable first; they sum to 1."""
    legal_mass: float | None
    """Fraction of the policy's probability, over all its outputs, on legal moves; null for
    policies with several heads.
    """
    from_squares: list[float]
    """[81], by square 9*(file-1)+(rank-1): the probability that the piece there moves."""
    to_squares: list[float]
    """[81]: the probability that a piece moves or is dropped there."""
    drops: dict[str, float]
    """By piece (P L N S G B R): the probability of a drop."""


class Plane(Shape):
    """An input plane with at least one nonzero square."""

    input: str
    index: int
    name: str
    squares: list[int]
    """Nonzero squares 9*(file-1)+(rank-1) of the board; planes, which are rotated for White, are
    rotated back. For token inputs: the indices of the token's nonzero values.
    """


class Planes(Shape):
    """A network's inputs."""

    type: Literal["planes"] = "planes"
    id: int
    model: str
    features: str
    turn: Color
    planes: list[Plane]
    total: int
    """Number of planes, including empty ones."""


class AttentionAnswer(Shape):
    """Attention between squares."""

    type: Literal["attention"] = "attention"
    id: int
    model: str
    turn: Color
    layer: int
    layers: int
    head: int | None
    heads: int
    weights: list[list[float]]
    """[81][81], row: the attending square, column: the attended square, in board coordinates."""
    hands: list[float]
    """[81]: each square's attention to tokens other than squares."""


class Checkpoint(Shape):
    """A checkpoint's evaluation of a position."""

    type: Literal["checkpoint"] = "checkpoint"
    id: int
    run: str
    model: str
    step: int
    index: int
    total: int
    turn: Color
    value: float
    policy: list[PolicyMove]


class GameProgress(Shape):
    """Progress of a study in a game."""

    game: int
    black: str
    white: str
    plies: int
    done: int
    """Analysed positions, of plies + 1."""


class StudyProgress(Shape):
    """A study. `found` contains the results since the last message."""

    type: Literal["study"] = "study"
    id: int
    study: str
    state: Literal["running", "done", "stopped", "failed"]
    message: str
    games: list[GameProgress]
    """In the order of the request; at first only those read so far."""
    done: int
    total: int
    left_s: float | None
    """Estimated remaining seconds; null if unknown."""
    found: list[Found]
    mistakes: list[Mistake]
    """Mistakes of completed games, sent once."""


class Game(Shape):
    """The state of a game, sent after each change."""

    type: Literal["game"] = "game"
    id: int
    game: GameState


class Hint(Shape):
    """Suggested moves."""

    type: Literal["hint"] = "hint"
    id: int
    game: int
    lines: list[Line]


class Watched(Shape):
    """New entries of a run or a match."""

    type: Literal["watched"] = "watched"
    id: int
    what: Literal["run", "match"]
    name: str
    since: int
    """Number of the first of `entries`; smaller than expected if the log was restarted."""
    entries: list[dict[str, Any]]
    """Log entries: lines of log.jsonl of a run, games of a match."""
    is_running: bool


ServerMessage = Annotated[
    Welcome
    | Ok
    | Error
    | Analysis
    | ThreatsFound
    | MateFound
    | TreeNode
    | NetworkAnswer
    | Planes
    | AttentionAnswer
    | Checkpoint
    | StudyProgress
    | Game
    | Hint
    | Watched,
    Field(discriminator="type"),
]


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of both directions, for front ends."""
    return {
        "client": CLIENT_MESSAGE.json_schema(),
        "server": TypeAdapter(ServerMessage).json_schema(mode="serialization"),
    }
