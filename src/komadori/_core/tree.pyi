from collections.abc import Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray

import komadori._core.alphabeta
import komadori._core.rules


class TreeOptions:
    """Options of the PUCT search, see `tree/options.h`."""

    def __init__(self) -> None: ...

    @property
    def c_init(self) -> float: ...

    @c_init.setter
    def c_init(self, arg: float, /) -> None: ...

    @property
    def c_base(self) -> float: ...

    @c_base.setter
    def c_base(self, arg: float, /) -> None: ...

    @property
    def fpu_reduction(self) -> float: ...

    @fpu_reduction.setter
    def fpu_reduction(self, arg: float, /) -> None: ...

    @property
    def c_init_root(self) -> float: ...

    @c_init_root.setter
    def c_init_root(self, arg: float, /) -> None: ...

    @property
    def c_base_root(self) -> float: ...

    @c_base_root.setter
    def c_base_root(self, arg: float, /) -> None: ...

    @property
    def fpu_reduction_root(self) -> float: ...

    @fpu_reduction_root.setter
    def fpu_reduction_root(self, arg: float, /) -> None: ...

    @property
    def c_growth(self) -> float: ...

    @c_growth.setter
    def c_growth(self, arg: float, /) -> None: ...

    @property
    def stdev_scale(self) -> float: ...

    @stdev_scale.setter
    def stdev_scale(self, arg: float, /) -> None: ...

    @property
    def stdev_prior(self) -> float: ...

    @stdev_prior.setter
    def stdev_prior(self, arg: float, /) -> None: ...

    @property
    def stdev_prior_weight(self) -> float: ...

    @stdev_prior_weight.setter
    def stdev_prior_weight(self, arg: float, /) -> None: ...

    @property
    def lcb_stdevs(self) -> float: ...

    @lcb_stdevs.setter
    def lcb_stdevs(self, arg: float, /) -> None: ...

    @property
    def lcb_min_visits(self) -> float: ...

    @lcb_min_visits.setter
    def lcb_min_visits(self, arg: float, /) -> None: ...

    @property
    def value_bias(self) -> float: ...

    @value_bias.setter
    def value_bias(self, arg: float, /) -> None: ...

    @property
    def uncertainty_weight(self) -> float: ...

    @uncertainty_weight.setter
    def uncertainty_weight(self, arg: float, /) -> None: ...

    @property
    def temperature(self) -> float: ...

    @temperature.setter
    def temperature(self, arg: float, /) -> None: ...

    @property
    def temperature_root(self) -> float: ...

    @temperature_root.setter
    def temperature_root(self, arg: float, /) -> None: ...

    @property
    def temperature_decay(self) -> float: ...

    @temperature_decay.setter
    def temperature_decay(self, arg: float, /) -> None: ...

    @property
    def visits_per_flight(self) -> int: ...

    @visits_per_flight.setter
    def visits_per_flight(self, arg: int, /) -> None: ...

    @property
    def draw_value(self) -> list[float]: ...

    @draw_value.setter
    def draw_value(self, arg: Sequence[float], /) -> None: ...

    @property
    def draw_ply(self) -> int: ...

    @draw_ply.setter
    def draw_ply(self, arg: int, /) -> None: ...

    @property
    def repetition(self) -> bool: ...

    @repetition.setter
    def repetition(self, arg: bool, /) -> None: ...

    @property
    def mate_in_one(self) -> bool: ...

    @mate_in_one.setter
    def mate_in_one(self, arg: bool, /) -> None: ...

    @property
    def declaration_points(self) -> list[int]: ...

    @declaration_points.setter
    def declaration_points(self, arg: Sequence[int], /) -> None: ...

    def exploration(self, visits: float, at_root: bool) -> float:
        """
        Factor of prior / (1 + visits of the move) in a move's PUCT score, at a node with this
        many visits below it; without the factor of stdev_scale.
        """

class Proof(enum.Enum):
    """The proven value of a position or move."""

    NONE = 0

    WIN = 1

    LOSS = 2

    DRAW = 3

class RootMove:
    """A root move, from the view of the side that makes it."""

    @property
    def move16(self) -> int: ...

    @property
    def visits(self) -> int: ...

    @property
    def value(self) -> float: ...

    @property
    def prior(self) -> float: ...

    @property
    def proof(self) -> Proof: ...

    @property
    def proof_plies(self) -> int: ...

    @property
    def repetition(self) -> komadori._core.rules.Repetition: ...

    @property
    def lower_bound(self) -> float: ...

class TreeStats:
    """
    Counts since the tree was created or cleared, mostly of playouts by their end.
    """

    @property
    def evaluated(self) -> int: ...

    @property
    def terminal(self) -> int: ...

    @property
    def repeated(self) -> int: ...

    @property
    def transposed(self) -> int: ...

    @property
    def dropped(self) -> int: ...

    @property
    def reclaims(self) -> int: ...

    @property
    def depth(self) -> int: ...

class NodeView:
    """A node of the graph, for tests and inspection."""

    @property
    def found(self) -> bool: ...

    @property
    def proof(self) -> Proof: ...

    @property
    def proof_plies(self) -> int: ...

    @property
    def visits(self) -> int: ...

    @property
    def in_flight(self) -> int: ...

    @property
    def is_private(self) -> bool: ...

    @property
    def value_sum(self) -> int:
        """In units of 1/4096."""

    @property
    def square_sum(self) -> int:
        """In units of 1/4096^2."""

    @property
    def value(self) -> float: ...

    @property
    def edges(self) -> list[tuple[int, int, int, float, bool]]:
        """(move16, visits, value sum, prior, lost) of each move."""

def value_bias_bucket(position: komadori._core.rules.Position) -> int:
    """
    Number of the bucket in which value_bias collects errors, by the last two moves.
    """

class Batch:
    """Rows of the caller's arrays and the playouts that wait for them."""

    def __init__(self, inputs: Sequence[NDArray[numpy.float32] | NDArray[numpy.uint8]], features: str = 'dlshogi', labels: str = '2187') -> None:
        """
        inputs: one array per input of the feature table, [rows, *shape], all float32 or, for a binary table, all uint8. labels: the label scheme of the policy output.
        """

    @property
    def rows(self) -> int: ...

class Tree:
    """The PUCT search graph; thread-safe."""

    def __init__(self, memory_bytes: int, options: TreeOptions = ...) -> None: ...

    @property
    def options(self) -> TreeOptions:
        """A copy; assign to change. Options that affect values clear the tree."""

    @options.setter
    def options(self, arg: TreeOptions, /) -> None: ...

    def set_leaf_search(self, engine: komadori._core.alphabeta.Engine | None, nodes: int = 0, weight: float = 0.0, scale_cp: float = 600.0) -> None:
        """
        Mix the value of an alpha-beta search of each leaf into the network's, with this weight in [0, 1]; None: the network's alone. Clears the tree.
        """

    def clear(self) -> None: ...

    def add_root(self) -> int: ...

    def set_root(self, root: int, position: komadori._core.rules.Position) -> int:
        """
        Set a root to a position with its path; returns its number of finished visits.
        """

    def set_search_moves(self, root: int, moves: Sequence[int]) -> None:
        """Restrict the search to these moves (move16); empty: all."""

    def collect(self, root: int, batch: Batch, rows: int, playouts: int = 0, first: int = 0) -> int:
        """
        Add up to `rows` leaves to the batch in up to `playouts` playouts (0: no limit); returns the number of added rows. first: the move16 that every playout starts with; 0: any.
        """

    def set_root_priors(self, root: int, moves: Sequence[int], priors: Sequence[float]) -> None:
        """
        Replace the priors of moves (move16) of an evaluated root, for example by noise.
        """

    def expand(self, batch: Batch, policy: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """
        Expand a batch's leaves. policy: logits [rows, labels]. value: win rate [rows]. Returns the number of rows with NaN or a value outside [0, 1].
        """

    def cancel(self, batch: Batch) -> None:
        """Undo the collection of a batch."""

    def playouts(self) -> int:
        """The number of completed playouts."""

    def root_visits(self, root: int) -> int: ...

    def root_solved(self, root: int) -> bool: ...

    def root_value(self, root: int) -> float: ...

    def root_moves(self, root: int) -> list[RootMove]:
        """Best first."""

    def variation(self, root: int, first: int, max_plies: int) -> list[int]:
        """The principal variation (move16) that starts with `first`."""

    @property
    def stats(self) -> TreeStats: ...

    @property
    def fullness(self) -> float: ...

    @property
    def node_count(self) -> int: ...

    def reclaim(self, fullness: float) -> bool:
        """
        Free unreachable nodes if memory is fuller than this; returns whether it did.
        """

    def view(self, root: int, moves: Sequence[int] = []) -> NodeView: ...

    def check(self) -> str:
        """Check the invariants; returns the first error or ""."""
