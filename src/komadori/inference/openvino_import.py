"""OpenVINO without its telemetry."""

from __future__ import annotations

import importlib
import sys
from typing import Any, cast


def import_openvino() -> Any:
    """The module `openvino`, imported so that it reports to nobody.

    Its first import otherwise forks a process that sends an event. In an engine, where another
    thread waits for input, that process hangs, and keeps the engine's output open after its end.
    Without the package `openvino_telemetry` OpenVINO does without.
    """
    name = "openvino_telemetry"
    if "openvino" in sys.modules or name in sys.modules:
        return importlib.import_module("openvino")
    modules = cast(dict[str, Any], sys.modules)
    modules[name] = None  # an import of it fails
    try:
        return importlib.import_module("openvino")
    finally:
        del modules[name]
