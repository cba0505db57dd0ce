"""Run one command on every machine, for commands that divide their work by locks in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from komadori.cluster.fleet import ClusterError, Fleet


def run_everywhere(
    address: str,
    words: Sequence[str],
    *,
    folder: Path | None = None,
    on_change: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = bool,
) -> bool:
    """Run the command once per machine of the cluster, in the same folder.

    The work of a lost machine is left to the others. Returns False if stopped. Raises ClusterError
    with the end of the output if the command fails on a machine.
    """
    job = {"folder": str((folder or Path.cwd()).absolute()), "threads_each": 1 << 16}
    worker = "komadori.cluster.commands:CommandWorker"
    with Fleet(address, worker, job, on_change=on_change) as fleet:
        fleet.add([list(words)] * fleet.machines)
        failures: list[Any] = []
        while fleet.waiting:
            if stop():
                return False
            failures += [r for _, r in fleet.take(0.5) if r["code"] != 0]
            if failures:
                said = failures[0]["words"].strip().splitlines() or ["(no output)"]
                raise ClusterError(
                    f"{words[0]} ended with status {failures[0]['code']}: {said[-1]}"
                )
    return True
