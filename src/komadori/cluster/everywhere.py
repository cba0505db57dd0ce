"""One command on every machine: for commands that share their work out by claims in a folder."""

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
    """Run the command once for each machine that the cluster has now, in the same folder.

    A machine that is lost leaves its share to the others. Returns False where `stop` said so.
    Raises ClusterError where the command fails on a machine; its message has the last words.
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
                raise ClusterError(
                    f"{words[0]} ended with status {failures[0]['code']}: "
                    f"{failures[0]['words'].strip().splitlines()[-1:] or ''}"
                )
    return True
