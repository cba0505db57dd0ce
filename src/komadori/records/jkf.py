"""JKF: game records as JSON, read and written through rsshogi.

Comments are those of KIF without their `*`; scores in comments are from Black's view.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import rsshogi.record as rs

from komadori.json_file import parse_encodable, parse_table
from komadori.records.ends import KIF_WORDS, word_of
from komadori.records.errors import RecordError
from komadori.records.game import NO_SCORE, NO_TIME, End, Game, Winner
from komadori.records.kif import (
    HEADERS,
    LINE_OF_PLAY,
    MAX_DEPTH,
    added_time,
    read_line_of_play,
    score_lines,
)
from komadori.records.text import add_header, encodable, take_scores, takes_line
from komadori.rules import HANDICAPS, Board, Move
from komadori.wording import counted

__all__ = ["documents", "read_game", "write_jkf"]

MAX_MS = 10**9
#: Maximum number of moves of a line; the time to read one grows with its square.
MAX_LINE = 10_000

_ENDS = {
    "RESIGN": End.RESIGN,
    "MATE": End.MATE,
    "REPETITION_DRAW": End.SENNICHITE,
    "REPETITION_WIN": End.PERPETUAL_CHECK,
    "REPETITION_LOSE": End.PERPETUAL_CHECK,
    "WIN_BY_ILLEGAL_MOVE": End.ILLEGAL_MOVE,
    "LOSE_BY_ILLEGAL_MOVE": End.ILLEGAL_MOVE,
    "WIN_BY_DECLARATION": End.DECLARATION,
    "IMPASSE": End.IMPASSE,
    "TIMEOUT": End.TIME_UP,
    "MAX_MOVES": End.MAX_MOVES,
    "INTERRUPT": End.INTERRUPTED,
    "DRAW": End.ADJUDICATION,
    "WIN_BY_DEFAULT": End.ADJUDICATION,
    "LOSE_BY_DEFAULT": End.ADJUDICATION,
}
_KINDS = {
    End.RESIGN: "RESIGN",
    End.MATE: "MATE",
    End.SENNICHITE: "REPETITION_DRAW",
    End.ILLEGAL_MOVE: "WIN_BY_ILLEGAL_MOVE",
    End.DECLARATION: "WIN_BY_DECLARATION",
    End.IMPASSE: "IMPASSE",
    End.TIME_UP: "TIMEOUT",
    End.MAX_MOVES: "MAX_MOVES",
    End.INTERRUPTED: "INTERRUPT",
}
#: The comment at an interruption that tells the result, such as 結果：時間切れにより先手の勝ち.
_RULING = re.compile(r"結果：(?:(.+)により)?(.+)")
_OUTCOMES = {"先手の勝ち": Winner.BLACK, "後手の勝ち": Winner.WHITE, "引き分け": Winner.DRAW}
_RULINGS = {
    None: End.ADJUDICATION,
    "連続王手の千日手": End.PERPETUAL_CHECK,
    "時間切れ": End.TIME_UP,
    "最大手数": End.MAX_MOVES,
    "反則": End.ILLEGAL_MOVE,
    "入玉": End.DECLARATION,
}
#: Levels of JSON read: variations of variations, of which those beyond MAX_DEPTH are left out, have
#: three each.
DEEPEST_JKF = 10_000
#: Characters before a damaged object that are cut off: Python counts their lines for each error.
_DROPPED = 1 << 16
#: What stands between the keys and values of JSON.
_BETWEEN_ITEMS = re.compile(r"[\s,:]*")
_FIELDS = {
    "event": "event",
    "site": "site",
    "black_player": "black",
    "white_player": "white",
    "start_date": "start_time",
    "end_date": "end_time",
}

#: Names of headers that rsshogi keeps as they are.
_NAMES = {"time_limit": "持ち時間", "opening": "戦型"}


def documents(text: str) -> Iterator[tuple[int, str, RecordError | None]]:
    """Split a text into games: one object, an array of objects, or consecutive objects.

    Yields the offset of each (in characters), its JSON and the error there. A damaged or truncated
    object gives what is before the damage, or an empty text if no move is; reading continues at the
    next line that begins an object.
    """
    decoder = json.JSONDecoder()
    at = passed = lines = 0  # `passed` and `lines`: characters and lines before the text
    while True:
        while at < len(text) and text[at] in "\ufeff \t\r\n,[]":
            at += 1
        if at == len(text):
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError):
                where = f"line {lines + error.lineno} column {error.colno}"
                reason = f"{error.msg}: {where} (char {passed + error.pos})"
            else:
                is_deep = isinstance(error, RecursionError)
                reason = str(error) if is_deep else "a number with too many digits"
            sound = _sound_part(text, at)
            kept = "; the moves before it are kept" if sound else ""
            yield passed + at, sound, RecordError(f"not JSON: {reason}{kept}")
            following = text.find("\n{", at)
            if following < 0:
                return
            at = following + 1
            if at > _DROPPED:
                passed, lines = passed + at, lines + text.count("\n", 0, at)
                text, at = text[at:], 0
            continue
        if isinstance(value, dict) and isinstance(value.get("moves"), list):
            yield passed + at, text[at:end], None
        else:  # any other JSON would be read as a game without moves
            yield passed + at, "", RecordError("not JKF: no list of moves")
        at = end


def _sound_part(text: str, at: int) -> str:
    """The JSON of a damaged object up to the entry of its moves, or the value, with the damage;
    empty if no move is before it."""
    decoder = json.JSONDecoder()
    table: dict[str, Any] = {}
    entries: list[Any] = []
    try:
        while text[(at := _next_item(text, at + 1)) : at + 1] == '"':
            key, at = decoder.raw_decode(text, at)
            at = _next_item(text, at)
            if key != "moves" or text[at : at + 1] != "[":
                table[key], at = decoder.raw_decode(text, at)
                at -= 1
                continue
            table[key] = entries = []
            at = _next_item(text, at + 1)
            while at < len(text) and text[at] != "]":
                entry, at = decoder.raw_decode(text, at)
                entries.append(entry)
                at = _next_item(text, at)
    except (ValueError, RecursionError):
        pass
    has_move = any(isinstance(entry, dict) and "move" in entry for entry in entries)
    try:
        return json.dumps(table) if has_move else ""
    except RecursionError:
        return ""


def _next_item(text: str, at: int) -> int:
    match = _BETWEEN_ITEMS.match(text, at)
    return at if match is None else match.end()


def read_game(document: str) -> tuple[Game, RecordError | None]:
    """Read a JKF object; also returns the error of the first move or variation that can't be read.

    A line ends before a move that can't be read. Raises RecordError if no move of the main line
    can be read.
    """
    readable = document.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    try:
        return _read(parse_encodable(readable, DEEPEST_JKF), 0)
    except (ValueError, RecursionError) as error:
        raise RecordError(str(error)) from error


def _read(
    written: dict[str, Any], depth: int, sfen: str | None = None
) -> tuple[Game, RecordError | None]:
    """sfen: the initial position of a variation, with its move number."""
    initial = written.get("initial")
    if isinstance(initial, dict) and initial.get("preset") == "OTHER" and "data" not in initial:
        raise RecordError("the initial position is OTHER, without its data")  # not the usual one
    written = {key: value for key, value in written.items() if value is not None}
    if isinstance(initial, dict) and (handicap := _OWN_PRESETS.get(str(initial.get("preset")))):
        written["initial"] = _initial(HANDICAPS[handicap].sfen)
    written["moves"] = list(_with_own_ends(written["moves"]))
    record, read, fault = _record_of(written)
    entries = written["moves"][:read]
    fault = _after_the_end(entries) or fault
    game = _game_of(record, {**written, "moves": entries})
    game.initial_sfen = sfen or game.initial_sfen
    forked = [entry for entry in written["moves"][: read + 1] if isinstance(entry, dict)]
    forks = [(ply, fork) for ply, entry in _numbered(forked) for fork in _forks_of(entry)]
    if not forks:
        return game, fault
    if depth >= MAX_DEPTH:
        return game, fault or RecordError(f"variations nested more than {MAX_DEPTH} deep")
    positions = [*(board.sfen() for board, _ in game.moving_board()), game.final_board().sfen()]
    for ply, fork in forks:
        try:
            if not isinstance(fork, list) or not fork:
                raise RecordError("not a list of moves")
            if ply >= len(positions):
                raise RecordError(f"the game ends after {counted(len(game), 'move')}")
            moves = [{}, *_with_square(fork, entries, ply)]
            branch = {"initial": _initial(positions[ply]), "moves": moves}
            variation, wrong = _read(branch, depth + 1, positions[ply])
        except ValueError as error:
            fault = fault or RecordError(f"a variation after {counted(ply, 'move')}: {error}")
            continue
        if wrong is not None and not str(wrong).startswith("a variation"):
            wrong = RecordError(f"a variation after {counted(ply, 'move')}: {wrong}")
        fault = fault or wrong
        if len(variation):
            game.variations.setdefault(ply, []).append(variation)
    return game, fault


def _record_of(written: dict[str, Any]) -> tuple[rs.Record, int, RecordError | None]:
    """Read a JKF object, without its forks, up to the first entry that can't be read.

    Returns the record, the number of entries read, and the error there. Raises RecordError if no
    move is before it.
    """
    entries = written["moves"]
    if len(entries) > MAX_LINE + 2:  # with the start and the end
        raise RecordError(f"a game of more than {MAX_LINE:,} moves")
    record = _try_record(written, len(entries))
    if isinstance(record, rs.Record):
        return record, len(entries), None
    sound, faulty, fault = 0, len(entries), record
    while faulty - sound > 1:
        middle = (sound + faulty) // 2
        part = _try_record(written, middle)
        if isinstance(part, rs.Record):
            sound, record = middle, part
        else:
            faulty, fault = middle, part
    if isinstance(record, RecordError) or not record.moves:
        raise fault
    ply = len(record.moves) + 1
    return record, sound, RecordError(f"ply {ply}: {fault}; the moves before it are kept")


def _try_record(written: dict[str, Any], count: int) -> rs.Record | RecordError:
    """Read the first `count` entries without their forks."""
    try:
        entries = [_without_forks(entry) for entry in written["moves"][:count]]
        _check_entries(entries)
        return rs.Record.from_jkf_str(json.dumps({**written, "moves": entries}, ensure_ascii=False))
    except RecordError as error:
        return error
    except ValueError as error:
        return RecordError(str(error))


def _without_forks(entry: Any) -> Any:
    if not isinstance(entry, dict):
        raise RecordError(f"not a move: {str(entry)[:24]!r}")
    return {key: value for key, value in entry.items() if key != "forks" and value is not None}


def _with_own_ends(entries: list[Any]) -> Iterator[Any]:
    """Give an end in the entry of a move an entry of its own: rsshogi would drop it."""
    for entry in entries:
        if isinstance(entry, dict) and "move" in entry and entry.get("special") is not None:
            yield {key: value for key, value in entry.items() if key != "special"}
            yield {"special": entry["special"]}
        else:
            yield entry


def _check_entries(entries: list[dict[str, Any]]) -> None:
    """Raise RecordError for an entry, other than the first, that has what is neither a move nor an
    end: rsshogi passes over it."""
    for entry in entries[1:]:
        if "move" in entry or entry.get("special") is not None:
            continue
        unknown = next((key for key in entry if key not in ("comments", "special")), None)
        if unknown is not None:
            raise RecordError(f"neither a move nor an end: {unknown[:24]!r}")


def _after_the_end(entries: list[dict[str, Any]]) -> RecordError | None:
    """The error of moves after the end of a game, which rsshogi doesn't read."""
    has_ended = False
    for ply, entry in [(0, entry) for entry in entries[:1]] + list(_numbered(entries)):
        if has_ended and "move" in entry:
            return RecordError(f"a move after the end: the game ends after {counted(ply, 'move')}")
        has_ended = has_ended or ("move" not in entry and entry.get("special") is not None)
    return None


def _forks_of(entry: dict[str, Any]) -> list[Any]:
    forks = entry.get("forks") or []
    return forks if isinstance(forks, list) else [forks]


def _numbered(entries: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The entries of moves and of the end, with the number of moves before each."""
    moves = 0
    for entry in entries[1:]:
        yield moves, entry
        moves += "move" in entry


#: Presets of JKF that rsshogi doesn't know, with the names of their handicaps.
_OWN_PRESETS = {"7_L": "left-seven-piece", "7_R": "right-seven-piece"}


def _initial(sfen: str) -> Any:
    """The initial position of a JKF object."""
    return parse_table(rs.Record.from_main_line(_unnumbered(sfen), []).to_jkf())["initial"]


def _unnumbered(sfen: str) -> str:
    """A position with move number 1: JKF has none, and rsshogi ends the process beyond 65,535."""
    return " ".join([*sfen.split()[:3], "1"])


def _with_square(
    fork: list[dict[str, Any]], entries: list[dict[str, Any]], ply: int
) -> list[dict[str, Any]]:
    """A fork whose first move tells its square also if that is the one of the move before."""
    move = fork[0].get("move") if isinstance(fork[0], dict) else None
    if not isinstance(move, dict) or "to" in move:
        return fork
    square = None
    for number, entry in _numbered(entries):
        if number < ply:
            square = (entry.get("move") or {}).get("to", square)
    return [{**fork[0], "move": {**move, "to": square}}, *fork[1:]]


def _game_of(record: rs.Record, written: dict[str, Any]) -> Game:
    """written: the JKF object that the record was read from, with the entries that were read."""
    headers = {
        key: value
        for field, key in _FIELDS.items()
        if (value := getattr(record.metadata, field)) is not None
    }
    for key, value in record.metadata.attributes.items():
        if value:
            add_header(headers, HEADERS.get(key, key), value)
    for key, value in written.get("header", {}).items():
        # rsshogi leaves out times that it can't parse, and the note
        if isinstance(value, str) and value and key != "手合割":
            headers.setdefault(HEADERS.get(key, key), value)
    moves = [(str(entry.move), entry.time_ms) for entry in record.moves]
    comments, said = _comments(written["moves"])
    terminal = record.main_terminal
    ruled = _ruled(said)
    if said and ruled is None:
        comments[len(moves)] = "\n".join(part for part in (comments.get(len(moves)), said) if part)
    game = Game(
        initial_sfen=Board(record.init_position_sfen).sfen(),
        moves=np.array([Move.from_usi(usi).move16 for usi, _ in moves], np.uint16),
        scores_cp=np.full(len(moves), NO_SCORE, np.int32),
        times_ms=np.array(
            [NO_TIME if time is None else min(time, MAX_MS) for _, time in moves], np.int32
        ),
        headers=headers,
        comments=comments,
    )
    if terminal is not None:
        game.end = _ENDS.get(terminal.kind, End.UNKNOWN)
        game.winner = _winner(terminal.result)
        if terminal.time_ms is not None:
            game.end_time_ms = min(terminal.time_ms, MAX_MS)
    if ruled is not None:
        game.end, game.winner = ruled
    _take_lines(game)
    take_scores(game)
    return game


def _ruled(said: str) -> tuple[End, Winner] | None:
    match = _RULING.fullmatch(said)
    if match is None or match[1] not in _RULINGS or match[2] not in _OUTCOMES:
        return None
    return _RULINGS[match[1]], _OUTCOMES[match[2]]


def _comments(entries: list[Any]) -> tuple[dict[int, str], str]:
    """The comments by the number of moves before them, and the one at the end.

    rsshogi leaves out their empty lines.
    """
    comments: dict[int, str] = {}
    ply = 0
    for entry in entries:
        ply += "move" in entry
        text = "\n".join(entry.get("comments") or [])
        if entry.get("special") is not None:
            return comments, text
        if text:
            comments[ply] = f"{comments[ply]}\n{text}" if ply in comments else text
    return comments, ""


def _take_lines(game: Game) -> None:
    """Read the players' lines in a game's comments into `pvs`."""
    boards = None
    for ply, comment in list(game.comments.items()):
        kept: list[str] = []
        for line in comment.split("\n"):
            match = LINE_OF_PLAY.fullmatch(line)
            pv = None
            if match is not None and takes_line(ply, kept, has_line=ply in game.pvs):
                boards = boards or [*(board for board, _ in game.positions()), game.final_board()]
                pv = read_line_of_play(match[1], boards[ply])
            if pv is None:
                kept.append(line)
            else:
                game.pvs[ply] = pv
        game.comments[ply] = "\n".join(kept)
        if not kept:
            del game.comments[ply]


def _winner(result: rs.GameResult) -> Winner:
    if result.is_black_win():
        return Winner.BLACK
    if result.is_white_win():
        return Winner.WHITE
    return Winner.DRAW if result.is_draw() else Winner.UNKNOWN


def write_jkf(game: Game) -> str:
    """Write a game as a JKF object, with its variations. Raises as `write_kif`, and RecordError for
    a line too long to be read again.

    An end without a word in JKF is written as interrupted, with a comment. A line without an end
    becomes interrupted if it has variations after its last move: JKF attaches them to an entry.
    """
    game.check_variations()
    return json.dumps(_document(game), ensure_ascii=False, separators=(",", ":"))


def _document(game: Game, spent_ms: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    """spent_ms: time that each side spent before a variation."""
    if len(game) > MAX_LINE:
        raise RecordError(f"a line of {counted(len(game), 'move')}; JKF holds {MAX_LINE:,}")
    entries = []
    totals_ms = [spent_ms]  # by the number of moves
    comments = [game.comments.get(0)]
    board = game.board()
    for ply, move16 in enumerate(game.moves, 1):
        move = board.move_from_move16(int(move16))
        time = int(game.times_ms[ply - 1])
        totals_ms.append(added_time(totals_ms[-1], board.turn, time))
        board.push(move)
        entries.append(rs.MoveEntry(move.usi(), time_ms=None if time == NO_TIME else time))
        parts = [*score_lines(game, ply, board), game.comments.get(ply)]
        comments.append("\n".join(part for part in parts if part) or None)
    headers = {encodable(key): encodable(text) for key, text in game.headers.items()}
    metadata = rs.RecordMetadata(
        event=headers.get("event"),
        site=headers.get("site"),
        black_player=headers.get("black"),
        white_player=headers.get("white"),
        start_date=headers.get("start_time"),
        end_date=headers.get("end_time"),
        attributes=_attributes(headers),
    )
    record = rs.Record.from_main_line(
        _unnumbered(game.initial_sfen),
        entries,
        terminal=_terminal(game, board.turn),
        metadata=metadata,
    )
    document = parse_table(record.to_jkf())
    for entry, comment in zip(document["moves"], comments, strict=False):  # the end has its own
        if comment is not None:
            entry["comments"] = comment.split("\n")
    moves = document["moves"]
    if any(spent_ms):  # rsshogi's totals begin with the variation
        for ply, entry in enumerate(moves):
            if "time" in entry:
                turn = (game.first_turn + ply + 1) % 2
                ended_ms = max(game.end_time_ms, 0) if ply > len(game) else 0
                total_s = (totals_ms[min(ply, len(game))][turn] + ended_ms) // 1000
                entry["time"]["total"] = {"m": total_s // 60, "s": total_s % 60}
    if len(game) in game.variations and len(moves) == len(game) + 1:
        moves.append({"special": "CHUDAN"})
    for ply, variations in game.variations.items():
        forks = [_document(variation, totals_ms[ply])["moves"] for variation in variations]
        moves[ply + 1]["forks"] = [_begun(fork) for fork in forks]
    return document


def _attributes(headers: dict[str, str]) -> dict[str, str]:
    """The headers that rsshogi has no field for, by their names in JKF.

    A name that would be read as another header, as `$先手` of a CSA file, gets a `_`.
    """
    named: dict[str, str] = {}
    for key, value in headers.items():
        if key in _FIELDS.values() or not value:
            continue
        name = f"{key}_" if key in HEADERS else _NAMES.get(key, key)
        add_header(named, name, value)
    return named


def _begun(moves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a fork, which has none for its initial position: a comment there goes to the
    first move."""
    initial, *entries = moves
    if "comments" in initial and entries:
        entries[0]["comments"] = initial["comments"] + entries[0].get("comments", [])
    return entries


def _terminal(game: Game, turn: int) -> rs.SpecialMoveEntry | None:
    if game.winner == Winner.UNKNOWN and game.end == End.UNKNOWN:
        return None
    end = game.end
    time_ms = None if game.end_time_ms == NO_TIME else game.end_time_ms
    if word_of(KIF_WORDS, game.winner, end, turn) is None or end == End.ADJUDICATION:
        outcome = next((text for text, winner in _OUTCOMES.items() if winner == game.winner), "")
        ruling = next((word for word, ruled in _RULINGS.items() if word and ruled == end), "")
        said = f"結果：{ruling and ruling + 'により'}{outcome}" if outcome else None
        return rs.SpecialMoveEntry("INTERRUPT", rs.GameResult.PAUSED, comment=said, time_ms=time_ms)
    if end == End.UNKNOWN:
        end = End.RESIGN
    name = {
        End.SENNICHITE: "DRAW_BY_REPETITION",
        End.IMPASSE: "DRAW_BY_IMPASSE",
        End.MAX_MOVES: "DRAW_BY_MAX_PLIES",
        End.INTERRUPTED: "PAUSED",
    }.get(end)
    if name is None:
        side = "BLACK_WIN" if game.winner == Winner.BLACK else "WHITE_WIN"
        name = side + {
            End.DECLARATION: "_BY_DECLARATION",
            End.ILLEGAL_MOVE: "_BY_ILLEGAL_MOVE",
            End.TIME_UP: "_BY_TIMEOUT",
        }.get(end, "")
    return rs.SpecialMoveEntry(_KINDS[end], getattr(rs.GameResult, name), time_ms=time_ms)
