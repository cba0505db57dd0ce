from collections.abc import Sequence
from typing import Any

import numpy
import numpy.typing

import komadori._core.alphabeta
import komadori._core.rules


CANDIDATE_VISITS: int = 1000

class SearchBounds:
    """Limits of every search of a game; 0 is none."""

    def __init__(self, depth: int, nodes: int, weight: float) -> None: ...

    @property
    def depth(self) -> int: ...

    @property
    def nodes(self) -> int: ...

    @property
    def weight(self) -> float: ...

class Settings:
    """Settings of teacher games."""

    def __init__(self) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    @property
    def searches(self) -> list[SearchBounds]: ...

    @searches.setter
    def searches(self, arg: Sequence[SearchBounds], /) -> None: ...

    @property
    def opening_fraction(self) -> float: ...

    @opening_fraction.setter
    def opening_fraction(self, arg: float, /) -> None: ...

    @property
    def opening_min_plies(self) -> int: ...

    @opening_min_plies.setter
    def opening_min_plies(self, arg: int, /) -> None: ...

    @property
    def opening_max_plies(self) -> int: ...

    @opening_max_plies.setter
    def opening_max_plies(self, arg: int, /) -> None: ...

    @property
    def random_moves(self) -> int: ...

    @random_moves.setter
    def random_moves(self, arg: int, /) -> None: ...

    @property
    def multi_pv(self) -> int: ...

    @multi_pv.setter
    def multi_pv(self, arg: int, /) -> None: ...

    @property
    def sampled_plies(self) -> int: ...

    @sampled_plies.setter
    def sampled_plies(self, arg: int, /) -> None: ...

    @property
    def sample_temperature_cp(self) -> float: ...

    @sample_temperature_cp.setter
    def sample_temperature_cp(self, arg: float, /) -> None: ...

    @property
    def sample_window_cp(self) -> int: ...

    @sample_window_cp.setter
    def sample_window_cp(self, arg: int, /) -> None: ...

    @property
    def candidate_fraction(self) -> float: ...

    @candidate_fraction.setter
    def candidate_fraction(self, arg: float, /) -> None: ...

    @property
    def candidate_temperature_cp(self) -> float: ...

    @candidate_temperature_cp.setter
    def candidate_temperature_cp(self, arg: float, /) -> None: ...

    @property
    def candidate_minimum(self) -> float: ...

    @candidate_minimum.setter
    def candidate_minimum(self, arg: float, /) -> None: ...

    @property
    def candidate_steps(self) -> int: ...

    @candidate_steps.setter
    def candidate_steps(self, arg: int, /) -> None: ...

    @property
    def score_step_cp(self) -> int: ...

    @score_step_cp.setter
    def score_step_cp(self, arg: int, /) -> None: ...

    @property
    def opponent_fraction(self) -> float: ...

    @opponent_fraction.setter
    def opponent_fraction(self, arg: float, /) -> None: ...

    @property
    def opponent_searches(self) -> list[SearchBounds]: ...

    @opponent_searches.setter
    def opponent_searches(self, arg: Sequence[SearchBounds], /) -> None: ...

    @property
    def resign_cp(self) -> int: ...

    @resign_cp.setter
    def resign_cp(self, arg: int, /) -> None: ...

    @property
    def resign_plies(self) -> int: ...

    @resign_plies.setter
    def resign_plies(self, arg: int, /) -> None: ...

    @property
    def play_on_fraction(self) -> float: ...

    @play_on_fraction.setter
    def play_on_fraction(self, arg: float, /) -> None: ...

    @property
    def repetitions(self) -> int: ...

    @repetitions.setter
    def repetitions(self, arg: int, /) -> None: ...

    @property
    def max_plies(self) -> int: ...

    @max_plies.setter
    def max_plies(self, arg: int, /) -> None: ...

    @property
    def inner_fraction(self) -> float: ...

    @inner_fraction.setter
    def inner_fraction(self, arg: float, /) -> None: ...

    @property
    def inner_depth(self) -> int: ...

    @inner_depth.setter
    def inner_depth(self, arg: int, /) -> None: ...

class Openings:
    """Opening lines."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    def add(self, sfen: str, moves: Sequence[str]) -> None:
        """
        Adds a line of USI moves. Raises RulesError for an illegal move or a position that hcp can't represent.
        """

class GameFacts:
    """Statistics of a finished game."""

    @property
    def number(self) -> int: ...

    @property
    def digest(self) -> int:
        """Hash of the initial position and the moves."""

    @property
    def winner(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def plies(self) -> int: ...

    @property
    def scored(self) -> int:
        """Plies to train on."""

    @property
    def differing(self) -> int:
        """Scored plies whose move isn't the best."""

    @property
    def with_candidates(self) -> int:
        """Plies with several candidates."""

    @property
    def foreseen(self) -> int:
        """
        The winner by the resignation rule, of a game played on without resignation.
        """

    @property
    def nodes(self) -> int: ...

class FinishedGame:
    """A finished game in hcpe3."""

    @property
    def facts(self) -> GameFacts: ...

    @property
    def hcpe3(self) -> bytes: ...

    @property
    def inner(self) -> bytes:
        """Positions visited by its searches, each as a game of one ply."""

class Request:
    """The search that a game waits for."""

    @property
    def depth(self) -> int: ...

    @property
    def nodes(self) -> int: ...

    @property
    def multi_pv(self) -> int: ...

    @property
    def by_opponent(self) -> bool: ...

class TeacherGame:
    """A game that requests searches and consumes their results."""

    def __init__(self, settings: Settings, openings: Openings, number: int) -> None: ...

    @property
    def is_over(self) -> bool: ...

    @property
    def initial_sfen(self) -> str: ...

    @property
    def moves(self) -> list[str]:
        """In USI."""

    @property
    def position(self) -> komadori._core.rules.Position: ...

    def request(self) -> Request:
        """Call it once before each answer."""

    def answer(self, lines: Sequence[tuple[str, int]], nodes: int, declares_win: bool = False) -> None:
        """
        lines: (USI move, centipawns from the side to move's view), best first; empty: the side to move resigns. Raises RulesError for an illegal move.
        """

    def finished(self) -> FinishedGame:
        """The finished game; is_over must be true."""

class TeacherGames:
    """Teacher games, one thread per engine."""

    def __init__(self, engines: Sequence[komadori._core.alphabeta.Engine], opponents: Sequence[komadori._core.alphabeta.Engine], settings: Settings, openings: Openings) -> None: ...

    def add(self, numbers: Sequence[int]) -> None:
        """Queues games, to be played in this order."""

    @property
    def waiting(self) -> int:
        """The number of unfinished games."""

    def take(self, timeout_ms: int) -> list[FinishedGame]:
        """
        The games finished since the last call; waits up to the timeout for one.
        """

    def stop(self) -> None:
        """Stops the threads; running games are lost."""

    @property
    def nodes(self) -> int:
        """Nodes searched for the finished games."""

NEARBY_BLOCK: int = 1024

class NearbySettings:
    """Positions a few random moves from others."""

    def __init__(self) -> None: ...

    @property
    def seed(self) -> int: ...

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    @property
    def min_plies(self) -> int: ...

    @min_plies.setter
    def min_plies(self, arg: int, /) -> None: ...

    @property
    def max_plies(self) -> int: ...

    @max_plies.setter
    def max_plies(self, arg: int, /) -> None: ...

    @property
    def tactical_fraction(self) -> float: ...

    @tactical_fraction.setter
    def tactical_fraction(self, arg: float, /) -> None: ...

    @property
    def bounds(self) -> SearchBounds: ...

    @bounds.setter
    def bounds(self, arg: SearchBounds, /) -> None: ...

    @property
    def limit_cp(self) -> int: ...

    @limit_cp.setter
    def limit_cp(self, arg: int, /) -> None: ...

    @property
    def evaluated_every(self) -> int: ...

    @evaluated_every.setter
    def evaluated_every(self, arg: int, /) -> None: ...

    @property
    def label_nodes(self) -> int: ...

    @label_nodes.setter
    def label_nodes(self, arg: int, /) -> None: ...

def nearby_position(position: komadori._core.rules.Position, settings: NearbySettings, number: int) -> komadori._core.rules.Position | None:
    """
    The position of draw `number`, without its path; None if the game ends before.
    """

class NearbySearch:
    """Searches positions near others, one thread per engine."""

    def __init__(self, engines: Sequence[komadori._core.alphabeta.Engine], settings: NearbySettings) -> None: ...

    def run(self, hcp: numpy.typing.NDArray[numpy.uint8], result: numpy.typing.NDArray[numpy.float32], first: int) -> dict[str, Any]:
        """
        Columns of samples near the rows; `game` is the index of the row. Row k uses draw first + k. After `stop`, only the rows searched so far.
        """

    def stop(self) -> None:
        """Stops `run` of another thread."""

    @property
    def done(self) -> int:
        """Rows processed."""

    @property
    def nodes(self) -> int: ...

    @property
    def search_seconds(self) -> float:
        """Time inside searches, summed over threads."""
