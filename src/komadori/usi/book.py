"""Opening books in YaneuraOu's text format (`#YANEURAOU-DB2016`), read with rsshogi.

A book is a list of positions, sorted by SFEN, each with moves: the move, the expected reply, the
score (centipawns, side to move's view), the depth, and how often it was played. Move numbers are
ignored.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from komadori.atomic import atomic_writer
from komadori.usi.models import ModelNotFoundError, find_file, places

if TYPE_CHECKING:
    from komadori.records import Game
    from komadori.rules import Board

HEADER = "#YANEURAOU-DB2016 1.00"
NO_BOOK = f"not a book: the first line isn't {HEADER}"
UNSORTED = "the positions aren't sorted by SFEN, or one occurs twice (move numbers are ignored)"
#: Messages of the library that advise its callers or speak of its features.
REASONS = {
    "unsupported feature: unsupported DB2016 header": NO_BOOK,
    "unsupported feature: DB2016 is not sorted; scan explicitly": UNSORTED,
}
DAMAGED = "damaged: "
#: Maximum length of one position in a book, in bytes.
MAX_ENTRY = 1 << 20
TEST_SFEN = "4k4/9/9/9/9/9/9/9/4K4 b - 1"


class BookError(ValueError):
    """A book can't be used: it is missing, damaged or not sorted."""


def check_path(path: Path) -> None:
    """Raise BookError for a path that isn't UTF-8: books are read by a library that needs it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise BookError(f"{path}: a book's path must be UTF-8") from None


def file_state(name: str) -> tuple[str, int, int, int] | None:
    """What changes when the file of this name, as in `Book.find`, is replaced or written; None if
    there is none."""
    for path in places(name):
        with contextlib.suppress(OSError):
            about = path.stat()
            return str(path), about.st_ino, about.st_size, about.st_mtime_ns
    return None


@dataclass(frozen=True)
class BookMove:
    """A move of a book."""

    usi: str
    ponder: str | None
    score_cp: int | None
    depth: int | None
    count: int


class Book:
    """A book file, read one position at a time."""

    def __init__(self, path: Path | str) -> None:
        """Open a book. Raises BookError with the file and the reason."""
        from rsshogi.book import YaneuraOuBook

        self.path = Path(path)
        check_path(self.path)
        try:
            # rsshogi opens the file again; with a pipe it would block and ignore signals.
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise BookError(f"{path}: not a regular file")
            with self.path.open("rb") as file:
                header = file.read(64)
        except OSError as error:
            raise BookError(f"{path}: {error.strerror}") from None
        if not header.removeprefix(b"\xef\xbb\xbf").startswith(b"#YANEURAOU-DB2016"):
            raise BookError(f"{path}: {NO_BOOK}")
        try:
            self._book = YaneuraOuBook.open(str(self.path))
        except ValueError as error:
            raise BookError(f"{path}: {_reason(error)}") from None
        # The library checks the order of the first 10,000 positions, and looks nothing up in a book
        # with more unless it reads all of it. Of such books it gets one position at a time.
        checked = self._book.diagnostics()
        self._is_large = checked.kind == "sorted" and checked.complete is False
        self._entry(TEST_SFEN)  # fails if the positions aren't sorted

    @classmethod
    def find(cls, name: str) -> Book:
        """Open a book by path, or by name in the folders of models."""
        try:
            return cls(find_file(name, "book", os.path.isfile))
        except ModelNotFoundError as error:
            raise BookError(str(error)) from None

    def moves(self, board: Board) -> list[BookMove]:
        """Return the book's legal moves in a position, sorted by count, then by score.

        Of a move that the book has several times there, the first row counts.
        If the book doesn't contain the position, the position with colours exchanged and the
        board rotated is looked up (YaneuraOu's FlippedBook). Raises BookError if the book is
        damaged there.
        """
        entry = self._entry(board.sfen())
        turn: Callable[[str], str] = str
        if entry is None:
            entry = self._entry(flip_sfen(board.sfen()))
            turn = flip_move
        if entry is None:
            return []
        legal = {move.usi() for move in board.legal_moves}
        found = []
        for row in entry.moves:
            usi = turn(str(row.mv))
            if usi not in legal:
                continue
            legal.remove(usi)
            reply = turn(row.ponder.to_usi()) if row.ponder is not None else ""
            found.append(
                BookMove(
                    usi=usi,
                    ponder=reply if _is_reply(board, usi, reply) else None,
                    score_cp=row.score,
                    depth=row.depth,
                    count=row.count or 1,
                )
            )
        return sorted(found, key=lambda m: (-m.count, -(m.score_cp or 0)))

    def _entry(self, sfen: str) -> Any:
        """Return the library's entry of a position, or None. Raises BookError."""
        try:
            return self._large_entry(sfen) if self._is_large else self._book.lookup_sfen(sfen)
        except BookError as error:
            raise BookError(f"{self.path}: {error}") from None
        except (ValueError, OSError) as error:
            reason = _reason(error)
            place = f", in the position {sfen}" if reason.startswith(DAMAGED) else ""
            raise BookError(f"{self.path}: {reason}{place}") from None

    def _large_entry(self, sfen: str) -> Any:
        """The same for a book that the library hasn't checked whole."""
        from rsshogi.book import YaneuraOuBook

        with self.path.open("rb") as file:
            entry = find_entry(file, sfen)
        if entry is None:
            return None
        try:
            with tempfile.TemporaryDirectory(prefix="komadori-book-") as folder:
                path = Path(folder) / "entry.db"
                path.write_bytes(f"{HEADER}\n".encode() + entry)
                return YaneuraOuBook.open(str(path)).lookup_sfen(sfen)
        except OSError as error:
            where = tempfile.gettempdir()
            raise BookError(f"a temporary file in {where}: {error.strerror or error}") from None


def find_entry(file: BinaryIO, sfen: str) -> bytes | None:
    """Find a position in a sorted book by bisection; return its lines, or None.

    The move number is ignored. Raises BookError if the positions read aren't sorted, and if one
    has more than MAX_ENTRY bytes.
    """
    wanted = _key(b"sfen " + sfen.encode())
    low, high = len(file.readline(MAX_ENTRY)), file.seek(0, os.SEEK_END)  # low: a line's start
    below: bytes | None = None
    above: bytes | None = None
    while low < high:
        middle = (low + high) // 2
        file.seek(middle - 1)
        file.readline(MAX_ENTRY)  # the rest of a line that begins before the middle
        line = _next_position(file)
        start = file.tell() - len(line)
        if not line or start >= high:
            high = middle
            continue
        key = _key(line)
        if (below is not None and key <= below) or (above is not None and key >= above):
            raise BookError(UNSORTED)
        if key == wanted:
            return line + _rows(file)
        if key < wanted:
            low, below = start + len(line), key
        else:
            high, above = middle, key
    return None


def _key(line: bytes) -> bytes:
    """What a book is sorted by: of a line `sfen BOARD TURN HANDS PLY` the fields but the last."""
    return b" ".join(line.split()[1:4])


def _next_position(file: BinaryIO) -> bytes:
    """Read on to the next line that names a position; return it, or nothing at the end."""
    start = file.tell()
    while line := file.readline(MAX_ENTRY):
        if line.startswith(b"sfen "):
            return line
        if file.tell() - start > MAX_ENTRY:
            raise BookError(f"damaged: a position of more than {MAX_ENTRY:,} bytes")
    return b""


def _rows(file: BinaryIO) -> bytes:
    """Read the lines up to the next position."""
    start = file.tell()
    following = _next_position(file)
    end = file.tell() - len(following)
    file.seek(start)
    return file.read(end - start)


def _reason(error: Exception) -> str:
    """Why the library can't read a book, in words for users of the book, not of the library."""
    reason = str(error).rpartition("error: ")[2]
    plain = reason.removeprefix("invalid data: ").replace("DB2016 ", "")
    return REASONS.get(reason, DAMAGED + plain)


def flip_sfen(sfen: str) -> str:
    """Exchange the colours and rotate the board."""
    board, turn, hands, ply = sfen.split()
    squares = re.findall(r"\+?[a-zA-Z]|[1-9/]", board)
    flipped = "".join(reversed(squares)).swapcase()
    held = re.findall(r"\d*[a-zA-Z]", hands.swapcase())
    held.sort(key=str.islower)  # Black's first, stable within a colour
    return f"{flipped} {'b' if turn == 'w' else 'w'} {''.join(held) or '-'} {ply}"


def flip_move(usi: str) -> str:
    """Convert a USI move to the flipped board."""
    if usi[1:2] == "*":
        return usi[:2] + _flip_square(usi[2:4])
    if not usi[:1].isdigit():
        return usi
    return _flip_square(usi[:2]) + _flip_square(usi[2:4]) + usi[4:]


def _flip_square(square: str) -> str:
    return str(10 - int(square[0])) + chr(ord("a") + ord("i") - ord(square[1]))


def _is_reply(board: Board, usi: str, reply: str) -> bool:
    """Return whether `reply` is a legal reply to the move."""
    after = board.copy()
    after.push_usi(usi)
    return any(move.usi() == reply for move in after.legal_moves)


def draw(moves: Sequence[BookMove], rng: random.Random) -> BookMove:
    """Draw a move with probability proportional to its count."""
    return rng.choices(moves, [move.count for move in moves])[0]


@dataclass
class _Played:
    """Statistics of a move in a position over all games."""

    count: int = 0
    scores: list[int] = field(default_factory=list)
    replies: dict[str, int] = field(default_factory=dict)

    def as_move(self, usi: str) -> BookMove:
        replies = sorted(self.replies, key=lambda reply: (-self.replies[reply], reply))
        return BookMove(
            usi=usi,
            ponder=replies[0] if replies else None,
            score_cp=round(sum(self.scores) / len(self.scores)) if self.scores else None,
            depth=0,
            count=self.count,
        )


class BookMaker:
    """Builds a book from the openings of games."""

    def __init__(self, plies: int = 40, winner_only: bool = False) -> None:
        """`plies` of each game are used; with `winner_only` only moves of the winning side."""
        self.games = 0
        self._plies = plies
        self._winner_only = winner_only
        self._positions: dict[str, tuple[int, dict[str, _Played]]] = {}

    def add(self, game: Game) -> None:
        """Add a game. Raises RulesError, and adds nothing, if a move is illegal."""
        from komadori.records import NO_SCORE, Winner

        rows: list[tuple[str, int, str, str | None, int | None]] = []
        moves = game.usi_moves()
        board = game.board()
        for i, usi in enumerate(moves[: self._plies]):
            won = game.winner == (Winner.BLACK if board.turn == 0 else Winner.WHITE)
            if won or not self._winner_only:
                position, _, _ = board.sfen().rpartition(" ")
                score = int(game.scores_cp[i])
                reply = moves[i + 1] if i + 1 < len(moves) else None
                rows.append((position, board.ply, usi, reply, None if score == NO_SCORE else score))
            board.push_usi(usi)
        for position, ply, usi, reply, known in rows:
            first, played = self._positions.get(position, (ply, {}))
            self._positions[position] = (min(first, ply), played)
            move = played.setdefault(usi, _Played())
            move.count += 1
            if known is not None:
                move.scores.append(known)
            if reply is not None:
                move.replies[reply] = move.replies.get(reply, 0) + 1
        self.games += 1

    def entries(self, min_count: int = 1) -> Iterable[tuple[str, list[BookMove]]]:
        """Yield positions in file order (as SFEN with their lowest move number), each with its
        moves that were played at least `min_count` times, most played first.
        """
        for position in sorted(self._positions, key=str.encode):
            ply, played = self._positions[position]
            moves = [p.as_move(usi) for usi, p in played.items() if p.count >= min_count]
            if moves:
                moves.sort(key=lambda m: (-m.count, -(m.score_cp or 0), m.usi))
                yield f"{position} {ply}", moves


def write_book(path: Path, entries: Iterable[tuple[str, list[BookMove]]]) -> tuple[int, int]:
    """Write a book atomically; return its numbers of positions and moves."""
    check_path(path)
    positions = moves = 0
    with atomic_writer(path) as file:
        file.write(f"{HEADER}\n".encode())
        for sfen, found in entries:
            rows = [
                f"{m.usi} {m.ponder or 'none'} {m.score_cp or 0} {m.depth or 0} {m.count}\n"
                for m in found
            ]
            file.write(f"sfen {sfen}\n{''.join(rows)}".encode())
            positions += 1
            moves += len(found)
    return positions, moves
