"""Linear evaluations and NNUE: features, weights, learners.

The learners are the modules `two_piece`, `kpp` and `nnue`; importing this package loads numpy and
the core only.
"""

from komadori.linear.kpp_weights import KppWeights
from komadori.linear.nnue_weights import NnueWeights
from komadori.linear.orbits import Orbits, absolute_orbits, relative_orbits
from komadori.linear.weights import TwoPieceWeights
from komadori.linear.weights_file import WeightsError

__all__ = [
    "KppWeights",
    "NnueWeights",
    "Orbits",
    "TwoPieceWeights",
    "WeightsError",
    "absolute_orbits",
    "relative_orbits",
]
