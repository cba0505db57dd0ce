"""Training positions in consecutive windows, for data sets larger than memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from komadori.linear.regression import Positions
from komadori.records.files import identify
from komadori.records.stream import SampleStream, Window


class PositionWindows:
    """The windows of a stream as `Positions`, numbered over the epochs."""

    def __init__(self, stream: SampleStream) -> None:
        self.stream = stream
        self._iterator: Iterator[Window] | None = None
        self._next = -1

    def __len__(self) -> int:
        """Positions per epoch."""
        return len(self.stream)

    @property
    def per_epoch(self) -> int:
        """Windows per epoch."""
        return -(-len(self) // self.stream.window)

    def window(self, number: int) -> Positions:
        """Window `number`, counted from 0 over all epochs.

        Fast in sequence; any other window decodes its epoch up to it.
        """
        epoch, inside = divmod(number, self.per_epoch)
        if number != self._next or self._iterator is None or inside == 0:
            self.close()
            self._iterator = self.stream.windows(epoch, inside * self.stream.window)
        found = next(self._iterator)
        self._next = number + 1
        samples = found.samples
        return Positions(samples.hcp, samples.score_cp, samples.result, samples.move16)

    def fingerprint(self) -> str:
        """A digest of what identifies the files, of the seed and the window."""
        facts = [identify(self.stream.paths), self.stream.seed, self.stream.window]
        return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()

    def close(self) -> None:
        """End the decoding thread."""
        if self._iterator is not None:
            self._iterator.close()  # type: ignore[attr-defined]
            self._iterator = None
