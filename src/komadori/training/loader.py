"""Batches of shuffled samples, encoded by a background thread.

rows of the epoch --> thread: the C++ core encodes into a ring of buffers --> training step
"""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from komadori.nets import Interface
from komadori.training.data import Part, Samples, Source
from komadori.training.errors import TrainingError
from komadori.training.targets import NO_LABEL, Size, TargetArrays
from komadori.wording import names_arguments


@dataclass(frozen=True)
class Cursor:
    """A place in the sequence of samples, from which a run resumes.

    sample: number of the epoch's samples before it.
    """

    epoch: int = 0
    sample: int = 0


@names_arguments
@dataclass(frozen=True)
class Batch:
    """One encoded batch.

    inputs: one array [n, *shape] for each input tensor of the interface, uint8 or float32.
    heads: as the interface's. rows: int64 [n], rows of `samples`. size, whole: size and rows of
    the whole batch, of which this may be a shard. after: the cursor of the next batch.
    """

    inputs: tuple[NDArray[Any], ...]
    targets: TargetArrays
    heads: tuple[int, ...]
    rows: NDArray[np.int64]
    size: Size
    after: Cursor
    whole: NDArray[np.int64]
    samples: Samples

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, end: int) -> Batch:
        """Rows start to end - 1, as views."""
        return Batch(
            tuple(array[start:end] for array in self.inputs),
            self.targets.part(start, end),
            self.heads,
            self.rows[start:end],
            self.size,
            self.after,
            self.whole,
            self.samples,
        )


class Encoder(Protocol):
    """Encodes samples as inputs and labels; `training.encoder.CoreEncoder` is the real one."""

    @property
    def interface(self) -> Interface: ...
    @property
    def dtype(self) -> type[np.generic]:
        """Of the inputs: uint8, or float32 for tables with values other than 0 and 1."""
        ...

    def encode(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None,
        out: tuple[NDArray[Any], ...],
    ) -> NDArray[np.int64]:
        """Fill `out`, [n, *shape] each; returns labels [n] or [n, outputs], `NO_LABEL` for move 0.

        Rows where `mirror` is true are mirrored left to right.
        """
        ...

    def labels_of(
        self,
        hcp: NDArray[np.uint8],
        move16: NDArray[np.uint16],
        mirror: NDArray[np.bool_] | None,
    ) -> NDArray[np.int64]:
        """The labels of moves in positions [n, 32], as `encode` gives them."""
        ...

    def mirrored(self, hcp: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Positions [n, 32] mirrored left to right."""
        ...

    def legal(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """bool [n, labels]: whether a legal move has the label; several outputs concatenated."""
        ...

    def is_legal(
        self, samples: Samples, rows: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """bool [n]: whether a legal move has these labels, [n, outputs]."""
        ...


@names_arguments
class Loader:
    """Batches of one source, starting at any cursor.

    Each epoch visits every row once, in an order that depends on seed and epoch only; a source in
    pieces is shuffled within each piece. The last batch of a piece may be smaller. legal: add the
    mask of legal labels. shard: this process's rows of a batch of a given length. pinned: use
    page-locked buffers, for asynchronous copies to a CUDA device.
    """

    def __init__(
        self,
        part: Source,
        encoder: Encoder,
        batch_size: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        mirror: bool = False,
        legal: bool = False,
        ahead: int = 4,
        shard: Callable[[int], slice] | None = None,
        pinned: bool = False,
    ) -> None:
        if not len(part):
            raise ValueError("no samples to load")
        self.part = part
        self.encoder = encoder
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.mirror = mirror
        self.legal = legal
        self.ahead = ahead
        self.shard = shard or slice
        self.pinned = pinned

    def __len__(self) -> int:
        """Batches per epoch."""
        return -(-len(self.part) // self.batch_size)

    def undivided(self) -> Loader:
        """The same batches, not sharded."""
        whole = copy.copy(self)
        whole.shard = slice
        return whole

    def batches(
        self, start: Cursor | None = None, epochs: int | None = None
    ) -> Generator[Batch, None, None]:
        """Yield batches from `start`, endlessly or until `epochs` epochs are complete.

        A batch's inputs stay valid until the second batch after it is requested. Close the iterator
        to end its thread early. Errors in the thread are raised here.
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
            shapes = [(size, *shape) for shape in encoder.interface.inputs]
            buffers = [tuple(self._buffer(shape) for shape in shapes) for _ in range(slots)]
            cursor = start
            while epochs is None or cursor.epoch < epochs:
                with contextlib.closing(self._batches_of(cursor)) as batches:
                    for encode in batches:
                        slot = free.get()
                        if slot is None:
                            return
                        ready.put((slot, encode(buffers[slot])))
                cursor = Cursor(cursor.epoch + 1, 0)
            ready.put(None)
        except BaseException as error:  # handed to the consumer, which raises it
            ready.put(error)

    def _batches_of(
        self, cursor: Cursor
    ) -> Generator[Callable[[tuple[NDArray[Any], ...]], Batch], None, None]:
        """Yield the epoch's batches from the cursor on, each encoded into the given buffers."""
        epoch, at, total = cursor.epoch, cursor.sample, len(self.part)
        for first, piece in self.part.pieces(epoch, at):
            rows, mirrored = self._order(piece, epoch, first)
            for begin in range(at - first, len(rows), self.batch_size):
                span = slice(begin, begin + self.batch_size)
                flips = None if mirrored is None else mirrored[span]
                at = first + min(span.stop, len(rows))
                after = Cursor(epoch, at) if at < total else Cursor(epoch + 1, 0)
                yield partial(self._encode, piece, rows[span], flips, after)
        if at != total:
            raise TrainingError(
                f"epoch {epoch} has {at:,} positions where {total:,} were counted: the files have "
                "changed meanwhile"
            )

    def _buffer(self, shape: tuple[int, ...]) -> NDArray[Any]:
        dtype = torch.from_numpy(np.empty(0, self.encoder.dtype)).dtype
        buffer: NDArray[Any] = torch.empty(shape, dtype=dtype, pin_memory=self.pinned).numpy()
        return buffer

    def _order(
        self, piece: Part, epoch: int, first: int
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        rng = np.random.default_rng([self.seed, epoch, first] if first else [self.seed, epoch])
        rows = rng.permutation(piece.rows) if self.shuffle else piece.rows
        return rows, rng.random(len(rows)) < 0.5 if self.mirror else None

    def _encode(
        self,
        part: Part,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None,
        after: Cursor,
        buffers: tuple[NDArray[Any], ...],
    ) -> Batch:
        samples = part.samples
        whole, size = rows, Size(len(rows), int(np.count_nonzero(samples.move16[rows])))
        mine = self.shard(len(rows))
        rows, mirror = rows[mine], None if mirror is None else mirror[mine]
        inputs = tuple(buffer[: len(rows)] for buffer in buffers)
        label = self.encoder.encode(samples, rows, mirror, inputs)
        soft_label, target_probs = self._soft(part, rows, mirror)
        legal = self.encoder.legal(samples, rows, mirror) if self.legal else None
        if legal is not None:  # the target's move stays unmasked even if the rules forbid it
            _allow(legal, label, self.encoder.interface.heads)
            if soft_label is not None:
                (known,) = np.nonzero(label != NO_LABEL)
                legal[known[:, None], soft_label[known]] = True
        targets = TargetArrays(
            label=label,
            result=samples.result[rows].astype(np.float32),
            score_cp=samples.score_cp[rows].astype(np.float32),
            soft_label=soft_label,
            target_probs=target_probs,
            legal=legal,
            draw=None if part.draws is None else part.draws[rows],
        )
        return Batch(
            inputs, targets, self.encoder.interface.heads, rows, size, after, whole, samples
        )

    def _soft(
        self, part: Part, rows: NDArray[np.int64], mirror: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.float32] | None]:
        """Labels and probabilities [n, most moves] of the rows; padding repeats a row's first move,
        or label 0 without one, with probability 0."""
        if part.target_probs is None:
            return None, None
        count, move16, prob = part.target_probs.rows(rows)
        owner = np.repeat(np.arange(len(rows)), count)
        flips = None if mirror is None else mirror[owner]
        labels = self.encoder.labels_of(part.samples.hcp[rows][owner], move16, flips)
        column = np.arange(len(owner)) - (np.cumsum(count) - count)[owner]
        shape = (len(rows), max(1, int(count.max(initial=0))))
        soft_label, target_probs = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        soft_label[owner[column == 0]] = labels[column == 0, None]
        soft_label[owner, column], target_probs[owner, column] = labels, prob
        return soft_label, target_probs


def _allow(legal: NDArray[np.bool_], label: NDArray[np.int64], heads: tuple[int, ...]) -> None:
    """Mark the labels, [n] or [n, outputs], as legal."""
    offset = 0
    for column, size in zip(label.reshape(len(label), -1).T, heads or (0,), strict=True):
        known = np.flatnonzero(column != NO_LABEL)
        legal[known, column[known] + offset] = True
        offset += size
