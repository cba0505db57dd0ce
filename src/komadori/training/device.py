"""The device that computes the network, and its precision."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from komadori.cpus import available_threads
from komadori.nets import Network
from komadori.training.config import PRECISIONS, ConfigError, DeviceConfig
from komadori.training.loader import Batch
from komadori.training.memory import keep_freed_memory
from komadori.training.targets import Targets
from komadori.training.torchrun import local_rank
from komadori.training.workers import Workers
from komadori.wording import device_reason, names_arguments

#: A network's outputs of its inputs.
Forward = Callable[..., tuple[Tensor, ...]]
#: Most shards of a batch on a CPU; more threads work in groups, so that shards stay large.
MAX_REPLICAS = 4


@names_arguments
@dataclass(frozen=True)
class Compute:
    """A device and the dtype of the convolutions; weights and loss stay float32.

    replicas: threads that each take a shard of a batch, with `threads_each` torch threads; 1
    except on a CPU. compile: torch.compile's mode, or none.
    """

    device: torch.device
    dtype: torch.dtype
    replicas: int = 1
    threads_each: int = 1
    compile: str = "none"

    @classmethod
    def of(cls, config: DeviceConfig) -> Compute:
        """The configured device and precision, or the best available. Raises ConfigError."""
        threads = config.threads or available_threads()
        if config.threads or threads < torch.get_num_threads():
            torch.set_num_threads(threads)
        name = _best_device() if config.device == "auto" else config.device
        try:
            device = torch.device(name)
        except RuntimeError as error:
            raise ConfigError(
                f"device.device = {name!r}: unknown; known: auto, cpu, cuda, cuda:1, mps"
            ) from error
        try:
            torch.empty(1, device=device).cpu()  # not of `meta`, which holds no values
        except (RuntimeError, AssertionError, ImportError) as error:
            reason = device_reason(error)
            raise ConfigError(f"device.device = {name!r} can't be used: {reason}") from error
        if config.precision == "auto":
            dtype = _best_dtype(device)
        else:
            dtype = {name: getattr(torch, name) for name in PRECISIONS}[config.precision]
        if device.type == "cpu":
            keep_freed_memory()
        threads = torch.get_num_threads() if device.type == "cpu" else 1
        replicas = min(config.replicas or MAX_REPLICAS, threads)
        return cls(device, dtype, replicas, threads // replicas, config.compile)

    def undivided(self) -> Compute:
        """Without replicas: torch parallelises each operation instead."""
        return replace(self, replicas=1, threads_each=self.threads_each * self.replicas)

    def workers(self) -> Workers:
        """The replicas' threads; to be closed."""
        return Workers(self.replicas, self.threads_each)

    def autocast(self) -> AbstractContextManager[object]:
        """The context for a forward pass."""
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)

    def scaler(self) -> torch.amp.GradScaler:
        """Loss scaling for float16; disabled for other dtypes."""
        return torch.amp.GradScaler(self.device.type, enabled=self.dtype == torch.float16)

    def compiled(self, network: Network) -> Forward:
        """`network.outputs` under torch.compile, if configured.

        In the default mode each block is compiled by itself; blocks of one structure share their
        code, so most of a deep network's compilation is saved.
        """
        if self.compile == "none":
            return network.outputs
        named = {name.rpartition(".")[2]: module for name, module in network.named_modules()}
        blocks = named.get("blocks")
        if self.compile == "default" and isinstance(blocks, nn.Sequential) and len(blocks):
            for block in blocks:
                block.compile()
            return network.outputs
        compiled: Forward = torch.compile(network.outputs, mode=self.compile)
        return compiled

    def eager(self) -> AbstractContextManager[object]:
        """The context for a forward pass that isn't worth compiling: evaluation."""
        if self.compile == "none":
            return contextlib.nullcontext()
        uncompiled: AbstractContextManager[object] = torch.compiler.set_stance("force_eager")
        return uncompiled

    def place(self, network: Network) -> Network:
        """Move the network to the device, 4-dimensional weights in channels-last order."""
        network.to(self.device)
        for parameter in network.parameters():
            if parameter.ndim == 4:
                parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
        return network

    def inputs(self, batch: Batch) -> tuple[Tensor, ...]:
        """The batch's inputs on the device, in the compute dtype, boards in channels-last order."""
        return tuple(self._input(array) for array in batch.inputs)

    def _input(self, array: NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array).to(self.device, non_blocking=True).to(self.dtype)
        if tensor.ndim == 4:
            return tensor.contiguous(memory_format=torch.channels_last)
        return tensor

    def wait(self) -> None:
        """Synchronise with the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def describe(self) -> dict[str, str]:
        """For the log."""
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"
        return {
            "device": str(self.device),
            "device_name": name,
            "dtype": str(self.dtype).removeprefix("torch."),
            "threads": f"{self.replicas} x {self.threads_each}",
            "torch": torch.__version__,
        }


def targets_on(batch: Batch, device: torch.device) -> Targets:
    """The batch's targets on the device."""
    return batch.targets.tensors(batch.heads, device)


def _best_device() -> str:
    if torch.cuda.is_available():
        return f"cuda:{local_rank()}"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _best_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where it is fast; float16 on older CUDA devices; else float32."""
    if _has_fast_bfloat16(device):
        return torch.bfloat16
    return torch.float16 if device.type == "cuda" else torch.float32


def _has_fast_bfloat16(device: torch.device) -> bool:
    """Whether the device has bfloat16 instructions (with AMX 2 times float32's speed, 5x64)."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
        return any(getattr(torch.cpu, probe, bool)() for probe in probes)
    return False
