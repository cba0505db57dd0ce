"""Move labels: the indices of a policy network's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from komadori._core import encoding as _core
from komadori.encoding.errors import EncodingError
from komadori.encoding.planes import hcp_rows, move_row
from komadori.wording import names_arguments

if TYPE_CHECKING:
    from komadori.rules import Board, Move


@dataclass(frozen=True)
class LabelHead:
    """One output of a policy network.

    size: number of labels. planes: names; label 81 * plane + destination, or, where `dense`
    isn't None, the rank of that number among those a legal move can have:
    dense[label] == 81 * plane + destination. An origin head has no planes: its labels are the
    origin square, or 81 + (P L N S B R G) for a drop.
    """

    name: str
    size: int
    planes: tuple[str, ...]
    dense: tuple[int, ...] | None


@dataclass(frozen=True)
class LabelScheme:
    """A numbering of moves.

    needs_piece: the label depends on the type of the moved piece.
    is_invertible: no two legal moves of a position share a label.
    """

    name: str
    summary: str
    source: str
    heads: tuple[LabelHead, ...]
    needs_piece: bool
    is_invertible: bool

    @property
    def size(self) -> int:
        """Labels of all heads together."""
        return sum(head.size for head in self.heads)


def _head(head: _core.LabelHead) -> LabelHead:
    dense = tuple(at for at, rank in enumerate(head.rank) if rank >= 0) if head.rank else None
    return LabelHead(head.name, head.size, tuple(head.planes), dense)


LABELS: Mapping[str, LabelScheme] = MappingProxyType(
    {
        scheme.name: LabelScheme(
            name=scheme.name,
            summary=scheme.summary,
            source=scheme.source,
            heads=tuple(_head(head) for head in scheme.heads),
            needs_piece=scheme.needs_piece,
            is_invertible=scheme.is_invertible,
        )
        for scheme in _core.label_schemes()
    }
)


def scheme_named(name: str) -> LabelScheme:
    if name not in LABELS:
        raise EncodingError(f"no label scheme {name!r}: one of {', '.join(LABELS)}")
    return LABELS[name]


@names_arguments
def encode_labels(
    hcps: ArrayLike,
    moves: ArrayLike,
    scheme: str = "2187",
    *,
    missing: int | None = None,
    check_legal: bool = False,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Encode N moves as labels: int64 [N], or [N, heads] for a scheme of several heads.

    hcps: uint8 [N, 32]; moves: uint16 [N], move16.
    missing: the label of rows whose move is 0; None refuses such rows.
    check_legal: refuse moves that aren't legal in their position. Otherwise a move is refused
    only where it has no label, or where needs_piece and the mover has no such piece; schemes
    without needs_piece read no more of the hcp than the side to move.

    RowPositionError and RowMoveError name the first refused row. The GIL is released.
    """
    table = scheme_named(scheme)
    rows = hcp_rows(hcps)
    move16s = move_row(moves, len(rows))
    heads = len(table.heads)
    out = np.empty(len(rows) if heads == 1 else (len(rows), heads), np.int64)
    _core.encode_labels(table.name, rows, move16s, check_legal, missing, out, threads)
    return out


@names_arguments
def legal_mask(hcps: ArrayLike, scheme: str = "2187", *, threads: int = 1) -> NDArray[np.bool_]:
    """True at the labels of legal moves, bool [N, scheme.size]; heads lie one after another.

    hcps: uint8 [N, 32]. RowPositionError names the first row that is no legal position.
    """
    table = scheme_named(scheme)
    rows = hcp_rows(hcps)
    out = np.empty((len(rows), table.size), np.bool_)
    _core.legal_mask(table.name, rows, out, threads)
    return out


@names_arguments
def legal_labels(board: Board, scheme: str = "2187") -> NDArray[np.int64]:
    """The labels of `board.legal_moves` in their order, int64 [n], or [n, heads] for several."""
    table = scheme_named(scheme)
    labels = np.array(_core.legal_labels(table.name, board), np.int64)
    return labels if len(table.heads) == 1 else labels.reshape(-1, len(table.heads))


@names_arguments
def move_probabilities(
    board: Board, logits: ArrayLike, scheme: str = "2187", *, temperature: float = 1.0
) -> NDArray[np.float32]:
    """The policy's probabilities of `board.legal_moves` in their order, float32 [n].

    logits: [scheme.size], one row of a network's policy outputs. The softmax, at the
    temperature, is over the legal moves. Outputs of several heads multiply. Moves that share a
    label share its probability in equal parts. A logit of -inf, as of a mask, has probability 0;
    uniform if one is NaN or inf, or all are -inf.
    """
    row = _logit_row(logits)
    return _core.move_probabilities(scheme_named(scheme).name, board, row, temperature)


@names_arguments
def softmax(logits: ArrayLike, temperature: float = 1.0) -> NDArray[np.float32]:
    """exp(logits / temperature), normalised: float32 [n] of n >= 1 logits.

    This is the softmax that the search applies to the legal moves. A logit of -inf, as of a mask,
    has probability 0; uniform if one is NaN or inf, or all are -inf.
    """
    return _core.softmax(_logit_row(logits), temperature)


def _logit_row(logits: ArrayLike) -> NDArray[np.float32]:
    """Return one row of logits as float32. Raises EncodingError for a batch."""
    row = np.ascontiguousarray(logits, np.float32)
    if row.ndim != 1:
        raise EncodingError(f"logits must be one row [n], not {list(row.shape)}")
    return row


@names_arguments
def decode_label(board: Board, label: int | Sequence[int], scheme: str = "2187") -> Move:
    """The legal move of the board that has this label (one number per head).

    LabelError if there is none, or several (schemes that aren't invertible).
    """
    parts = [label] if isinstance(label, int | np.integer) else label
    found = _core.decode_label(scheme_named(scheme).name, board, [int(part) for part in parts])
    return board.move_from_move16(found)
