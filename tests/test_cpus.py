"""Threads default to the CPUs that this process may use, not to those of the machine."""

from __future__ import annotations

import ast
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import komadori
from komadori import cpus


def groups(root: Path, membership: str, files: dict[str, str]) -> list[float]:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(membership)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(cpus.quotas(root))


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, [1.5]),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, [3.0]),
        ("0::/host/path\n", {"cpu.max": "50000 100000\n"}, [0.5]),
        (
            "4:memory:/\n3:cpu,cpuacct:/box\n0::/\n",
            {"cpu,cpuacct/box/cpu.cfs_quota_us": "200000\n",
             "cpu,cpuacct/box/cpu.cfs_period_us": "100000\n"},
            [2.0],
        ),
        (
            "1:cpu:/\n",
            {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
            [],
        ),
        ("0::/\n", {"cpu.max": "junk\n"}, []),
        ("0::/\n", {"cpu.max": "100000 0\n"}, []),
        ("junk\n", {"cpu.max": "100000 100000\n"}, [1.0]),
        ("", {"cpu.max": "100000 100000\n"}, []),
    ],
)  # fmt: skip
def test_control_groups(
    tmp_path: Path, membership: str, files: dict[str, str], expected: list[float]
) -> None:
    assert groups(tmp_path, membership, files) == expected


@pytest.mark.parametrize(("granted", "threads"), [(0.2, 1), (1.5, 2), (3.0, 3), (math.inf, 4)])
def test_the_least_limit_counts(
    monkeypatch: pytest.MonkeyPatch, granted: float, threads: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(cpus, "_granted", lambda: granted)
    assert cpus.available_threads() == threads


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="affinity is set on Linux only")
def test_taskset_limits_the_defaults() -> None:
    """Threads of an engine and of a match's players, in a process bound to one CPU."""
    program = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from komadori.cli import usi
from komadori.arena import workers
asked = []
workers.ProcessGameRunner = lambda *given: asked.append(given[2]) or 1 / 0
try:
    list(workers.run_jobs(("material", "random"), None, ["a job"] * 2, 2))
except ZeroDivisionError:
    pass
print(usi.default_threads(usi.option_table("alphabeta"), {})["Threads"], set(asked))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "1 {1}\n"


def test_cpus_are_counted_in_one_place() -> None:
    counters = {"cpu_count", "process_cpu_count", "sched_getaffinity"}
    package = Path(komadori.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in counters
    }
    assert found == {"cpus.py"}
