"""Where and how precisely the network is computed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from komadori.nets import Network
from komadori.training.config import PRECISIONS, ConfigError, DeviceConfig
from komadori.training.loader import Batch
from komadori.training.memory import keep_freed_memory
from komadori.training.targets import Targets
from komadori.training.workers import Workers

#: A network's outputs of its inputs.
Forward = Callable[..., tuple[Tensor, ...]]
#: More threads than this work in groups: each share is to stay a fair batch of its own.
MOST_REPLICAS = 4


@dataclass(frozen=True)
class Compute:
    """A device and the type of the convolutions; weights and loss stay float32.

    replicas: threads that take a share of each batch, 1 but on a processor; each has
    `threads_each` of torch's threads.
    """

    device: torch.device
    dtype: torch.dtype
    replicas: int = 1
    threads_each: int = 1
    compile: str = "none"

    @classmethod
    def of(cls, config: DeviceConfig) -> Compute:
        """The configured device, or the best one present; likewise the precision."""
        if config.threads:
            torch.set_num_threads(config.threads)
        name = _best_device() if config.device == "auto" else config.device
        try:
            device = torch.device(name)
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(f"device.device = {name!r} can't be used: {reason}") from error
        if config.precision == "auto":
            dtype = _best_dtype(device)
        else:
            dtype = {name: getattr(torch, name) for name in PRECISIONS}[config.precision]
        if device.type == "cpu":
            keep_freed_memory()
        threads = torch.get_num_threads() if device.type == "cpu" else 1
        replicas = min(config.replicas or MOST_REPLICAS, threads)
        return cls(device, dtype, replicas, threads // replicas, config.compile)

    def undivided(self) -> Compute:
        """The same without replicas: torch's threads share out each operation."""
        return replace(self, replicas=1, threads_each=self.threads_each * self.replicas)

    def workers(self) -> Workers:
        """The threads that share out batches on this device; close them."""
        return Workers(self.replicas, self.threads_each)

    def autocast(self) -> AbstractContextManager[object]:
        """The context of a forward pass."""
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)

    def scaler(self) -> torch.amp.GradScaler:
        """What keeps small gradients of float16 from vanishing; does nothing for other types."""
        return torch.amp.GradScaler(self.device.type, enabled=self.dtype == torch.float16)

    def compiled(self, forward: Forward) -> Forward:
        """The forward pass compiled, where the configuration asks for it."""
        if self.compile == "none":
            return forward
        compiled: Forward = torch.compile(forward, mode=self.compile)
        return compiled

    def place(self, network: Network) -> Network:
        """Move the network, its 4-dimensional weights in channels-last order."""
        network.to(self.device)
        for parameter in network.parameters():
            if parameter.ndim == 4:
                parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
        return network

    def inputs(self, batch: Batch) -> tuple[Tensor, ...]:
        """The inputs on the device in the compute type, boards in channels-last order."""
        return tuple(self._input(array) for array in batch.inputs)

    def _input(self, array: NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array).to(self.device, non_blocking=True).to(self.dtype)
        if tensor.ndim == 4:
            return tensor.contiguous(memory_format=torch.channels_last)
        return tensor

    def wait(self) -> None:
        """Until the device has done what it was told."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def describe(self) -> dict[str, str]:
        """For the log."""
        name = (
            torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "processor"
        )
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
        return f"cuda:{os.environ.get('LOCAL_RANK', '0')}"  # torchrun's number on this machine
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _best_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where it is fast; float16 on older CUDA devices, whose fast units know it only."""
    if _has_fast_bfloat16(device):
        return torch.bfloat16
    return torch.float16 if device.type == "cuda" else torch.float32


def _has_fast_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 has instructions of its own there (2 x float32 with AMX, 5x64)."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
        return any(getattr(torch.cpu, probe, bool)() for probe in probes)
    return False
