"""Batches: rows of the samples, shuffled by seed, encoded ahead of the step.

rows of the epoch --> thread: C++ core encodes into a ring of buffers --> the step
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from komadori.nets import Interface
from komadori.training.data import Part, Samples


@dataclass(frozen=True)
class Cursor:
    """The place in the endless sequence of batches: what a resumed run starts with."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Batch:
    """One encoded batch.

    inputs: one array [n, *shape] for each input tensor of the interface, uint8 or float32.
    label: int64 [n], `NO_LABEL`
    where the sample has no move. result, score_cp: float32 [n]. rows: int64 [n], rows of
    the samples. after: the cursor of the batch that follows.
    """

    inputs: tuple[NDArray[Any], ...]
    label: NDArray[np.int64]
    result: NDArray[np.float32]
    score_cp: NDArray[np.float32]
    rows: NDArray[np.int64]
    after: Cursor

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, end: int) -> Batch:
        """Rows start to end - 1, as views."""
        return Batch(
            tuple(array[start:end] for array in self.inputs),
            self.label[start:end],
            self.result[start:end],
            self.score_cp[start:end],
            self.rows[start:end],
            self.after,
        )


class Encoder(Protocol):
    """Samples to inputs and labels; `training.encoder.CoreEncoder` is the real one."""

    @property
    def interface(self) -> Interface: ...
    @property
    def dtype(self) -> type[np.generic]:
        """Of the inputs: uint8, or float32 where a table has other values than 0 and 1."""
        ...

    def encode(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None,
        out: tuple[NDArray[Any], ...],
    ) -> NDArray[np.int64]:
        """Fill `out`, [n, *shape] each; the labels, `NO_LABEL` for move 0.

        Rows where `mirror` is true are shown mirrored left to right.
        """
        ...

    def legal(self, samples: Samples, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool [n, labels]: whether a legal move has the label."""
        ...


class Loader:
    """Batches of one part, from any cursor on.

    Epoch e shows every row once in an order that only seed and e decide. The last batch
    of an epoch may be smaller.
    """

    def __init__(
        self,
        part: Part,
        encoder: Encoder,
        batch_size: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        mirror: bool = False,
        ahead: int = 4,
    ) -> None:
        if not len(part):
            raise ValueError("no samples to load")
        self.part = part
        self.encoder = encoder
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.mirror = mirror
        self.ahead = ahead

    def __len__(self) -> int:
        """Batches an epoch."""
        return -(-len(self.part) // self.batch_size)

    def batches(
        self, start: Cursor | None = None, epochs: int | None = None
    ) -> Generator[Batch, None, None]:
        """Batches from `start` on, without end or until `epochs` epochs are complete.

        A batch's inputs stay valid until the second one after it is asked for. Close the
        iterator to end its thread early. An error in the thread is raised here.
        """
        start = start or Cursor()
        held: deque[int] = deque()
        slots = self.ahead + 3
        ready: queue.Queue[tuple[int, Batch] | BaseException | None] = queue.Queue()
        free: queue.Queue[int | None] = queue.Queue()
        for slot in range(slots):
            free.put(slot)
        worker = threading.Thread(
            target=self._produce, args=(start, epochs, slots, free, ready), daemon=True
        )
        worker.start()
        try:
            while (item := ready.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                slot, batch = item
                yield batch
                held.append(slot)
                if len(held) > 1:
                    free.put(held.popleft())
        finally:
            with free.mutex:
                free.queue.clear()
            free.put(None)
            worker.join()

    def _produce(
        self,
        start: Cursor,
        epochs: int | None,
        slots: int,
        free: queue.Queue[int | None],
        ready: queue.Queue[tuple[int, Batch] | BaseException | None],
    ) -> None:
        try:
            encoder = self.encoder
            size = min(self.batch_size, len(self.part))
            buffers = [
                tuple(np.empty((size, *shape), encoder.dtype) for shape in encoder.interface.inputs)
                for _ in range(slots)
            ]
            cursor = start
            while epochs is None or cursor.epoch < epochs:
                rows, mirrored = self._epoch(cursor.epoch)
                for index in range(cursor.batch, len(self)):
                    slot = free.get()
                    if slot is None:
                        return
                    end = index + 1 == len(self)
                    after = Cursor(cursor.epoch + end, 0 if end else index + 1)
                    span = slice(index * self.batch_size, (index + 1) * self.batch_size)
                    flips = None if mirrored is None else mirrored[span]
                    ready.put((slot, self._encode(rows[span], flips, buffers[slot], after)))
                cursor = Cursor(cursor.epoch + 1, 0)
            ready.put(None)
        except BaseException as error:  # handed to the consumer, which raises it
            ready.put(error)

    def _epoch(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        rng = np.random.default_rng([self.seed, epoch])
        rows = rng.permutation(self.part.rows) if self.shuffle else self.part.rows
        return rows, rng.random(len(rows)) < 0.5 if self.mirror else None

    def _encode(
        self,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None,
        buffers: tuple[NDArray[Any], ...],
        after: Cursor,
    ) -> Batch:
        samples = self.part.samples
        inputs = tuple(buffer[: len(rows)] for buffer in buffers)
        label = self.encoder.encode(samples, rows, mirror, inputs)
        return Batch(
            inputs=inputs,
            label=label,
            result=samples.result[rows].astype(np.float32),
            score_cp=samples.score_cp[rows].astype(np.float32),
            rows=rows,
            after=after,
        )
