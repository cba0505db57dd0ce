"""Fits the teacher's evaluation coefficient (centipawns per logit) to game results."""

from __future__ import annotations

import numpy as np

from komadori.encoding import win_rate_from_score
from komadori.records import MATE_CP
from komadori.training.config import ConfigError
from komadori.training.data import Part
from komadori.wording import names_arguments

_STEPS = 100


@names_arguments
def fit_eval_coef(part: Part) -> float:
    """The maximum-likelihood a of P(win) = 1 / (1 + exp(-score / a)).

    Logistic regression through the origin in 1 / a, by Newton's method. dlshogi's and Apery's
    evalfix fit the same curve, dlshogi's by least squares for each file; here one coefficient fits
    all positions. Raises ConfigError if the scores don't predict the results.
    """
    score = part.samples.score_cp[part.rows].astype(np.float64)
    known = (score != 0) & (np.abs(score) < MATE_CP)  # a mate says nothing of the scale
    x, won = score[known] / 1000, part.samples.result[part.rows][known].astype(np.float64)
    slope = 0.0
    for _ in range(_STEPS):
        p = win_rate_from_score(slope * x, 1.0)
        curvature = float((p * (1 - p) * x * x).sum())
        step = float(((won - p) * x).sum()) / curvature if curvature > 1e-9 else np.inf
        if not np.isfinite(step) or slope > 1e3:
            break
        slope += float(np.clip(step, -2, 2))
        if abs(step) < 1e-9:
            break
    else:
        step = np.inf
    if not np.isfinite(step) or slope <= 0 or slope > 1e3:
        raise ConfigError(
            "loss.eval_coef = fit: the scores don't predict the results by a smooth curve "
            f"({int(known.sum()):,} scores); give a number"
        )
    return 1000 / slope
