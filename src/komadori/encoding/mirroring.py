"""Left-right mirroring, to augment training data.

A position and its mirror image have the same value: every piece moves symmetrically.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from komadori._core import encoding as _core
from komadori.encoding.planes import hcp_rows, move_row
from komadori.wording import names_arguments


@names_arguments
def mirror_hcps(hcps: ArrayLike, *, threads: int = 1) -> NDArray[np.uint8]:
    """Each position with file f become 10 - f, uint8 [N, 32]."""
    rows = hcp_rows(hcps)
    out = np.empty_like(rows)
    _core.mirror(rows, None, out, None, threads)
    return out


@names_arguments
def mirror(
    hcps: ArrayLike, moves: ArrayLike, *, threads: int = 1
) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Positions and moves (move16, uint16 [N]; 0, no move, stays 0) mirrored.

    RowPositionError and RowMoveError name the first row that is none. The GIL is released.
    """
    rows = hcp_rows(hcps)
    move16s = move_row(moves, len(rows))
    out, moved = np.empty_like(rows), np.empty_like(move16s)
    _core.mirror(rows, move16s, out, moved, threads)
    return out, moved
