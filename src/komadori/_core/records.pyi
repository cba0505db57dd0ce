from typing import Any

import numpy
import numpy.typing


def hcpe3_samples(data: numpy.typing.NDArray[numpy.uint8]) -> tuple[dict[str, Any], list[tuple[int, int, int, str, int]]]: ...
