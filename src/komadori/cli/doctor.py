"""`komadori doctor`: check what works on this machine and what to install for the rest."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import click

from komadori.cli.console import console, say
from komadori.cpus import available_threads
from komadori.wording import clean

Status = Literal["ok", "missing", "broken"]

#: Engines with adapters that Debian packages: program -> package.
ENGINES = {
    "gpsusi": "gpsshogi",
    "gnushogi": "gnushogi",
    "sjaakii": "sjaakii",
    "fairy-stockfish": "fairy-stockfish",
}


@dataclass(frozen=True)
class Finding:
    """A line of the report."""

    section: str
    name: str
    status: Status
    detail: str
    remedy: str = ""
    required: bool = False


def _attempt(
    section: str,
    name: str,
    check: Callable[[], str],
    remedy: str,
    *,
    required: bool = False,
) -> Finding:
    """Run a check and convert an exception to a finding, so that the other checks still run."""
    try:
        return Finding(section, name, "ok", check(), required=required)
    except ModuleNotFoundError as error:
        return Finding(section, name, "missing", f"no module {error.name}", remedy, required)
    except Exception as error:
        detail = f"{type(error).__name__}: {error}".splitlines()[0]
        return Finding(section, name, "broken", detail, remedy, required)


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "memory unknown"
    return f"{total / 2**30:.0f} GiB memory"


def _machine() -> Iterator[Finding]:
    yield Finding(
        "machine",
        "system",
        "ok",
        f"{platform.system()} {platform.machine()}, {available_threads()} cores, {_memory()}",
    )
    yield Finding("machine", "python", "ok", f"{platform.python_version()} ({sys.executable})")
    probe = importlib.import_module("komadori._core._cpu_probe")
    yield Finding("machine", "cpu", "ok", " ".join(probe.features()) or "no special instructions")


def _core_perft() -> str:
    from komadori._core import VARIANT
    from komadori.rules import Board

    leaves = Board().perft(3)
    if leaves != 25470:  # published value for the start position
        raise RuntimeError(f"perft(3) is {leaves}, not 25470")
    return f"variant {VARIANT}, perft(3) = {leaves}"


def _core_planes() -> str:
    import numpy as np

    from komadori.encoding import encode_planes
    from komadori.rules import Board

    hcp = np.frombuffer(Board().hcp(), np.uint8).reshape(1, 32)
    board, hands = encode_planes(hcp)
    pieces = int(board[0, :14].sum() + board[0, 31:45].sum())
    if pieces != 40 or hands.any():
        raise RuntimeError(f"the start position encodes as {pieces} pieces")
    return f"planes {board.shape[1]} + {hands.shape[1]}"


def _openvino() -> str:
    from komadori.inference.signal_stack import kept_signal_stack
    from komadori.inference.without_telemetry import import_openvino

    core = import_openvino().Core()
    with kept_signal_stack():
        names = core.available_devices
        devices = [f"{name} ({core.get_property(name, 'FULL_DEVICE_NAME')})" for name in names]
        precisions = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return f"{version('openvino')}: {', '.join(devices)}; {' '.join(precisions)}"


def _onnxruntime() -> str:
    from komadori.inference.without_telemetry import import_onnxruntime

    names = [
        name.removesuffix("ExecutionProvider")
        for name in import_onnxruntime().get_available_providers()
    ]
    return f"{version('onnxruntime')}: {' '.join(names)}"


def _torch() -> str:
    import torch

    devices = ["cpu"]
    if torch.cuda.is_available():
        devices += [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return f"{torch.__version__}: {', '.join(devices)}"


def _package(name: str) -> Callable[[], str]:
    def check() -> str:
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(name=name)
        try:
            return version(name)
        except PackageNotFoundError:
            return "present"

    return check


def _backends() -> Iterator[Finding]:
    yield _attempt("core", "rules", _core_perft, "reinstall komadori", required=True)
    yield _attempt("core", "encoding", _core_planes, "reinstall komadori", required=True)
    yield _attempt("network", "openvino", _openvino, "pip install openvino", required=True)
    yield _attempt("network", "onnxruntime", _onnxruntime, "pip install onnxruntime")
    yield _attempt("network", "torch", _torch, "pip install torch")
    yield _attempt("training", "onnx", _package("onnx"), "pip install onnx")
    for name in ("tensorboard", "matplotlib", "jinja2", "nncf"):
        yield _attempt("training", name, _package(name), f"pip install {name}")
    yield _attempt("records", "rsshogi", _package("rsshogi"), "pip install rsshogi", required=True)
    yield _attempt("matches", "shogiarena", _package("shogiarena"), "pip install shogiarena")
    for name in ("fastapi", "uvicorn", "websockets", "segno"):
        yield _attempt("browser", name, _package(name), f"pip install {name}")
    yield _attempt("machines", "ray", _package("ray"), "pip install ray")


def _gpu() -> Finding:
    program = shutil.which("nvidia-smi")
    if program is None:
        return Finding("network", "gpu", "missing", "no NVIDIA driver found (not needed)")
    listing = subprocess.run(
        [program, "-L"], capture_output=True, text=True, timeout=20, check=False
    )
    lines = listing.stdout.strip().splitlines()
    if listing.returncode or not lines:
        return Finding("network", "gpu", "broken", f"nvidia-smi -L ended with {listing.returncode}")
    return Finding("network", "gpu", "ok", "; ".join(line.split(" (UUID")[0] for line in lines))


def _sample() -> str:
    from komadori.records import sample_path

    path = Path(sample_path())
    return f"{path} ({path.stat().st_size / 1e6:.2f} MB)"


def _bundled_network() -> str:
    from komadori.inference import card_of, default_model

    path = default_model()
    card = card_of(path)
    return f"{card.get('name', path.stem)}: {path} ({path.stat().st_size / 1e6:.1f} MB)"


def _bundled_evaluation() -> str:
    from komadori.search.alphabeta import EVALUATIONS

    path = Path(__file__).parents[1] / "data" / str(EVALUATIONS["nnue"])
    return f"{path} ({path.stat().st_size / 1e6:.1f} MB)"


def _files() -> Iterator[Finding]:
    yield _attempt("files", "network", _bundled_network, "reinstall komadori", required=True)
    yield _attempt("files", "nnue", _bundled_evaluation, "reinstall komadori", required=True)
    yield _attempt("files", "sample games", _sample, "reinstall komadori", required=True)
    models = sorted(Path("runs").glob("**/*.onnx"))
    for model in models:
        yield Finding("files", "model", "ok", f"{model} ({model.stat().st_size / 1e6:.1f} MB)")
    if not models:
        yield Finding(
            "files", "model", "missing", "no .onnx under runs/", "komadori quickstart trains one"
        )


def _engines() -> Iterator[Finding]:
    search = os.environ.get("PATH", "") + os.pathsep + "/usr/games"  # Debian's folder for games
    for program, package in ENGINES.items():
        path = shutil.which(program, path=search)
        if path:
            yield Finding("engines", program, "ok", path)
        else:
            yield Finding("engines", program, "missing", "not found", f"apt install {package}")


def examine() -> list[Finding]:
    """Return all findings in report order."""
    findings = [*_machine(), *_backends(), _gpu(), *_files(), *_engines()]
    order = list(dict.fromkeys(finding.section for finding in findings))
    return sorted(findings, key=lambda finding: order.index(finding.section))


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    marks = {
        "ok": Text("ok", "green"),
        "missing": Text("--", "yellow"),
        "broken": Text("!!", "red"),
    }
    terminal = console()
    sections = max(len(finding.section) for finding in findings)
    names = max(len(finding.name) for finding in findings)
    section = ""
    for finding in findings:
        heading = finding.section if finding.section != section else ""
        section = finding.section
        name = f"{clean(finding.name):<{names}}  {clean(finding.detail)}"
        line = Text.assemble((f"{heading:<{sections}}", "bold"), "  ", marks[finding.status], "  ")
        terminal.print(line.append(name), soft_wrap=True)
        if finding.remedy:
            indent = " " * (sections + names + 8)
            terminal.print(Text(f"{indent}-> {finding.remedy}", "dim"), soft_wrap=True)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(as_json: bool) -> None:
    """Check what works on this machine and what to install for the rest.

    Exits with status 1 if a required component is missing or broken.
    """
    findings = examine()
    if as_json:
        for line in json.dumps([asdict(finding) for finding in findings], indent=1).splitlines():
            say(line)
    else:
        _print(findings)
    if any(finding.required and finding.status != "ok" for finding in findings):
        raise SystemExit(1)
