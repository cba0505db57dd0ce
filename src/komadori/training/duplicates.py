"""One sample per position: the mean of its duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori.training.data import MoveProbs, Part, keys_of
from komadori.wording import names_arguments


@dataclass
class MeanSamples:
    """`data.Samples` of means."""

    hcp: NDArray[np.uint8]
    move16: NDArray[np.uint16]
    score_cp: NDArray[np.int16]
    result: NDArray[np.float32]
    game: NDArray[np.int32]
    ply: NDArray[np.int16]


@names_arguments
def average_duplicates(part: Part) -> Part:
    """The part's distinct positions, in the order of their first row.

    Result and score are means; `Part.draws` is the fraction of draws. The policy target is the
    distribution of the moves played, `move16` the most frequent one; game and ply are those of the
    first row. The means are held in memory: about 50 bytes per position and 6 per move.
    """
    samples, rows = part.samples, part.rows
    _, first, group = np.unique(keys_of(part), return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    group = place[group]
    first = rows[np.sort(first)]
    size = np.bincount(group)

    def mean(of_rows: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(group, of_rows.astype(np.float64)) / size

    result = samples.result[rows]
    targets = _target_probs(part, group, len(first))
    best = np.zeros(len(first), np.uint16)
    count, move16, prob = targets.rows(np.arange(len(first)))
    owner = np.repeat(np.arange(len(first)), count)
    order = np.argsort(prob, kind="stable")  # the largest is written last
    best[owner[order]] = move16[order]
    means = MeanSamples(
        hcp=samples.hcp[first],
        move16=best,
        score_cp=np.rint(mean(samples.score_cp[rows])).astype(np.int16),
        result=mean(result).astype(np.float32),
        game=samples.game[first],
        ply=samples.ply[first],
    )
    is_draw = result == 0.5 if part.draws is None else part.draws[rows]
    return Part.whole(means, targets, mean(is_draw).astype(np.float32))


def _target_probs(part: Part, group: NDArray[np.int64], groups: int) -> MoveProbs:
    rows = part.rows
    if part.target_probs is None:
        move16 = part.samples.move16[rows]
        owner, weight = group[move16 != 0], np.ones(int((move16 != 0).sum()), np.float32)
        move16 = move16[move16 != 0]
    else:
        count, move16, weight = part.target_probs.rows(rows)
        owner = np.repeat(group, count)
    key, inverse = np.unique(owner << 16 | move16, return_inverse=True)
    merged = np.bincount(inverse, weight, minlength=len(key)).astype(np.float32)
    count = np.bincount(key >> 16, minlength=groups)
    return MoveProbs.of_weights(count, (key & 0xFFFF).astype(np.uint16), merged)
