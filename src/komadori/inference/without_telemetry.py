"""OpenVINO, NNCF and ONNX Runtime without their telemetry."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, cast


def import_openvino() -> Any:
    """Import `openvino` without its telemetry.

    Its first import otherwise forks a process that sends an event. In an engine, where another
    thread waits for input, that process hangs and keeps the engine's output open after the engine
    exits. Without the package `openvino_telemetry` OpenVINO sends nothing.
    """
    return _import_silently("openvino")


def import_nncf() -> Any:
    """Import `nncf` without its telemetry.

    It otherwise assumes consent, writes files with a user id, and sends events.
    """
    import_openvino()
    return _import_silently("nncf")


def import_onnxruntime() -> Any:
    """Import `onnxruntime` without its telemetry.

    From 1.31 its first import otherwise writes a device id to the home folder and uploads events.
    The opt-out must be in the environment before that import, and holds for child processes too
    (https://github.com/microsoft/onnxruntime/pull/29843). A value that the user has set is kept.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return importlib.import_module("onnxruntime")


def _import_silently(module: str) -> Any:
    name = "openvino_telemetry"
    modules = cast(dict[str, Any], sys.modules)
    if module in modules or name in modules:
        return importlib.import_module(module)
    modules[name] = None  # an import of it fails
    try:
        return importlib.import_module(module)
    finally:
        del modules[name]
