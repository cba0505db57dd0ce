from typing import Any

import numpy
import numpy.typing


class RecordError(ValueError):
    pass

NO_SCORE: int = -2147483648

MATE_CP: int = 30000

NO_TIME: int = -1

NO_CANDIDATES: int = 65535

HCPE3_MAX_PLIES: int = 513

def read_hcpe3(data: numpy.typing.NDArray[numpy.uint8], begin: int = 0, max_games: int = ...) -> tuple[dict[str, Any], list[tuple[int, int, int, str, int]], int]: ...

def read_csa(data: numpy.typing.NDArray[numpy.uint8], begin: int = 0, max_games: int = ...) -> tuple[dict[str, Any], list[tuple[int, int, int, str, int]], int]: ...

def hcpe3_samples(data: numpy.typing.NDArray[numpy.uint8]) -> tuple[dict[str, Any], list[tuple[int, int, int, str, int]]]: ...

def hcpe3_sample_moves(data: numpy.typing.NDArray[numpy.uint8]) -> tuple[dict[str, Any], tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint16], numpy.typing.NDArray[numpy.uint16], numpy.typing.NDArray[numpy.uint16]], list[tuple[int, int, int, str, int]]]: ...

def fixed_samples(format: str, data: numpy.typing.NDArray[numpy.uint8], begin: int = 0, max_records: int = ...) -> tuple[dict[str, Any], list[tuple[int, int, int, str, int]], int]: ...

def record_size(format: str) -> int: ...

def fixed_fields(format: str) -> list[tuple[str, str, int]]:
    """
    Name, numpy type and count of each field of a record, in order, without gaps.
    """

def count_valid(format: str, data: numpy.typing.NDArray[numpy.uint8], limit: int) -> int: ...

def write_fixed(format: str, hcp: numpy.typing.NDArray[numpy.uint8], move16: numpy.typing.NDArray[numpy.uint16], score_cp: numpy.typing.NDArray[numpy.int16], result: numpy.typing.NDArray[numpy.float32], ply: numpy.typing.NDArray[numpy.int16], end_ply: numpy.typing.NDArray[numpy.int16], end: numpy.typing.NDArray[numpy.uint8]) -> bytes: ...

def write_hcpe3(hcp: numpy.typing.NDArray[numpy.uint8], move16: numpy.typing.NDArray[numpy.uint16], score_cp: numpy.typing.NDArray[numpy.int16], result: numpy.typing.NDArray[numpy.float32], ply: numpy.typing.NDArray[numpy.int16], end_ply: numpy.typing.NDArray[numpy.int16], end: numpy.typing.NDArray[numpy.uint8], game: numpy.typing.NDArray[numpy.int32], first: numpy.typing.NDArray[numpy.int64], candidates: numpy.typing.NDArray[numpy.uint16], visits: numpy.typing.NDArray[numpy.uint16], played: numpy.typing.NDArray[numpy.uint16]) -> bytes: ...

class GameTable:
    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    def append(self, sfen: str, winner: int, end: int, opponent: int, end_time_ms: int, move16: numpy.typing.NDArray[numpy.uint16], score_cp: numpy.typing.NDArray[numpy.int32], time_ms: numpy.typing.NDArray[numpy.int32], candidates: numpy.typing.NDArray[numpy.uint16] | None, candidate_move16: numpy.typing.NDArray[numpy.uint16], candidate_visits: numpy.typing.NDArray[numpy.uint16], texts: list[tuple[int, str, str]]) -> None: ...

    def hcpe3(self, game: int) -> bytes: ...

    def csa(self, game: int) -> bytes: ...

    def samples(self) -> dict[str, Any]: ...

def position_keys(hcp: numpy.typing.NDArray[numpy.uint8]) -> numpy.typing.NDArray[numpy.uint64]:
    """
    uint64 [N] from uint8 [N, 32]: equal positions (board, hands, turn) get equal keys.
    """

def report_cut_files() -> None:
    """
    Name a mapped file that is cut while it is in use, and end the process with status 1, instead of a bus error. No-op where that signal has another handler.
    """

class PositionSet:
    """A set of positions by a 64-bit hash of their hcp."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    def add(self, hcp: numpy.typing.NDArray[numpy.uint8]) -> numpy.typing.NDArray[numpy.bool_]:
        """Adds the rows, uint8 [N, 32]. Returns bool [N]: which were new."""

    def contains(self, hcp: numpy.typing.NDArray[numpy.uint8]) -> numpy.typing.NDArray[numpy.bool_]:
        """bool [N]: which of the rows, uint8 [N, 32], are in the set."""
