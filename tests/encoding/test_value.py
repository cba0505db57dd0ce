"""Conversion of scores and win rates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from komadori.encoding import score_from_win_rate, win_rate_from_score
from komadori.encoding.value import DLSHOGI_COEF, ELMO_COEF

COEFS = (DLSHOGI_COEF, ELMO_COEF, 285.0)


def test_coefficients() -> None:
    assert DLSHOGI_COEF == 756.0864962951762
    assert ELMO_COEF == 600


@given(st.floats(-30_000, 30_000), st.sampled_from(COEFS))
def test_formula(score: float, coef: float) -> None:
    assert win_rate_from_score(score, coef) == pytest.approx(1 / (1 + math.exp(-score / coef)))


@given(st.floats(-5_000, 5_000), st.sampled_from(COEFS))
def test_inverse(score: float, coef: float) -> None:
    back = score_from_win_rate(win_rate_from_score(score, coef), coef)
    assert back == pytest.approx(score, abs=max(1e-6, 1e-9 * coef * math.exp(abs(score) / coef)))


def test_arrays_and_limits() -> None:
    scores = np.array([-32_000, -600, 0, 600, 32_000], np.int16)
    rates = win_rate_from_score(scores, 600)
    np.testing.assert_allclose(rates, [0, 0.26894, 0.5, 0.73106, 1], atol=1e-5)
    assert win_rate_from_score(scores.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(score_from_win_rate([0, 0.5, 1], limit_cp=9_999), [-9_999, 0, 9_999])
    assert win_rate_from_score(1e9) == 1
    assert isinstance(win_rate_from_score(0), float)


@pytest.mark.parametrize("rate", [-0.01, 1.01, math.nan, [0.5, 1.5], [math.nan, 0.5]])
def test_a_rate_outside_its_range_is_an_error(rate: float | list[float]) -> None:
    with pytest.raises(ValueError, match=r"from 0 to 1, not (-0\.01|1\.01|1\.5|nan)$"):
        score_from_win_rate(rate)


def test_a_rate_may_be_rounded() -> None:
    assert score_from_win_rate([-1e-9, 1 + 1e-9], limit_cp=500).tolist() == [-500, 500]


@pytest.mark.parametrize("coef", [0, -600.0, math.nan, math.inf])
def test_a_wrong_coefficient_is_an_error_that_names_it(coef: float) -> None:
    for call in (win_rate_from_score, score_from_win_rate):
        with pytest.raises(ValueError, match=rf"^coef must be above 0 and finite, not {coef}$"):
            call(0.5, coef)
