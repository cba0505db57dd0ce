"""What an encoder refuses: `EncodingError`, a `ValueError`, and the errors under it.

`RowPositionError` and `RowMoveError` name a row of a batch in `row`: its bytes are no
position, or its move has no label there. `LabelError`: a label names no legal move, or several.
"""

from komadori._core.encoding import EncodingError, LabelError, RowMoveError, RowPositionError

__all__ = ["EncodingError", "LabelError", "RowMoveError", "RowPositionError"]
