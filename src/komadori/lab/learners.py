"""The registry of learners, by the name in an experiment's `learner`."""

from __future__ import annotations

from collections.abc import Mapping

from komadori.lab.kpp_learner import KppLearner
from komadori.lab.learner import Learner
from komadori.lab.network_learner import NetworkLearner

LEARNERS: Mapping[str, Learner] = {"network": NetworkLearner(), "kpp": KppLearner()}
