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
    """Each feature's image on the board mirrored left to right."""

def swapped_features() -> list[int]:
    """
    Each feature's image on the board rotated by 180 degrees with colours swapped.
    """

def features_of(position: komadori._core.rules.Position) -> list[int]:
    """The features of the pieces, in no particular order."""

def piece_values() -> list[int]:
    """Centipawns by piece type, before training."""

class TwoPieceWeights:
    """shogi686's weights of pairs of pieces."""

    def __init__(self, pairs: Annotated[NDArray[numpy.int16], dict(shape=(1696, 1696), order='C', device='cpu', writable=False)], piece_values: Sequence[int]) -> None: ...

    def evaluate(self, position: komadori._core.rules.Position) -> int:
        """Centipawns, Black's view."""

def two_piece_engine(weights: TwoPieceWeights, options: komadori._core.alphabeta.Options) -> komadori._core.alphabeta.Engine: ...

class Lines:
    """Leaves of the record's moves and of moves with a close value."""

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
    """The number of comparisons that each pair of features occurs in."""

@overload
def find_leaves(weights: TwoPieceWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int32], NDArray[numpy.bool_], NDArray[numpy.bool_], int]: ...

@overload
def find_leaves(weights: NnueWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int32], NDArray[numpy.bool_], NDArray[numpy.bool_], int]: ...

@overload
def find_leaves(weights: KppWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], threads: int) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int32], NDArray[numpy.bool_], NDArray[numpy.bool_], int]:
    """
    The leaves of quiescence searches: (hcp uint8 [N, 32], value int32 [N] in centipawns from the view of the root's side to move, same_turn bool [N]: whether that side is to move at the leaf, is_settled bool [N]: whether the line doesn't end in mate, nodes searched).
    """

@overload
def ranks(weights: TwoPieceWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]: ...

@overload
def ranks(weights: NnueWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]: ...

@overload
def ranks(weights: KppWeights, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: int, threads: int) -> NDArray[numpy.int32]:
    """
    The number of moves with a higher value than the record's; -1 if that is illegal.
    """

def loss_terms(value_cp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], teacher_cp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], result: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, scale_cp: float, result_weight: float, teacher_weight: float, squared: bool) -> NDArray[numpy.float64]:
    """
    float64 [5, N], all from the same side's view: the loss against the result and against the teacher, their floors, and d weighted loss / d (value / scale).
    """

BONA_PIECES: int = 1548

def nnue_architectures() -> list[str]:
    """The names of the architectures."""

NNUE_FV_SCALE: int = 16

def bona_list(position: komadori._core.rules.Position, view: int) -> list[int]:
    """Piece indices without kings, in no particular order."""

def nnue_kernels() -> list[str]:
    """The names of the NNUE kernels that this CPU supports, fastest first."""

def nnue_architecture(architecture: str) -> str:
    """The description in nn.bin."""

def nnue_hash(architecture: str) -> int:
    """The hash in nn.bin."""

def nnue_inputs(architecture: str, position: komadori._core.rules.Position, view: int) -> list[int]:
    """The active inputs, in no particular order."""

class NnueWeights:
    """A network of YaneuraOu-family engines."""

    def __init__(self, file: bytes, fv_scale: int = 16) -> None:
        """file: the contents of nn.bin."""

    @property
    def architecture(self) -> str: ...

    @property
    def fv_scale(self) -> int: ...

    def to_bytes(self) -> bytes:
        """The contents of nn.bin."""

    def evaluate(self, position: komadori._core.rules.Position, kernels: str = '') -> int:
        """
        Centipawns, side to move's view. kernels: a name from nnue_kernels(); "": fastest.
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
    """The parameter tables in order: name, start, size."""

def kkp_places() -> NDArray[numpy.uint32]:
    """
    Indices of the board weights of KKP that represent their orbits; turn follows each.
    """

def kkp_images() -> tuple[NDArray[numpy.uint32], NDArray[numpy.int8]]:
    """
    For every king pair and piece, [81 * 81 * BONA_PIECES], the index of its orbit's representative and the sign of board; 0 and 0 for unused piece indices.
    """

def pp_places() -> NDArray[numpy.uint32]:
    """For each pair, the representative of it and its mirror image."""

class KppWeights:
    """KPP weights for the search."""

    def __init__(self) -> None: ...

    def assign(self, kpp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], kkp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], kk: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

    @staticmethod
    def check(kpp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], kkp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], kk: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None:
        """Raises ValueError where assign() would."""

    def evaluate(self, position: komadori._core.rules.Position) -> int:
        """Centipawns, the side to move's view."""

def kpp_engine(weights: KppWeights, options: komadori._core.alphabeta.Options) -> komadori._core.alphabeta.Engine: ...

def kpp_quantise(parameters: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], kpp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu')], kkp: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu')], kk: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Writes the evaluation's rounded tables, for KppWeights.assign."""

def kpp_evaluate(parameters: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], position: komadori._core.rules.Position) -> float:
    """Unrounded, in centipawns, the side to move's view."""

def kpp_update(weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], average: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], leaves: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], slope: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], same_turn: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], *, rates: Sequence[float], epsilon: float, decay: float, threads: int) -> None:
    """
    One AdaGrad step. slope: d loss / d (value / scale), from the root side's view.
    """

NNUE_MIRRORED: int = 2147483648

class NnueData:
    """
    Positions with the teacher's score and the game's result, both from the side to move's view.
    """

    def __init__(self, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], teacher_cp: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], result: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

    def __len__(self) -> int: ...

    bytes_each: Final[int] = ...
    """Memory per position."""

class NnueModel:
    """A float network with Adam's moments."""

    def __init__(self, architecture: str, seed: int, threads: int) -> None: ...

    @staticmethod
    def bytes_of(architecture: str, threads: int) -> int:
        """Memory of a model during training."""

    @property
    def steps(self) -> int: ...

    @steps.setter
    def steps(self, arg: int, /) -> None: ...

    @property
    def rounds(self) -> bool:
        """
        Whether to train with weights and activations rounded as in the engine.
        """

    @rounds.setter
    def rounds(self, arg: bool, /) -> None: ...

    @property
    def leak(self) -> float:
        """
        Fraction of the gradient that clipped hidden units get towards their open range.
        """

    @leak.setter
    def leak(self, arg: float, /) -> None: ...

    @property
    def parameters(self) -> NDArray[numpy.float32]:
        """float32 [n], writable: all parameters, in the order of nnue_model.h."""

    @property
    def first_moments(self) -> NDArray[numpy.float32]: ...

    @property
    def second_moments(self) -> NDArray[numpy.float32]: ...

    def logits(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]:
        """float32 [n], side to move's view; times 600: centipawns."""

    def loss(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, result_weight: float, teacher_weight: float, squared: bool) -> tuple[float, float, float, float]:
        """
        Sums over the batch: loss against the result and the teacher, and their floors.
        """

    def gradient(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, result_weight: float, teacher_weight: float, squared: bool) -> tuple[NDArray[numpy.float32], tuple[float, float, float, float]]:
        """(the gradient of the batch's mean loss, the sums of `loss`)."""

    def step(self, data: NnueData, numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, result_weight: float, teacher_weight: float, squared: bool, rate: float, decay: float) -> tuple[float, float, float, float]:
        """One step of Adam; returns the sums before it."""

    def quantised(self) -> NnueWeights:
        """
        The parameters rounded to the engine's integers. Raises ValueError on overflow.
        """

    def set(self, weights: NnueWeights) -> None:
        """
        Set the parameters to an engine's. Raises ValueError for another architecture.
        """
