"""How large an experiment is run, and the error that the laboratory raises."""

from __future__ import annotations

from dataclasses import dataclass

#: The width that an experiment's channels are meant for: the diary's.
FULL_WIDTH = 192


class LabError(ValueError):
    """An experiment or a result isn't what it should be; names file and key."""


@dataclass(frozen=True)
class Size:
    """How large an experiment is run.

    positions: to learn from, 0 for all there are. width: of networks that are `FULL_WIDTH`
    channels wide in the diary; 0 where there is no network. test_positions: to measure on.
    """

    positions: int = 300_000
    width: int = 64
    test_positions: int = 20_000

    def channels(self, full: int) -> int:
        """The diary's channels at this width, a multiple of 8."""
        if self.width == FULL_WIDTH:
            return full
        return max(8, round(full * self.width / FULL_WIDTH / 8) * 8)
