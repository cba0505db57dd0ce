"""Simultaneous perturbation stochastic approximation over an engine's options.

At iteration k all parameters are perturbed by +-c_k, with signs drawn at random (`coins`). One
engine plays with these values, the other with the opposite perturbation. The result (wins minus
losses of the first engine in a pair of games) updates the parameters:

    theta += a_k / c_k * result * coin,   c_k = c / (k + 1)^gamma,   a_k = a / (A + k + 1)^alpha

`step` is c and `rate` is a_k / c_k^2 at the last iteration, as in fishtest.
Source: J. C. Spall, "An overview of the simultaneous perturbation method for
efficient optimization" (1998); fishtest's `Creating my first test`, section SPSA.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from komadori.wording import plain_number

#: Largest number of a parameter; the arithmetic stays finite.
LARGEST = 1e15


@dataclass(frozen=True)
class Parameter:
    """An option to tune. `step` and `rate` are those of the last iteration."""

    name: str
    start: float
    min: float
    max: float
    step: float
    """Size of the perturbation."""
    rate: float = 0.002
    """Learning rate: a_k / c_k^2."""
    is_integer: bool = True

    def __post_init__(self) -> None:
        for key in ("start", "min", "max", "step", "rate"):
            if not math.isfinite(getattr(self, key)):
                raise ValueError(f"{self.name}: {key} is not finite")
            if abs(getattr(self, key)) > LARGEST:
                raise ValueError(f"{self.name}: {key} is beyond {LARGEST:g}")
        if not self.min < self.max:
            raise ValueError(
                f"{self.name}: min {plain_number(self.min)} isn't below "
                f"max {plain_number(self.max)}"
            )
        if not self.min <= self.start <= self.max:
            raise ValueError(
                f"{self.name}: start {plain_number(self.start)} isn't in "
                f"[{plain_number(self.min)}, {plain_number(self.max)}]"
            )
        if self.step <= 0 or self.rate <= 0:
            raise ValueError(f"{self.name}: step and rate must be above 0")

    def clip(self, value: float) -> float:
        """Clamp a value to the range."""
        return min(self.max, max(self.min, value))

    def text(self, value: float, rng: random.Random) -> str:
        """Format the value for an option; integers are rounded up or down at random."""
        if self.is_integer:
            return str(int(self.clip(math.floor(value + rng.random()))))
        return f"{self.clip(value):.6g}"


@dataclass(frozen=True)
class Trial:
    """An iteration's perturbation signs, and both sides' option values."""

    iteration: int
    coins: dict[str, int]
    plus: dict[str, str]
    minus: dict[str, str]


@dataclass
class Spsa:
    """The state of a tuning: the current parameters.

    The random choices of an iteration depend only on `seed` and its number.
    """

    parameters: Sequence[Parameter]
    iterations: int
    seed: int = 0
    alpha: float = 0.602
    gamma: float = 0.101
    stability: float = 0.1
    """A as a fraction of all iterations."""
    theta: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        if not self.parameters:
            raise ValueError("there is no parameter to tune")
        if self.iterations < 1:
            raise ValueError(f"iterations must be at least 1, not {self.iterations}")
        self.theta = {p.name: p.start for p in self.parameters}
        if len(self.theta) < len(self.parameters):
            raise ValueError("a parameter is named twice")

    def _perturbation(self, parameter: Parameter, k: int) -> float:
        return parameter.step * math.pow(self.iterations / (k + 1), self.gamma)

    def _gain(self, parameter: Parameter, k: int) -> float:
        """a_k / c_k."""
        delay = self.stability * self.iterations
        a_last = parameter.rate * parameter.step**2
        a_k = a_last * math.pow((delay + self.iterations) / (delay + k + 1), self.alpha)
        return a_k / self._perturbation(parameter, k)

    def trial(self, k: int) -> Trial:
        """Return the trial of iteration `k` (from 0) around the current values."""
        rng = random.Random(f"spsa {self.seed} {k}")
        coins = {p.name: rng.choice((1, -1)) for p in self.parameters}
        plus, minus = {}, {}
        for p in self.parameters:
            shift = self._perturbation(p, k) * coins[p.name]
            plus[p.name] = p.text(self.theta[p.name] + shift, rng)
            minus[p.name] = p.text(self.theta[p.name] - shift, rng)
        return Trial(k, coins, plus, minus)

    def update(self, k: int, coins: Mapping[str, int], result: float) -> None:
        """Update by the result of iteration `k`: the plus side's wins minus losses."""
        for p in self.parameters:
            moved = self.theta[p.name] + self._gain(p, k) * result * coins[p.name]
            self.theta[p.name] = p.clip(moved)
