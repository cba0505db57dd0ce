"""A game, independent of formats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.array_fields import ComparesArrays
from komadori.records.errors import RecordError
from komadori.rules import BLACK, WHITE, Board, Move
from komadori.rules.pieces import check_color
from komadori.wording import counted, names_arguments, not_expected

__all__ = [
    "MATE_CP",
    "NO_SCORE",
    "NO_TIME",
    "STARTPOS",
    "Candidates",
    "End",
    "Game",
    "Source",
    "Winner",
    "score_to_record",
]

STARTPOS = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"

NO_SCORE: int = _core.NO_SCORE
NO_TIME: int = _core.NO_TIME
NO_CANDIDATES: int = _core.NO_CANDIDATES
#: The score of a mate, for the side that mates.
MATE_CP: int = _core.MATE_CP


@names_arguments
def score_to_record(cp: float | None, mate: int | None = None) -> int:
    """Return a score as records store it: centipawns within those of a mate, from the same view.

    mate: plies to the mate, or only their sign; 0 or negative: being mated. Raises ValueError for
    NaN.
    """
    if mate is not None:
        return MATE_CP if mate > 0 else -MATE_CP
    if cp is not None and math.isnan(cp):
        raise ValueError("a score that is not a number (NaN)")
    return round(max(-MATE_CP, min(MATE_CP, cp or 0)))


class Winner(IntEnum):
    """The winner; the integers are those of the binary formats."""

    DRAW = 0
    BLACK = 1
    WHITE = 2
    UNKNOWN = 3


class End(IntEnum):
    """How a game ended. The winner is in the game's `winner`."""

    UNKNOWN = 0
    RESIGN = 1
    MATE = 2
    SENNICHITE = 3
    PERPETUAL_CHECK = 4
    ILLEGAL_MOVE = 5
    DECLARATION = 6
    IMPASSE = 7
    TIME_UP = 8
    MAX_MOVES = 9
    INTERRUPTED = 10
    ADJUDICATION = 11


@names_arguments
@dataclass(slots=True, eq=False)
class Candidates(ComparesArrays):
    """The candidate moves of a search, ply by ply.

    count  uint16 [plies]  number of candidates; 0: the ply gives no sample
    move16 uint16 [sum]    the candidates
    visits uint16 [sum]    their visits
    """

    count: NDArray[np.uint16]
    move16: NDArray[np.uint16]
    visits: NDArray[np.uint16]

    def of_ply(self, index: int) -> list[tuple[str, int]]:
        """(USI move, visits) of the ply of that index, in the file's order."""
        first = int(self.count[:index].sum(dtype=np.int64))
        rows = range(first, first + int(self.count[index]))
        return [(_usi(self.move16[row]), int(self.visits[row])) for row in rows]


#: The fields of `Game` with texts by ply, and the variations.
_TEXTS = ("headers", "comments", "bookmarks", "pvs", "variations")


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a game: a file and the offset of the game in its content."""

    path: Path
    offset: int

    def __str__(self) -> str:
        return f"{self.path}: byte {self.offset}"


def _usi(move16: int | np.uint16) -> str:
    return Move.from_move16(int(move16)).usi()


@names_arguments
@dataclass(slots=True, eq=False)
class Game:
    """A game: an initial position, the moves, and data of each move.

    moves     uint16 [plies]  move16 of the moves
    scores_cp int32 [plies]   centipawns before the move, from the view of the side that makes it;
    NO_SCORE for none. Readers and writers convert from and to the view of their format.
    times_ms  int32 [plies]   time spent on the move; NO_TIME if unknown
    headers   "black" and "white" (the players), "event", "site", "start_time", "end_time",
    "black_rating", "white_rating", and further headers of the file under their own names
    comments  by the number of moves before the comment, 0 for the initial position
    bookmarks  by the number of moves before them: names of positions (KIF's しおり)
    pvs       by the number of moves: the line in USI moves expected after that move
    variations  by the number of moves before them: other lines of play (変化), each a Game from
    the position there, without headers; it can have variations of its own
    """

    initial_sfen: str = STARTPOS
    moves: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    scores_cp: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    times_ms: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    winner: Winner = Winner.UNKNOWN
    end: End = End.UNKNOWN
    headers: dict[str, str] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)
    bookmarks: dict[int, str] = field(default_factory=dict)
    pvs: dict[int, str] = field(default_factory=dict)
    candidates: Candidates | None = None
    opponent: int = 0  #: hcpe3's: 0 self-play, 1 Black / 2 White is another engine
    source: Source | None = None
    end_time_ms: int = NO_TIME  #: spent before the end, as on a resignation
    variations: dict[int, list[Game]] = field(default_factory=dict)

    @classmethod
    def from_usi(
        cls,
        moves: Iterable[str],
        sfen: str = STARTPOS,
        *,
        winner: Winner = Winner.UNKNOWN,
        end: End = End.UNKNOWN,
        scores_cp: Sequence[int | None] | None = None,
        times_ms: Sequence[int | None] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Game:
        """Create a game from moves in USI. Raises IllegalMoveError for an illegal move."""
        if isinstance(moves, str):
            raise not_expected("moves", moves, "a list of moves")
        board = Board(sfen)
        played = np.array([board.push_usi(move).move16 for move in moves], np.uint16)
        return cls(
            initial_sfen=Board(sfen).sfen(),
            moves=played,
            scores_cp=_column(scores_cp, len(played), NO_SCORE),
            times_ms=_column(times_ms, len(played), NO_TIME),
            winner=winner,
            end=end,
            headers=headers or {},
        )

    def __len__(self) -> int:
        return len(self.moves)

    def __repr__(self) -> str:
        players = f"{self.black or '?'} - {self.white or '?'}"
        return f"<Game: {players}, {len(self)} plies, {self.result_text()}>"

    def __eq__(self, other: object) -> bool:
        """Whether position, moves, scores, times, texts, result and variations are equal."""
        if not isinstance(other, Game):
            return NotImplemented
        return (
            self.initial_sfen == other.initial_sfen
            and np.array_equal(self.moves, other.moves)
            and np.array_equal(self.scores_cp, other.scores_cp)
            and np.array_equal(self.times_ms, other.times_ms)
            and (self.winner, self.end) == (other.winner, other.end)
            and all(getattr(self, name) == getattr(other, name) for name in _TEXTS)
        )

    @property
    def black(self) -> str:
        return self.headers.get("black", "")

    @property
    def white(self) -> str:
        return self.headers.get("white", "")

    @property
    def first_turn(self) -> int:
        """The side to move in the initial position."""
        return WHITE if self.initial_sfen.split()[1] == "w" else BLACK

    def rating(self, color: int) -> float | None:
        """A player's rating, if the headers have one."""
        check_color("color", color)
        try:
            return float(self.headers["white_rating" if color == WHITE else "black_rating"])
        except (KeyError, ValueError):
            return None

    @property
    def date(self) -> str:
        """When the game began, else its day (対局日), as the record writes it; empty if unknown."""
        return self.headers.get("start_time") or self.headers.get("対局日", "")

    def usi_moves(self) -> list[str]:
        return [_usi(move) for move in self.moves]

    def all_variations(self) -> Iterator[Game]:
        """Yield all variations, including those of variations."""
        for variations in self.variations.values():
            for variation in variations:
                yield variation
                yield from variation.all_variations()

    def check_variations(self) -> None:
        """Raise RecordError if a variation doesn't begin in the position where it stands."""
        if not self.variations:
            return
        positions = [_position(board) for board, _ in self.moving_board()]
        positions.append(_position(self.final_board()))
        for ply, variations in self.variations.items():
            where = f"a variation after {counted(ply, 'move')}"
            if not 0 <= ply < len(positions):
                raise RecordError(f"{where} of a game of {len(self)}")
            for variation in variations:
                if _position(variation.board()) != positions[ply]:
                    raise RecordError(f"{where} begins in another position")
                variation.check_variations()

    def board(self) -> Board:
        """A board with the initial position."""
        return Board(self.initial_sfen)

    def final_board(self) -> Board:
        """A board with all moves made. Raises RulesError if one is illegal."""
        board = self.board()
        for move16 in self.moves:
            board.push(board.move_from_move16(int(move16)))
        return board

    def positions(self) -> Iterator[tuple[Board, Move]]:
        """Yield the board before each move, and the move; each board is independent."""
        for board, move in self.moving_board():
            yield board.copy(), move

    def moving_board(self) -> Iterator[tuple[Board, Move]]:
        """As `positions`, but faster: yields one board that the iteration moves on; copy what you
        keep."""
        board = self.board()
        for move16 in self.moves:
            move = board.move_from_move16(int(move16))
            yield board, move
            board.push(move)

    def result_text(self) -> str:
        """Winner and end as text: "Black won (resign)"."""
        words = {
            Winner.BLACK: "Black won",
            Winner.WHITE: "White won",
            Winner.DRAW: "drawn",
            Winner.UNKNOWN: "no result",
        }
        how = End(self.end).name.lower().replace("_", " ")
        return words[Winner(self.winner)] + (f" ({how})" if self.end != End.UNKNOWN else "")


def _position(board: Board) -> str:
    """The position without its move number."""
    return board.sfen().rpartition(" ")[0]


def _column(values: Sequence[int | None] | None, length: int, missing: int) -> NDArray[np.int32]:
    if values is None:
        return np.full(length, missing, np.int32)
    if len(values) != length:
        raise RecordError(f"{counted(len(values), 'value')} for {counted(length, 'move')}")
    return np.array([missing if value is None else value for value in values], np.int32)
