"""KIF and KI2, the Japanese record formats.

Moves are parsed line by line here, so that errors name the line (rsshogi skips bad lines). rsshogi
reads the diagram of the initial position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from komadori.records.ends import KIF_WORDS, winner_for, word_of
from komadori.records.errors import RecordError
from komadori.records.game import NO_SCORE, NO_TIME, End, Game, Winner
from komadori.records.text import Line, add_header, score_comment, take_scores, takes_line
from komadori.rules import BLACK, HANDICAPS, WHITE, Board, Handicap, RulesError
from komadori.wording import counted

__all__ = [
    "LINE_OF_PLAY",
    "MAX_DEPTH",
    "BadLineError",
    "added_time",
    "read_line_of_play",
    "score_lines",
    "split_games",
    "write_ki2",
    "write_kif",
]

MAX_SECONDS = 1e6
#: Pawns that one side may hold.
MAX_HELD = 18

#: Japanese header -> key of `Game.headers`; the first of a key is the one written.
HEADERS = {
    "棋戦": "event",
    "場所": "site",
    "開始日時": "start_time",
    "終了日時": "end_time",
    "持ち時間": "time_limit",
    "戦型": "opening",
    "先手": "black",
    "後手": "white",
    "下手": "black",
    "上手": "white",
}

MAX_HEADER = 31
_HEADER = re.compile(rf"(?!まで|変化)([^\s*#&|+：:][^\s*#&|+：:]{{0,{MAX_HEADER - 1}}})：(.*)")
#: Characters not allowed in header names: separators, prefixes of other lines, control characters.
_NO_HEADER = re.compile(r"[\s*#&|+：:▲△☗☖▼▽\x00-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
#: A standard header with a half-width colon or a blank before it, as in files edited by hand.
_HALF_WIDTH = re.compile(rf"({'|'.join(HEADERS)}|手合割|手番|[先後下上]手の?持駒)\s*[：:](.*)")
#: Any header with a colon of either width, above the moves, where comments have a mark.
_EDITED = re.compile(rf"(?!まで|変化)([^\s*#&|+：:▲△☗☖▼▽\d]{{1,{MAX_HEADER}}})\s*[：:](.*)")
#: Blanks before a line that is read without them.
_INDENTED = re.compile(
    r"[ \t\u3000]+(?=[*&]|#\s*(?:KIF|KI2)|手数-|まで|変化[：:]"
    rf"|(?:{'|'.join(HEADERS)}|手合割|手番)\s*[：:])"
)
#: Others, but not between numbered moves, where a line without a mark is a comment.
_INDENTED_UNNUMBERED = re.compile(r"^[ \t\u3000]+(?=[#|+▲△☗☖▼▽]|[先後下上]手(?:番|の?持駒))")
#: Other lines that may stand between the headers of a game and its moves.
_ABOVE_MOVES = re.compile(r"\s*$|[#*&|+]|手数|[先後下上]手番")
#: The square that a move starts from; its parentheses and digits may be full-width.
_FROM = re.compile(r"[（(]([1-9１-９]{2})[）)]")
#: A number of a move; `int` reads full-width digits too.
_NUMBER = "[0-9０-９]{1,6}"
#: The number of the last move, beside a diagram.
_PLIES = re.compile(rf"手数[＝=]\s*({_NUMBER})(?![0-9０-９])")
_NUMBERED = re.compile(rf"\s*({_NUMBER})\s+(\S.*)")
_TIME = re.compile(
    r"[(（]\s*(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]+)?)\s*(?:/[^()（）]*)?[)）]\s*"
    r"(?:\+\s*)?$"
)
#: What follows a move or an end and isn't a time.
_OTHER = re.compile(r"(?:(?<=[)打])[\s+]+|(?<!\s)\s+(?=\((?!\d\d\))))(\S.*)")
#: A move with the square that it starts from, or a drop, without a number or a blank after it.
_UNNUMBERED = re.compile(
    r"[0-9０-９]*(同[ \u3000]*|[1-9１-９][1-9１-９一二三四五六七八九])"
    r"[歩香桂銀金角飛玉王と杏圭全馬龍竜成]+([（(][1-9１-９]{2}[）)]|打)(?=\s|$|[(（])"
)
#: Parts of moves and of positions, in a line that can't be read.
_ESSENTIAL = re.compile(
    r"[▲△☗☖▼▽同|]|[1-9１-９][一二三四五六七八九]|^\s*[0-9０-９]+\s|手合割|持駒|手番"
)
_VARIATION = re.compile(rf"変化[：:]\s*({_NUMBER})\s*手?")
_KI2_MOVE = re.compile(r"[▲△☗☖▼▽][^▲△☗☖▼▽]+")
#: The files above a diagram; rsshogi reads a diagram only below a line of them in this form.
FILES = "  ９ ８ ７ ６ ５ ４ ３ ２ １"
_FILES = re.compile(
    r"\s*" + r"\s*".join(f"[{n}{chr(0xFF10 + n)}]" for n in range(9, 0, -1)) + r"\s*"
)
#: The line of a hand in a diagram, and a number of pieces there in digits.
_HELD = re.compile(r"^..の?持駒：.*", re.MULTILINE)
_COUNT = re.compile(r"[0-9０-９]+")
_RESULT = re.compile(r"まで、?\s*(?:(\d+)手)?(?:で|にて)?(.*)")
#: A line of a comment, without its first `*`, with the line that a player expects.
LINE_OF_PLAY = re.compile(r"\*?読み筋=(.*)")
_ENDS = {row.word: row for row in KIF_WORDS}
_COLORS = {"先手": BLACK, "下手": BLACK, "後手": WHITE, "上手": WHITE}
#: Words in result lines for ends without a word in KIF_WORDS.
_RULINGS = {
    "連続王手の千日手": End.PERPETUAL_CHECK,
    "時間切れ": End.TIME_UP,
    "最大手数": End.MAX_MOVES,
    "裁定": End.ADJUDICATION,
}


#: Maximum number of lines and bytes of a game with its variations and comments, to bound memory.
MAX_LINES, MAX_BYTES = 200_000, 1 << 24
#: Maximum depth of nested variations, to bound recursion.
MAX_DEPTH = 100


class BadLineError(RecordError):
    """A line that can't be parsed. offset, end: its first byte in the file and the byte after it.
    number: its line number. keeps_game: the rest of the game was read."""

    def __init__(self, line: Line, reason: str, *, keeps_game: bool = False) -> None:
        super().__init__(reason)
        self.offset, self.end, self.number = line.offset, line.end, line.number
        self.keeps_game = keeps_game


class _UnreadError(RecordError):
    """A line above the moves that is neither a header nor a part of a diagram."""


class _MissingMovesError(RecordError):
    """A result line that counts more moves than the game has."""


def split_games(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Split a file into games: a header after moves begins a new one, as does a `#KIF` line after
    headers, a diagram or moves.

    A header with a half-width colon, which may be a comment between moves, begins one if a first
    move follows, or in KI2.

    Raises BadLineError after a game of more than MAX_LINES lines or MAX_BYTES.
    """
    game: list[Line] = []
    has_headers = has_moves = has_numbers = False
    next_game = 0  # index of the line that begins the next game if a first move follows
    for line in lines:
        text = _text(line)
        numbered = _NUMBERED.match(text)
        if (
            _HEADER.match(text)
            or re.match(r"#\s*(KIF|KI2|-)", text)
            or (_HALF_WIDTH.match(text) and not has_numbers)
            or (next_game and numbered is not None and int(numbered[1]) == 1)
            if has_moves
            else has_headers and re.match(r"#\s*(KIF|KI2)", text)
        ):
            end = (text[:1] != "#" and next_game) or len(game)
            yield game[:end]
            game = game[end:]
            next_game = 0
            has_headers = bool(game)
            has_moves = has_numbers = numbered is not None
        elif not has_moves and not _FILES.fullmatch(text):
            has_numbers = numbered is not None
            has_moves = bool(
                has_numbers or _KI2_MOVE.match(text.lstrip()) or text.startswith("まで")
            )
        elif has_moves and _HALF_WIDTH.match(text):
            next_game = next_game or len(game)
        elif not _ABOVE_MOVES.match(text) and not _EDITED.match(text):
            next_game = 0
        has_headers = has_headers or text.strip()[:1] not in ("", "#", "*", "&")
        if game and line.end - game[0].offset > MAX_BYTES:
            yield game
            raise BadLineError(line, f"a game of more than {MAX_BYTES >> 20} MB")
        game.append(line)
        if len(game) >= MAX_LINES:
            yield game
            raise BadLineError(line, f"a game of more than {MAX_LINES:,} lines")
    if any(line.text.strip("\ufeff \t") for line in game):
        yield game


@dataclass(slots=True)
class _Parsed:
    """The state of the parser of a game or a variation. before: moves before a variation."""

    before: int = 0
    initial_sfen: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    position: list[str] = field(default_factory=list)
    handicap: Line | None = None  # the line that names it
    unread: BadLineError | None = None  # the first unread line above the moves
    cut: BadLineError | None = None  # the result line, if it counts more moves
    board: Board | None = None
    moves: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    end_time_ms: int = NO_TIME
    comments: dict[int, list[str]] = field(default_factory=dict)
    bookmarks: dict[int, str] = field(default_factory=dict)
    winner: Winner = Winner.UNKNOWN
    end: End = End.UNKNOWN
    ended: bool = False
    plies_before: int = 0  # as the diagram of the initial position says
    numbering: int | None = None  # what a line's number is ahead of the moves made
    pvs: dict[int, str] = field(default_factory=dict)
    variations: dict[int, list[_Parsed]] = field(default_factory=dict)
    positions: list[str] = field(default_factory=list)  # by the number of moves, when needed

    def board_at(self, played: int) -> Board:
        """The board after that many moves; it knows the last of them."""
        if not self.positions:
            board = Board(self.initial_sfen or _initial_sfen(self.position))
            self.positions.append(board.sfen())
            for move16 in self.moves:
                board.push(board.move_from_move16(move16))
                self.positions.append(board.sfen())
        if not played:
            return Board(self.positions[0])
        board = Board(self.positions[played - 1])
        board.push(board.move_from_move16(self.moves[played - 1]))
        return board


def read_sound_part(lines: list[Line]) -> tuple[Game | None, BadLineError | None]:
    """Read a game; its main line and each variation end at their first bad line. Also returns the
    first error, or the first bad line of a game that was read otherwise (`keeps_game`).

    The game is None if no move precedes the error or follows the unread line; an incomplete game
    has no result.
    """
    starts = [i for i, line in enumerate(lines) if _text(line).startswith("変化")]
    parts = [lines[i:j] for i, j in zip([0, *starts], [*starts, len(lines)], strict=True)]
    parsed = _Parsed()
    fault = _read_lines(parsed, parts[0])
    if not parsed.moves and (fault or parsed.unread):
        return None, parsed.unread or fault
    path = [parsed]
    for part in parts[1:]:
        wrong = _read_variation(path, part)
        fault = fault or wrong
    try:
        return _finish(parsed), fault or parsed.unread or parsed.cut
    except (RulesError, RecordError) as error:
        return None, fault or _located(error, parsed, lines[0])


def _text(line: Line) -> str:
    text = line.text.lstrip("\ufeff").rstrip()
    indented = _INDENTED.match(text)
    return text[indented.end() :] if indented is not None else text


def _read_lines(parsed: _Parsed, lines: list[Line]) -> BadLineError | None:
    """Read lines up to the first bad one; returns the error."""
    for line in lines:
        text = _text(line)
        if parsed.numbering is None:
            text = _INDENTED_UNNUMBERED.sub("", text)
        is_above_moves = parsed.numbering is None and not parsed.moves
        if is_above_moves and (header := _EDITED.fullmatch(text)):
            text = f"{header[1]}：{header[2]}"
        if text.startswith("手合割：") and parsed.board is None:
            parsed.handicap = line
        try:
            _read_line(parsed, text)
        except _UnreadError as error:
            if _ESSENTIAL.search(text):  # without it, it would be another game
                return _located(error, parsed, line)
            parsed.unread = parsed.unread or BadLineError(line, str(error), keeps_game=True)
        except _MissingMovesError as error:
            parsed.cut = BadLineError(line, str(error), keeps_game=True)
        except (RulesError, RecordError) as error:
            return _located(error, parsed, line)
    return None


class _HandicapError(RecordError):
    """An unknown handicap, noticed where its position is needed."""


def _located(error: Exception, parsed: _Parsed, line: Line) -> BadLineError:
    """The error at a line, or at the line of the handicap if that is what is wrong."""
    if isinstance(error, _HandicapError) and parsed.handicap is not None:
        line = parsed.handicap
    return BadLineError(line, str(error))


def _read_variation(path: list[_Parsed], lines: list[Line]) -> BadLineError | None:
    """Read a variation up to its first bad line; returns the error.

    path: the main line, and the variations that end in the one read last. The new one branches off
    the last of them that begins before it, and ends the path.
    """
    head = _VARIATION.match(_text(lines[0]))
    first = path[0].numbering
    before = -1 if head is None else int(head[1]) - (1 if first is None else first)
    if head is None or before < 0:
        return BadLineError(lines[0], f"not the head of a variation: {_text(lines[0])[:24]!r}")
    while len(path) > 1 and path[-1].before >= before:
        path.pop()
    parent = path[-1]
    played = before - parent.before
    try:
        if played > len(parent.moves):
            last = parent.before + len(parent.moves)
            raise RecordError(f"a variation at move {before + 1} of a line of {last}")
        if len(path) > MAX_DEPTH:
            raise RecordError(f"variations nested more than {MAX_DEPTH} deep")
        board = parent.board_at(played)
    except (RulesError, RecordError) as error:
        return BadLineError(lines[0], str(error))
    numbering = None if first is None else before + first
    variation = _Parsed(before, board.sfen(), board=board, numbering=numbering)
    fault = _read_lines(variation, lines[1:])
    if variation.moves:
        parent.variations.setdefault(played, []).append(variation)
        path.append(variation)
    return fault


def _read_line(game: _Parsed, text: str) -> None:
    if not text or text[0] == "#":
        return
    if text[0] == "&":
        if name := text[1:].strip():
            before = game.bookmarks.get(len(game.moves), "")
            if before and before != name:  # as a header given twice
                name = f"{before} / {name}"
            game.bookmarks[len(game.moves)] = name
        return
    if text[0] == "*":
        comment, ply = text[1:], len(game.moves)
        match = LINE_OF_PLAY.fullmatch(comment)
        pv = None
        if match is not None and takes_line(
            ply, game.comments.get(ply, []), has_line=ply in game.pvs
        ):
            pv = read_line_of_play(match[1], _board(game))
        if pv is not None:
            game.pvs[ply] = pv
        else:
            game.comments.setdefault(ply, []).append(comment)
        return
    if text.startswith("まで"):
        is_cut = not game.ended and _is_cut(game, text)
        _read_result(game, text)
        if is_cut:
            raise _MissingMovesError(f"{text[:24]!r} after {counted(len(game.moves), 'move')}")
        return
    if _FILES.fullmatch(text):
        return
    numbered = _NUMBERED.match(text)
    if numbered is not None:
        _read_numbered(game, numbered)
        return
    if _KI2_MOVE.match(text):
        for token in _KI2_MOVE.findall(text):
            if (token[0] in "▲☗▼") != (_board(game).turn == BLACK):
                raise RecordError(f"ply {_due(game)}: the other side's move: {token!r}")
            _play(game, token.strip(" \t　"))
        return
    if game.numbering is not None:  # the numbers tell where a move is missing
        if _UNNUMBERED.match(text):
            raise RecordError(f"a move without a number: {text[:24]!r}")
        if not text.startswith("手数--"):
            game.comments.setdefault(len(game.moves), []).append(text)
        return
    if game.moves or game.initial_sfen:
        raise RecordError(f"not a KI2 line: {text[:24]!r}")
    if count := _PLIES.search(text):
        game.plies_before = int(count[1])
    header = _HEADER.fullmatch(text)
    if header is None or header[1].endswith("持駒") or header[1] == "手合割":
        if header is None and not _belongs_to_a_diagram(text):
            raise _UnreadError(f"not a KIF line: {text[:24]!r}")
        game.position.append(text)
        return
    value = header[2].strip()
    if header[1] == "手番" and value[:1] in ("先", "後", "上", "下"):
        game.position.append(f"{value[0]}手番")
    elif value:
        add_header(game.headers, HEADERS.get(header[1], header[1]), value)


def _belongs_to_a_diagram(text: str) -> bool:
    return text[0] in "|+" or text.startswith(("手数", "先手番", "後手番", "上手番", "下手番"))


def _read_numbered(game: _Parsed, numbered: re.Match[str]) -> None:
    text = _FROM.sub(lambda square: f"({int(square[1])})", numbered[2], count=1)
    time = _TIME.search(text)
    seconds = 3600 * int(time[1] or 0) + 60 * int(time[2]) + float(time[3]) if time else 0
    if seconds > MAX_SECONDS:
        time = None
    other = None if time else _OTHER.search(text)
    rest = time or other
    move = (text[: rest.start()] if rest else text).strip(" \t　+")
    if game.ended:
        if move in _ENDS:
            return  # as after a result line
        raise RecordError(f"move {numbered[1]} follows the end of the game")
    ahead = int(numbered[1]) - len(game.moves)
    if game.numbering is None:
        game.numbering = ahead
    elif ahead != game.numbering:
        due = len(game.moves) + game.numbering
        raise RecordError(f"move {numbered[1]} stands where move {due} is due")
    row = _ENDS.get(move)
    if row is not None:
        game.end, game.ended = row.end, True
        if time is not None:
            game.end_time_ms = round(1000 * seconds)
        game.winner = winner_for(row.outcome, _board(game).turn)
        return
    _play(game, move)
    if time is not None:
        game.times[-1] = round(1000 * seconds)
    if other is not None:  # it says nothing about the moves
        game.comments.setdefault(len(game.moves), []).append(other[1])


def _due(game: _Parsed) -> int:
    """The number of the next move, from 1 at the initial position of the game."""
    return game.before + len(game.moves) + 1


def _play(game: _Parsed, text: str) -> None:
    board = _board(game)
    try:
        move = board.parse_kif(text)
    except RulesError as error:
        raise RecordError(f"ply {_due(game)}: {error}") from error
    board.push(move)
    game.moves.append(move.move16)
    game.times.append(NO_TIME)


def _board(game: _Parsed) -> Board:
    """The current board; created at the first move from the preceding lines."""
    if game.board is None:
        game.board = Board(_initial_sfen(game.position))
    return game.board


def _rsshogi_record() -> Any:
    import rsshogi.record  # where it is needed: training does without

    return rsshogi.record.Record


def _initial_sfen(lines: list[str]) -> str:
    ranks = sum(line.startswith("|") for line in lines)
    for line in lines:
        name = line.removeprefix("手合割：").strip()
        if ranks or not line.startswith("手合割：") or name in ("", "その他"):
            continue
        for handicap in HANDICAPS.values():
            if handicap.kif == name.removesuffix("　"):
                return handicap.sfen
        raise _HandicapError(f"unknown handicap {name[:16]!r}")
    if not ranks:
        return HANDICAPS["even"].sfen
    if ranks != 9:
        raise RecordError(f"a diagram of {ranks} ranks")
    # The heading of the moves, or how many came before, says nothing about the position.
    shown = [line for line in lines if not line.startswith("手数")]
    first = next(i for i, line in enumerate(shown) if line.startswith("|"))
    diagram = "\n".join([*shown[:first], FILES, *shown[first:]])
    diagram = _HELD.sub(lambda line: _COUNT.sub(_in_kanji, line[0]), diagram)
    for handicapped, even in (("上手番", "後手番"), ("下手番", "先手番")):
        diagram = diagram.replace(handicapped, even)
    try:
        return str(_rsshogi_record().from_kif_str(diagram).init_position_sfen)
    except ValueError as error:
        raise RecordError(f"a diagram that can't be read: {error}") from error


def _in_kanji(count: re.Match[str]) -> str:
    """Write a number of pieces as rsshogi reads it; it takes digits for one piece."""
    number = int(count[0]) if len(count[0]) <= 2 else 0
    if not 1 <= number <= MAX_HELD:
        what = f"{count[0][:16]!r} isn't a number of pieces in a hand"
        raise RecordError(f"a diagram that can't be read: {what}")
    return ("" if number < 10 else "十") + " 一二三四五六七八九"[number % 10].strip()


def _is_cut(game: _Parsed, text: str) -> bool:
    """Whether a result line counts moves that the game lacks.

    Programs count from the game's first move or go on from the number beside the initial position,
    and some count an illegal last move, which the game can't hold.
    """
    match = _RESULT.fullmatch(text)
    if match is None or match[1] is None or "反則" in match[2]:
        return False
    plies = len(game.moves)
    last = plies if game.numbering is None else plies + game.numbering - 1
    return int(match[1][:9]) > max(plies + game.plies_before, last)


def _read_result(game: _Parsed, text: str) -> None:
    """Parse `まで120手で後手の勝ち`, for a result that no word after the moves gave."""
    match = _RESULT.fullmatch(text)
    if match is None or (game.ended and game.winner != Winner.UNKNOWN):
        return
    said = match[2].strip()
    game.ended = True
    if said in _ENDS and said not in ("詰", "詰み"):
        row = _ENDS[said]
        game.end, game.winner = row.end, winner_for(row.outcome, _board(game).turn)
        return
    if said in ("詰", "詰み"):
        said = ("後手" if _board(game).turn == BLACK else "先手") + "の勝ち"
    ruling, _, who = said.rpartition("により")
    color = _COLORS.get(who[:2])
    if color is None:
        return
    lost = "負け" in who
    game.winner = Winner.BLACK if (color == BLACK) != lost else Winner.WHITE
    if ruling:
        game.end = _RULINGS.get(ruling, game.end)
    elif "反則" in who:
        game.end = End.ILLEGAL_MOVE
    elif "入玉" in who or "宣言" in who:
        game.end = End.DECLARATION
    elif game.end == End.UNKNOWN:
        game.end = End.MATE if _board(game).is_checkmate() else End.RESIGN


def read_line_of_play(text: str, board: Board) -> str | None:
    """The line as USI moves; None if it isn't a legal line from `board`."""
    tokens = _KI2_MOVE.findall(text)
    if not tokens or "".join(tokens) != text:
        return None
    board = board.copy()
    played = []
    try:
        for token in tokens:
            played.append(board.parse_kif(token.strip(" \t　")))
            board.push(played[-1])
    except RulesError:
        return None
    return " ".join(move.usi() for move in played)


def _finish(parsed: _Parsed) -> Game:
    board = _board(parsed)
    plies = len(parsed.moves)
    if not plies and not parsed.headers and not parsed.position and not parsed.ended:
        raise RecordError("neither a header nor a move")
    if parsed.end == End.UNKNOWN and parsed.winner == Winner.UNKNOWN and board.is_checkmate():
        parsed.end = End.MATE
        parsed.winner = Winner.WHITE if board.turn == BLACK else Winner.BLACK
    game = Game(
        initial_sfen=parsed.initial_sfen or Board(_initial_sfen(parsed.position)).sfen(),
        moves=np.array(parsed.moves, np.uint16),
        scores_cp=np.full(plies, NO_SCORE, np.int32),
        times_ms=np.array(parsed.times, np.int32),
        winner=parsed.winner,
        end=parsed.end,
        headers=parsed.headers,
        comments={ply: "\n".join(texts) for ply, texts in parsed.comments.items()},
        bookmarks=parsed.bookmarks,
        pvs=parsed.pvs,
        end_time_ms=parsed.end_time_ms,
        variations={
            played: [_finish(variation) for variation in variations]
            for played, variations in parsed.variations.items()
        },
    )
    take_scores(game)
    return game


def write_kif(game: Game) -> str:
    """Write a game as KIF, with its variations. Raises RulesError for an illegal move, RecordError
    for a variation of another position."""
    game.check_variations()
    lines = ["#KIF version=2.0 encoding=UTF-8", *_written_headers(game)]
    lines.append("手数----指手---------消費時間--")
    lines += _kif_lines(game, 0, (0, 0), _sides(game))
    return "\n".join(lines) + "\n"


def _kif_lines(
    game: Game,
    before: int,
    totals_ms: tuple[int, int],
    sides: tuple[str, str],
    *,
    main: bool = True,
) -> list[str]:
    """The lines of a game or a variation. before: moves before it. totals_ms: time spent there.
    sides: the words for Black and White.

    A variation has no line for its result unless the word at its end doesn't tell the winner.
    """
    lines = _written_comments(game, 0)
    totals = [totals_ms]  # by the number of moves
    board = game.board()
    for ply, move16 in enumerate(game.moves, 1):
        move = board.move_from_move16(int(move16))
        text = f"{before + ply:4} {board.kif(move)}"
        time_ms = int(game.times_ms[ply - 1])
        totals.append(added_time(totals[-1], board.turn, time_ms))
        if time_ms != NO_TIME:
            text += f"   ({_minutes(time_ms)}/{_hours(totals[ply][board.turn])})"
        lines.append(text)
        board.push(move)
        lines += [f"*{line}" for line in score_lines(game, ply, board)]
        lines += _written_comments(game, ply)
    word = word_of(KIF_WORDS, game.winner, game.end, board.turn)
    has_result = main
    # 不戦勝 is a win without a move of the other side.
    is_ruled = game.end == End.ADJUDICATION and game.winner in (Winner.BLACK, Winner.WHITE)
    if (word is None and game.winner != Winner.UNKNOWN) or (is_ruled and before + len(game)):
        word, has_result = "中断", True
    if word is not None:
        text = f"{before + len(game) + 1:4} {word}"
        if game.end_time_ms != NO_TIME:
            total_ms = totals[-1][board.turn] + game.end_time_ms
            text += f"   ({_minutes(game.end_time_ms)}/{_hours(total_ms)})"
        lines.append(text)
    if has_result:
        lines += _written_result(game, board, before, sides)
    for ply, variation in _in_written_order(game):
        lines += ["", f"変化：{before + ply + 1}手"]
        lines += _kif_lines(variation, before + ply, totals[ply], sides, main=False)
    return lines


def added_time(totals_ms: tuple[int, int], turn: int, time_ms: int) -> tuple[int, int]:
    """The time that Black and White spent, with that of another move; `NO_TIME` adds nothing."""
    black, white = totals_ms
    spent = 0 if time_ms == NO_TIME else time_ms
    return (black + spent, white) if turn == BLACK else (black, white + spent)


def _in_written_order(game: Game) -> Iterator[tuple[int, Game]]:
    """The variations and the number of moves before each, the last ones first: a reader takes a
    variation as one of the line before it, if that has the move before."""
    for ply in sorted(game.variations, reverse=True):
        for variation in game.variations[ply]:
            yield ply, variation


def write_ki2(game: Game) -> str:
    """Write a game as KI2, which has no times, with its variations. Raises as `write_kif`."""
    game.check_variations()
    lines = ["#KI2 version=2.0 encoding=UTF-8", *_written_headers(game)]
    return "\n".join([*lines, *_ki2_lines(game, 0, _sides(game))]) + "\n"


def _ki2_lines(game: Game, before: int, sides: tuple[str, str]) -> list[str]:
    """As `_kif_lines`, with the result of each variation."""
    lines = _written_comments(game, 0)
    row: list[str] = []
    board = game.board()
    for ply, move16 in enumerate(game.moves, 1):
        move = board.move_from_move16(int(move16))
        row.append(("△" if board.turn == WHITE else "▲") + board.ki2(move))
        board.push(move)
        notes = [f"*{line}" for line in score_lines(game, ply, board)]
        notes += _written_comments(game, ply)
        if notes or len(row) == 6 or ply == len(game):
            lines.append("    ".join(row))
            row = []
        lines += notes
    lines += _written_result(game, board, before, sides)
    for ply, variation in _in_written_order(game):
        lines += ["", f"変化：{before + ply + 1}手", *_ki2_lines(variation, before + ply, sides)]
    return lines


def _written_headers(game: Game) -> list[str]:
    names = {key: japanese for japanese, key in reversed(HEADERS.items())}
    names |= dict(zip(("black", "white"), _sides(game), strict=True))
    handicap = _handicap(game)
    lines = [
        f"{names.get(key) or _header_name(key)}：{_one_line(value)}"
        for key, value in game.headers.items()
        if value.strip()
    ]
    if handicap is not None:
        return [*lines, f"手合割：{handicap.kif}"]
    board = game.board()
    return [*lines, *board.bod().split("\n")[:-1], f"{'先後'[board.turn]}手番"]


def _one_line(text: str) -> str:
    """Join the lines of a text; its other characters are kept, full-width spaces of names too."""
    return " ".join(text.splitlines()).strip()


def _handicap(game: Game) -> Handicap | None:
    return next((h for h in HANDICAPS.values() if h.sfen == game.initial_sfen), None)


def _sides(game: Game) -> tuple[str, str]:
    """The words for Black and White."""
    handicap = _handicap(game)
    is_even = handicap is None or handicap.name == "even"
    return ("先手", "後手") if is_even else ("下手", "上手")


def _header_name(key: str) -> str:
    """Make a header name that can be read back: characters with a meaning in KIF become `_`."""
    name = _NO_HEADER.sub("_", key)[: MAX_HEADER - 1]
    is_taken = name in HEADERS or name == "手合割" or name.endswith("持駒")
    return f"{name}_" if is_taken else name if _HEADER.fullmatch(f"{name}：") else f"_{name}"


def _written_comments(game: Game, ply: int) -> list[str]:
    comment, bookmark = game.comments.get(ply), game.bookmarks.get(ply)
    lines = [] if comment is None else [f"*{line}" for line in comment.split("\n")]
    return lines if bookmark is None else [*lines, f"&{_one_line(bookmark)}"]


def score_lines(game: Game, ply: int, board: Board) -> list[str]:
    """The lines of a comment, without their first `*`, for the score of the `ply`-th move and for
    the line expected after it. board: after that move; it is left as it was.

    Raises RulesError for an illegal move.
    """
    score = score_comment(game, ply)
    lines = [] if score is None else [score]
    if ply in game.pvs:
        moves: list[str] = []
        first = board.ply
        try:
            for usi in game.pvs[ply].split():
                move = board.parse_usi(usi)
                moves.append(("△" if board.turn == WHITE else "▲") + board.kif(move))
                board.push(move)
        finally:
            for _ in range(board.ply - first):
                board.pop()
        lines.append("*読み筋=" + "".join(moves))
    return lines


def _written_result(game: Game, board: Board, before: int, sides: tuple[str, str]) -> list[str]:
    head = f"まで{before + len(game)}手で"
    if game.winner == Winner.UNKNOWN:
        return [head + "中断"] if game.end == End.INTERRUPTED else []
    if game.winner == Winner.DRAW:
        return [head + (word_of(KIF_WORDS, game.winner, game.end, board.turn) or "裁定引分")]
    winner = sides[game.winner == Winner.WHITE]
    by = {
        End.ILLEGAL_MOVE: f"{winner}の反則勝ち",
        End.DECLARATION: f"{winner}の入玉勝ち",
    }
    ruling = next((text for text, end in _RULINGS.items() if end == game.end), None)
    if ruling is None and word_of(KIF_WORDS, game.winner, game.end, board.turn) is None:
        ruling = None if game.end in by else "裁定"
    said = by.get(game.end, f"{winner}の勝ち")
    return [head + (f"{ruling}により{said}" if ruling else said)]


def _minutes(ms: int) -> str:
    """KIF has whole seconds, rounded down as on shogi clocks."""
    return f"{ms // 60_000:2}:{ms // 1000 % 60:02}"


def _hours(ms: int) -> str:
    seconds = ms // 1000
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
