"""Synthetic samples whose move and result can be read off the position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from komadori.nets import Interface
from komadori.training import config_from_dict
from komadori.training.config import Config
from komadori.training.loss import NO_LABEL

torch.set_num_threads(1)


@dataclass
class ToySamples:
    hcp: NDArray[np.uint8]
    move16: NDArray[np.uint16]
    score_cp: NDArray[np.int16]
    result: NDArray[np.float32]
    game: NDArray[np.int32]
    ply: NDArray[np.int16]


class ToyEncoder:
    """Shows the first bits of the 32 bytes as planes; the label is move16 - 1."""

    interface = Interface(((4, 9, 9), (2, 9, 9)), 16 * 81)
    dtype = np.uint8

    def encode(self, samples, rows, mirror, out):
        bits = np.unpackbits(samples.hcp[rows], axis=1)
        out[0][:] = bits[:, :4, None, None]
        out[1][:] = bits[:, 4:6, None, None]
        if mirror is not None:
            out[0][mirror] = out[0][mirror, ::-1]
        return self.labels_of(samples.hcp[rows], samples.move16[rows], mirror)

    def labels_of(self, hcp, move16, mirror):
        return np.where(move16 == 0, NO_LABEL, move16.astype(np.int64) - 1)

    def mirrored(self, hcp):
        return hcp ^ np.uint8(255)

    def legal(self, samples, rows, mirror=None):
        return np.tile(np.arange(self.interface.labels) % 81 == 0, (len(rows), 1))

    def is_legal(self, samples, rows, labels):
        return labels[:, 0] % 81 == 0


def make_samples(n: int = 300, seed: int = 0) -> ToySamples:
    rng = np.random.default_rng(seed)
    hcp = rng.integers(0, 256, (n, 32), dtype=np.uint8)
    kind = hcp[:, 0] >> 4  # the planes' first four bits
    return ToySamples(
        hcp=hcp,
        move16=(81 * kind.astype(np.uint16) + 1),
        score_cp=np.where(kind < 8, 600, -600).astype(np.int16),
        result=(kind < 8).astype(np.float32),
        game=(np.arange(n) // 10).astype(np.int32),
        ply=(np.arange(n) % 10 + 1).astype(np.int16),
    )


def make_config(**sections) -> Config:
    table = {
        "model": {"net": "resnet1x8"},
        "data": {"test_fraction": 0.2},
        "schedule": {"rate": 0.05, "warmup_steps": 2},
        "loop": {
            "batch_size": 32,
            "epochs": 0,
            "max_steps": 12,
            "evaluate_every": 4,
            "checkpoint_every": 4,
            "log_every": 1,
            "tensorboard": False,
        },
        "device": {"device": "cpu", "precision": "float32"},
    }
    for name, values in sections.items():
        if isinstance(values, dict):
            table.setdefault(name, {}).update(values)
        else:
            table[name] = values
    return config_from_dict(table)
