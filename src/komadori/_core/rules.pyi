from collections.abc import Iterator
import enum
from typing import overload


class RulesError(ValueError):
    pass

class SfenError(RulesError):
    pass

class HcpError(RulesError):
    pass

class PositionError(RulesError):
    pass

class MoveError(RulesError):
    pass

class IllegalMoveError(MoveError):
    pass

class Move:
    """A move, by its origin or dropped piece, destination and promotion."""

    def __init__(self, usi: str) -> None: ...

    @staticmethod
    def from_usi(text: str) -> Move: ...

    @staticmethod
    def from_move16(move16: int) -> Move: ...

    def usi(self) -> str: ...

    @property
    def move16(self) -> int: ...

    @property
    def to_square(self) -> int: ...

    @property
    def from_square(self) -> int | None: ...

    @property
    def drop(self) -> int | None: ...

    @property
    def promotion(self) -> bool: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __hash__(self) -> int: ...

    def __eq__(self, other: object | None) -> bool: ...

    def __reduce__(self) -> tuple[type[Move], tuple[str]]: ...

class LegalMoves:
    """A live view of a board's legal moves."""

    def __iter__(self) -> Iterator[Move]: ...

    def __len__(self) -> int: ...

    def __bool__(self) -> bool: ...

    @overload
    def __getitem__(self, index: int) -> Move: ...

    @overload
    def __getitem__(self, range: slice) -> list[Move]: ...

    @overload
    def __contains__(self, arg: Move, /) -> bool: ...

    @overload
    def __contains__(self, arg: str, /) -> bool: ...

    @overload
    def __contains__(self, arg: object | None, /) -> bool: ...

    def __repr__(self) -> str: ...

class Repetition(enum.Enum):
    """How a position repeats an earlier one, from the side to move's view."""

    NONE = 0

    DRAW = 1

    WIN = 2

    LOSS = 3

    SUPERIOR = 4

    INFERIOR = 5

class Position:
    """A position with its path: the core of komadori.rules.Board."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, other: Position) -> None: ...

    def set_sfen(self, sfen: str) -> None:
        """
        Set an SFEN and clear the path. On SfenError or PositionError, the board is unchanged.
        """

    def set_hcp(self, hcp: bytes, ply: int = 1) -> None:
        """Like set_sfen, from 32 bytes. Raises HcpError."""

    def set_packed_sfen(self, packed: bytes, ply: int = 1) -> None:
        """Like set_sfen, from 32 bytes. Raises HcpError."""

    def sfen(self) -> str:
        """The position's SFEN, with the move number."""

    def hcp(self) -> bytes:
        """
        HuffmanCodedPos of Apery and dlshogi, 32 bytes. Raises HcpError if a king is missing or a piece is in the box.
        """

    def packed_sfen(self) -> bytes:
        """PackedSfen of YaneuraOu, 32 bytes. Raises HcpError like hcp."""

    @property
    def turn(self) -> int:
        """The side to move: BLACK (0) or WHITE (1)."""

    @property
    def ply(self) -> int:
        """The number of the next move."""

    @property
    def key(self) -> int:
        """64-bit hash of board, hands and side to move; the same in every build."""

    @property
    def board_key(self) -> int:
        """64-bit hash of board and side to move."""

    def has_same_position(self, other: Position) -> bool:
        """Whether pieces, hands and side to move are equal."""

    def king(self, color: int) -> int | None:
        """The king's square, None if it is missing."""

    def piece_code(self, square: int) -> int:
        """The piece type, plus 16 if White owns it; 0 for an empty square."""

    def hand(self, color: int, piece_type: int) -> int:
        """The number of a side's pieces of a type in hand."""

    def is_check(self) -> bool:
        """Whether the side to move is in check."""

    def checkers(self) -> list[int]:
        """The squares of the pieces giving check."""

    def attackers(self, color: int, square: int) -> list[int]:
        """The squares of a side's pieces that attack a square; pins are ignored."""

    def is_attacked_by(self, color: int, square: int) -> bool: ...

    def pinned(self, color: int) -> list[int]:
        """The squares of a side's pieces that are pinned to its king."""

    @property
    def legal_moves(self) -> LegalMoves:
        """
        Every legal move, including non-promotions; supports iteration, len(), indices, slices, and `in` with a Move or USI text.
        """

    def is_legal(self, move: Move | str) -> bool:
        """Whether a move, given as Move or USI text, is legal. Raises MoveError."""

    def gives_check(self, move: Move | str) -> bool:
        """
        Whether a legal move, given as Move or USI text, gives check. Raises MoveError, IllegalMoveError.
        """

    def push(self, move: Move | str) -> None:
        """Make a move. On IllegalMoveError, the board is unchanged.

        Make a move given as USI text. Raises MoveError, IllegalMoveError.
        """

    def push_usi(self, text: str) -> Move:
        """
        Make a move given as USI text, and return it. Raises MoveError or IllegalMoveError.
        """

    def pop(self) -> Move:
        """Undo the last move and return it. Raises IndexError if there is none."""

    def peek(self) -> Move:
        """The last move. Raises IndexError if there is none."""

    @property
    def moves(self) -> list[Move]:
        """The moves made since the position was set."""

    def move_from_move16(self, move16: int) -> Move:
        """The legal move of a move16. Raises MoveError or IllegalMoveError."""

    def parse_usi(self, text: str) -> Move:
        """The legal move of a USI text. Raises MoveError or IllegalMoveError."""

    def csa(self, move: Move | str) -> str:
        """
        A legal move, given as Move or USI text, in CSA: `+7776FU`. Raises MoveError, IllegalMoveError.
        """

    def parse_csa(self, text: str) -> Move:
        """
        The legal move of a CSA text, with or without the side's sign. Raises MoveError or IllegalMoveError.
        """

    def kif(self, move: Move | str, last: int | None = None) -> str:
        """
        A legal move, given as Move or USI text, in KIF: `７六歩(77)`. With an empty path, 同 refers to the square `last`. Raises MoveError, IllegalMoveError.
        """

    def ki2(self, move: Move | str, last: int | None = None) -> str:
        """
        A legal move, given as Move or USI text, in KI2: `７六歩`, `同銀右`. `last` and errors as in kif.
        """

    def parse_kif(self, text: str, last: int | None = None) -> Move:
        """
        The legal move of a KIF or KI2 text. Raises MoveError or IllegalMoveError.
        """

    def repetition(self, occurrences: int = 4) -> Repetition:
        """
        How the position repeats an earlier one of the path. DRAW, WIN and LOSS need `occurrences` occurrences, including this one.
        """

    def declaration_points(self) -> int | None:
        """
        The side to move's points for an entering-king declaration; None unless its king and ten other pieces are in the zone and it is not in check.
        """

    def can_declare_win(self, points_black: int = 28, points_white: int = 27) -> bool:
        """
        Whether a declaration wins. Defaults: the 27-point rule; 24-point rule: 31, 31.
        """

    def mate_in_one(self) -> Move | None:
        """A mating move, or None."""

    def is_consistent(self) -> bool:
        """
        Recomputes keys, checkers and piece sets from the board and compares; for tests.
        """

    def perft(self, depth: int) -> int:
        """
        The number of leaves of the legal move tree (bulk counting). Releases the GIL.

        Raises ValueError for a negative depth.
        """

def declaration_rules() -> dict[str, tuple[int, int]]:
    """
    Points that Black and White need to declare a win, by the name of the rule.
    """
