"""The board: a position and the moves that led to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self, get_args

from komadori._core.rules import Move, Position, Repetition, SfenError
from komadori.rules.outcome import DECLARATION_POINTS, Declaration, Outcome, Termination
from komadori.rules.pieces import (
    BLACK,
    COLORS,
    HAND_TYPES,
    PIECES,
    WHITE,
    Piece,
    PieceType,
    square_name,
)
from komadori.rules.svg import PieceStyle, board_svg
from komadori.wording import check_choice, check_type, names_arguments, not_expected

_RANKS = "一二三四五六七八九"
_FILES = "１２３４５６７８９"
_NUMBERS = ("", "", *"二三四五六七八九十", *(f"十{n}" for n in "一二三四五六七八"))


@names_arguments
class Board(Position):
    """A position and its move history, changed by `push` and `pop`.

    Two boards are equal if pieces, hands and side to move are. A board is mutable and not hashable;
    use `key`. Several threads may read a board while none changes it.

    Most methods are inherited from the core's `Position`.
    """

    def __init__(self, sfen: str | None = None) -> None:
        """The start position, the position of an SFEN, or the arguments of USI's `position`, as in
        `startpos moves 7g7f`.

        Raises SfenError that names the character, PositionError for an impossible position, and
        MoveError or IllegalMoveError with the number of the move. Kings and other pieces may be
        missing (mate problems, handicaps).
        """
        super().__init__()
        if sfen is None or sfen == "startpos":
            return
        check_type("sfen", sfen, str)
        head, moves = _split_usi(sfen)
        if head != "startpos":
            self.set_sfen(head)
        for number, text in enumerate(moves, 1):
            try:
                self.push_usi(text)
            except ValueError as error:
                raise type(error)(f"move {number}: {error}") from None

    @classmethod
    def from_hcp(cls, hcp: bytes, ply: int = 1) -> Self:
        """Decode a HuffmanCodedPos (hcp), the 32 bytes of Apery and dlshogi. Raises HcpError or
        PositionError."""
        board = cls()
        board.set_hcp(hcp, ply)
        return board

    @classmethod
    def from_packed_sfen(cls, packed: bytes, ply: int = 1) -> Self:
        """Decode a PackedSfen, the 32 bytes of YaneuraOu. Raises HcpError or PositionError."""
        board = cls()
        board.set_packed_sfen(packed, ply)
        return board

    @classmethod
    def from_usi(cls, position: str) -> Self:
        """Parse the arguments of USI's `position`: `startpos moves 7g7f`, `sfen ... moves ...`.

        Raises SfenError, MoveError or IllegalMoveError, the latter two with the number of the move.
        """
        check_type("position", position, str)
        words = position.removeprefix("position ").split()
        if words[:1] != ["sfen"] and words[:2] not in (["startpos"], ["startpos", "moves"]):
            raise SfenError(f"expected 'startpos' or 'sfen', found {' '.join(words[:2])!r}")
        return cls(position)

    def copy(self) -> Self:
        """An independent copy with the same move history."""
        board = type(self).__new__(type(self))
        Position.__init__(board, self)
        return board

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def root(self) -> Self:
        """The board before the first move of the history."""
        board = self.copy()
        for _ in range(len(self.moves)):
            board.pop()
        return board

    def __reduce__(self) -> tuple[object, ...]:
        moves = [move.move16 for move in self.moves]
        return _rebuild, (type(self), self.root().sfen(), moves)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return self.has_same_position(other)

    __hash__ = None  # type: ignore[assignment]

    def piece_at(self, square: int) -> Piece | None:
        """The piece on a square (0 to 80), None if it is empty."""
        return PIECES.get(self.piece_code(square))

    def has_legal_moves(self) -> bool:
        return bool(self.legal_moves)

    def is_checkmate(self) -> bool:
        """Whether the side to move is in check and has no legal move."""
        return self.is_check() and not self.legal_moves

    def is_game_over(self) -> bool:
        """Whether the game has ended by the rules: see `outcome`."""
        return self.outcome() is not None

    def outcome(self) -> Outcome | None:
        """The end of the game by the rules, None if it continues: no legal move, or the fourth
        occurrence of the position in the history."""
        if not self.legal_moves:
            reason = Termination.CHECKMATE if self.is_check() else Termination.NO_LEGAL_MOVES
            return Outcome(reason, 1 - self.turn)
        match self.repetition():
            case Repetition.DRAW:
                return Outcome(Termination.SENNICHITE, None)
            case Repetition.WIN:
                return Outcome(Termination.PERPETUAL_CHECK, self.turn)
            case Repetition.LOSS:
                return Outcome(Termination.PERPETUAL_CHECK, 1 - self.turn)
        return None

    def declaration(self, rule: int = 27) -> Declaration:
        """The result of an entering-king declaration now, by the 27-point or the 24-point rule."""
        if rule not in (24, 27):
            raise ValueError(f"the rule is 24 or 27, not {rule}")
        points = self.declaration_points()
        if points is None:
            return Declaration.NONE
        if points >= DECLARATION_POINTS[str(rule)][self.turn]:
            return Declaration.WIN
        return Declaration.DRAW if rule == 24 and points >= 24 else Declaration.NONE

    def push_all(self, moves: Iterable[Move | str]) -> None:
        """Push moves in order; strings are USI. Moves before an illegal one stay pushed."""
        if isinstance(moves, str):
            raise not_expected("moves", moves, "a list of moves")
        for move in moves:
            if isinstance(move, str):
                self.push_usi(move)
            else:
                self.push(move)

    def western(self, move: Move | str) -> str:
        """A legal move in Western notation (Hodges): `P-7f`, `Bx2b+`, `S*5e`, `G6i-5h`, `N-7c=`.

        Files are digits and ranks letters; `=` declines a promotion. The origin is added if another
        piece of the same type could move there. Raises MoveError or IllegalMoveError.
        """
        check_type("move", move, str, Move)
        move = self.parse_usi(move if isinstance(move, str) else move.usi())
        to = square_name(move.to_square)
        if move.drop is not None:
            return f"{PieceType(move.drop).symbol}*{to}"
        origin = move.from_square
        assert origin is not None
        piece = self.piece_at(origin)
        assert piece is not None
        others = {
            other.from_square
            for other in self.legal_moves
            if other.to_square == move.to_square and other.from_square is not None
        }
        alike = [square for square in others if self.piece_at(square) == piece]
        text = piece.type.symbol
        if len(alike) > 1:
            text += square_name(origin)
        text += ("-" if self.piece_at(move.to_square) is None else "x") + to
        if move.promotion:
            return text + "+"
        could = self.is_legal(Move.from_usi(move.usi() + "+"))
        return text + "=" * could

    def bod(self) -> str:
        """The position as a BOD diagram, as used by KIF files and GUIs."""
        lines = [f"後手の持駒：{self._hand_text(WHITE)}"]
        lines.append("  " + " ".join(reversed(_FILES)))
        lines.append("+" + "-" * 27 + "+")
        for rank in range(9):
            cells = (self.piece_at(9 * file + rank) for file in range(8, -1, -1))
            row = "".join(
                " ・" if piece is None else f"{' v'[piece.color]}{piece.type.kanji}"
                for piece in cells
            )
            lines.append(f"|{row}|{_RANKS[rank]}")
        lines.append("+" + "-" * 27 + "+")
        lines.append(f"先手の持駒：{self._hand_text(BLACK)}")
        lines.append(f"手番：{'先後'[self.turn]}手　手数＝{self.ply - 1}")
        return "\n".join(lines)

    def _hand_text(self, color: int) -> str:
        held = [(type_, self.hand(color, type_)) for type_ in HAND_TYPES]
        return "　".join(t.kanji + _NUMBERS[n] for t, n in held if n) or "なし"

    def __str__(self) -> str:
        return self.bod()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sfen()!r})"

    def svg(
        self,
        arrows: Iterable[tuple[Move | str, float]] = (),
        lastmove: Move | str | None = None,
        *,
        flipped: bool = False,
        width: int = 520,
        labels: bool = True,
        pieces: PieceStyle = "kanji",
    ) -> str:
        """Draw the board with hands as SVG text.

        arrows: moves (Move or USI) with a weight from 0 to 1, which sets their thickness; with
        `labels`, the weight is printed in per cent. lastmove: highlighted; by default the last move
        of the history. flipped: White at the bottom. pieces: "kanji", or "western" for letters with
        each piece's moves. Raises MoveError for an unreadable move, ValueError for other pieces.
        """
        check_choice("pieces", pieces, get_args(PieceStyle))
        drawn = [_as_arrow(arrow) for arrow in arrows]
        if lastmove is None:
            lastmove = self.moves[-1] if self.moves else None
        squares = {
            square: piece for square in range(81) if (piece := self.piece_at(square)) is not None
        }
        hands = {
            color: [(t, n) for t in HAND_TYPES if (n := self.hand(color, t))] for color in COLORS
        }
        return board_svg(
            squares,
            hands,
            turn=self.turn,
            arrows=drawn,
            lastmove=None if lastmove is None else _as_move(lastmove),
            check=self.king(self.turn) if self.is_check() else None,
            flipped=flipped,
            width=width,
            labels=labels,
            style=pieces,
        )

    def _repr_svg_(self) -> str:
        return self.svg()


def _as_move(move: Move | str) -> Move:
    return Move.from_usi(move) if isinstance(move, str) else move


def _as_arrow(arrow: object) -> tuple[Move, float]:
    if not isinstance(arrow, tuple | list) or len(arrow) != 2:
        raise not_expected("arrows", arrow, "pairs of a move and its weight")
    move, weight = arrow
    return _as_move(move), float(weight)


def _split_usi(position: str) -> tuple[str, list[str]]:
    """Split an SFEN, or the arguments of USI's `position`, into (SFEN or `startpos`, moves)."""
    if not any(word in position for word in ("moves", "sfen", "startpos", "position")):
        return position, []
    words = position.split()
    for word in ("position", "sfen"):
        if words[:1] == [word]:
            del words[0]
    cut = words.index("moves") if "moves" in words else len(words)
    if words[:1] == ["startpos"] and cut > 1:
        raise SfenError(f"expected 'moves' after 'startpos', found {words[1]!r}")
    return " ".join(words[:cut]), words[cut + 1 :]


def _rebuild(cls: type[Board], sfen: str, moves: list[int]) -> Board:
    board = cls(sfen)
    for move16 in moves:
        board.push(Move.from_move16(move16))
    return board
