"""Scans the folders on the command line for models, runs, matches, loops and ladders.

Names are paths relative to a folder (`runs/first`). Names sent by pages are looked up in the
scan, never joined to a path. Bytes that aren't UTF-8, which JSON can't hold, are written as
escapes, and line breaks, which no address holds, as symbols.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from komadori.model_folder import CARD_FILE, CHECKPOINTS, WEIGHTS_FILE
from komadori.wording import on_one_line

#: Maximum depth of the scan.
MAX_DEPTH = 6
#: Maximum number of scanned folders, and the seconds a scan is valid.
MAX_FOLDERS = 20_000
SCAN_TTL_S = 5.0

#: Suffixes of files that may be ladders; `Ladders` opens them to find out.
LADDER_SUFFIXES = (".db", ".sqlite", ".sqlite3", ".ladder")

#: Folders to skip.
_SKIPPED = frozenset(
    {"node_modules", "__pycache__", "build", "dist", "site-packages", "tensorboard"}
)


@dataclass
class Scan:
    """Scan results: name -> path."""

    model_files: dict[str, Path] = field(default_factory=dict)
    model_folders: dict[str, Path] = field(default_factory=dict)
    runs: dict[str, Path] = field(default_factory=dict)
    matches: dict[str, Path] = field(default_factory=dict)
    loops: dict[str, Path] = field(default_factory=dict)
    ladders: dict[str, Path] = field(default_factory=dict)
    pages: dict[str, Path] = field(default_factory=dict)


class Folders:
    """A cached scan of folders. Thread-safe."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = [root.resolve() for root in roots]
        self._lock = threading.Lock()
        self._scan = Scan()
        self._scanned_at = -SCAN_TTL_S

    def scan(self) -> Scan:
        """Return the scan, repeated if it is older than SCAN_TTL_S."""
        with self._lock:
            if time.monotonic() - self._scanned_at >= SCAN_TTL_S:
                self._scan = self._rescan()
                self._scanned_at = time.monotonic()
            return self._scan

    def models(self) -> Iterator[tuple[Path, str, str | None]]:
        """Yield (path, id, run if it is a checkpoint) of each model."""
        scan = self.scan()
        for name, path in scan.model_files.items():
            yield path, name, None
        for name, path in scan.model_folders.items():
            run = name.rpartition(f"/{CHECKPOINTS}/")[0]
            yield path, name, run if run in scan.runs else None

    def _rescan(self) -> Scan:
        found = Scan()
        remaining = MAX_FOLDERS
        for root in self.roots:
            stack = [(root, "", 0)]
            while stack and remaining:
                remaining -= 1
                folder, name, depth = stack.pop()
                try:
                    entries = sorted(os.scandir(folder), key=lambda e: e.name)
                except OSError:
                    continue
                files = {e.name for e in entries if _is_file(e)}
                shown = name or printable(folder.name)
                _classify(found, folder, shown, files)
                regular = {e.name for e in entries if e.name in files and not e.is_symlink()}
                if "index.md" in regular and any(
                    e.name == "data" and e.is_dir(follow_symlinks=False) for e in entries
                ):
                    _add_pages(found, folder, shown, regular)
                prefix = f"{name}/" if name else ""
                for entry in entries:
                    if entry.name.startswith(".") or entry.name in _SKIPPED:
                        continue
                    entry_name = prefix + printable(entry.name)
                    if entry.name.endswith(".onnx") and entry.name in files:
                        found.model_files[entry_name] = Path(entry.path)
                    if (
                        entry.name.endswith(LADDER_SUFFIXES)
                        and entry.name in files
                        and _is_database(entry)
                    ):
                        found.ladders[entry_name] = Path(entry.path)
                    if depth < MAX_DEPTH and entry.is_dir(follow_symlinks=False):
                        stack.append((Path(entry.path), entry_name, depth + 1))
        return found


def printable(name: str) -> str:
    """Return a file name as pages show it: bytes that aren't UTF-8 as escapes, line breaks
    and control characters as symbols."""
    return on_one_line(os.fsencode(name).decode(errors="backslashreplace"))


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a file or a link to one; False for circular links."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_database(entry: os.DirEntry[str]) -> bool:
    """Return whether a file starts with the SQLite header."""
    try:
        with Path(entry.path).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _add_pages(found: Scan, folder: Path, name: str, files: set[str]) -> None:
    """Add a laboratory report's pages and images. `files` has no links: pages can read them all."""
    for file in sorted(files):
        stem, _, suffix = file.rpartition(".")
        if suffix == "md":
            found.pages[f"{name}/{printable(stem)}"] = folder / file
        elif suffix == "svg":
            found.pages[f"{name}/{printable(file)}"] = folder / file


def _classify(found: Scan, folder: Path, name: str, files: set[str]) -> None:
    if {CARD_FILE, WEIGHTS_FILE} <= files:
        found.model_folders[name] = folder
    if "log.jsonl" in files:
        found.runs[name] = folder
    if "games.jsonl" in files:
        found.matches[name] = folder
    if "loop.json" in files:
        found.loops[name] = folder
