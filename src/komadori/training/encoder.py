"""The real encoder: hcp to planes, labels and legal labels, in the C++ core."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori import encoding
from komadori.encoding import LabelScheme
from komadori.nets import Interface
from komadori.training.config import ConfigError
from komadori.training.data import Samples
from komadori.training.loss import NO_LABEL


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
    """A `loader.Encoder` over `encoding.FEATURES[features]` and `encoding.LABELS[labels]`."""

    def __init__(self, features: str, labels: str) -> None:
        self.interface = interface_of(features, labels)
        if self.interface.heads:
            raise ConfigError(
                f"model.labels: {labels!r} has {len(self.interface.heads)} outputs, not one"
            )
        table = encoding.FEATURES[features]
        self.features, self.labels = features, labels
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
        )
        label = encoding.encode_labels(hcp, samples.move16[rows], self.labels, missing=NO_LABEL)
        if mirror is not None:
            self._mirror(mirror, out, label)
        return label

    def legal(self, samples: Samples, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return encoding.legal_mask(samples.hcp[rows], self.labels)

    def _mirror(
        self, mirror: NDArray[np.bool_], out: tuple[NDArray[Any], ...], label: NDArray[np.int64]
    ) -> None:
        if self._mirrored_label is None:
            self._mirrored_label = mirrored_labels(encoding.LABELS[self.labels])
        for planes in out:
            if planes.shape[2:] != (9, 9):
                raise ConfigError(f"data.mirror: {self.features!r} are not planes of squares")
            planes[mirror] = planes[mirror, :, ::-1]  # axis 2 is the file
        changed = mirror & (label != NO_LABEL)
        label[changed] = self._mirrored_label[label[changed]]


def mirrored_labels(scheme: LabelScheme) -> NDArray[np.int64]:
    """int64 [size]: the label of the same move on the board mirrored left to right.

    From the scheme's table: the destination's file is turned and a plane's LEFT and RIGHT
    are swapped.
    """
    (head,) = scheme.heads
    if not head.planes:
        raise ConfigError(f"data.mirror: labels {scheme.name!r} have no directions to mirror")
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
