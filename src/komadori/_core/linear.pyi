from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

import komadori._core.alphabeta
import komadori._core.rules


FEATURES: int = 1696

FIRST_ON_BOARD: int = 76

HAND_FEATURES: int = 38

KINDS: int = 10

WEIGHT_UNITS: int = 32

def mirrored_features() -> list[int]:
    """Each feature's image in the board mirrored left to right."""

def swapped_features() -> list[int]:
    """Each feature's image in the board turned, the colours swapped."""

def features_of(position: komadori._core.rules.Position) -> list[int]:
    """The features of the pieces, in no particular order."""

def piece_values() -> list[int]:
    """Centipawns by piece type, before any learning."""

class TwoPieceWeights:
    """shogi686's weights of pairs of pieces."""

    def __init__(self, pairs: Annotated[NDArray[numpy.int16], dict(shape=(1696, 1696), order='C', device='cpu', writable=False)], piece_values: Sequence[int]) -> None: ...

    def evaluate(self, position: komadori._core.rules.Position) -> int:
        """Centipawns, Black's view."""

def two_piece_engine(weights: TwoPieceWeights, options: komadori._core.alphabeta.Options) -> komadori._core.alphabeta.Engine: ...

class Lines:
    """Leaves of the record's moves and of moves near them in value."""

    @property
    def comparisons(self) -> int: ...

    @property
    def leaves(self) -> int: ...

    @property
    def searched(self) -> int: ...

    @property
    def left_out(self) -> int: ...

    @property
    def nodes(self) -> int: ...

def find_lines(weights: TwoPieceWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, threads: int) -> Lines: ...

def gradient(weights: TwoPieceWeights, lines: Lines, threads: int) -> tuple[float, list[float], NDArray[numpy.float32]]:
    """(loss, descent direction by piece type, the same by pair of features)."""

def occurrences(lines: Lines) -> NDArray[numpy.float32]:
    """How many comparisons each pair of features takes part in."""

@overload
def find_leaves(weights: TwoPieceWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int32], NDArray[numpy.bool_], NDArray[numpy.bool_], int]: ...

@overload
def find_leaves(weights: NnueWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int32], NDArray[numpy.bool_], NDArray[numpy.bool_], int]:
    """
    Where positions lead by quiescence: (hcp uint8 [N, 32], value int32 [N] in centipawns of the root's side to move, same_turn bool [N]: whether that side is to move at the leaf, is_settled bool [N]: whether the line doesn't end in mate, nodes searched).
    """

@overload
def ranks(weights: TwoPieceWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]: ...

@overload
def ranks(weights: NnueWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]:
    """
    How many moves are valued above the record's; -1 where that isn't legal.
    """

def loss_terms(value_cp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], teacher_cp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], result: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, scale_cp: float, result_weight: float, teacher_weight: float, squared: bool) -> NDArray[numpy.float64]:
    """
    float64 [5, N], all of one side's view: the loss against the result, against the teacher, the floor of each, and the slope of the weighted loss by value / scale.
    """

BONA_PIECES: int = 1548

def nnue_architectures() -> list[str]:
    """By the name of their inputs."""

NNUE_FV_SCALE: int = 16

def bona_list(position: komadori._core.rules.Position, view: int) -> list[int]:
    """The pieces besides kings by their numbers, in no order."""

def nnue_kernels() -> list[str]:
    """Ways of NNUE's arithmetic that this processor has, the fastest first."""

def nnue_architecture(architecture: str) -> str:
    """As nn.bin describes it."""

def nnue_hash(architecture: str) -> int:
    """As nn.bin has it."""

def nnue_inputs(architecture: str, position: komadori._core.rules.Position, view: int) -> list[int]:
    """The inputs that are 1, in no order."""

class NnueWeights:
    """A network of YaneuraOu-family engines."""

    def __init__(self, file: bytes, fv_scale: int = 16) -> None:
        """From the contents of nn.bin."""

    @property
    def architecture(self) -> str: ...

    @property
    def fv_scale(self) -> int: ...

    def to_bytes(self) -> bytes:
        """The contents of nn.bin."""

    def evaluate(self, position: komadori._core.rules.Position, kernels: str = '') -> int:
        """
        Centipawns, side to move's view, by the arithmetic named or the fastest.
        """

def nnue_engine(weights: NnueWeights, options: komadori._core.alphabeta.Options) -> komadori._core.alphabeta.Engine: ...
