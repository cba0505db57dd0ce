"""Text decoding: encodings, lines with offsets, scores in comments."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from komadori.records.errors import RecordError
from komadori.records.game import NO_SCORE, Game, score_to_record
from komadori.rules import BLACK

__all__ = [
    "Line",
    "LongLineError",
    "add_header",
    "as_utf8",
    "decode",
    "decode_exactly",
    "encodable",
    "encoding_of",
    "lines_of",
    "score_comment",
    "take_scores",
    "takes_line",
    "with_line_feeds",
]

#: Bytes decoded at a time, and the longest line.
BLOCK_BYTES, LINE_BYTES = 1 << 22, 1 << 24
#: Length of a header from which no further value is appended: appending takes quadratic time.
MAX_JOINED = 1 << 16
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def encodable(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which no encoding has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def decode(data: bytes) -> str:
    """Decode UTF-8, with or without a byte-order mark, or Shift-JIS (cp932).

    Invalid bytes become U+FFFD.
    """
    data = data.removeprefix(_UTF8_MARK)
    for encoding in ("utf-8", "cp932"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace")


def encoding_of(data: bytes) -> str:
    """The encoding of a text file that isn't in Shift-JIS: UTF-16 by its byte-order mark, or UTF-8.

    Decoding with it leaves out the mark.
    """
    return "utf-16" if data[:2] in _UTF16_MARKS else "utf-8-sig"


def as_utf8(data: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], Callable[[int], int]]:
    """A text file in UTF-16 (with a byte-order mark) as UTF-8; other data are returned as they are.

    Also returns a function from an offset in the result to that in `data`.
    """
    encoding = _UTF16_MARKS.get(data[:2].tobytes())
    if encoding is None:
        return data, lambda offset: offset
    text = data[2:].tobytes().decode(encoding, "replace")
    converted = np.frombuffer(text.encode(), np.uint8)
    # A character is one unit of two bytes, or two if it takes four bytes in UTF-8.
    units = ((converted & 0xC0) != 0x80).astype(np.int64) + (converted >= 0xF0)
    before = np.concatenate([[0], np.cumsum(units)])
    return converted, lambda offset: min(2 + 2 * int(before[offset]), len(data))


def decode_exactly(data: bytes) -> tuple[str, Callable[[str], int]]:
    """As `decode`, and UTF-16 with a byte-order mark; also returns a function from a part of the
    text to its number of bytes.

    Invalid bytes become lone surrogates, in UTF-16 U+FFFD, and a byte-order mark is kept.
    """
    encoding, errors = _UTF16_MARKS.get(data[:2], "utf-8"), "surrogateescape"
    if encoding != "utf-8":
        errors = "replace"
    else:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            with contextlib.suppress(UnicodeDecodeError):
                data.decode("cp932")
                encoding, errors = "cp932", "strict"
    return data.decode(encoding, errors), lambda piece: len(piece.encode(encoding, errors))


def with_line_feeds(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A text file whose lines end with a carriage return alone, with line feeds instead; other data
    are returned as they are.

    Only the first 64 KB decide. Neither byte is part of a longer character of UTF-8 or Shift-JIS.
    """
    head = data[: 1 << 16].tobytes()
    if b"\n" in head or b"\r" not in head:
        return data
    return np.where(data == ord("\r"), np.uint8(ord("\n")), data)


class LongLineError(RecordError):
    """A line that is too long for text. offset: its byte in the file. number: its line number."""

    def __init__(self, offset: int, number: int) -> None:
        super().__init__(f"a line of more than {LINE_BYTES >> 20} MB; not a text file")
        self.offset, self.number = offset, number


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its line break, its number from 1, and its first and last byte in the file."""

    text: str
    offset: int
    end: int
    number: int


def lines_of(data: NDArray[np.uint8]) -> Iterator[Line]:
    """Yield the lines of a text file in UTF-8, Shift-JIS or (with a byte-order mark) UTF-16.

    Lines end with LF, CR LF or, in a file without LF, CR. Decoded in blocks, whose encodings may
    differ; a block of mixed encodings is decoded line by line. Raises LongLineError for a line that
    is too long for text.
    """
    encoding = _UTF16_MARKS.get(data[:2].tobytes())
    if encoding is not None:
        yield from _lines_of_utf16(data[2:].tobytes(), encoding)
        return
    data = with_line_feeds(data)
    offset = number = 0
    while offset < len(data):
        block = _block(data, offset, number + 1)
        raw = block.split(b"\n")
        if block.endswith(b"\n"):
            del raw[-1]
        text = decode(block)
        texts = text.removesuffix("\n").split("\n")
        if "\ufffd" in text or len(texts) != len(raw):
            texts = [decode(line) for line in raw]
        for line, source in zip(texts, raw, strict=True):
            number += 1
            yield Line(line.rstrip("\r"), offset, offset + len(source), number)
            offset += len(source) + 1


def _block(data: NDArray[np.uint8], begin: int, number: int) -> bytes:
    """The next block of whole lines, some megabytes, or the rest of the file.

    number: of the first line.
    """
    for size in (BLOCK_BYTES, LINE_BYTES):
        block = data[begin : begin + size].tobytes()
        if begin + size >= len(data):
            return block
        end = block.rfind(b"\n") + 1
        if end:
            return block[:end]
    raise LongLineError(begin, number)


def _lines_of_utf16(data: bytes, encoding: str) -> Iterator[Line]:
    offset = 2
    text = data.decode(encoding, "replace")
    line_break = "\n" if "\n" in text else "\r"
    for number, line in enumerate(text.split(line_break), 1):
        end = offset + len(line.encode("utf-16-le"))
        yield Line(line.rstrip("\r"), offset, end, number)
        offset = end + 2


def add_header(headers: dict[str, str], key: str, value: str) -> None:
    """Add a header of a file to a game's. A further value under the same name, as of several notes,
    is appended to the first, up to MAX_JOINED characters."""
    before = headers.get(key, "")
    if not before or before == value:
        headers[key] = value
    elif len(before) < MAX_JOINED:
        headers[key] = f"{before} / {value}"


#: `評価値=` of a player (`*` of `**評価値=`) or of an analysis (`#` of `*#評価値=`), Black's view;
#: the last group is what it says beyond a score in centipawns.
_SCORE = re.compile(r"([*#]?)評価値=\s*([+-]?(?:[0-9]+(?:\.[0-9]+)?|詰))(.*)")
#: ShogiHome's word for a mate.
_MATE = re.compile(r"([*#]?)詰み=(先手|後手)(勝ち.*)")


@dataclass(frozen=True, slots=True)
class _Said:
    """A score in a comment's line, Black's view, and what the line says beyond it."""

    is_players: bool
    score: int
    rest: str


def _said(line: str) -> _Said | None:
    if (match := _SCORE.fullmatch(line)) is not None:
        return _Said(match[1] != "#", _centipawns(match[2]), match[3].strip())
    if (match := _MATE.fullmatch(line)) is not None:
        score = score_to_record(None, 1 if match[2] == "先手" else -1)
        return _Said(match[1] != "#", score, match[3])
    return None


def take_scores(game: Game) -> None:
    """Read the scores in a game's comments into `scores_cp`, if it has none.

    The player's line that gives the score (`**評価値=`), the first, is removed from the comment
    unless it says more. An analysis line (`*#評価値=`) is kept, and used for moves without a
    player's.
    """
    for ply, comment in list(game.comments.items()):
        if not 1 <= ply <= len(game) or ("評価値=" not in comment and "詰み=" not in comment):
            continue
        lines = comment.split("\n")
        if game.scores_cp[ply - 1] == NO_SCORE and (said := _score_of(lines)) is not None:
            if not game.scores_cp.flags.writeable:
                game.scores_cp = game.scores_cp.copy()
            game.scores_cp[ply - 1] = _sign(game, ply) * said
        black_view = _sign(game, ply) * int(game.scores_cp[ply - 1])
        kept = [line for line in lines if not _says_only(line, black_view)]
        if kept:
            game.comments[ply] = "\n".join(kept)
        else:
            del game.comments[ply]


def _score_of(lines: Sequence[str]) -> int | None:
    """The score that a comment gives a move: the first of a player, or else of an analysis."""
    found = [said for said in map(_said, lines) if said is not None]
    return next((said.score for said in sorted(found, key=lambda said: not said.is_players)), None)


def _says_only(line: str, black_view: int) -> bool:
    """Whether a line is a player's with this score and no more, such as the plies to a mate."""
    return _said(line) == _Said(True, black_view, "")


def takes_line(ply: int, above: Sequence[str], *, has_line: bool) -> bool:
    """Whether a player's line in the comment after `ply` moves belongs to the score of that move.

    above: the comment's lines above it. has_line: whether one of them was taken already.
    """
    players = sum(said is not None and said.is_players for said in map(_said, above))
    return ply > 0 and not has_line and players <= 1


def score_comment(game: Game, ply: int) -> str | None:
    """The comment line, without its first `*`, for the score of the `ply`-th move.

    None without a score, or if the comment gives it.
    """
    score = int(game.scores_cp[ply - 1])
    if score == NO_SCORE:
        return None
    black_view = _sign(game, ply) * score
    if ply in game.comments and _score_of(game.comments[ply].split("\n")) == black_view:
        return None
    return f"*評価値={black_view}"


def _sign(game: Game, ply: int) -> int:
    """The factor from Black's view to the mover's: 1 if Black makes the `ply`-th move, else -1."""
    black_moves = (game.first_turn == BLACK) == (ply % 2 == 1)
    return 1 if black_moves else -1


def _centipawns(text: str) -> int:
    if "詰" in text:
        return score_to_record(None, -1 if text.startswith("-") else 1)
    return round(min(max(float(text), -1e6), 1e6))
