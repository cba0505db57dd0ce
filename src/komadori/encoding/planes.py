"""hcp arrays to the input tensors of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from komadori._core import encoding as _core
from komadori.encoding.errors import EncodingError
from komadori.encoding.features import FEATURES, FeatureInput, FeatureTable
from komadori.wording import check_type, names_arguments

if TYPE_CHECKING:
    from komadori.rules import Board

DType = Literal["float32", "uint8", "packed"]

_TYPES: dict[str, tuple[_core.PlaneType, type[np.generic]]] = {
    "float32": (_core.PlaneType.FLOAT32, np.float32),
    "uint8": (_core.PlaneType.UINT8, np.uint8),
    "packed": (_core.PlaneType.PACKED, np.uint8),
}


def table_named(features: str) -> FeatureTable:
    check_type("features", features, str)
    if features not in FEATURES:
        raise EncodingError(f"no feature table {features!r}: one of {', '.join(FEATURES)}")
    return FEATURES[features]


def hcp_rows(hcps: ArrayLike) -> NDArray[np.uint8]:
    rows = np.ascontiguousarray(hcps)
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != 32:
        raise EncodingError(f"hcps must be uint8 [N, 32], not {rows.dtype} {list(rows.shape)}")
    return rows


def move_row(moves: ArrayLike, count: int) -> NDArray[np.uint16]:
    """Return `count` moves as uint16; refuse other types, whose conversion could lose bits."""
    row = np.ascontiguousarray(moves)
    if row.dtype != np.uint16 or row.shape != (count,):
        raise EncodingError(f"moves must be uint16 [{count}], not {row.dtype} {list(row.shape)}")
    return row


def _outputs(
    table: FeatureTable, dtype: str, count: int, out: Sequence[NDArray[Any]] | None
) -> tuple[NDArray[Any], ...]:
    """New arrays for `count` rows, or `out` after checking that it fits."""
    if dtype not in _TYPES:
        raise EncodingError(f"no plane type {dtype!r}: one of {', '.join(_TYPES)}")
    scalar = _TYPES[dtype][1]
    shapes = [
        (count, one.packed_bytes) if dtype == "packed" else (count, *one.shape)
        for one in table.inputs
    ]
    if out is None:
        return tuple(np.empty(shape, scalar) for shape in shapes)
    if len(out) != len(shapes) or not all(
        array.shape == shape and array.dtype == scalar and array.flags.c_contiguous
        for array, shape in zip(out, shapes, strict=True)
    ):
        wanted = ", ".join(f"{scalar.__name__} {list(shape)}" for shape in shapes)
        raise EncodingError(f"out must be C-contiguous arrays {wanted}")
    return tuple(out)


def _whole(plies: ArrayLike) -> NDArray[np.int32]:
    array = np.asarray(plies)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"plies are integers, not {array.dtype}")
    outside = (array < 0) | (array >= 2**31)
    if outside.any():
        raise EncodingError(f"plies are 0 to 2^31 - 1, not {array[outside].flat[0]}")
    return np.ascontiguousarray(array, np.int32)


def _as_bytes(arrays: tuple[NDArray[Any], ...]) -> list[NDArray[np.uint8]]:
    return [array.reshape(-1).view(np.uint8) for array in arrays]


@names_arguments
def encode_planes(
    hcps: ArrayLike,
    features: str = "dlshogi",
    dtype: DType = "float32",
    out: Sequence[NDArray[Any]] | None = None,
    *,
    plies: ArrayLike | None = None,
    threads: int = 1,
) -> tuple[NDArray[Any], ...]:
    """Encode N positions as input tensors, one array per input of the table.

    hcps: uint8 [N, 32].
    dtype: "float32" or "uint8" [N, *input.shape] with values 0 and 1; "packed": uint8
    [N, input.packed_bytes].
    out: C-contiguous arrays of these shapes to write into (and return).
    plies: int [N], moves made before each position (0 at the start); required by tables with
    needs_plies.

    Legality isn't checked. RowPositionError names the first row that doesn't decode. The GIL is
    released.
    """
    table = table_named(features)
    rows = hcp_rows(hcps)
    arrays = _outputs(table, dtype, len(rows), out)
    played = None if plies is None else _whole(plies)
    _core.encode_planes(table.name, rows, played, _TYPES[dtype][0], _as_bytes(arrays), threads)
    return arrays


@names_arguments
def encode_boards(
    boards: Sequence[Board],
    features: str = "dlshogi",
    dtype: DType = "float32",
    out: Sequence[NDArray[Any]] | None = None,
) -> tuple[NDArray[Any], ...]:
    """As `encode_planes`, from boards, including those that hcp can't hold (handicap games)."""
    table = table_named(features)
    arrays = _outputs(table, dtype, len(boards), out)
    _core.encode_positions(table.name, boards, _TYPES[dtype][0], _as_bytes(arrays))
    return arrays


@names_arguments
def unpack_planes(
    packed: Sequence[NDArray[np.uint8]],
    features: str = "dlshogi",
    dtype: Literal["float32", "uint8"] = "float32",
    *,
    threads: int = 1,
) -> tuple[NDArray[Any], ...]:
    """Packed inputs of `encode_planes` to dense ones, [N, *input.shape] each."""
    table = table_named(features)
    if len(packed) != len(table.inputs):
        raise EncodingError(f"{features} has {len(table.inputs)} inputs, not {len(packed)}")
    if dtype not in ("float32", "uint8"):
        raise EncodingError(f"no dense plane type {dtype!r}: one of float32, uint8")
    arrays = tuple(
        _unpack(table, i, one, packed[i], dtype, threads) for i, one in enumerate(table.inputs)
    )
    if len({len(array) for array in arrays}) > 1:
        rows = " and ".join(str(len(array)) for array in arrays)
        raise EncodingError(f"the inputs differ in length: {rows} positions")
    return arrays


def _unpack(
    table: FeatureTable,
    index: int,
    one: FeatureInput,
    packed: NDArray[np.uint8],
    dtype: str,
    threads: int,
) -> NDArray[Any]:
    rows = np.ascontiguousarray(packed)
    if rows.dtype != np.uint8 or rows.ndim != 2:
        raise EncodingError(
            f"input {index + 1} must be packed planes, uint8 [N, {one.packed_bytes}], "
            f"not {rows.dtype} {list(rows.shape)}"
        )
    out: NDArray[Any] = np.empty((len(rows), *one.shape), _TYPES[dtype][1])
    _core.unpack_planes(table.name, index, rows, out, threads)
    return out
