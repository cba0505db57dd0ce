"""Positions to network inputs, moves to policy labels.

The viewpoint is the side to move's: for White the board is rotated by 180 degrees and the colours
are swapped. A plane is `[file][rank]`, file 1 and rank 1 first.
"""

from komadori.encoding.errors import EncodingError, LabelError, RowMoveError, RowPositionError
from komadori.encoding.features import FEATURES, FeatureBlock, FeatureInput, FeatureTable
from komadori.encoding.labels import (
    LABELS,
    LabelHead,
    LabelScheme,
    decode_label,
    encode_labels,
    legal_labels,
    legal_mask,
    move_probabilities,
    softmax,
)
from komadori.encoding.mirroring import mirror, mirror_hcps
from komadori.encoding.planes import encode_boards, encode_planes, unpack_planes
from komadori.encoding.value import score_from_win_rate, win_rate_from_score

__all__ = [
    "FEATURES",
    "LABELS",
    "EncodingError",
    "FeatureBlock",
    "FeatureInput",
    "FeatureTable",
    "LabelError",
    "LabelHead",
    "LabelScheme",
    "RowMoveError",
    "RowPositionError",
    "decode_label",
    "encode_boards",
    "encode_labels",
    "encode_planes",
    "legal_labels",
    "legal_mask",
    "mirror",
    "mirror_hcps",
    "move_probabilities",
    "score_from_win_rate",
    "softmax",
    "unpack_planes",
    "win_rate_from_score",
]
