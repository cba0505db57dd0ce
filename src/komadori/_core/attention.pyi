from typing import Annotated

import numpy
from numpy.typing import NDArray


MAX_SIZE: int = 64

def attend(query: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], key: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], log_sum: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], dropout: float = 0.0, seed: int = 0, threads: int = 1) -> None:
    """
    softmax(query key^T / sqrt(size) + bias) value.

    query, key, value: float32 [positions, heads, tokens, size], size at most MAX_SIZE,
    contiguous in the last dimension. bias: [heads, tokens, tokens] or None. Writes out,
    float32 [positions, tokens, heads, size], and log_sum [positions, heads, tokens], the
    log-sum-exp of each query's scores. dropout: probability in [0, 1) of dropping an
    attention weight; the mask is a function of the 64-bit seed. ValueError for other shapes.
    """

def attend_gradient(query: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], key: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu', writable=False)], log_sum: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], by_out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), device='cpu', writable=False)], by_query: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], by_key: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], by_value: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, None), order='C', device='cpu')], by_bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')] | None, dropout: float = 0.0, seed: int = 0, threads: int = 1) -> None:
    """
    The gradients of a loss with respect to the inputs of `attend`.

    by_out: the gradient with respect to out, [positions, heads, tokens, size], contiguous
    in the last dimension. Writes by_query, by_key, by_value [positions, tokens, heads,
    size] and by_bias (shape of bias). Independent of the number of threads. dropout and
    seed: those of the call of `attend`.
    """
