"""Optional dependencies: a pip command that works for any kind of installation."""

from __future__ import annotations

import importlib.util
import re
import shlex
from importlib import metadata


def _requirements() -> list[tuple[str, str]]:
    """(requirement, extra) of the distribution; "" for what is always installed."""
    try:
        required = metadata.requires("komadori") or []
    except metadata.PackageNotFoundError:
        return []
    found = []
    for line in required:
        requirement, _, marker = line.partition(";")
        extra = re.search(r"""extra\s*==\s*['"]([^'"]+)['"]""", marker)
        found.append((requirement.strip(), extra[1] if extra else ""))
    return found


def install_line(extra: str) -> str:
    """The `pip install` command for the packages of an extra, by name and version.

    Unlike komadori[extra] it doesn't need komadori on a package index.
    """
    wanted = [requirement for requirement, of in _requirements() if of == extra]
    return f"pip install {shlex.join(wanted)}" if wanted else f"pip install '.[{extra}]'"


def missing(error: ModuleNotFoundError) -> str:
    """Say which package is missing and what installs it: that of an extra comes with the rest of
    the extra. As in "the package nncf: pip install 'nncf>=2.14'"."""
    package = (error.name or str(error)).partition(".")[0]
    for requirement, extra in _requirements():
        if re.match(r"[\w.-]*", requirement)[0] == package:  # type: ignore[index]
            line = install_line(extra) if extra else f"pip install {shlex.quote(requirement)}"
            return f"the package {package}: {line}"
    return f"the package {package}: pip install {package}"


def need(*packages: str) -> None:
    """Raise ModuleNotFoundError for the first package that isn't installed; imports none: for
    packages that are used only after long work."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
