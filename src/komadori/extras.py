"""Optional packages: a pip line that works wherever komadori itself came from."""

from __future__ import annotations

import re
import shlex
from importlib import metadata


def install_line(extra: str) -> str:
    """`pip install ...` of the packages of an extra, by their own names and versions.

    komadori[extra] would ask an index for komadori, which need not be on one.
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
