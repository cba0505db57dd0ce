"""The real encoder: hcp to planes, labels and legal labels, in the C++ core."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori import encoding
from komadori.encoding import LabelScheme
from komadori.nets import Interface
from komadori.rules import Board
from komadori.training.config import ConfigError
from komadori.training.data import Samples
from komadori.training.targets import NO_LABEL


def interface_of(features: str, labels: str) -> Interface:
    """The tensors of `encoding.FEATURES[features]` and `encoding.LABELS[labels]`."""
    for kind, name, known in (
        ("features", features, encoding.FEATURES),
        ("labels", labels, encoding.LABELS),
    ):
        if name not in known:
            raise ConfigError(f"model.{kind}: unknown {name!r}; known: {', '.join(known)}")
    table, scheme = encoding.FEATURES[features], encoding.LABELS[labels]
    heads = tuple(head.size for head in scheme.heads)
    return Interface(
        tuple(one.shape for one in table.inputs), scheme.size, heads if len(heads) > 1 else ()
    )


class CoreEncoder:
    """A `loader.Encoder` over `encoding.FEATURES[features]` and `encoding.LABELS[labels]`.

    threads: of the core, for each batch.
    """

    def __init__(self, features: str, labels: str, *, threads: int = 1) -> None:
        self.interface = interface_of(features, labels)
        table = encoding.FEATURES[features]
        self.features, self.labels, self.threads = features, labels, threads
        self.dtype: type[np.generic] = np.uint8 if table.is_binary else np.float32
        self._needs_plies = table.needs_plies
        self._mirrored_label: NDArray[np.int64] | None = None

    def encode(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None,
        out: tuple[NDArray[Any], ...],
    ) -> NDArray[np.int64]:
        hcp = samples.hcp[rows]
        encoding.encode_planes(
            hcp,
            self.features,
            dtype="uint8" if self.dtype is np.uint8 else "float32",
            out=out,
            plies=samples.ply[rows].astype(np.int32) - 1 if self._needs_plies else None,
            threads=self.threads,
        )
        if mirror is not None:
            for planes in out:
                if planes.shape[2:] != (9, 9):
                    raise ConfigError(f"data.mirror: {self.features!r} are not planes of squares")
                planes[mirror] = planes[mirror, :, ::-1]  # axis 2 is the file
        return self.labels_of(hcp, samples.move16[rows], mirror)

    def labels_of(
        self,
        hcp: NDArray[np.uint8],
        move16: NDArray[np.uint16],
        mirror: NDArray[np.bool_] | None,
    ) -> NDArray[np.int64]:
        label = encoding.encode_labels(
            hcp, move16, self.labels, missing=NO_LABEL, threads=self.threads
        )
        if mirror is not None:
            changed = mirror & (label != NO_LABEL)
            label[changed] = self._mirrored()[label[changed]]
        return label

    def legal(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        mask = encoding.legal_mask(samples.hcp[rows], self.labels, threads=self.threads)
        if mirror is not None:
            mask[mirror] = mask[mirror][:, self._mirrored()]
        return mask

    def is_legal(
        self, samples: Samples, rows: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        if not self.interface.heads:
            found: NDArray[np.bool_] = self.legal(samples, rows)[np.arange(len(rows)), labels[:, 0]]
            return found
        # Outputs that are each legal may contradict one another: ask for a move that has both.
        boards = (Board.from_hcp(samples.hcp[row].tobytes()) for row in rows)
        moves = (encoding.legal_labels(board, self.labels) for board in boards)
        return np.array([(m == one).all(1).any() for m, one in zip(moves, labels, strict=True)])

    def _mirrored(self) -> NDArray[np.int64]:
        if self._mirrored_label is None:
            self._mirrored_label = mirrored_labels(encoding.LABELS[self.labels])
        return self._mirrored_label


def mirrored_labels(scheme: LabelScheme) -> NDArray[np.int64]:
    """int64 [size]: the label of the same move on the board mirrored left to right.

    From the scheme's table: the destination's file is turned and a plane's LEFT and RIGHT
    are swapped.
    """
    if len(scheme.heads) > 1:
        raise ConfigError(f"data.mirror: labels {scheme.name!r} can't be mirrored")
    (head,) = scheme.heads
    place = {name: index for index, name in enumerate(head.planes)}
    swap = {"LEFT": "RIGHT", "RIGHT": "LEFT"}
    turned = (re.sub("LEFT|RIGHT", lambda m: swap[m[0]], name) for name in head.planes)
    plane = np.array([place[name] for name in turned])
    numbers = np.arange(81 * len(plane)) if head.dense is None else np.array(head.dense)
    to = numbers % 81
    mirrored: NDArray[np.int64] = 81 * plane[numbers // 81] + 9 * (8 - to // 9) + to % 9
    if head.dense is None:
        return mirrored
    return np.searchsorted(numbers, mirrored).astype(np.int64)
