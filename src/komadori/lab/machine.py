"""A description of the machine for records."""

from __future__ import annotations

import importlib
import platform
from pathlib import Path

from komadori.cpus import available_threads

#: Names of CPU features that matter for the speed of networks.
_TELLING = ("avx2", "avx512", "vnni", "bf16", "amx", "neon", "dotprod")


def describe() -> str:
    """The CPU with its cores and features, as text."""
    count = available_threads()
    probe = importlib.import_module("komadori._core._cpu_probe")
    known = {part for name in probe.features() for part in _TELLING if part in name}
    able = ", ".join(name for name in _TELLING if name in known)
    cores = "one core" if count == 1 else f"{count} cores"
    return f"{cores} of {_model()}{f' ({able})' if able else ''}"


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
