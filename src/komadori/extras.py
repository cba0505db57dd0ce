"""Optional dependencies: a pip command that works for any kind of installation."""

from __future__ import annotations

import re
import shlex
from importlib import metadata


def install_line(extra: str) -> str:
    """The `pip install` command for the packages of an extra, by name and version.

    Unlike komadori[extra] it doesn't need komadori on a package index.
    """
    try:
        required = metadata.requires("komadori") or []
    except metadata.PackageNotFoundError:
        required = []
    wanted = [
        requirement.partition(";")[0].strip()
        for requirement in required
        if re.search(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""", requirement)
    ]
    return f"pip install {shlex.join(wanted)}" if wanted else f"pip install '.[{extra}]'"
