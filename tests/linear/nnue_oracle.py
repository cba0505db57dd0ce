"""NNUE by its definition, from SFENs and the bytes of nn.bin alone, and random networks."""

from __future__ import annotations

import re
import struct

import numpy as np
from numpy.typing import NDArray

from komadori.rules import BLACK, Board

VERSION = 0x7AF32F16
HALF_KP_HASHES = (0x3E5AA6EE, 0x5D69D7B8, 0x63337156)  # whole, transformer, layers
K_P_TRANSFORMER_HASH = 0xD3CEE169 ^ (0x764CFB4B << 1 & 0xFFFFFFFF) ^ 512
INPUTS = {"k-p": 1548 + 162, "halfkp": 81 * 1548}

#: (own, enemy) blocks of YaneuraOu's BonaPiece, less one in hand so that the first piece is + 1.
HAND = {"P": (0, 19), "L": (38, 43), "N": (48, 53), "S": (58, 63), "G": (68, 73)}
HAND |= {"B": (78, 81), "R": (84, 87)}
BOARD = {"P": 90, "L": 252, "N": 414, "S": 576, "G": 738, "B": 900, "+B": 1062, "R": 1224}
BOARD |= {"+R": 1386, "+P": 738, "+L": 738, "+N": 738, "+S": 738}


def pieces(board: Board, view: int) -> tuple[list[int], int, int]:
    """A side's piece indices, and the squares of its own and the enemy king; 5i, 5a by default."""
    rows, _, hands, _ = board.sfen().split()
    found, kings = [], [44, 36]
    for rank, row in enumerate(rows.split("/")):
        file = 8
        for piece in re.findall(r"\d|\+?[A-Za-z]", row):
            if piece.isdigit():
                file -= int(piece)
                continue
            is_enemy = piece[-1].islower() != bool(view)
            square = 9 * file + rank
            square = 80 - square if view else square
            if piece.upper() == "K":
                kings[is_enemy] = square
            else:
                found.append(BOARD[piece.upper()] + 81 * is_enemy + square)
            file -= 1
    for count, piece in re.findall(r"(\d*)([A-Za-z])", hands):
        is_enemy = piece.islower() != bool(view)
        found += [HAND[piece.upper()][is_enemy] + n for n in range(1, int(count or 1) + 1)]
    return found, kings[0], kings[1]


def inputs(architecture: str, board: Board, view: int) -> list[int]:
    found, own_king, enemy_king = pieces(board, view)
    if architecture == "halfkp":
        return [1548 * own_king + p for p in found]
    return [*found, 1548 + own_king, 1548 + 81 + enemy_king]


class Network:
    """The arrays of an nn.bin."""

    def __init__(self, content: bytes) -> None:
        version, self.hash, length = struct.unpack_from("<III", content)
        assert version == VERSION
        self.description = content[12 : 12 + length].decode()
        at = 12 + length
        (self.transformer_hash,) = struct.unpack_from("<I", content, at)
        is_k_p = self.transformer_hash == K_P_TRANSFORMER_HASH
        self.architecture = "k-p" if is_k_p else "halfkp"
        at += 4

        def array(dtype: str, *shape: int) -> NDArray[np.int64]:
            nonlocal at
            values = np.frombuffer(content, dtype, int(np.prod(shape)), at)
            at += values.nbytes
            return values.reshape(shape).astype(np.int64)

        self.bias = array("<i2", 256)
        self.rows = array("<i2", INPUTS[self.architecture], 256)
        self.layers_hash = int(array("<u4", 1)[0])
        self.layers = [(array("<i4", out), array("i1", out, n)) for out, n in LAYERS]
        assert at == len(content)

    def value(self, board: Board, fv_scale: int = 16) -> int:
        views = (0, 1) if board.turn == BLACK else (1, 0)
        sums = [self.bias + self.rows[inputs(self.architecture, board, v)].sum(0) for v in views]
        x = np.clip(np.concatenate(sums), 0, 127)
        for bias, weights in self.layers[:2]:
            x = np.clip((bias + weights @ x) >> 6, 0, 127)
        bias, weights = self.layers[2]
        out = int((bias + weights @ x)[0])
        return (abs(out) // fv_scale) * (1 if out >= 0 else -1)


LAYERS = ((32, 512), (32, 32), (1, 32))


def random_network(architecture: str, seed: int) -> bytes:
    """The bytes of a network whose activations are neither all zero nor all saturated."""
    rng = np.random.default_rng(seed)
    whole, transformer, layers = HALF_KP_HASHES
    if architecture == "k-p":
        whole, transformer = K_P_TRANSFORMER_HASH ^ layers, K_P_TRANSFORMER_HASH
    description = b"made at random"
    parts = [struct.pack("<III", VERSION, whole, len(description)), description]
    parts += [struct.pack("<I", transformer), rng.integers(-50, 90, 256).astype("<i2").tobytes()]
    parts.append(rng.integers(-40, 41, (INPUTS[architecture], 256), "<i2").tobytes())
    parts.append(struct.pack("<I", layers))
    for out, n in LAYERS:
        parts.append(rng.integers(-2000, 4000, out).astype("<i4").tobytes())
        parts.append(rng.integers(-128, 128, (out, n)).astype("i1").tobytes())
    return b"".join(parts)
