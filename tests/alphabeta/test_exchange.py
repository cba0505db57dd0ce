"""Static exchange evaluation against a plain recursion over captures on one square."""

from oracles import VALUES, random_positions

from komadori._core.alphabeta import exchange_gains
from komadori.rules import Board, Move

KING = 8


def swing(kind: int) -> int:
    """Gain of capturing this piece: it leaves the board and enters the hand unpromoted."""
    return VALUES[kind] + VALUES[kind - 8 if kind > KING else kind]


def take_back(board: Board, square: int) -> int:
    """The best result of captures on the square for the side to move; standing pat is allowed.

    Simplified like `exchange_gains`: the cheapest attacker captures first and doesn't promote,
    pins and checks are ignored, a king captures only undefended pieces.
    """
    takers = []
    for origin in range(81):
        code = board.piece_code(origin)
        if code and code >> 4 == board.turn and attacks(board, origin, square):
            takers.append((ORDER.index(code & 15), origin))
    if not takers:
        return 0
    rank, origin = min(takers)
    victim = board.piece_code(square) & 15
    after = moved(board, origin, square)
    if ORDER[rank] == KING and any(
        attacks(after, other, square)
        for other in range(81)
        if after.piece_code(other) and after.piece_code(other) >> 4 == after.turn
    ):
        return 0
    return max(0, swing(victim) - take_back(after, square))


#: Types by value, the cheapest first; the king last.
ORDER = [1, 2, 9, 3, 10, 11, 4, 12, 7, 5, 13, 6, 14, 8]


class Bare:
    """A board that may be illegal, and the side to move."""

    def __init__(self, codes: list[int], turn: int) -> None:
        self.codes, self.turn = codes, turn

    def piece_code(self, square: int) -> int:
        return self.codes[square]


def moved(board: Bare, origin: int, square: int, promote: bool = False) -> Bare:
    codes = list(board.codes)
    codes[square] = codes[origin] + 8 * promote
    codes[origin] = 0
    return Bare(codes, 1 - board.turn)


STEPS = {
    "gold": [(0, -1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1)],
    1: [(0, -1)],
    3: [(1, -2), (-1, -2)],
    4: [(0, -1), (1, -1), (-1, -1), (1, 1), (-1, 1)],
    8: [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y],
}
STRAIGHT, DIAGONAL = [(0, -1), (0, 1), (1, 0), (-1, 0)], [(1, 1), (1, -1), (-1, 1), (-1, -1)]
SLIDES = {2: [(0, -1)], 5: DIAGONAL, 13: DIAGONAL, 6: STRAIGHT, 14: STRAIGHT}


def attacks(board: Bare, origin: int, square: int) -> bool:
    code = board.piece_code(origin)
    kind, sign = code & 15, 1 if code >> 4 == 0 else -1
    file, rank = divmod(origin, 9)
    steps = STEPS.get(kind, [])
    if kind in (7, 9, 10, 11, 12):
        steps = STEPS["gold"]
    elif kind in (13, 14):
        steps = STEPS[8]
    for x, y in steps:
        to = (file + x * sign, rank + y * sign)
        if to == divmod(square, 9):
            return True
    for x, y in SLIDES.get(kind, []):
        f, r = file, rank
        while True:
            f, r = f + x * sign, r + y * sign
            if not (0 <= f < 9 and 0 <= r < 9):
                break
            if 9 * f + r == square:
                return True
            if board.piece_code(9 * f + r):
                break
    return False


def gain_of(board: Board, move: Move) -> int:
    bare = Bare([board.piece_code(s) for s in range(81)], board.turn)
    to = move.to_square
    victim = bare.piece_code(to) & 15
    gain = swing(victim) if victim else 0
    if move.drop is not None:
        codes = list(bare.codes)
        codes[to] = move.drop + 16 * board.turn
        after = Bare(codes, 1 - board.turn)
    else:
        origin = move.from_square
        assert origin is not None
        kind = bare.piece_code(origin) & 15
        if kind == KING:
            return gain  # legal, so no recapture
        if move.promotion:
            gain += VALUES[kind + 8] - VALUES[kind]
        after = moved(bare, origin, to, move.promotion)
    return gain - take_back(after, to)


def test_equals_a_plain_recursion() -> None:
    compared = losing = 0
    for board in random_positions(40, seed=21):
        for move in list(board.legal_moves)[::3]:
            gain = gain_of(board, move)
            losing += gain < 0
            compared += 1
            assert exchange_gains(board, move.move16, gain), (board.sfen(), move.usi(), gain)
            assert not exchange_gains(board, move.move16, gain + 1), (board.sfen(), move.usi())
    assert compared > 500
    assert losing > 100
