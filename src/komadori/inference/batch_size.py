"""The default batch size.

Large batches amortize the overhead of a request. Small ones keep a search narrow, return soon after
`stop`, and fill up early. The default depends only on the network and the precision, so that
searches are reproducible across machines of one kind.
"""

from __future__ import annotations

import math
from typing import Any

from komadori.wording import names_arguments

SMALLEST = 8
LARGEST = 64
#: Batch sizes for backends that don't report the size of a network.
ON_CPU = 16
ON_GPU = 128

#: Million multiply-adds per batch by precision: measured with 10x128 (250 per position) and 5x64
#: (36) on a CPU with AMX, where larger batches gained less than 2 %.
_TARGET = {"float32": 4000.0, "bfloat16": 16000.0, "float16": 16000.0, "int8": 16000.0}

#: Batch sizes for which a backend compiles kernels in advance: a new size costs OpenVINO about
#: 15 ms per stream.
_SIZES = (1, 2, 3, 4, *(n << k for k in range(10) for n in (6, 8)))


@names_arguments
def batch_sizes(max_batch: int) -> tuple[int, ...]:
    """The batch sizes worth using, up to and including `max_batch`."""
    return (*(size for size in _SIZES if size < max_batch), max_batch)


def suited_batch(multiply_adds: float, precision: str) -> int:
    """The batch size for a network with this many multiply-adds per position: a power of two."""
    rows = _TARGET[precision] * 1e6 / max(multiply_adds, 1.0)
    power = round(math.log2(max(rows, 1.0)))
    return min(max(1 << power, SMALLEST), LARGEST)


def multiply_adds(model: Any) -> float:
    """Multiply-adds per position of an `openvino.Model`: convolutions and matrix products."""
    total = 0.0
    for node in model.get_ops():
        kind = node.get_type_name()
        if kind not in ("Convolution", "MatMul"):
            continue
        shape = node.get_output_partial_shape(0)
        outputs = math.prod(d.get_length() for d in shape if d.is_static)
        second = node.get_input_partial_shape(1)
        if kind == "Convolution":  # [out, in, height, width]
            terms = math.prod(second[i].get_length() for i in range(1, 4))
        else:
            first = node.get_input_partial_shape(0)
            last = first[len(first) - 1]
            terms = last.get_length() if last.is_static else 1
        total += outputs * terms
    return total
