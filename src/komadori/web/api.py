"""The HTTP API: models, players, records, the library, training runs and matches."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import FileResponse, HTMLResponse
from starlette.responses import Response

from komadori.analysis import Effort, annotated, html_report
from komadori.analysis.page import PageOptions
from komadori.analysis.strength import UNKNOWN, measured
from komadori.records import FORMATS, Game, RecordError
from komadori.rules import RulesError
from komadori.web import http_shapes as shapes
from komadori.web import protocol
from komadori.web.errors import RefusedError
from komadori.web.lab_pages import Theme
from komadori.web.library import Entry, end_of, entry_of, now, result_of
from komadori.web.positions import read_move, read_position
from komadori.web.session import Hub
from komadori.web.shapes import GameResult, ModelInfo
from komadori.web.studies import found_shape, load_analysis, mistakes_of, recorded_analysis
from komadori.web.trainings import match_game
from komadori.web.uploads import read_upload, record_texts, recorded_game

Language = Literal["auto", "ja", "en"]
Winner = Literal["", "black", "white", "draw", "none"]
GameNumber = Annotated[int, Path(ge=1, lt=1 << 62)]
OtherGame = Annotated[int | None, Query(ge=1, lt=1 << 62)]
Name = Annotated[str, Path(max_length=300)]

_PROBLEM = {"application/json": {"schema": shapes.Problem.model_json_schema()}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": _PROBLEM}
    for status, text in (
        (400, "The body can't be read"),
        (404, "Not found"),
        (413, "Too large, or too many"),
        (422, "The request isn't valid"),
    )
}
#: Content security policy of embedded pages (reports).
_SANDBOX = {
    "content-security-policy": (
        "sandbox allow-scripts; default-src 'none'; img-src 'self' data:; font-src data:; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    )
}
#: That of the laboratory's pages. They have no scripts, so that they may be of the server's origin,
#: which their images and links need.
_LAB_SANDBOX = {
    "content-security-policy": (
        "sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox "
        "allow-top-navigation-by-user-activation; default-src 'none'; img-src 'self' data:; "
        "style-src 'unsafe-inline'"
    )
}


def make_api(hub: Hub) -> APIRouter:
    """Create the routes under /api."""
    api = APIRouter(prefix="/api", responses=_PROBLEMS)
    _general(api, hub)
    _records(api, hub)
    _library(api, hub)
    _trainings(api, hub)
    return api


def _general(api: APIRouter, hub: Hub) -> None:
    @api.get("/models", summary="Available networks, default first")
    def models() -> list[ModelInfo]:
        return hub.models.infos()

    @api.get("/players", summary="Opponents with their levels, and handicaps")
    def players() -> shapes.Players:
        return hub.opponents.list()

    @api.get("/protocol.json", summary="JSON schema of the WebSocket messages")
    def schema() -> dict[str, Any]:
        return protocol.json_schema()

    @api.get(
        "/board.svg",
        summary="An image of a position",
        response_class=Response,
        responses={200: {"content": {"image/svg+xml": {}}}},
    )
    def board_svg(
        position: Annotated[str, Query(max_length=20_000)] = "startpos",
        flipped: bool = False,
        width: Annotated[int, Query(ge=100, le=2000)] = 520,
        arrow: Annotated[list[str] | None, Query(max_length=10)] = None,
    ) -> Response:
        board = read_position(position)
        moves = [read_move(board, text) for text in arrow or []]
        arrows = [(move, 1.0 / rank) for rank, move in enumerate(moves, 1)]
        svg = board.svg(arrows=arrows, flipped=flipped, width=width, labels=False)
        return Response(svg, media_type="image/svg+xml")


def _records(api: APIRouter, hub: Hub) -> None:
    @api.post("/records", summary="Parse a record, of any format and encoding, into games")
    def read(
        data: Annotated[bytes, Body(media_type="application/octet-stream")],
        name: Annotated[str, Query(max_length=300)] = "",
        keep: bool = False,
        as_kif: bool = False,
    ) -> shapes.ReadGames:
        format, games, skipped = read_upload(data, name)
        entries = [entry_of(game, "imported") for game in games]
        texts = record_texts(data, games, is_damaged=bool(skipped), format=format)
        for entry, text in zip(entries, texts, strict=True):
            entry.record = text
        numbers = [hub.library.keep_once(entry) if keep else (None, False) for entry in entries]
        return shapes.ReadGames(
            format=format,
            games=[
                _read_game(game, entry, number, is_new, _as_kif(game) if as_kif else "")
                for game, entry, (number, is_new) in zip(games, entries, numbers, strict=True)
            ],
            skipped=skipped,
        )


def _as_kif(game: Game) -> str:
    write = FORMATS["kif"].write
    assert write is not None
    try:
        return write(game, "utf-8").decode(errors="replace")
    except (RecordError, RulesError):
        return ""


def _read_game(
    game: Game, entry: Entry, number: int | None, is_new: bool, kif: str
) -> shapes.ReadGame:
    return shapes.ReadGame(
        **recorded_analysis(game),
        black=entry.black,
        white=entry.white,
        headers=entry.headers,
        sfen=entry.sfen,
        moves=entry.moves,
        times_ms=entry.times_ms,
        scores_cp=entry.scores_cp,
        comments=entry.comments,
        winner=entry.winner,  # type: ignore[arg-type]
        end=entry.end,
        game=number,
        is_new=is_new,
        kif=kif,
    )


def _analysis_of(entry: Entry) -> dict[str, Any]:
    """Return what a stored game's comments say: those of its record, if it has one."""
    game = recorded_game(entry.record, entry.moves)
    if game is not None:
        return recorded_analysis(game)
    return recorded_analysis(entry.with_comments(), with_scores=False)


def _reason(end: str) -> str:
    """The ending of an entry as `GameResult.reason`, which has no word for some of records."""
    from komadori.arena.store import ENDS

    if end in _REASONS:
        return end
    return next((reason for reason, name in ENDS.items() if name.lower() == end), "adjudication")


def _add_what_only_the_record_has(entry: Entry, game: Game) -> None:
    read = recorded_game(entry.record, entry.moves)
    if read is None or read.initial_sfen != game.initial_sfen:
        return
    game.variations, game.bookmarks, game.pvs = read.variations, read.bookmarks, read.pvs
    if read.end == game.end:
        game.end_time_ms = read.end_time_ms


def _library(api: APIRouter, hub: Hub) -> None:
    library = hub.library

    @api.get("/games", summary="Games of the library, newest first")
    def games(
        q: Annotated[str, Query(max_length=200)] = "",
        player: Annotated[str, Query(max_length=200)] = "",
        winner: Winner = "",
        source: Literal["", "played", "imported", "saved", "studied"] = "",
        position: Annotated[str, Query(max_length=20_000)] = "",
        offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> shapes.GameList:
        board = read_position(position) if position else None
        found, total = library.search(
            text=q,
            player=player,
            winner=winner,
            source=source,
            position=board,
            offset=offset,
            limit=limit,
        )
        return shapes.GameList(games=[without_end(game) for game in found], total=total)

    def without_end(game: shapes.GameSummary) -> shapes.GameSummary:
        """The game; one that is being played, stored as interrupted, has no end yet."""
        return game.model_copy(update={"end": ""}) if hub.games.is_running(game.game) else game

    @api.get("/openings", summary="Moves played from a position in the library's games")
    def openings(
        position: Annotated[str, Query(max_length=20_000)] = "startpos",
    ) -> shapes.Openings:
        return library.openings(read_position(position))

    @api.post(
        "/games",
        summary="Add a game; `studied`: the game of the same moves that its analysis stored",
        status_code=201,
    )
    def save(game: shapes.SaveGame, studied: OtherGame = None) -> shapes.Saved:
        entry = _to_entry(game)
        return shapes.Saved(game=library.keep(entry, studied), version=entry.version)

    @api.put(
        "/games/{game}",
        summary="Change a game; with `version`, 409 if the stored game has another version",
    )
    def change(
        game: GameNumber,
        content: shapes.SaveGame,
        version: Annotated[str, Query(max_length=100)] = "",
    ) -> shapes.Saved:
        if version and hub.games.is_running(game):  # its next move would not be in the record
            raise RefusedError("changed", f"game {game} is being played")
        new = _to_entry(content)
        entry = library.update(game, lambda old: _change(old, new), version)
        return shapes.Saved(game=game, version=entry.version)

    @api.delete("/games/{game}", summary="Remove a game", status_code=204)
    def remove(game: GameNumber) -> Response:
        library.delete(game)
        return Response(status_code=204)

    @api.get("/games/{game}", summary="A complete game")
    def get(game: GameNumber) -> shapes.StoredGame:
        entry = library.get(game)
        has_result = entry.winner != "none" or entry.end in _REASONS
        has_result &= not hub.games.is_running(game)
        return shapes.StoredGame(
            **_analysis_of(entry),
            summary=without_end(library.summary(game)),
            version=entry.version,
            sfen=entry.sfen,
            moves=entry.moves,
            times_ms=entry.times_ms,
            scores_cp=entry.scores_cp,
            comments=entry.comments,
            headers=entry.headers,
            result=GameResult(
                winner=entry.winner,  # type: ignore[arg-type]
                reason=_reason(entry.end),  # type: ignore[arg-type]
            )
            if has_result
            else None,
            record=entry.record,
        )

    @api.get(
        "/games/{game}/record",
        summary="A game as a file",
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    def record(
        game: GameNumber,
        format: Literal["kif", "ki2", "csa", "usi", "jkf"] = "kif",
        encoding: Literal["utf-8", "cp932"] = "utf-8",
        studied: bool = False,
        lang: Literal["ja", "en"] = "en",
    ) -> Response:
        entry = library.get(game)
        analysis = load_analysis(library, game) if studied else None
        exported: Game = entry.with_comments() if analysis is None else analysis.analysed.game
        _add_what_only_the_record_has(entry, exported)
        if analysis is not None:
            exported = annotated(analysis.analysed, is_csa=format == "csa", language=lang)
        write = FORMATS[format].write
        assert write is not None
        try:
            data = write(exported, "utf-8")
            if encoding != "utf-8":
                data.decode().encode(encoding)
                data = write(exported, encoding)
        except UnicodeEncodeError as error:
            lacks = f"{encoding} can't hold {error.object[error.start]!r}; use utf-8"
            raise RefusedError("not_possible", lacks) from error
        except (RecordError, RulesError) as error:
            raise RefusedError("not_possible", f"{format} can't hold this game: {error}") from error
        return Response(
            data,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="game-{game}.{format}"'},
        )

    @api.get("/games/{game}/study", summary="The analysis of a game")
    def study(game: GameNumber) -> shapes.StoredStudy:
        analysis = load_analysis(library, game)
        if analysis is None:
            raise RefusedError("unknown_name", f"game {game} hasn't been analysed")
        return shapes.StoredStudy(
            game=game,
            model=analysis.model,
            effort=analysis.effort,
            done=analysis.done,
            total=len(analysis.keys),
            found=[
                found_shape(game, ply, analysis.keys[ply], found)
                for ply, found in enumerate(analysis.analysed.found)
                if found is not None
            ],
            mistakes=mistakes_of(game, analysis.analysed),
        )

    @api.get(
        "/games/{game}/report.html",
        summary="The page that `komadori analyse` writes",
        response_class=HTMLResponse,
    )
    def report(game: GameNumber, lang: Language = "auto", download: bool = False) -> Response:
        analysis = load_analysis(library, game)
        if analysis is None:
            raise RefusedError("unknown_name", f"game {game} hasn't been analysed")
        entry = library.get(game)
        title = entry.title or f"{entry.black or '?'} – {entry.white or '?'}"
        try:
            effort = Effort.parse(analysis.effort)
        except ValueError as error:
            raise RefusedError("failed", f"the analysis of game {game} is damaged") from error
        note = {
            "en": f"komadori web, {analysis.model}, {effort.in_english()} per position",
            "ja": f"komadori web、{analysis.model}、{effort.in_japanese()}",
        }
        is_alphabeta = analysis.model == "alphabeta"
        strength = measured(analysis.model) if is_alphabeta else UNKNOWN
        page = html_report(
            [analysis.analysed], title, note, strength=strength, options=PageOptions(language=lang)
        )
        headers = dict(_SANDBOX)
        if download:
            headers["content-disposition"] = f'attachment; filename="game-{game}.html"'
        return HTMLResponse(page, headers=headers)


def _to_entry(game: shapes.SaveGame) -> Entry:
    board = read_position(game.position)
    winner, end = result_of(game.end, board)
    entry = Entry(
        sfen=board.root().sfen(),
        moves=[move.usi() for move in board.moves],
        source="saved",
        title=game.title,
        black=game.black,
        white=game.white,
        winner=game.winner if game.winner != "none" else winner,
        end=end,
        started=now(),
        comments=game.comments,
        headers=game.headers,
        record=game.record,
    )
    read = recorded_game(entry.record, entry.moves)
    if read is not None:
        told = entry_of(read, "saved")
        entry.headers = {**told.headers, **entry.headers}
        entry.comments = entry.comments or told.comments
        entry.times_ms = told.times_ms
        entry.started = told.started or entry.started
    return entry


def _change(entry: Entry, new: Entry) -> None:
    """Change a stored game to a saved one; what the page doesn't hold is kept."""
    if new.moves == entry.moves and new.sfen == entry.sfen:
        new.times_ms, new.scores_cp = entry.times_ms, entry.scores_cp
    if end_of(new.end) == end_of(entry.end) and new.winner == entry.winner:
        new.end = entry.end
    new.started = entry.started
    if entry.source != "studied":
        new.source = entry.source
    vars(entry).update(vars(new))


_REASONS = frozenset(GameResult.model_fields["reason"].annotation.__args__)  # type: ignore[union-attr]


def _trainings(api: APIRouter, hub: Hub) -> None:
    trainings = hub.trainings

    @api.get("/runs", summary="Training runs, newest first")
    def runs() -> list[shapes.RunInfo]:
        return trainings.runs()

    @api.get("/runs/{name:path}/log", summary="Log entries of a training run")
    def run_log(name: Name, since: Annotated[int, Query(ge=0, le=1 << 40)] = 0) -> shapes.LogPart:
        return trainings.log("run", name, since)

    @api.get(
        "/runs/{name:path}/report/{file}",
        summary="The page of `komadori report`, and its images",
        response_class=Response,
    )
    def run_report(name: Name, file: Annotated[str, Path(max_length=100)]) -> Response:
        folder = trainings.path("run", name).parent / "report"
        files = {path.name: path for path in folder.glob("*") if path.is_file()}
        path = files.get(file)
        if path is None or path.suffix not in (".html", ".svg", ".png"):
            raise RefusedError("unknown_name", f"{name} has no page {file!r}")
        return FileResponse(path, headers=_SANDBOX)

    @api.get("/matches", summary="Matches, newest first")
    def matches() -> list[shapes.MatchInfo]:
        return trainings.matches()

    @api.get("/matches/{name:path}/games", summary="Games of a match")
    def match_games(
        name: Name,
        offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> list[shapes.MatchGame]:
        return trainings.match_games(name, offset, limit)

    @api.get("/loops", summary="Learning loops, newest first")
    def loops() -> list[shapes.LoopInfo]:
        return hub.loops.list()

    @api.get("/ladders", summary="Ladders with their ratings, newest first")
    def ladders() -> list[shapes.LadderInfo]:
        return hub.ladders.infos()

    @api.get("/ladders/{name:path}/games", summary="Games of a ladder, newest first")
    def ladder_games(
        name: Name,
        player: Annotated[str, Query(max_length=200)] = "",
        against: Annotated[str, Query(max_length=200)] = "",
        offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> list[shapes.MatchGame]:
        return [
            match_game(record) for record in hub.ladders.games(name, player, against, offset, limit)
        ]

    @api.get("/lab", summary="The laboratory's pages")
    def lab() -> list[shapes.LabPage]:
        return hub.lab.list()

    @api.get("/lab/{name:path}", summary="A page or image", response_class=Response)
    def lab_page(name: Name, theme: Theme = "light") -> Response:
        if name.endswith(".svg"):
            return FileResponse(hub.lab.image(name), media_type="image/svg+xml", headers=_SANDBOX)
        return HTMLResponse(hub.lab.page(name, theme), headers=_LAB_SANDBOX)
