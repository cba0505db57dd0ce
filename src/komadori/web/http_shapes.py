"""Request and response models of the HTTP API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from komadori.web.shapes import (
    Found,
    GameResult,
    LongText,
    Mistake,
    PlyNumber,
    ScoredMoves,
    Shape,
)


class Level(Shape):
    """A strength level of a player."""

    label: str
    playouts: int | None
    temperature: float
    elo: float | None
    """Rating on the ladder; null if not measured."""
    elo_error: float | None = None


class PlayerInfo(Shape):
    """An opponent."""

    id: str
    """Value for `Opponent.player`."""
    name: str
    kind: str
    """model, policy, one-ply, alphabeta, material, random, usi, ...; ladder: its levels are the
    players of a ladder, selected by rating.
    """
    takes_playouts: bool
    takes_temperature: bool
    levels: list[Level]


class HandicapInfo(Shape):
    """A standard handicap."""

    name: str
    kif: str
    """Japanese."""
    position: str
    """For `game_start`."""


class Players(Shape):
    """Opponents and starting positions."""

    players: list[PlayerInfo]
    handicaps: list[HandicapInfo]


class GameSummary(Shape):
    """A game of the library, as shown in lists."""

    game: int
    black: str
    white: str
    source: Literal["played", "imported", "saved", "studied"]
    winner: Literal["black", "white", "draw", "none"]
    end: str
    """`GameResult.reason` for games played here, else the ending stated by the record."""
    plies: int
    started: str
    """ISO 8601 with time zone; for records as stated, or ""."""
    is_studied: bool
    """Whether an analysis is stored."""
    title: str
    sfen: str
    """The initial position."""


class GameList(Shape):
    """A page of the library, newest first."""

    games: list[GameSummary]
    total: int


class OpeningMove(Shape):
    """A move played in the library's games."""

    move: str
    games: int
    black: int
    """Games won by Black."""
    white: int
    draws: int


class Openings(Shape):
    """The library's games that contain a position."""

    games: int
    moves: list[OpeningMove]
    """Most played first. Counts the games that contain the positions before and after the move."""


class RecordedLine(Shape):
    """What the comments and scores of a line of play say of its positions."""

    analysis: list[Found]
    """The positions with a score; `game` is 0."""
    texts: dict[int, str]
    """The comments of these positions without the lines of analyses and scores."""


class RecordedVariation(RecordedLine):
    """A variation, whose plies count from its beginning."""

    parent: int
    """The line that it branches from: 0 for the game, else the number of a variation, from 1."""
    ply: int
    """Number of moves of that line before the branch."""
    moves: list[str]


class RecordedAnalysis(RecordedLine):
    """What a record says of its game and its variations."""

    variations: list[RecordedVariation]
    """All variations, each after its parent; empty if none has an analysis."""


class StoredGame(ScoredMoves, RecordedAnalysis):
    """A complete game of the library."""

    summary: GameSummary
    version: str
    """Differs after each change of the game; its analyses don't count."""
    sfen: str
    moves: list[str]
    times_ms: list[int | None]
    comments: dict[int, str]
    """Keys: the number of moves played before."""
    headers: dict[str, str]
    result: GameResult | None
    record: str
    """The record saved by the page (KIF) or imported; "" if none."""


class SaveGame(Shape):
    """A game to store."""

    position: Annotated[str, Field(max_length=20_000)]
    """Start and moves of the main line."""
    black: Annotated[str, Field(max_length=200)] = ""
    white: Annotated[str, Field(max_length=200)] = ""
    title: Annotated[str, Field(max_length=200)] = ""
    winner: Literal["black", "white", "draw", "none"] = "none"
    end: Annotated[str, Field(max_length=40)] = ""
    """As in `GameSummary`, or a word of records such as 投了, which implies the winner."""
    comments: Annotated[dict[PlyNumber, LongText], Field(max_length=2000, default_factory=dict)]
    """By the number of moves played before."""
    headers: Annotated[dict[LongText, LongText], Field(max_length=100, default_factory=dict)]
    record: LongText = ""


class Saved(Shape):
    """The stored game."""

    game: int
    version: str
    """As in `StoredGame`."""


class ReadGame(ScoredMoves, RecordedAnalysis):
    """A game of an uploaded file."""

    black: str
    white: str
    headers: dict[str, str]
    sfen: str
    moves: list[str]
    times_ms: list[int | None]
    comments: dict[int, str]
    winner: Literal["black", "white", "draw", "none"]
    end: str
    game: int | None
    """Its number in the library, if stored."""
    is_new: bool
    """Whether it was stored now: the library keeps one game of the same moves and players."""
    kif: str
    """The whole game as KIF if `as_kif`, otherwise empty, as for a game that KIF can't hold."""


class ReadGames(Shape):
    """The games of an upload."""

    format: str
    games: list[ReadGame]
    skipped: list[str]
    """One line per unreadable part."""


class StoredStudy(Shape):
    """The best stored analysis of a game."""

    game: int
    model: str
    effort: str
    done: int
    total: int
    found: list[Found]
    mistakes: list[Mistake]


class RunInfo(Shape):
    """A training run."""

    name: str
    title: str
    is_running: bool
    step: int
    steps: int | None
    net: str
    started: float | None
    """Seconds since 1970."""
    updated: float
    last: dict[str, Any]
    """The last test entry of its log."""
    checkpoints: list[str]
    """Model ids, ordered by step."""
    has_report: bool
    """Whether GET /api/runs/{name}/report/index.html exists."""


class LogPart(Shape):
    """Log entries from a given number on."""

    name: str
    since: int
    entries: list[dict[str, Any]]
    total: int
    is_running: bool


class Terms(Shape):
    """Time controls and limits of games (`komadori.arena.Conditions`)."""

    main_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    nodes: int | None = None
    depth: int | None = None
    movetime_ms: int | None = None
    default_nodes: int | None = None
    """Nodes per move of players that set no limit themselves, if no other limit is given."""
    max_plies: int | None = None


class MatchInfo(Shape):
    """A match."""

    name: str
    players: list[str]
    is_running: bool
    games: int
    planned: int | None
    wins: int
    """From the first player's view."""
    draws: int
    losses: int
    elo: float | None
    elo_error: float | None
    elo_low: float | None
    """Bounds of the 95 % interval; null where infinite. If one side won every game, `elo` is null
    and one bound is left."""
    elo_high: float | None
    los: float | None
    """Likelihood that the first player is stronger."""
    terms: Terms
    updated: float


class MatchGame(ScoredMoves):
    """A game of a match."""

    index: int
    black: str
    white: str
    sfen: str
    moves: list[str]
    times_ms: list[int]
    opening_plies: int
    winner: Literal["black", "white", "draw"]
    reason: str


class LoopStage(Shape):
    """The current stage of a generation."""

    name: str
    """games, relabel, train, gate, references."""
    done: int
    """Games, or training steps."""
    total: int | None


class LoopReference(Shape):
    """Games of a generation against a fixed reference player."""

    name: str
    wins: int
    draws: int
    losses: int
    elo: float | None
    """The generation's Elo relative to that player; null if it won or lost every game."""
    place: int
    """Index among the loop's references, from 1."""


class LoopRound(Shape):
    """A generation of a loop."""

    number: int
    state: Literal["done", "running", "waiting"]
    stage: LoopStage | None
    """null if finished."""
    games: int | None
    positions: int | None
    played_by: int | None
    """The generation that played its games."""
    verdict: Literal["", "promoted", "dropped"]
    against: int | None
    """The generation it was matched against."""
    wins: int
    draws: int
    losses: int
    elo: float | None
    """Elo of that match; null if every game was won or lost, or none played."""
    elo_error: float | None
    rating: float | None
    """Elo relative to generation 0, along the chain of matches."""
    rating_error: float | None
    references: list[LoopReference]
    run: str | None
    """Id of GET /api/runs."""
    match: str | None
    """Id of GET /api/matches."""


class LoopInfo(Shape):
    """A learning loop."""

    name: str
    title: str
    learner: str
    settings: dict[str, Any]
    planned: int | None
    """Generations."""
    rounds: list[LoopRound]
    is_running: bool
    updated: float
    problem: str
    """Why it can't be read; "" if it can."""


class LadderPlayerInfo(Shape):
    """A player of a ladder."""

    name: str
    spec: str
    note: str
    elo: float
    elo_error: float
    """Half the 95 % interval."""
    is_anchor: bool
    """Its rating is fixed."""
    games: int
    wins: int
    draws: int
    losses: int


class LadderPairing(Shape):
    """All games of two players, from the higher-rated player's view."""

    player: str
    against: str
    wins: int
    draws: int
    losses: int


class LadderInfo(Shape):
    """A ladder."""

    name: str
    title: str
    terms: Terms | None
    """null if games of imported matches were played under other conditions."""
    games: int
    players: list[LadderPlayerInfo]
    """Strongest first."""
    pairings: list[LadderPairing]
    first_move_elo: float
    draw_fraction: float
    is_running: bool
    updated: float


class LabPage(Shape):
    """A page of the laboratory."""

    name: str
    title: str


class Problem(Shape):
    """A refused request."""

    code: str
    """As `protocol.Error.code`."""
    detail: str
    """One English line."""
