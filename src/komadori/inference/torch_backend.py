"""The PyTorch backend: runs a network in this process on a CPU or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from komadori.extras import missing
from komadori.inference.batch_size import ON_CPU, ON_GPU
from komadori.inference.future_slots import FutureSlots
from komadori.inference.model_file import check_tables
from komadori.inference.protocol import Floats, InferenceError, ModelError, check_counts
from komadori.model_folder import find_model
from komadori.wording import device_reason, names_arguments

if TYPE_CHECKING:
    import torch

    Network: TypeAlias = Callable[..., tuple[torch.Tensor, torch.Tensor]]

#: The precisions a network can be run at.
PRECISIONS = ("float32", "bfloat16", "float16")


def best_device() -> str:
    """The GPU if torch has one, else the CPU."""
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def load_folder(path: Path, **options: Any) -> TorchEvaluator:
    """Load a model folder, a checkpoint or a training run; `options` are those of the class.

    Raises ModelError if there is no model or its card names an unknown table.
    """
    try:
        from komadori.nets import ModelFileError, load_model
    except ModuleNotFoundError as error:
        raise ModelError(f"{path}: a model folder needs {missing(error)}") from None
    folder = find_model(path)
    if folder is None:
        raise ModelError(
            f"{path}: no model in this folder (neither model.safetensors nor checkpoints)"
        )
    try:
        network, card = load_model(folder)
    except ModelFileError as error:
        raise ModelError(str(error)) from None
    device = options.get("device", "cpu")
    try:
        placed = network.folded().eval().to(device)
    except (RuntimeError, AssertionError, ImportError) as error:  # an unknown or missing device
        reason = device_reason(error)
        raise ModelError(f"{path}: device {device!r} can't be used: {reason}") from None
    evaluator = TorchEvaluator(
        placed,
        features=card.features,
        labels=card.labels,
        value_logits=True,
        **options,
    )
    evaluator.model = path.name or str(path)
    return evaluator


@names_arguments
class TorchEvaluator(FutureSlots):
    """Runs a network given as a callable: one tensor per input to (policy logits, value).

    value_logits: the value is a logit; else a win probability; [n] or [n, 1]. precision: other than
    float32 runs under autocast. threads: of torch on the CPU, a process-wide setting. cuda_graphs:
    record the network once for `max_batch` rows and replay it for any n, for small networks on a
    GPU whose kernels are shorter than their launches (untested).

    Batches run one at a time in a thread. A module must already be on `device` and in evaluation
    mode.
    """

    name = "torch"

    def __init__(
        self,
        network: Network,
        *,
        features: str = "dlshogi",
        labels: str = "2187",
        value_logits: bool = False,
        max_batch: int | None = None,
        slots: int = 2,
        device: str = "cpu",
        precision: str = "float32",
        threads: int | None = None,
        cuda_graphs: bool = False,
    ) -> None:
        import torch

        if precision not in PRECISIONS:
            names = ", ".join(PRECISIONS)
            raise ValueError(f"torch has no precision {precision!r}: one of {names}")
        if max_batch is None:
            max_batch = ON_CPU if device == "cpu" else ON_GPU
        check_counts(max_batch=max_batch, threads=threads, slots=slots)
        if threads:
            torch.set_num_threads(threads)
        self.features = features
        self.labels = labels
        self.model = self.name  # in messages
        super().__init__(self.name, max_batch, slots, workers=1)
        self.precision = precision
        self.threads = torch.get_num_threads() if device == "cpu" else 0
        self._network = network
        self._value_logits = value_logits
        self._device = torch.device(device)
        pinned = self._device.type == "cuda"
        shapes = tuple((max_batch, *shape) for shape in check_tables(features, labels).input_shapes)
        self._tensors = [
            tuple(torch.zeros(shape, pin_memory=pinned) for shape in shapes) for _ in range(slots)
        ]
        self._inputs = [tuple(tensor.numpy() for tensor in each) for each in self._tensors]
        if cuda_graphs and self._device.type != "cuda":
            raise ValueError(f"cuda_graphs needs a GPU, not {device!r}")
        self._graph = _Recorded(self._outputs, shapes, self._device) if cuda_graphs else None

    def inputs(self, slot: int) -> tuple[Floats, ...]:
        self._check_open()
        return self._inputs[slot]

    def _run(self, slot: int, n: int) -> tuple[Floats, Floats]:
        try:
            if self._graph:
                policy, value = (out[:n] for out in self._graph.replay(self._tensors[slot]))
            else:
                policy, value = self._outputs(
                    *(
                        tensor[:n].to(self._device, non_blocking=True)
                        for tensor in self._tensors[slot]
                    )
                )
            return np.asarray(policy.cpu()), np.asarray(value.cpu())
        except Exception as error:
            raise InferenceError(f"torch: {error}") from error

    def _outputs(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The network's outputs on its device in float32: policy [n, labels], value [n]."""
        import torch

        with (
            torch.inference_mode(),
            torch.autocast(
                self._device.type,
                torch.float16 if self.precision == "float16" else torch.bfloat16,
                enabled=self.precision != "float32",
            ),
        ):
            policy, value = self._network(*inputs)
            value = value.reshape(-1).float()
            if self._value_logits:
                value = value.sigmoid()
            return policy.float(), value


class _Recorded:
    """A CUDA graph of a network for one batch size."""

    #: Runs before the recording, in which libraries choose and allocate.
    WARM_UP = 3

    def __init__(
        self,
        outputs: Callable[..., tuple[torch.Tensor, torch.Tensor]],
        shapes: Sequence[tuple[int, ...]],
        device: torch.device,
    ) -> None:
        import torch

        self._inputs = [torch.zeros(shape, device=device) for shape in shapes]
        stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            for _ in range(self.WARM_UP):
                outputs(*self._inputs)
        torch.cuda.current_stream(device).wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._outputs = outputs(*self._inputs)

    def replay(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """Replay the graph; the outputs, of whole batches, are valid until the next replay."""
        for own, given in zip(self._inputs, inputs, strict=True):
            own.copy_(given, non_blocking=True)
        self._graph.replay()
        return self._outputs
