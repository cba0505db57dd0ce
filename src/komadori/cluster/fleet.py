"""One worker per machine of a Ray cluster; machines can join and leave at any time."""

from __future__ import annotations

import contextlib
import heapq
import importlib
import importlib.util
import math
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Self

from komadori.extras import install_line
from komadori.wording import counted, names_arguments

#: Seconds between polls for machines that have joined.
POLL_S = 2.0
#: Default number of items queued per worker thread.
AHEAD = 4
#: Minimum number of items queued per worker thread while any wait: one running, one next.
MIN_AHEAD = 2


class ClusterError(RuntimeError):
    """The cluster can't be reached, or the work fails."""


def check_installed() -> None:
    """Raise ClusterError, which says what to install, unless Ray is installed."""
    if importlib.util.find_spec("ray") is None:
        raise ClusterError(f"--ray needs the extra `cluster`: {install_line('cluster')}")


class Worker(Protocol):
    """Processes items on one machine. Items and results are JSON: numbers, names, paths, no arrays.

    Created as `Worker(job, name, threads)`; `job` is JSON, `name` is unique among all workers.
    """

    def add(self, items: list[Any]) -> None:
        """Queue items."""

    def take(self) -> list[tuple[Any, Any]]:
        """Return the items finished since the last call, with results; wait briefly for one."""

    def stop(self) -> None:
        """Stop at once; items in progress are lost."""


def load(path: str) -> Any:
    """Import the class "module:Class"."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _check_reachable(address: str) -> None:
    """Raise ClusterError if nothing listens at the address; Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError as error:
        raise ClusterError(f"no Ray cluster at {address}: {error.strerror or error}") from error


def queue_length(unfinished: int, threads: int, ahead: int) -> int:
    """Return the number of items to queue per thread: half of an equal share, so that no worker
    is left with a long queue when the others run out of work; from MIN_AHEAD to `ahead`."""
    return min(max(MIN_AHEAD, math.ceil(unfinished / max(1, 2 * threads))), max(1, ahead))


def deal(
    waiting: int, queued: Sequence[int], threads: Sequence[int], most: Sequence[int]
) -> list[int]:
    """Return how many of the waiting items each machine gets. Each item goes to the machine with
    the fewest per thread; none gets more than `most` in all."""
    counts = [0] * len(queued)
    heap = [(queued[i] / threads[i], i) for i in range(len(queued)) if queued[i] < most[i]]
    heapq.heapify(heap)
    while waiting and heap:
        _, i = heapq.heappop(heap)
        counts[i] += 1
        waiting -= 1
        if (total := queued[i] + counts[i]) < most[i]:
            heapq.heappush(heap, (total / threads[i], i))
    return counts


def _reason(error: Exception) -> str:
    """Return why a worker failed. An error of an unforeseen kind needs its type."""
    is_expected = isinstance(error, ValueError | OSError | RuntimeError) and str(error)
    return str(error) if is_expected else f"{type(error).__name__}: {error}"


class _Actor:
    """The Ray actor: a worker, and a thread that collects its results."""

    def __init__(self, worker: str, job: Mapping[str, Any], name: str, threads: int) -> None:
        self._done: list[tuple[Any, Any]] = []
        self._error = ""
        self._lock = threading.Lock()
        self._stopped = False
        self._worker: Worker | None = None
        try:
            self._worker = load(worker)(job, name, threads)
        except Exception as error:  # Ray would restart an actor that raises here endlessly
            self._error = _reason(error)
            return
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self) -> None:
        assert self._worker is not None
        try:
            while not self._stopped:
                found = self._worker.take()
                with self._lock:
                    self._done += found
        except Exception as error:  # reported to the head, which raises it
            self._error = _reason(error)

    def add(self, items: list[Any]) -> None:
        if self._worker is not None:
            self._worker.add(items)

    def done(self) -> tuple[list[tuple[Any, Any]], str]:
        with self._lock:
            found, self._done = self._done, []
        return found, self._error

    def stop(self) -> None:
        self._stopped = True
        if self._worker is not None:
            self._worker.stop()


class _Machine:
    """The head's state of one machine's worker."""

    def __init__(self, actor: Any, name: str, threads: int) -> None:
        self.actor, self.name, self.threads = actor, name, threads
        self.items: list[Any] = []
        self.request: Any = None


@names_arguments
class Fleet:
    """Distributes items to the workers of all machines and collects the results.

    Items of a lost machine are reassigned. A result may arrive twice if the machine was lost after
    finishing it, so processing an item twice must be harmless.
    """

    def __init__(
        self,
        address: str,
        worker: str,
        job: Mapping[str, Any],
        *,
        threads: int | None = None,
        ahead: int = AHEAD,
        at_once: int | None = None,
        on_change: Any = None,
    ) -> None:
        """Connect to the cluster and start a worker on each machine. Raises ClusterError.

        address: as for `ray.init` ("auto", "HOST:PORT"). worker: "module:Class". threads: per
        worker; None for all cores of its machine. ahead: maximum number of items queued per worker
        thread, so that it stays busy between polls. at_once: items queued per worker, instead of
        `ahead`. on_change: called with a message when a machine joins or is lost."""
        check_installed()
        import ray

        self._ray = ray
        self._worker, self._job, self._threads, self._ahead = worker, dict(job), threads, ahead
        self._at_once = at_once
        self._on_change = on_change or (lambda _text: None)
        self._machines: dict[str, _Machine] = {}
        self._waiting: deque[Any] = deque()
        self._last_poll = 0.0
        self._created = 0
        self.lost = 0
        self._connected = not ray.is_initialized()
        if self._connected:
            _check_reachable(address)
            try:
                ray.init(address=address, log_to_driver=False, logging_level="error")
            except (ConnectionError, RuntimeError, ValueError, OSError) as error:
                raise ClusterError(f"no Ray cluster at {address}: {error}") from error
        self._find_machines()
        if not self._machines:
            self.close()
            raise ClusterError(f"the Ray cluster at {address} has no machine with a free core")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def machines(self) -> int:
        return len(self._machines)

    @property
    def threads(self) -> int:
        """Number of threads of all workers."""
        return sum(machine.threads for machine in self._machines.values())

    @property
    def waiting(self) -> int:
        """Number of unfinished items."""
        assigned = sum(len(machine.items) for machine in self._machines.values())
        return len(self._waiting) + assigned

    def add(self, items: Iterable[Any]) -> None:
        """Queue items; they are processed roughly in order."""
        self._waiting.extend(items)
        self._assign()

    def take(self, timeout_s: float) -> list[tuple[Any, Any]]:
        """Return the items finished since the last call, with their results; wait up to `timeout_s`
        for one. Raises ClusterError if a worker fails."""
        deadline = time.monotonic() + timeout_s
        while True:
            if time.monotonic() - self._last_poll > POLL_S:
                self._find_machines()
            found = [
                one for machine in list(self._machines.values()) for one in self._poll(machine)
            ]
            self._assign()
            if found or time.monotonic() >= deadline:
                return found
            time.sleep(min(0.05, max(0.0, deadline - time.monotonic())))

    def _poll(self, machine: _Machine) -> list[tuple[Any, Any]]:
        """Return the results of the pending request, if it is done, and send the next one."""
        ray = self._ray
        try:
            if machine.request is None:
                machine.request = machine.actor.done.remote()
                return []
            ready, _ = ray.wait([machine.request], timeout=0)
            if not ready:
                return []
            found, error = ray.get(machine.request)
            machine.request = None
        except ray.exceptions.RayError:
            self._lose(machine)
            return []
        if error:
            raise ClusterError(f"{machine.name}: {error}")
        for item, _ in found:
            with contextlib.suppress(ValueError):
                machine.items.remove(item)
        return [(item, result) for item, result in found]

    def _lose(self, machine: _Machine) -> None:
        for node, known in list(self._machines.items()):
            if known is machine:
                del self._machines[node]
        self.lost += 1
        self._waiting.extendleft(reversed(machine.items))
        self._on_change(f"{machine.name} is lost; its {len(machine.items)} items are reassigned")
        machine.items = []

    def _find_machines(self) -> None:
        """Start a worker on every new machine."""
        ray = self._ray
        self._last_poll = time.monotonic()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        for node in ray.nodes():
            name, cores = node["NodeID"], int(node["Resources"].get("CPU", 0))
            if not node["Alive"] or name in self._machines or cores < 1:
                continue
            threads = min(self._threads or cores, cores)
            self._created += 1
            label = f"{node['NodeManagerAddress']}-{name[:6]}-{self._created}"
            actor = (
                ray.remote(_Actor)
                .options(
                    num_cpus=threads,
                    max_concurrency=4,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(name, soft=False),
                )
                .remote(self._worker, self._job, label, threads)
            )
            self._machines[name] = _Machine(actor, label, threads)
            self._on_change(f"{label} has joined with {counted(threads, 'thread')}")

    def _assign(self) -> None:
        if not self._waiting:
            return
        machines = list(self._machines.values())
        threads = [machine.threads for machine in machines]
        if self._at_once:
            most = [self._at_once] * len(machines)
        else:
            ahead = queue_length(self.waiting, sum(threads), self._ahead)
            most = [ahead * count for count in threads]
        queued = [len(machine.items) for machine in machines]
        for machine, count in zip(
            machines, deal(len(self._waiting), queued, threads, most), strict=True
        ):
            if count:
                items = [self._waiting.popleft() for _ in range(count)]
                machine.items += items
                machine.actor.add.remote(items)

    def close(self) -> None:
        """Stop the workers; items in progress are lost."""
        ray = self._ray
        with contextlib.suppress(Exception):
            ray.wait([m.actor.stop.remote() for m in self._machines.values()], timeout=1)
        for machine in self._machines.values():
            with contextlib.suppress(Exception):
                ray.kill(machine.actor)
        self._machines.clear()
        if self._connected:
            ray.shutdown()
            self._connected = False
