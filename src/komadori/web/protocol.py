"""The messages of the WebSocket at /ws, one JSON object each.

A page sends requests, each with a number `id` of its own choosing; every answer carries the `id`
of its request. A request that can't be fulfilled is answered by `error`, and nothing else is lost.
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

#: Rises when a message changes its meaning; the page shows a hint to reload where it differs.
VERSION = 2


class Request(Shape):
    """What all requests have."""

    id: Annotated[int, Field(ge=0, le=2**53)]


# -- analysis of a position


class Analyse(Request):
    """Search a position; takes the place of this page's search. Answered by `analysis`, several
    times a second until `nodes` are reached, the position is solved, or `stop`.
    """

    type: Literal["analyse"]
    position: PositionText
    multipv: Annotated[int, Field(ge=1, le=32)] = 3
    nodes: Annotated[int | None, Field(ge=1, le=10_000_000_000)] = None
    """New playouts; null: until `stop`."""
    engine: Engine | None = None
    """null: `model` where one is named, else the server's default."""
    model: ModelId | None = None
    """null: the server's default."""
    candidates: Annotated[int, Field(ge=0, le=600)] = 0
    """How many rows of `candidates` to send, best first; an alpha-beta search has none."""
    interval_ms: Annotated[int, Field(ge=50, le=5000)] = 100


class Threats(Request):
    """What the opponent would do if the side to move passed: a short search after a pass. Runs
    beside the analysis. Answered by `threats`.
    """

    type: Literal["threats"]
    position: PositionText
    multipv: Annotated[int, Field(ge=1, le=10)] = 1
    nodes: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    """null: 400 playouts of a tree search, 100,000 nodes of an alpha-beta search."""
    engine: Engine | None = None
    model: ModelId | None = None


class Stop(Request):
    """End the page's search (`analysis`), or its threats too (`all`). Answered by `ok`."""

    type: Literal["stop"]
    what: Literal["analysis", "threats", "all"] = "analysis"


class TreeWalk(Request):
    """Look at a node of the tree of the last analysis with a network: the moves from the analysed
    position. Answered by `tree`; may be asked while the search runs, and after it.
    """

    type: Literal["tree"]
    path: Annotated[list[MoveText], Field(max_length=256, default_factory=list)]
    limit: Annotated[int, Field(ge=1, le=600)] = 600


# -- inside the network


class AskNetwork(Request):
    """What networks say of a position without a search. Answered by `network`, one for each model
    in the order given, so that two models are compared by naming both.
    """

    type: Literal["network"]
    position: PositionText
    models: Annotated[list[ModelId], Field(max_length=8, default_factory=list)]
    """Empty: the default."""


class AskPlanes(Request):
    """The input planes of a position. Answered by `planes`."""

    type: Literal["planes"]
    position: PositionText
    model: ModelId | None = None


class AskAttention(Request):
    """What the squares attend to, for a model with `has_attention`. Answered by `attention`."""

    type: Literal["attention"]
    position: PositionText
    model: ModelId
    layer: Annotated[int, Field(ge=0, le=200)] = 0
    head: Annotated[int | None, Field(ge=0, le=200)] = None
    """null: the mean of the heads."""


class AskCheckpoints(Request):
    """Value and policy by checkpoint of a run. Answered by `checkpoint`, one for each checkpoint
    in the order of steps, then `ok`.
    """

    type: Literal["checkpoints"]
    position: PositionText
    run: Annotated[str, Field(max_length=200)]
    """Id of GET /api/runs."""
    moves: Annotated[int, Field(ge=1, le=20)] = 5
    """The most likely moves sent of each."""


# -- games analysed


class Study(Request):
    """Analyse whole games. Answered by `study`, repeatedly. Games given by position are put into
    the library first. What was found earlier with the same settings is taken up, after a crash
    too.
    """

    type: Literal["study"]
    games: Annotated[list[StudyGame], Field(min_length=1, max_length=500)]
    nodes: Annotated[int | None, Field(ge=1, le=1_000_000_000)] = None
    seconds: Annotated[float | None, Field(gt=0, le=600)] = None
    """Per position, in place of nodes. Neither: 200,000 nodes of an alpha-beta search, 800
    playouts of a tree search.
    """
    engine: Engine | None = None
    model: ModelId | None = None
    lines: Annotated[int, Field(ge=1, le=10)] = 2


class FollowStudy(Request):
    """Be sent a study that runs, from the beginning. Answered by `study`."""

    type: Literal["study_follow"]
    study: str


class StopStudy(Request):
    """End a study; what was found is kept. Answered by a last `study`."""

    type: Literal["study_stop"]
    study: str


# -- play


class StartGame(Request):
    """Begin a game. Answered by `game`, again after each change. Two engines: a game to watch."""

    type: Literal["game_start"]
    black: Seat
    white: Seat
    position: PositionText = "startpos"
    """Where the game begins; handicaps are positions of GET /api/players. Moves count as made."""
    clock: Clock | None = None
    declaration: Literal["27", "24", "none"] = "27"
    max_plies: Annotated[int, Field(ge=1, le=2000)] = 512
    pace_ms: Annotated[int, Field(ge=0, le=60_000)] = 500
    """Between two engines no move comes sooner than this after the one before."""


class JoinGame(Request):
    """Be sent a running game. Answered by `game`."""

    type: Literal["game_join"]
    game: int


class GameMove(Request):
    """Make a move for the person whose turn it is. Answered by `ok`; the game's change follows."""

    type: Literal["game_move"]
    game: int
    move: MoveText


class GameAction(Request):
    """`take_back`: undo to the person's last turn. `resign`, `declare`: for the person to move
    (of two people; else the one person). `pause`, `resume`: stop clocks and engines. `stop`: end
    the game without a result. Answered by `ok`; the game's change follows.
    """

    type: Literal["game_action"]
    game: int
    action: Literal["take_back", "resign", "declare", "pause", "resume", "stop"]


class AskHint(Request):
    """A move to consider in a game. Answered by `hint`."""

    type: Literal["hint"]
    game: int
    nodes: Annotated[int | None, Field(ge=1, le=10_000_000)] = None
    """As in `threats`."""


# -- trainings and matches


class Watch(Request):
    """Be told what is new in a run's log or a match. Answered by `watched` with
    everything from entry `since` on, then with what comes.
    """

    type: Literal["watch"]
    what: Literal["run", "match"]
    name: Annotated[str, Field(max_length=200)]
    since: Annotated[int, Field(ge=0)] = 0


class Unwatch(Request):
    """End the watch that was asked for under this number. Answered by `ok`."""

    type: Literal["unwatch"]
    watch: int


class Ping(Request):
    """Answered by `ok`."""

    type: Literal["ping"]


ClientMessage = Annotated[
    Analyse
    | Threats
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


# -- what the server sends


class Welcome(Shape):
    """The first message of a connection."""

    type: Literal["welcome"] = "welcome"
    protocol: int
    version: str
    """Of komadori."""
    session: str
    """Connect again with ?session=... within 60 s and everything goes on."""
    resumed: bool
    """Whether a session was taken up; its searches and games send on under their numbers."""
    default_engine: Engine
    """What searches where a request names nothing."""
    default_model: ModelInfo | None
    problem: str
    """Why there is no network, "" where there is one."""
    is_lan: bool
    games: list[int]
    """Games of this session that run."""
    studies: list[str]
    """Studies that run, whoever began them."""


class Ok(Shape):
    """Done."""

    type: Literal["ok"] = "ok"
    id: int


class Error(Shape):
    """Refused, or failed. `id` is null where the message wasn't understood."""

    type: Literal["error"] = "error"
    id: int | None
    code: Literal[
        "bad_message",
        "bad_position",
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
    """How the search stands."""

    type: Literal["analysis"] = "analysis"
    id: int
    state: Literal["running", "done"]
    position: str
    turn: Color
    lines: list[Line]
    """Best first; empty where the game is over."""
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
    """Playouts at the root, those of earlier searches included; of an alpha-beta search its nodes.
    """
    win_rate: float
    """Of the best line; of a finished game what the rules say."""
    outcome: str
    r"""Empty while the game goes on, else checkmate, no_legal_moves, sennichite, perpetual_check;
    "declaration" where the side to move may declare a win.
    """
    engine: Engine
    model: str
    """Of a tree search, else ""."""


class ThreatsFound(Shape):
    """What threatens. The lines are the opponent's moves, in the opponent's view."""

    type: Literal["threats"] = "threats"
    id: int
    position: str
    available: bool
    reason: Literal["", "check", "over"]
    """Why there is nothing: the side to move is in check and can't pass, or the game is over."""
    lines: list[Line]


class TreeNode(Shape):
    """A node of the tree; values in the view of the side to move there."""

    type: Literal["tree"] = "tree"
    id: int
    path: list[str]
    found: bool
    """Whether the tree knows the node."""
    turn: Color
    sfen: str
    visits: int
    value: float | None
    """Mean of the search."""
    network_value: float | None
    """What the network alone says."""
    proof: Proof
    proof_plies: int
    moves: list[Candidate]
    """Most visited first."""
    total_moves: int


class NetworkAnswer(Shape):
    """What a network says of a position."""

    type: Literal["network"] = "network"
    id: int
    model: str
    index: int
    """Place among the models asked for."""
    turn: Color
    value: float
    """Win rate of the side to move."""
    policy: list[PolicyMove]
    """All legal moves, most likely first; they sum to 1."""
    legal_mass: float | None
    """Share of the policy's probability, over all its outputs, that legal moves have; null for
    policies of several heads.
    """
    from_squares: list[float]
    """[81], by square 9*(file-1)+(rank-1): the probability that the piece there moves."""
    to_squares: list[float]
    """[81]: the probability that a piece moves or is dropped there."""
    drops: dict[str, float]
    """By piece (P L N S G B R): the probability of a drop."""


class Plane(Shape):
    """One input plane with at least one square set."""

    input: str
    index: int
    name: str
    squares: list[int]
    """9*(file-1)+(rank-1) from the viewer's side `turn`: the planes are turned for White, and
    these are squares of the real board again. For inputs of tokens: the token's numbers set.
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
    """Planes there are, empty ones included."""


class AttentionAnswer(Shape):
    """Where squares look."""

    type: Literal["attention"] = "attention"
    id: int
    model: str
    turn: Color
    layer: int
    layers: int
    head: int | None
    heads: int
    weights: list[list[float]]
    """[81][81], row: the square that looks, column: the square looked at, both of the real board.
    """
    hands: list[float]
    """[81]: what each square gives to tokens that are no squares."""


class Checkpoint(Shape):
    """A checkpoint's view of a position."""

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
    """How far a study is in a game."""

    game: int
    black: str
    white: str
    plies: int
    done: int
    """Positions found, of plies + 1."""


class StudyProgress(Shape):
    """A study. `found` holds what is new since the last message."""

    type: Literal["study"] = "study"
    id: int
    study: str
    state: Literal["running", "done", "stopped", "failed"]
    message: str
    games: list[GameProgress]
    done: int
    total: int
    left_s: float | None
    """Estimate; null where there is none yet."""
    found: list[Found]
    mistakes: list[Mistake]
    """Of games that are complete, sent once when they are."""


class Game(Shape):
    """A game changed."""

    type: Literal["game"] = "game"
    id: int
    game: GameState


class Hint(Shape):
    """Moves to consider."""

    type: Literal["hint"] = "hint"
    id: int
    game: int
    lines: list[Line]


class Watched(Shape):
    """News of a run or a match."""

    type: Literal["watched"] = "watched"
    id: int
    what: Literal["run", "match"]
    name: str
    since: int
    """Number of the first of `entries`; smaller than expected: the log began anew."""
    entries: list[dict[str, Any]]
    """Lines of the log: of a run those of log.jsonl, of a match its games."""
    is_running: bool


ServerMessage = Annotated[
    Welcome
    | Ok
    | Error
    | Analysis
    | ThreatsFound
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
    """JSON schema of both directions, for front ends."""
    return {
        "client": CLIENT_MESSAGE.json_schema(),
        "server": TypeAdapter(ServerMessage).json_schema(mode="serialization"),
    }
