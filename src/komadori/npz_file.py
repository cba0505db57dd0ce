"""Arrays from .npz files that may be damaged or hostile."""

from __future__ import annotations

import errno
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_array(file: Any, name: str, max_bytes: int) -> NDArray[Any]:
    """Read an array of an open .npz file (`np.load`) unless its header claims a larger size.

    A small file can claim, and unpack to, any size. Raises KeyError, OSError, and whatever numpy
    and zipfile raise for a damaged file.
    """
    member_name = f"{name}.npy"  # by `name` alone numpy prefers a member without the suffix
    try:
        with file.zip.open(member_name) as member:
            if np.lib.format.read_magic(member) != (1, 0):  # others have headers of up to 4 GB
                raise ValueError(f"{name}: another version of the array format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(member)
    except OSError as error:
        if error.errno == errno.EINVAL:  # a seek to before the file, where its directory points
            raise ValueError(f"{name}: outside the file") from error
        raise
    if math.prod(shape) * dtype.itemsize > max_bytes:
        raise ValueError(f"{name}: larger than {max_bytes:,} bytes")
    array: NDArray[Any] = file[member_name]
    return array
