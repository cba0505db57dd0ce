"""NNUE weights, read and written as nn.bin of YaneuraOu-family engines."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from komadori._core import linear as _core
from komadori.atomic import atomic_writer
from komadori.linear.weights_file import WeightsError
from komadori.rules import Board
from komadori.whole_file import read_whole
from komadori.wording import names_arguments

#: Supported networks, by the name of their inputs.
ARCHITECTURES: tuple[str, ...] = tuple(_core.nnue_architectures())
FV_SCALE: int = _core.NNUE_FV_SCALE


@names_arguments
@dataclass(frozen=True)
class NnueWeights:
    """A network of 256x2-32-32 over K-P or HalfKP inputs.

    content: the bytes of nn.bin. fv_scale: divisor of the network's output that gives centipawns
    (FV_SCALE in engines; 16 unless a file's notes say otherwise).
    """

    content: bytes = field(repr=False)
    fv_scale: int = FV_SCALE

    def core(self) -> _core.NnueWeights:
        """The weights for the C++ core. Raises WeightsError with the reason and the offset."""
        try:
            return _core.NnueWeights(self.content, self.fv_scale)
        except ValueError as error:
            raise WeightsError(f"not an NNUE network: {error}") from error

    def evaluate(self, board: Board) -> int:
        """The static evaluation, centipawns, side to move's view."""
        return int(self.core().evaluate(board))

    def save(self, path: Path | str) -> None:
        """Write the file atomically. Raises WeightsError as `core` does."""
        self.core()
        with atomic_writer(Path(path)) as file:
            file.write(self.content)

    @classmethod
    def load(cls, path: Path | str, fv_scale: int = FV_SCALE) -> NnueWeights:
        """Read nn.bin. Raises WeightsError for other files, OSError for unreadable ones."""
        weights = cls(read_whole(Path(path)), fv_scale)
        try:
            weights.core()
        except WeightsError as error:
            raise WeightsError(f"{path}: {error}") from error
        return weights
