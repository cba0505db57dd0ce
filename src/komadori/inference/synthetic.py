"""ONNX files of networks with random weights, for tests and speed measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from komadori.encoding import FEATURES, LABELS
from komadori.inference.model_file import OUTPUTS, input_names

INPUTS = input_names("dlshogi")
CHANNELS1 = FEATURES["dlshogi"].inputs[0].shape[0]
LABELS_2187 = LABELS["2187"].size
VALUE_CHANNELS = 27
VALUE_HIDDEN = 256


class _Graph:
    """Builds an ONNX graph."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, shape: tuple[int, ...], scale: float) -> str:
        from onnx import numpy_helper

        name = f"w{len(self.weights)}"
        array: NDArray[np.float32] = self.random.standard_normal(shape, dtype=np.float32)
        self.weights.append(numpy_helper.from_array(array * np.float32(scale), name))
        return name

    def constant(self, values: list[int]) -> str:
        from onnx import numpy_helper

        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def conv(self, x: str, channels_in: int, channels_out: int, size: int, gain: float) -> str:
        """A convolution with bias; `gain` 2 keeps the variance through a ReLU (He et al. 2015)."""
        scale = (gain / (channels_in * size * size)) ** 0.5
        w = self.weight((channels_out, channels_in, size, size), scale)
        bias = self.weight((channels_out,), 0.05)
        return self.add("Conv", x, w, bias, kernel_shape=[size, size], pads=[size // 2] * 4)


def write_random_resnet(
    path: Path | str, blocks: int, channels: int, *, channels2: int = 57, seed: int = 0
) -> Path:
    """Write a dlshogi-shaped ResNet of `blocks` x `channels` with random weights to `path`.

    The same arguments give the same weights. Its moves are noise; its speed is that of a
    trained network of this shape. Needs the `onnx` package.
    """
    import onnx
    from onnx import TensorProto, helper

    g = _Graph(seed)
    x = g.add(
        "Add",
        g.add(
            "Add",
            g.conv(INPUTS[0], CHANNELS1, channels, 3, 2.0),
            g.conv(INPUTS[0], CHANNELS1, channels, 1, 2.0),
        ),
        g.conv(INPUTS[1], channels2, channels, 1, 2.0),
    )
    x = g.add("Relu", x)
    for _ in range(blocks):
        y = g.add("Relu", g.conv(x, channels, channels, 3, 2.0))
        y = g.conv(y, channels, channels, 3, 0.2)
        x = g.add("Relu", g.add("Add", x, y))

    policy = g.conv(x, channels, LABELS_2187 // 81, 1, 0.5)
    flat = g.constant([-1, LABELS_2187])
    g.add("Reshape", policy, flat, output=OUTPUTS[0])

    value = g.add("Relu", g.conv(x, channels, VALUE_CHANNELS, 1, 2.0))
    value = g.add("Reshape", value, g.constant([-1, VALUE_CHANNELS * 81]))
    for width_in, width_out in ((VALUE_CHANNELS * 81, VALUE_HIDDEN), (VALUE_HIDDEN, 1)):
        w = g.weight((width_in, width_out), (1.0 / width_in) ** 0.5)
        value = g.add("Add", g.add("MatMul", value, w), g.weight((width_out,), 0.05))
        if width_out > 1:
            value = g.add("Relu", value)
    g.add("Sigmoid", value, output=OUTPUTS[1])

    def tensor(name: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", *shape])

    graph = helper.make_graph(
        g.nodes,
        f"random {blocks}x{channels}",
        [tensor(INPUTS[0], CHANNELS1, 9, 9), tensor(INPUTS[1], channels2, 9, 9)],
        [tensor(OUTPUTS[0], LABELS_2187), tensor(OUTPUTS[1], 1)],
        g.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.checker.check_model(model)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path
