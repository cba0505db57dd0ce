"""Install hints name packages, not an extra of an unpublished package."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from komadori.extras import install_line, missing, need

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("extra", "package"), [("quantize", "nncf"), ("train", "torch"), ("web", "fastapi")]
)
def test_a_line_names_the_packages(extra: str, package: str) -> None:
    words = shlex.split(install_line(extra))
    assert words[:2] == ["pip", "install"]
    assert any(word.startswith(package) for word in words[2:])
    assert "komadori" not in " ".join(words)


def test_an_unknown_extra() -> None:
    assert install_line("nosuch") == "pip install '.[nosuch]'"


@pytest.mark.parametrize(
    ("module", "package"),
    [("openvino.frontend", "openvino"), ("torch", "torch"), ("nncf", "nncf"), ("segno", "segno")],
)
def test_what_is_missing_is_what_the_line_installs(module: str, package: str) -> None:
    text = missing(ModuleNotFoundError(f"No module named {module!r}", name=module))
    named, _, line = text.partition(": pip install ")
    assert named == f"the package {package}"
    assert any(word.startswith(f"{package}>=") for word in shlex.split(line))


def test_a_package_of_no_extra() -> None:
    assert missing(ModuleNotFoundError("", name="nosuch.x")) == (
        "the package nosuch: pip install nosuch"
    )


def test_needed_packages_are_looked_for_and_not_imported() -> None:
    code = "import sys, komadori.extras as e; e.need('torch'); print('torch' in sys.modules)"
    if importlib.util.find_spec("torch") is not None:
        assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
    with pytest.raises(ModuleNotFoundError) as caught:
        need("json", "nosuch")
    assert caught.value.name == "nosuch"


def test_nothing_names_an_extra_of_an_index() -> None:
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    texts = [path.read_text("utf-8") for path in paths]
    assert not any("komadori[" in text.replace("komadori[extra]", "") for text in texts)


@pytest.mark.slow
def test_pip_understands_the_lines() -> None:
    line = shlex.split(install_line("quantize"))[1:]
    subprocess.run([sys.executable, "-m", "pip", *line, "--dry-run", "-q"], check=True, timeout=120)
