import enum

import komadori._core.rules


class MateStatus(enum.Enum):
    """The result of a mate search."""

    MATE = 0

    NO_MATE = 1

    UNKNOWN = 2

class StopFlag:
    """Stops the solves that it was passed to; may be set from any thread."""

    def __init__(self) -> None: ...

    def set(self) -> None: ...

    def clear(self) -> None: ...

    def is_set(self) -> bool: ...

class SolveResult:
    @property
    def status(self) -> MateStatus: ...

    @property
    def moves(self) -> list[int]: ...

    @property
    def nodes(self) -> int: ...

    @property
    def is_shortest(self) -> bool: ...

class Solver:
    def __init__(self, hash_mb: float) -> None: ...

    def solve(self, position: komadori._core.rules.Position, max_nodes: int, max_ply: int, time_ms: int, shortest: bool, cpu_fraction: float, stop: StopFlag | None) -> SolveResult: ...

    @property
    def permille_used(self) -> int: ...

    @property
    def table_bytes(self) -> int: ...

def mate_within(position: komadori._core.rules.Position, plies: int) -> int:
    """The first move's move16, 0 if there is no mate."""

def checking_moves(position: komadori._core.rules.Position) -> list[int]: ...
