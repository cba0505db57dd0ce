"""Samples on the disk: decoded once into one file a column, then mapped, never loaded whole.

    FOLDER/KEY/cache.json  the sources, the number of rows, what was skipped
    FOLDER/KEY/hcp.bin ... the columns of `Samples`, little-endian, one row after another

KEY tells the sources with their sizes and times apart, so a changed file is decoded anew. A
position takes 49 bytes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from komadori.atomic import sync_folder, write_text
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import content
from komadori.records.formats import guess_format
from komadori.records.games import GameReader
from komadori.records.samples import (
    SampleReader,
    Samples,
    load_samples,
    samples_by_game,
    samples_of,
)

FORMAT_VERSION = 1
#: Files of games larger than this are decoded a few games at a time.
LARGE_BYTES = 1 << 28
_GAMES_AT_ONCE = 1 << 10


def map_samples(paths: str | Path | Iterable[str | Path], folder: str | Path) -> Samples:
    """As `load_samples`, but the arrays are mapped from files in `folder`, made where missing.

    Rows are read when they are asked for, and only those. Raises what `load_samples` raises,
    and OSError where the disk is full; then nothing is left behind.
    """
    sources = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    if not sources:
        raise RecordError("no record files given")
    place = Path(folder) / _key(sources)
    if not (place / "cache.json").exists():
        _build(sources, place)
    return _open(place)


def _key(sources: list[Path]) -> str:
    facts: list[Any] = [FORMAT_VERSION]
    for path in sources:
        about = path.stat()
        facts.append([str(path.resolve()), about.st_size, about.st_mtime_ns])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _build(sources: list[Path], place: Path) -> None:
    temporary = place.with_name(f".writing-{place.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        rows, skipped = _write(sources, temporary)
        about = {
            "format_version": FORMAT_VERSION,
            "rows": rows,
            "sources": [str(path) for path in sources],
            "skipped": [[str(one.path), *dataclasses.astuple(one)[1:]] for one in skipped],
        }
        write_text(temporary / "cache.json", json.dumps(about, indent=1) + "\n")
        sync_folder(temporary)
        if place.exists():
            shutil.rmtree(place)
        temporary.rename(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write(sources: list[Path], folder: Path) -> tuple[int, list[Skipped]]:
    rows = games = 0
    skipped: list[Skipped] = []
    files: dict[str, BinaryIO] = {}
    with contextlib.ExitStack() as stack:
        for path in sources:
            first, last = rows, -1
            for part in _parts(path, skipped):
                part.game += games
                last = int(part.game[-1])
                for name, column in part.columns().items():
                    if name not in files:
                        files[name] = stack.enter_context((folder / f"{name}.bin").open("wb"))
                    little = column.astype(column.dtype.newbyteorder("<"), copy=False)
                    files[name].write(np.ascontiguousarray(little).data)
                rows += len(part)
            if rows == first:
                raise RecordError(f"{path}: no game with samples")
            games = last + 1
    return rows, skipped


def _parts(path: Path, skipped: list[Skipped]) -> Iterator[Samples]:
    """The file's samples, some at a time; games are numbered from 0 on."""
    data = content(path)
    format = guess_format(path, data)
    if not format.holds_games:
        reader = SampleReader(path)
        yield from reader
        skipped += reader.skipped
    elif len(data) <= LARGE_BYTES:
        samples = load_samples(path)
        skipped += samples.skipped
        yield samples
    else:
        yield from _few_games(path, skipped)


def _few_games(path: Path, skipped: list[Skipped]) -> Iterator[Samples]:
    reader = GameReader(path)
    waiting = []
    for _, found in samples_by_game(reader):
        waiting.append(found)
        if len(waiting) == _GAMES_AT_ONCE:
            yield Samples.concatenate(waiting)
            waiting = []
    if waiting:
        yield Samples.concatenate(waiting)
    skipped += reader.skipped


def _open(place: Path) -> Samples:
    try:
        about = json.loads((place / "cache.json").read_text(encoding="utf-8"))
        rows = about["rows"]
        skipped = [Skipped(Path(one[0]), *one[1:]) for one in about["skipped"]]
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{place}: a damaged cache, remove it: {error!r}") from error
    columns = {}
    for name, column in samples_of([]).columns().items():
        path = place / f"{name}.bin"
        dtype, shape = column.dtype.newbyteorder("<"), (rows, *column.shape[1:])
        wanted = int(np.prod(shape)) * dtype.itemsize
        if not path.exists() or path.stat().st_size != wanted:
            raise RecordError(f"{path}: missing or truncated; remove {place}")
        columns[name] = np.memmap(path, dtype, "r", shape=shape)
    return Samples(**columns, skipped=skipped)
