from collections.abc import Sequence
from typing import overload

import komadori._core.rules


class Limits:
    """Limits of one search; 0 is none."""

    def __init__(self) -> None: ...

    @property
    def depth(self) -> int: ...

    @depth.setter
    def depth(self, arg: int, /) -> None: ...

    @property
    def nodes(self) -> int: ...

    @nodes.setter
    def nodes(self, arg: int, /) -> None: ...

    @property
    def minimum_ms(self) -> int: ...

    @minimum_ms.setter
    def minimum_ms(self, arg: int, /) -> None: ...

    @property
    def optimum_ms(self) -> int: ...

    @optimum_ms.setter
    def optimum_ms(self, arg: int, /) -> None: ...

    @property
    def maximum_ms(self) -> int: ...

    @maximum_ms.setter
    def maximum_ms(self, arg: int, /) -> None: ...

    @property
    def infinite(self) -> bool: ...

    @infinite.setter
    def infinite(self, arg: bool, /) -> None: ...

    @property
    def searchmoves(self) -> list[int]: ...

    @searchmoves.setter
    def searchmoves(self, arg: Sequence[int], /) -> None: ...

class Parts:
    """Parts of the search that can be disabled."""

    def __init__(self) -> None: ...

    @property
    def table(self) -> bool: ...

    @table.setter
    def table(self, arg: bool, /) -> None: ...

    @property
    def quiescence(self) -> bool: ...

    @quiescence.setter
    def quiescence(self, arg: bool, /) -> None: ...

    @property
    def null_move(self) -> bool: ...

    @null_move.setter
    def null_move(self, arg: bool, /) -> None: ...

    @property
    def razoring(self) -> bool: ...

    @razoring.setter
    def razoring(self, arg: bool, /) -> None: ...

    @property
    def futility(self) -> bool: ...

    @futility.setter
    def futility(self, arg: bool, /) -> None: ...

    @property
    def probing(self) -> bool: ...

    @probing.setter
    def probing(self, arg: bool, /) -> None: ...

    @property
    def reductions(self) -> bool: ...

    @reductions.setter
    def reductions(self, arg: bool, /) -> None: ...

    @property
    def singular_extension(self) -> bool: ...

    @singular_extension.setter
    def singular_extension(self, arg: bool, /) -> None: ...

    @property
    def corrections(self) -> bool: ...

    @corrections.setter
    def corrections(self, arg: bool, /) -> None: ...

    @property
    def mate_in_one(self) -> bool: ...

    @mate_in_one.setter
    def mate_in_one(self, arg: bool, /) -> None: ...

    @property
    def mate_distance(self) -> bool: ...

    @mate_distance.setter
    def mate_distance(self, arg: bool, /) -> None: ...

    @property
    def aspiration(self) -> bool: ...

    @aspiration.setter
    def aspiration(self, arg: bool, /) -> None: ...

    @property
    def repetition(self) -> bool: ...

    @repetition.setter
    def repetition(self, arg: bool, /) -> None: ...

    @property
    def declaration(self) -> bool: ...

    @declaration.setter
    def declaration(self, arg: bool, /) -> None: ...

    @property
    def all_moves(self) -> bool: ...

    @all_moves.setter
    def all_moves(self, arg: bool, /) -> None: ...

class Turns:
    """
    Lets at most this many threads of the engines that share it run at a time, in turns.
    """

    def __init__(self, threads: int) -> None: ...

class Options:
    """Options of the engine."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, other: Options) -> None: ...

    @property
    def threads(self) -> int: ...

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

    @property
    def hash_mb(self) -> int: ...

    @hash_mb.setter
    def hash_mb(self, arg: int, /) -> None: ...

    @property
    def multi_pv(self) -> int: ...

    @multi_pv.setter
    def multi_pv(self, arg: int, /) -> None: ...

    @property
    def max_ply(self) -> int: ...

    @max_ply.setter
    def max_ply(self, arg: int, /) -> None: ...

    @property
    def declaration_points(self) -> list[int]: ...

    @declaration_points.setter
    def declaration_points(self, arg: Sequence[int], /) -> None: ...

    @property
    def policy_depth(self) -> int: ...

    @policy_depth.setter
    def policy_depth(self, arg: int, /) -> None: ...

    @property
    def policy_nodes(self) -> int: ...

    @policy_nodes.setter
    def policy_nodes(self, arg: int, /) -> None: ...

    @property
    def niceness(self) -> int: ...

    @niceness.setter
    def niceness(self, arg: int, /) -> None: ...

    @property
    def turns(self) -> Turns | None: ...

    @turns.setter
    def turns(self, turns: Turns | None, /) -> None: ...

    @property
    def parts(self) -> Parts: ...

    @parts.setter
    def parts(self, arg: Parts, /) -> None: ...

    def set_constant(self, name: str, value: int) -> None:
        """Set one of constants()."""

    def set_draw_scores(self, black_cp: int, white_cp: int) -> None: ...

def constants() -> list[tuple[str, int, int, int]]:
    """The search's tunable constants: (name, value, minimum, maximum)."""

class Info:
    """One line of an iteration."""

    @property
    def depth(self) -> int: ...

    @property
    def seldepth(self) -> int: ...

    @property
    def nodes(self) -> int: ...

    @property
    def time_ms(self) -> int: ...

    @property
    def hashfull(self) -> int: ...

    @property
    def multipv(self) -> int: ...

    @property
    def score_cp(self) -> int: ...

    @property
    def is_lower_bound(self) -> bool: ...

    @property
    def is_upper_bound(self) -> bool: ...

    @property
    def mate_plies(self) -> int | None: ...

    @property
    def pv(self) -> list[int]: ...

class Result:
    """The result of a search; moves as move16."""

    @property
    def best(self) -> int | None: ...

    @property
    def ponder(self) -> int | None: ...

    @property
    def declares_win(self) -> bool: ...

    @property
    def lines(self) -> list[Info]: ...

class Engine:
    """
    Searches in the background, without the GIL. What needs the engine for itself waits until no search runs.
    """

    def __init__(self, evaluator: str, options: Options) -> None: ...

    @property
    def options(self) -> Options: ...

    def set_options(self, options: Options) -> None: ...

    def new_game(self) -> None: ...

    def evaluate(self, position: komadori._core.rules.Position) -> int: ...

    def evaluator_mismatches(self, start: komadori._core.rules.Position, steps: int, seed: int) -> int: ...

    def start(self, position: komadori._core.rules.Position, limits: Limits) -> None: ...

    def search(self, position: komadori._core.rules.Position, limits: Limits) -> Result:
        """Searches on the calling thread and returns the result."""

    def wait(self, timeout_ms: int) -> list[Info]: ...

    def step(self) -> list[tuple[int, str]]:
        """Key and SFEN of the positions that wait for priors."""

    def supply(self, key: int, moves: Sequence[int], log_probabilities: Sequence[float]) -> None:
        """Supplies the policy's priors of a position; moves as move16."""

    @property
    def answered(self) -> int:
        """Positions supplied since new_game."""

    def cutoffs(self) -> tuple[list[int], list[int]]:
        """
        Beta cutoffs of the last search by remaining depth, and those by the first move.
        """

    @property
    def is_searching(self) -> bool: ...

    def stop(self) -> None: ...

    def ponderhit(self, limits: Limits) -> None: ...

    def result(self) -> Result: ...

    @property
    def nodes(self) -> int: ...

    @property
    def table_bytes(self) -> int: ...

def exchange_gains(position: komadori._core.rules.Position, move16: int, threshold_cp: int) -> bool: ...

class Outcome:
    """The result of one search thread."""

    def __init__(self, completed_depth: int, depth: int, score_cp: int, bound: int = 3) -> None: ...

def is_preferred(helper: Outcome, best: Outcome, has_one_line: bool) -> bool:
    """Whether a helper thread's result is played."""

def material(position: komadori._core.rules.Position) -> int: ...

def key_after(position: komadori._core.rules.Position, move16: int) -> int: ...

def staged_moves(position: komadori._core.rules.Position, kind: str, all: bool) -> list[int]: ...
