"""Parsing of uploaded records, in any format and encoding."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from komadori.records import FORMATS, Game, GameReader, RecordError
from komadori.records.text import encoding_of
from komadori.rules import RulesError
from komadori.web.errors import RefusedError

#: Formats of uploads.
TEXT_FORMATS = ("csa", "kif", "ki2", "jkf", "usi")
#: Maximum number of games per upload.
MAX_GAMES = 500
#: Maximum number of characters of a record that the library keeps as it is.
MAX_RECORD = 2_000_000
#: Maximum number of reported problems.
MAX_REPORTED = 20


def read_upload(data: bytes, name: str = "") -> tuple[str, list[Game], list[str]]:
    """Return the format, the games, and one line per skipped part. Raises RefusedError.

    The format is that of `name`'s suffix; without one it is detected from the content.
    """
    format = _format(data, name)
    reader = _reader(data, format)
    games: list[Game] = []
    problems: list[str] = []
    try:
        for game in reader:
            try:
                game.final_board()
            except RulesError as error:
                problems.append(str(error))
                continue
            games.append(game)
            if len(games) > MAX_GAMES:
                raise RefusedError("too_many", f"more than {MAX_GAMES} games")
    except (RecordError, RulesError, UnicodeError) as error:
        raise RefusedError("bad_record", f"not a record in {format}: {error}") from error
    problems += [f"byte {skipped.offset}: {skipped.reason}" for skipped in reader.skipped]
    if len(problems) > MAX_REPORTED:
        problems[MAX_REPORTED:] = [f"and {len(problems) - MAX_REPORTED} more"]
    if not games and not problems:
        problems = ["no games found"]
    return format, games, problems


def _reader(data: bytes, format: str) -> GameReader:
    return GameReader(Path(f"upload.{format}"), format, data=np.frombuffer(data, np.uint8).copy())


def record_texts(data: bytes, games: list[Game], *, is_damaged: bool, format: str) -> list[str]:
    """Return the texts of an upload's games, with what a `Game` doesn't hold, such as variations
    and bookmarks; "" for a game whose text is too long. In a damaged upload, a text that doesn't
    give its game alone is written anew.
    """
    if not games:
        return []
    begins = [game.source.offset for game in games if game.source is not None]
    if not is_damaged:
        begins[0] = 0
    cuts = {*begins, len(data)}
    if is_damaged:
        reader = _reader(data, format)
        for _ in reader:
            pass  # then it has all that is skipped
        cuts |= {skipped.begin for skipped in reader.skipped}
    mark = data[:2] if encoding_of(data) == "utf-16" else b""
    texts = []
    for begin in begins:
        end = min(cut for cut in cuts if cut > begin)
        text = _decoded(mark * (begin > 0) + data[begin:end])
        if (len(games) > 1 or is_damaged) and text.lstrip("\ufeff[, \t\r\n").startswith("{"):
            text = text.strip("\ufeff[], \t\r\n")  # of an array of JKF
        texts.append(text if len(text) <= MAX_RECORD else "")
    if not is_damaged:
        return texts
    write = FORMATS[format].write
    assert write is not None
    return [
        text
        if text and _is_text_of(text, game, format)
        else write(game, "utf-8").decode(errors="replace")
        for text, game in zip(texts, games, strict=True)
    ]


def recorded_game(record: str, moves: Sequence[str]) -> Game | None:
    """Return the game of a record; None if it has none of these moves, in USI."""
    if record:
        with contextlib.suppress(RefusedError):
            games = read_upload(record.encode(errors="replace"))[1]
            if games and games[0].usi_moves() == list(moves):
                return games[0]
    return None


def _is_text_of(text: str, game: Game, format: str) -> bool:
    try:
        _, games, problems = read_upload(text.encode(), f"game.{format}")
    except RefusedError:
        return False
    return games == [game] and not problems


def _format(data: bytes, name: str) -> str:
    suffix = PurePosixPath(name.lower()).suffix
    for known in TEXT_FORMATS:
        if suffix in FORMATS[known].suffixes and suffix != ".txt":
            return known
    if suffix not in ("", ".txt"):
        raise RefusedError("bad_record", f"no record format has the suffix {suffix!r}")
    return _format_by_content(data)


def _format_by_content(data: bytes) -> str:
    text = _decoded(data).lstrip("\ufeff \t\r\n")
    if text.startswith(("{", "[")):
        return "jkf"
    if text.startswith(("startpos", "sfen ", "position ")):
        return "usi"
    first = next((line for line in text.splitlines() if line and line[0] != "'"), "")
    if first.startswith(("V2", "V3", "N+", "N-", "$", "PI", "P1", "+", "-", "CSA")):
        return "csa"
    if any(line.startswith(("▲", "△", "☗", "☖")) for line in text.splitlines()):
        return "ki2"
    return "kif"


def _decoded(data: bytes) -> str:
    try:
        return data.decode(encoding_of(data))
    except UnicodeDecodeError:
        return data.decode("cp932", "ignore")
