"""Options for a network's device and backend, checked before any work starts."""

from __future__ import annotations

import re

import click

#: PyTorch's devices, then ONNX Runtime's; a number selects a GPU.
DEVICES = ("cpu", "cuda", "mps", "xpu", "tensorrt", "directml", "coreml")
#: As in `inference.BACKENDS`, whose import would load numerical libraries.
BACKENDS = ("openvino", "onnxruntime", "torch")


class Device(click.ParamType[str]):
    """A device name; empty: choose automatically."""

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
#: Backends of ONNX files and OpenVINO models; torch runs model folders.
FILE_BACKENDS = tuple(name for name in BACKENDS if name != "torch")
FILE_BACKEND = click.Choice(("auto", *FILE_BACKENDS))
#: Precisions of a network; not every backend has all of them.
PRECISIONS = ("auto", "float32", "bfloat16", "float16", "int8")
