"""The size of an experiment's runs, and the laboratory's error."""

from __future__ import annotations

from dataclasses import dataclass

#: The diary's width; experiments give their channels for it.
FULL_WIDTH = 192


class LabError(ValueError):
    """An invalid experiment or record; the text names file and key."""


@dataclass(frozen=True)
class Size:
    """The size of a run.

    positions: for training, 0 for all. width: of networks with `FULL_WIDTH` channels in the diary;
    0 without a network. test_positions: for the test.
    """

    positions: int = 300_000
    width: int = 64
    test_positions: int = 20_000

    def channels(self, full: int) -> int:
        """The diary's channels at this width, a multiple of 8."""
        if self.width == FULL_WIDTH:
            return full
        return max(8, round(full * self.width / FULL_WIDTH / 8) * 8)
