"""The kinds of learners by the name that an experiment's `learner` gives."""

from __future__ import annotations

from collections.abc import Mapping

from komadori.lab.kpp_learner import KppLearner
from komadori.lab.learner import Learner
from komadori.lab.network_learner import NetworkLearner

LEARNERS: Mapping[str, Learner] = {"network": NetworkLearner(), "kpp": KppLearner()}
