"""Streams the positions of files larger than memory in windows.

    files of an epoch in random order -> decoded until a window is full -> yielded, dropped

A trainer shuffles within the window, so the window limits how far the shuffle reaches. Every
position is yielded once per epoch. Positions of a file share a window (or two, if a window ends
within the file), so windows should span many files; which files share one changes with each epoch.
Two windows are in memory: the one in use and the one being decoded.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori.records.errors import RecordError
from komadori.records.files import UnchangedFiles, paths_of
from komadori.records.keys import position_keys
from komadori.records.sample_moves import SampleMoves, load_sample_moves
from komadori.records.samples import Samples, load_samples

__all__ = ["SampleStream", "Window", "split_files"]

#: Default window, in positions: about 100 MB.
WINDOW = 2_000_000


@dataclass(frozen=True)
class Window:
    """A window of an epoch's positions, in the order of the files.

    first: number of positions before it in the epoch. moves: of the samples, if requested.
    """

    samples: Samples
    first: int
    moves: SampleMoves | None = None

    def __len__(self) -> int:
        return len(self.samples)


class SampleStream:
    """Streams the positions of files in windows, in an order determined by seed and epoch."""

    def __init__(
        self,
        paths: Path | str | Iterable[Path | str],
        window: int = WINDOW,
        *,
        seed: int = 1,
        with_moves: bool = False,
        leave_out: NDArray[np.uint64] | None = None,
        threads: int = 1,
    ) -> None:
        """leave_out: `position_keys` of positions to skip, such as those of a test part. Raises
        RecordError without files."""
        self.paths = paths_of(paths)
        if not self.paths:
            raise RecordError("no record files given")
        if window < 1:
            raise ValueError(f"window is {window}, at least 1 is needed")
        self.window = window
        self.seed = seed
        self.with_moves = with_moves
        self.threads = threads
        self._leave_out = None if leave_out is None else np.unique(leave_out)
        self._positions: int | None = None
        self._unchanged = UnchangedFiles()

    def __len__(self) -> int:
        """Positions per epoch. The first call decodes all files once to count them."""
        if self._positions is None:
            self._positions = sum(len(samples) for samples in self.scan())
        return self._positions

    def scan(self) -> Iterator[Samples]:
        """Yield each file's positions, without moves, in the order of `paths`."""
        for samples, _ in self._decoded(self.paths, with_moves=False):
            yield samples

    def order(self, epoch: int) -> list[Path]:
        """The files in the order of an epoch."""
        order = np.random.default_rng([self.seed, epoch, 0x57BEA]).permutation(len(self.paths))
        return [self.paths[i] for i in order]

    def windows(self, epoch: int, start: int = 0) -> Generator[Window, None, None]:
        """Yield the windows of an epoch, decoding one ahead.

        start: the `first` of a window to start from. Raises the errors of `load_samples`, and
        RecordError for a file that has changed since it was first read.
        """
        ready: queue.Queue[Window | BaseException | None] = queue.Queue(maxsize=1)
        ended = threading.Event()

        def put(item: Window | BaseException | None) -> bool:
            while not ended.is_set():
                try:
                    ready.put(item, timeout=0.1)
                except queue.Full:
                    continue
                return True
            return False

        def decode() -> None:
            try:
                for window in self._windows(epoch):
                    if window.first >= start and not put(window):
                        return
                put(None)
            except BaseException as error:  # raised by the reader
                put(error)

        worker = threading.Thread(target=decode, name="decode", daemon=True)
        worker.start()
        try:
            while (item := ready.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            ended.set()
            worker.join()

    def _windows(self, epoch: int) -> Iterator[Window]:
        held: list[tuple[Samples, SampleMoves | None]] = []
        count = first = 0
        for samples, moves in self._decoded(self.order(epoch), self.with_moves):
            begin = 0
            while begin < len(samples):
                end = min(len(samples), begin + self.window - count)
                held.append(_slice(samples, moves, begin, end))
                count += end - begin
                begin = end
                if count == self.window:
                    yield _join(held, first)
                    first += count
                    held, count = [], 0
        if held:
            yield _join(held, first)

    def _decoded(
        self, paths: Sequence[Path], with_moves: bool
    ) -> Iterator[tuple[Samples, SampleMoves | None]]:
        read = partial(self._read, with_moves)
        if self.threads == 1:
            yield from map(read, paths)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            for begin in range(0, len(paths), self.threads):
                yield from pool.map(read, paths[begin : begin + self.threads])

    def _read(self, with_moves: bool, path: Path) -> tuple[Samples, SampleMoves | None]:
        self._unchanged.check(path)
        samples, moves = load_sample_moves(path) if with_moves else (load_samples(path), None)
        self._unchanged.check(path)
        if self._leave_out is None:
            return samples, moves
        keep = ~np.isin(position_keys(samples.hcp), self._leave_out)
        if keep.all():
            return samples, moves
        return samples.take(keep), None if moves is None else moves.take(np.flatnonzero(keep))


def _slice(
    samples: Samples, moves: SampleMoves | None, begin: int, end: int
) -> tuple[Samples, SampleMoves | None]:
    if begin == 0 and end == len(samples):
        return samples, moves
    rows = np.arange(begin, end)
    return samples.take(slice(begin, end)), None if moves is None else moves.take(rows)


def _join(parts: list[tuple[Samples, SampleMoves | None]], first: int) -> Window:
    games = 0
    for samples, _ in parts:
        samples.game = samples.game + games
        games = int(samples.game[-1]) + 1 if len(samples) else games
    whole = Samples.concatenate([samples for samples, _ in parts])
    known = [moves for _, moves in parts if moves is not None]
    return Window(whole, first, SampleMoves.concatenate(known) if known else None)


def split_files(
    paths: Path | str | Iterable[Path | str],
    test_fraction: float,
    seed: int,
    show: Callable[[str], None] = lambda _: None,
) -> tuple[list[Path], list[Path]]:
    """Split whole files into (train, test) by the seed, at least one each if there are two."""
    files = sorted(paths_of(paths))
    if test_fraction <= 0 or len(files) < 2:
        if test_fraction > 0:
            show("one file: nothing is held out")
        return files, []
    count = min(max(1, round(test_fraction * len(files))), len(files) - 1)
    chosen = set(np.random.default_rng([seed, 0x7E57]).permutation(len(files))[:count].tolist())
    return (
        [path for i, path in enumerate(files) if i not in chosen],
        [path for i, path in enumerate(files) if i in chosen],
    )
