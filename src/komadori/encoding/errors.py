"""Errors of the encoders: `EncodingError`, a `ValueError`, and its subclasses.

`RowPositionError`, `RowMoveError`: the row `row` of a batch doesn't decode to a position, or its
move has no label. `LabelError`: a label names no legal move, or several.
"""

from komadori._core.encoding import EncodingError, LabelError, RowMoveError, RowPositionError

__all__ = ["EncodingError", "LabelError", "RowMoveError", "RowPositionError"]
