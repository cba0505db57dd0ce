"""Set-up for all tests."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

# A shell that starts the tests in the background ignores SIGINT for them, and so for the commands
# that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# ONNX Runtime, imported by the tests directly, is not to upload events either.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# Several processes share the CPUs: OpenMP threads sleep while they wait, instead of spinning.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Hypothesis's deadline of 200 ms per example measures how busy the machine is.
hypothesis.settings.register_profile("komadori", deadline=None)
hypothesis.settings.load_profile("komadori")

#: The files that take longest, longest first: a file that starts last would run alone at the end.
LONGEST = (
    "web/test_browser.py",
    "linear/test_nnue_learner.py",
    "analysis/test_page.py",
    "linear/test_kpp_learner.py",
    "linear/test_learner.py",
    "generate/test_distillation.py",
    "report/test_run_page.py",
    "lab/test_laboratory.py",
    "lab/test_kpp_experiment.py",
    "linear/test_kpp.py",
    "inference/test_quantization.py",
    "cli/test_interrupt.py",
    "records/test_text_formats.py",
    "usi/test_engine.py",
)
_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest files first; keep the order otherwise."""
    rank = {_FOLDER / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
