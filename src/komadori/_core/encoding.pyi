from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
import numpy.typing
from numpy.typing import NDArray

import komadori._core.rules


class EncodingError(ValueError):
    pass

class RowPositionError(EncodingError):
    pass

class RowMoveError(EncodingError):
    pass

class LabelError(EncodingError):
    pass

class BlockKind(enum.Enum):
    PLACEMENT = 0

    ATTACKS = 1

    ATTACK_COUNTS = 2

    SQUARE_TOKENS = 3

    THERMOMETER = 4

    ONE_HOT = 5

    FRACTION = 6

class PlaneType(enum.Enum):
    FLOAT32 = 0

    UINT8 = 1

    PACKED = 2

class FeatureBlock:
    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> BlockKind: ...

    @property
    def planes(self) -> int: ...

    @property
    def is_constant(self) -> bool: ...

    @property
    def bits(self) -> int: ...

    def plane_names(self) -> list[str]: ...

class FeatureInput:
    @property
    def name(self) -> str: ...

    @property
    def blocks(self) -> list[FeatureBlock]: ...

    @property
    def is_tokens(self) -> bool: ...

    @property
    def planes(self) -> int: ...

    @property
    def bits(self) -> int: ...

    @property
    def is_constant(self) -> bool: ...

class FeatureTable:
    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def inputs(self) -> list[FeatureInput]: ...

    @property
    def is_binary(self) -> bool: ...

    @property
    def needs_plies(self) -> bool: ...

class LabelHead:
    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def planes(self) -> list[str]: ...

    @property
    def rank(self) -> list[int]: ...

    @property
    def is_origin(self) -> bool: ...

class LabelScheme:
    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def heads(self) -> list[LabelHead]: ...

    @property
    def needs_piece(self) -> bool: ...

    @property
    def is_invertible(self) -> bool: ...

TOKEN_SIZE: int = 64

GOLDEN_64: int = 11400714819323198485

ELMO_COEF: float = 600.0

DLSHOGI_COEF: float = 756.0864962951762

def mix64(numbers: numpy.typing.NDArray[numpy.uint64]) -> None:
    """Applies splitmix64's finalizer to each number in place."""

def feature_tables() -> list[FeatureTable]:
    """Every feature table."""

def label_schemes() -> list[LabelScheme]:
    """Every label scheme."""

def encode_planes(table: str, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], plies: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, type: PlaneType, outs: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]], threads: int) -> None: ...

@overload
def unpack_planes(table: str, input: int, packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], threads: int) -> None: ...

@overload
def unpack_planes(table: str, input: int, packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')], threads: int) -> None: ...

def encode_labels(scheme: str, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], check_legal: bool, missing: int | None, out: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], threads: int) -> None: ...

def decode_label(scheme: str, position: komadori._core.rules.Position, label: Sequence[int]) -> int:
    """The move16 of the legal move with this label."""

def legal_labels(scheme: str, position: komadori._core.rules.Position) -> list[int]:
    """The labels of the legal moves, in order, one per head."""

def move_probabilities(scheme: str, position: komadori._core.rules.Position, logits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], temperature: float) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """Probabilities of the legal moves, in order, from a row of logits."""

def softmax(logits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], temperature: float) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """
    Probabilities; -inf gives 0; uniform if one is NaN or inf, or all are -inf.
    """

def encode_positions(table: str, positions: Sequence[komadori._core.rules.Position], type: PlaneType, outs: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]]) -> None: ...

def mirror(hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, mirrored_hcps: Annotated[NDArray[numpy.uint8], dict(order='C', device='cpu')], mirrored_moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')] | None, threads: int) -> None: ...

def label_2187(move16: int, turn: int) -> int:
    """dlshogi's label of a board move or drop, as the search computes it."""

def policy_candidates(scheme: str, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], logits: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], keep: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], temperature: float, least: float, total: int) -> tuple[Annotated[NDArray[numpy.uint16], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None,))]]:
    """(count, move16, visits) of the likely moves of each row, concatenated."""

def legal_mask(scheme: str, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.bool_], dict(order='C', device='cpu')], threads: int) -> None: ...
