"""Encodes hcp as planes, labels and masks of legal labels, in the C++ core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori import encoding
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

    def encode(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None,
        out: tuple[NDArray[Any], ...],
    ) -> NDArray[np.int64]:
        ply = samples.ply[rows] if self._needs_plies else None
        if ply is not None and ply.min(initial=1) < 1:
            raise ConfigError(
                f"model.features = {self.features!r} needs move numbers, and position "
                f"{rows[ply < 1][0]:,} of the samples has none (hcpe and hcpe2 don't store them)"
            )
        hcp, move16 = self._mirror(samples.hcp[rows], samples.move16[rows], mirror)
        encoding.encode_planes(
            hcp,
            self.features,
            dtype="uint8" if self.dtype is np.uint8 else "float32",
            out=out,
            plies=None if ply is None else ply.astype(np.int32) - 1,
            threads=self.threads,
        )
        return self.labels_of(hcp, move16, None)

    def labels_of(
        self,
        hcp: NDArray[np.uint8],
        move16: NDArray[np.uint16],
        mirror: NDArray[np.bool_] | None,
    ) -> NDArray[np.int64]:
        hcp, move16 = self._mirror(hcp, move16, mirror)
        return encoding.encode_labels(
            hcp, move16, self.labels, missing=NO_LABEL, threads=self.threads
        )

    def mirrored(self, hcp: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return encoding.mirror_hcps(hcp, threads=self.threads)

    def legal(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        mirror: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        hcp = samples.hcp[rows]
        if mirror is not None and mirror.any():
            hcp[mirror] = self.mirrored(hcp[mirror])
        return encoding.legal_mask(hcp, self.labels, threads=self.threads)

    def is_legal(
        self, samples: Samples, rows: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        if not self.interface.heads:
            found: NDArray[np.bool_] = self.legal(samples, rows)[np.arange(len(rows)), labels[:, 0]]
            return found
        # Legal outputs may contradict each other: look for one move with both.
        boards = (Board.from_hcp(samples.hcp[row].tobytes()) for row in rows)
        moves = (encoding.legal_labels(board, self.labels) for board in boards)
        return np.array([(m == one).all(1).any() for m, one in zip(moves, labels, strict=True)])

    def _mirror(
        self,
        hcp: NDArray[np.uint8],
        move16: NDArray[np.uint16],
        mirror: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Copies with the chosen rows mirrored; the arrays themselves if none is."""
        if mirror is None or not mirror.any():
            return hcp, move16
        hcp, move16 = hcp.copy(), move16.copy()
        hcp[mirror], move16[mirror] = encoding.mirror(
            hcp[mirror], move16[mirror], threads=self.threads
        )
        return hcp, move16
