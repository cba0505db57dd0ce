"""Mate problems, random positions and the naive solver used by the tests."""

from __future__ import annotations

import lzma
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from komadori.rules import Board, Move, Repetition

DATA = Path(__file__).parent / "data"
#: The whole collection, if it is present.
ALL_SHORT = Path(__file__).resolve().parents[3] / "shared" / "data" / "tsume" / "mate-1-to-7.tsv.xz"


class Problem(NamedTuple):
    plies: int
    sfen: str


def read_problems(path: Path) -> list[Problem]:
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [Problem(int(row[0]), row[1]) for row in rows]


def assert_mates(board: Board, moves: tuple[Move, ...]) -> None:
    """Replays a line by the rules: each attacker's move a check, mate at the end."""
    replay = board.copy()
    attacker = replay.turn
    for move in moves:
        attacks = replay.turn == attacker
        replay.push(move)  # raises if it isn't legal
        assert not attacks or replay.is_check()
        assert replay.repetition() not in (Repetition.DRAW, Repetition.WIN, Repetition.LOSS)
    assert replay.turn != attacker
    assert replay.is_checkmate()


def oracle_mates(board: Board, plies: int) -> bool:
    """Return True if the side to move mates by checks within `plies`; tries every line."""
    for move in list(board.legal_moves):
        board.push(move)
        mated = board.is_check() and _oracle_is_mated(board, plies - 1)
        board.pop()
        if mated:
            return True
    return False


def _oracle_is_mated(board: Board, plies: int) -> bool:
    replies = list(board.legal_moves)
    if not replies:
        return True
    if plies < 2:
        return False
    for reply in replies:
        board.push(reply)
        mated = oracle_mates(board, plies - 1)
        board.pop()
        if not mated:
            return False
    return True


def random_games(games: int, plies: int, seed: int) -> Iterator[Board]:
    """Every position of games played at random, as one board that changes."""
    rng = random.Random(seed)
    for _ in range(games):
        board = Board()
        for _ in range(plies):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
            yield board


def random_attacks(count: int, seed: int) -> Iterator[Board]:
    """Positions with a few black pieces round White's king and a few in hand, most without a
    black king; White has some defenders and the rest in hand."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        cells: dict[tuple[int, int], str] = {}
        file, rank = rng.randrange(9), rng.randrange(9)
        cells[file, rank] = "k"
        box = {"P": 18, "L": 4, "N": 4, "S": 4, "G": 4, "B": 2, "R": 2}

        def take(box: dict[str, int] = box) -> str:
            letter = rng.choice([p for p, n in box.items() if n])
            box[letter] -= 1
            return letter

        for letters, number in ((str.upper, rng.randint(2, 5)), (str.lower, rng.randint(0, 3))):
            for _ in range(number):
                spot = file + rng.randint(-3, 3), rank + rng.randint(-3, 3)
                if spot in cells or not (0 <= spot[0] < 9 and 0 <= spot[1] < 9):
                    continue
                letter = take()
                promoted = "+" if letter != "G" and rng.random() < 0.3 else ""
                cells[spot] = promoted + letters(letter)
        if rng.random() < 0.3:
            spot = rng.randrange(9), rng.randrange(9)
            if spot not in cells:
                cells[spot] = "K"
        black = [take() for _ in range(rng.randint(1, 4))]
        white = [p for p, n in box.items() for _ in range(n) if rng.random() < 0.5]
        rows = []
        for r in range(9):
            row, gap = "", 0
            for f in range(8, -1, -1):
                if (f, r) in cells:
                    row += (str(gap) if gap else "") + cells[f, r]
                    gap = 0
                else:
                    gap += 1
            rows.append(row + (str(gap) if gap else ""))
        held = "".join(
            (str(hand.count(p)) if hand.count(p) > 1 else "") + turn(p)
            for hand, turn in ((black, str.upper), (white, str.lower))
            for p in sorted(set(hand))
        )
        try:
            board = Board(f"{'/'.join(rows)} b {held or '-'} 1")
        except ValueError:  # stuck pieces, White in check
            continue
        made += 1
        yield board
