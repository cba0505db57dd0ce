"""Fuzz every reader of text and bytes: each mutated input must be read or raise a ValueError.

    python tools/fuzz.py --inputs 100000 [--target sfen ...] [--seed 1]

To add a reader, add its valid inputs and the function that reads them to TARGETS. `make sanitize`
runs this with a core built with AddressSanitizer and UBSan.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from komadori.rules import Board, Move

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tools.fuzz_records import RECORDS

HANG_SECONDS = 60  # 500 inputs take less than a second, a few with sanitizers


@dataclass(frozen=True)
class Target:
    """A reader: `seeds` generates valid inputs, `read` reads one and checks the result."""

    seeds: Callable[[random.Random], list[bytes]]
    read: Callable[[bytes], None]
    tokens: tuple[bytes, ...] = ()  # from the grammar, to get past the first checks


class FuzzError(AssertionError):
    """An input that was neither read correctly nor rejected."""


def boards(rng: random.Random, number: int = 40) -> list[Board]:
    """Return positions of random games."""
    found: list[Board] = []
    while len(found) < number:
        board = Board()
        for _ in range(rng.randrange(200)):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
        found.append(board)
    return found


def check_board(board: Board) -> None:
    """Check that a position is consistent, survives a round trip, and can be played."""
    if not board.is_consistent() or Board(board.sfen()) != board:
        raise FuzzError(f"inconsistent: {board.sfen()}")
    moves = list(board.legal_moves)
    if len(moves) != len(board.legal_moves):
        raise FuzzError(f"wrong number of moves: {board.sfen()}")
    board.mate_in_one()
    for move in moves[:3]:
        board.push(move)
        board.pop()


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_sfen(data: bytes) -> None:
    check_board(Board(text(data)))


def read_usi_position(data: bytes) -> None:
    check_board(Board.from_usi(text(data)))


def read_usi_move(data: bytes) -> None:
    move = Move.from_usi(text(data))
    if move.usi() != text(data):
        raise FuzzError(f"read {data!r} as {move}")


MIDGAME = Board("l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1")


def read_csa_move(data: bytes) -> None:
    if MIDGAME.parse_csa(text(data)) not in MIDGAME.legal_moves:
        raise FuzzError("an illegal move was read")


def read_kif_move(data: bytes) -> None:
    if MIDGAME.parse_kif(text(data), last=20) not in MIDGAME.legal_moves:
        raise FuzzError("an illegal move was read")


def read_hcp(data: bytes) -> None:
    check_board(Board.from_hcp(data))


def read_packed_sfen(data: bytes) -> None:
    check_board(Board.from_packed_sfen(data))


def read_move16(data: bytes) -> None:
    bits = int.from_bytes(data[:4], "little", signed=True)
    if MIDGAME.move_from_move16(bits) not in MIDGAME.legal_moves:
        raise FuzzError("an illegal move was read")


def usi_games(rng: random.Random) -> list[bytes]:
    return [
        f"startpos moves {' '.join(move.usi() for move in board.moves)}".encode()
        for board in boards(rng)
    ]


TARGETS: dict[str, Target] = {
    "sfen": Target(
        lambda rng: [board.sfen().encode() for board in boards(rng)],
        read_sfen,
        tuple(b"/ 9 + +P +p k K b w - 2p 18P 10 R 0 1 \0 \xff".split(b" ")),
    ),
    "usi-position": Target(
        usi_games, read_usi_position, (b"moves", b"sfen", b"startpos", b"7g7f", b"P*5e", b" ")
    ),
    "usi-move": Target(
        lambda rng: [move.usi().encode() for move in MIDGAME.legal_moves],
        read_usi_move,
        (b"*", b"+", b"P*", b"1a", b"9i", b"resign"),
    ),
    "csa-move": Target(
        lambda rng: [MIDGAME.csa(move).encode() for move in MIDGAME.legal_moves],
        read_csa_move,
        (b"+", b"-", b"00", b"FU", b"RY", b"%TORYO"),
    ),
    "kif-move": Target(
        lambda rng: [
            write(move).encode()
            for move in MIDGAME.legal_moves
            for write in (MIDGAME.kif, MIDGAME.ki2)
        ],
        read_kif_move,
        tuple("同 　 成 不成 打 左 右 直 上 寄 引 (77) 歩 ７ 六".encode().split(b" ")),
    ),
    "hcp": Target(lambda rng: [board.hcp() for board in boards(rng)], read_hcp),
    "packed-sfen": Target(
        lambda rng: [board.packed_sfen() for board in boards(rng)], read_packed_sfen
    ),
    "move16": Target(
        lambda rng: [move.move16.to_bytes(2, "little") for move in MIDGAME.legal_moves], read_move16
    ),
} | {name: Target(*parts) for name, parts in RECORDS.items()}


def mutated(rng: random.Random, seeds: list[bytes], tokens: tuple[bytes, ...]) -> bytes:
    """Return a valid input with a few mutations."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(8 if tokens else 7):
            case 0 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 1 if data:
                data[at % len(data)] = rng.randrange(256)
            case 2:
                del data[at : at + rng.randrange(1, 5)]
            case 3:
                data[at:at] = rng.randbytes(rng.randrange(1, 4))
            case 4:
                piece = data[at : at + rng.randrange(1, 12)]
                data[at:at] = piece * rng.choice((1, 1, 2, 50))
            case 5:
                other = rng.choice(seeds)
                data[at:] = other[rng.randrange(len(other) + 1) :]
            case 6 if data and rng.random() < 0.2:
                del data[at:]
            case 7:
                data[at:at] = rng.choice(tokens)
    return bytes(data)


def fuzz(name: str, inputs: int, seed: int) -> Counter[str]:
    """Run one target; return the number of inputs read, and of those rejected by type of error.

    Exceptions other than ValueError are re-raised with the input as a note.
    """
    target = TARGETS[name]
    rng = random.Random(f"{name} {seed}")
    seeds = target.seeds(rng)
    counts: Counter[str] = Counter()
    for _ in range(inputs):
        data = mutated(rng, seeds, target.tokens)
        try:
            target.read(data)
            counts["read"] += 1
        except ValueError as error:
            if not str(error):
                raise FuzzError(f"{name}: an error without a message for {data!r}") from error
            counts[type(error).__name__] += 1
        except BaseException as error:
            error.add_note(f"{name}: the input was {data!r}")
            raise
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz every reader of text and bytes.")
    parser.add_argument("--inputs", type=int, default=100_000, help="total over the targets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    arguments = parser.parse_args()
    faulthandler.enable()
    names = arguments.target or list(TARGETS)
    each = -(-arguments.inputs // len(names))
    for name in names:
        start = time.perf_counter()
        total: Counter[str] = Counter()
        for part in range(0, each, 500):
            # A hang in Python or in the core ends the process with a stack dump.
            faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
            total += fuzz(name, min(500, each - part), arguments.seed * 1_000_003 + part)
        faulthandler.cancel_dump_traceback_later()
        seconds = time.perf_counter() - start
        found = ", ".join(f"{kind} {n:,}" for kind, n in total.most_common())
        print(f"{name:<14}{each:>9,} inputs in {seconds:6.1f} s: {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
