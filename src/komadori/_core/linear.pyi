from collections.abc import Sequence
from typing import Annotated, Final, overload

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
def find_leaves(weights: NnueWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int32], NDArray[numpy.bool_], NDArray[numpy.bool_], int]: ...

@overload
def find_leaves(weights: KppWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int32], NDArray[numpy.bool_], NDArray[numpy.bool_], int]:
    """
    Where positions lead by quiescence: (hcp uint8 [N, 32], value int32 [N] in centipawns of the root's side to move, same_turn bool [N]: whether that side is to move at the leaf, is_settled bool [N]: whether the line doesn't end in mate, nodes searched).
    """

@overload
def ranks(weights: TwoPieceWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]: ...

@overload
def ranks(weights: NnueWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]: ...

@overload
def ranks(weights: KppWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]:
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
    """Ways of NNUE's arithmetic that this CPU has, the fastest first."""

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

    def evaluate_all(self, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.int32]:
        """int32 [N], centipawns, side to move's view."""

def nnue_engine(weights: NnueWeights, options: komadori._core.alphabeta.Options) -> komadori._core.alphabeta.Engine: ...

FOLDED_KINGS: int = 45

BONA_PAIRS: int = 1198926

KPP_UNITS: int = 32

KPP_PARAMETERS: int = 75675690

KPP_BYTES: int = 256345560

def kpp_tables() -> list[tuple[str, int, int]]:
    """The tables of the parameters in their order: name, start, size."""

def kkp_places() -> NDArray[numpy.uint32]:
    """
    Of the board weights of KKP those that stand for their orbit; turn follows each.
    """

def kkp_images() -> tuple[NDArray[numpy.uint32], NDArray[numpy.int8]]:
    """
    For every king pair and piece, [81 * 81 * BONA_PIECES], the place that stands for its orbit and board's sign there; 0 and 0 for what is no piece.
    """

def pp_places() -> NDArray[numpy.uint32]:
    """For each pair the pair that stands for it and its mirror image."""

class KppWeights:
    """The weights of a king and two pieces, for play."""

    def __init__(self) -> None: ...

    def assign(self, kpp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], kkp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], kk: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

    def evaluate(self, position: komadori._core.rules.Position) -> int:
        """Centipawns, the side to move's view."""

def kpp_engine(weights: KppWeights, options: komadori._core.alphabeta.Options) -> komadori._core.alphabeta.Engine: ...

def kpp_quantise(parameters: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], kpp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu')], kkp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu')], kk: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Write what the parameters mean, rounded, for KppWeights.assign."""

def kpp_evaluate(parameters: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], position: komadori._core.rules.Position) -> float:
    """Not rounded; centipawns, the side to move's view."""

def kpp_update(weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], average: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], leaves: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], slope: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], same_turn: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], *, rates: Sequence[float], epsilon: float, decay: float, threads: int) -> None:
    """
    One step down the loss; slope is that of the loss by value / scale, the root's side's view.
    """

NNUE_MIRRORED: int = 2147483648

class NnueData:
    """
    Positions with the teacher's score and the game's result, both of the side to move's view.
    """

    def __init__(self, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], teacher_cp: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], result: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

    def __len__(self) -> int: ...

    bytes_each: Final[int] = ...
    """Memory of a position."""

class NnueModel:
    """A network in float, and what Adam knows of it."""

    def __init__(self, architecture: str, seed: int, threads: int) -> None: ...

    @staticmethod
    def bytes_of(architecture: str, threads: int) -> int:
        """Memory of a model that learns."""

    @property
    def steps(self) -> int: ...

    @steps.setter
    def steps(self, arg: int, /) -> None: ...

    @property
    def rounds(self) -> bool:
        """
        Whether it works with weights and activations as the engine rounds them.
        """

    @rounds.setter
    def rounds(self, arg: bool, /) -> None: ...

    @property
    def parameters(self) -> NDArray[numpy.float32]:
        """
        float32 [n], writable: all parameters, in the order that nnue_model.h tells.
        """

    @property
    def first_moments(self) -> NDArray[numpy.float32]: ...

    @property
    def second_moments(self) -> NDArray[numpy.float32]: ...

    def logits(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """float32 [n], side to move's view; 600 times it centipawns."""

    def loss(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, result_weight: float, teacher_weight: float, squared: bool) -> tuple[float, float, float, float]:
        """
        Sums over the batch: against the result, against the teacher, the floor of each.
        """

    def gradient(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, result_weight: float, teacher_weight: float, squared: bool) -> tuple[NDArray[numpy.float32], tuple[float, float, float, float]]:
        """(the gradient of the batch's mean loss, the sums that `loss` gives)."""

    def step(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, result_weight: float, teacher_weight: float, squared: bool, rate: float, decay: float) -> tuple[float, float, float, float]:
        """One step of Adam; the sums before it."""

    def quantised(self) -> NnueWeights:
        """
        Rounded to the engine's integers. Raises ValueError where they don't hold it.
        """
