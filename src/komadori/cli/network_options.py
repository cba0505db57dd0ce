"""Options that say where a network runs: checked before any work begins."""

from __future__ import annotations

import re

import click

#: Of PyTorch and, behind them, ONNX Runtime's; a number tells GPUs apart.
DEVICES = ("cpu", "cuda", "mps", "xpu", "tensorrt", "directml", "coreml")
#: `inference.BACKENDS`, which costs an import of numerical libraries.
BACKENDS = ("openvino", "onnxruntime", "torch")


class Device(click.ParamType[str]):
    """A device's name; empty where the option's default is to choose."""

    name = "device"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        text = str(value).lower()
        if text in ("", "auto") or re.fullmatch(rf"({'|'.join(DEVICES)})(:\d{{1,3}})?", text):
            return text
        self.fail(f"{value!r}: expected auto, {', '.join(DEVICES[:-1])} or {DEVICES[-1]}")


DEVICE = Device()
BACKEND = click.Choice(("auto", *BACKENDS))
