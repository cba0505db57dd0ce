from typing import Annotated

import numpy
from numpy.typing import NDArray


MAX_SIZE: int = 64

def attend(query: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], key: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], log_sum: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], dropout: float = 0.0, seed: int = 0, threads: int = 1) -> None:
    """
    softmax(query key^T / sqrt(size) + bias) value.

    query, key, value: float32 [positions, heads, tokens, size], size at most MAX_SIZE, of
    any strides but the last. bias: [heads, tokens, tokens] or None. Filled: out, float32
    [positions, tokens, heads, size], and log_sum [positions, heads, tokens], the logarithm
    of the sum of each query's exponentials. dropout: the share of the softmax's numbers, in
    [0, 1), that is dropped, the others scaled up; which, the seed (64 bits) decides.
    ValueError for other shapes.
    """

def attend_gradient(query: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], key: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)], log_sum: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], by_out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], by_query: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], by_key: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], by_value: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], by_bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')] | None, dropout: float = 0.0, seed: int = 0, threads: int = 1) -> None:
    """
    The gradient of a loss by what `attend` was given, from its gradient by out.

    by_out: [positions, heads, tokens, size], of any strides but the last. Filled:
    by_query, by_key, by_value [positions, tokens, heads, size], by_bias as bias. The same
    for any number of threads. dropout and seed are what `attend` had.
    """
