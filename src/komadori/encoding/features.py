"""The feature tables, read from the core."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from komadori._core import encoding as _core


@dataclass(frozen=True)
class FeatureBlock:
    """Adjacent planes of one kind.

    kind: PLACEMENT, ATTACKS, ATTACK_COUNTS (planes of squares), SQUARE_TOKENS, or THERMOMETER
    (plane i is 1 where n > i), ONE_HOT (plane i is 1 where n == i), FRACTION (n / unit, at most
    1), whose planes are constant over the board.
    """

    name: str
    kind: str
    first: int
    planes: tuple[str, ...]

    @property
    def is_constant(self) -> bool:
        return self.kind in ("THERMOMETER", "ONE_HOT", "FRACTION")


@dataclass(frozen=True)
class FeatureInput:
    """One input tensor of a network.

    shape: of one position, (planes, 9 files, 9 ranks) or (tokens, 64).
    packed_bits: length of the packed form: the tensor in its order, the first value in the
    lowest bit of the first byte, but a constant plane (or hand slot) takes one bit.
    """

    name: str
    shape: tuple[int, ...]
    blocks: tuple[FeatureBlock, ...]
    packed_bits: int

    @property
    def planes(self) -> tuple[str, ...]:
        """The name of each plane (or token)."""
        return tuple(name for block in self.blocks for name in block.planes)

    @property
    def packed_bytes(self) -> int:
        return (self.packed_bits + 7) // 8

    @property
    def is_constant(self) -> bool:
        """Whether every plane is constant over the board."""
        return all(block.is_constant for block in self.blocks)


@dataclass(frozen=True)
class FeatureTable:
    """The inputs of a network.

    is_binary: every value is 0 or 1, so the table has a uint8 and a packed form.
    needs_plies: encoding needs the number of moves made before the position.
    """

    name: str
    summary: str
    source: str
    inputs: tuple[FeatureInput, ...]
    is_binary: bool
    needs_plies: bool

    def __getitem__(self, name: str) -> FeatureInput:
        for one in self.inputs:
            if one.name == name:
                return one
        raise KeyError(name)


def _blocks(blocks: list[_core.FeatureBlock]) -> tuple[FeatureBlock, ...]:
    made = []
    first = 0
    for block in blocks:
        made.append(FeatureBlock(block.name, block.kind.name, first, tuple(block.plane_names())))
        first += block.planes
    return tuple(made)


def _input(one: _core.FeatureInput) -> FeatureInput:
    cells = (_core.TOKEN_SIZE,) if one.is_tokens else (9, 9)
    return FeatureInput(one.name, (one.planes, *cells), _blocks(one.blocks), one.bits)


FEATURES: Mapping[str, FeatureTable] = MappingProxyType(
    {
        table.name: FeatureTable(
            name=table.name,
            summary=table.summary,
            source=table.source,
            inputs=tuple(_input(one) for one in table.inputs),
            is_binary=table.is_binary,
            needs_plies=table.needs_plies,
        )
        for table in _core.feature_tables()
    }
)
