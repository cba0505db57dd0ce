"""The tables in the documentation are those of the core."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "docs_tables.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
