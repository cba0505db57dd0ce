"""Memory-mapped samples: decoded once into one file per column, never loaded whole.

    FOLDER/KEY/cache.json   the sources, the number of rows, what was skipped
    FOLDER/KEY/hcp.bin ...  the columns of `Samples`, little-endian
    FOLDER/KEY-moves/       the same, and the columns of `SampleMoves`: first_move.bin ...

KEY is a digest of the sources' names, sizes and times, so a changed file is decoded again. A
position takes 49 bytes; with moves 10 more, and 4 per move.
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
from filelock import FileLock
from numpy.typing import NDArray

from komadori.atomic import sync_folder, write_text
from komadori.json_file import read_table
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import content, map_file, paths_of
from komadori.records.formats import guess_format
from komadori.records.games import GameReader
from komadori.records.sample_moves import SampleMoves, samples_with_moves
from komadori.records.samples import (
    SampleReader,
    Samples,
    few_games,
    load_samples,
    no_samples,
    samples_of,
)
from komadori.wording import names_arguments, what_is_wrong

FORMAT_VERSION = 2
#: Size from which files of games are decoded a few games at a time.
LARGE_BYTES = 1 << 28


@names_arguments
def map_samples(paths: str | Path | Iterable[str | Path], folder: str | Path) -> Samples:
    """As `load_samples`, but with arrays mapped from files in `folder`, created if missing.

    Rows are read on access. Raises the errors of `load_samples`, and OSError if the disk is full,
    without leaving incomplete files.
    """
    sources, place = _places(paths, folder)
    if _is_made(_with_moves(place)):  # which holds the samples too
        return _open(_with_moves(place))
    _make(sources, place, False)
    return _open(place)


@names_arguments
def map_sample_moves(
    paths: str | Path | Iterable[str | Path], folder: str | Path
) -> tuple[Samples, SampleMoves]:
    """As `load_sample_moves`, mapped as by `map_samples`."""
    sources, place = _places(paths, folder)
    place = _with_moves(place)
    _make(sources, place, True)
    samples = _open(place)
    first = _map(place, "first_move", np.dtype("<i8"), (len(samples) + 1,))
    total = (int(first[-1]),)
    codes, visits = (_map(place, name, np.dtype("<u2"), total) for name in ("candidate", "visits"))
    played = _map(place, "played", np.dtype("<u2"), (len(samples),))
    return samples, SampleMoves(first, codes, visits, played)


def _places(
    paths: str | Path | Iterable[str | Path], folder: str | Path
) -> tuple[list[Path], Path]:
    sources = paths_of(paths)
    if not sources:
        raise RecordError("no record files given")
    return sources, Path(folder) / _key(sources)


def _with_moves(place: Path) -> Path:
    return place.with_name(f"{place.name}-moves")


def _is_made(place: Path) -> bool:
    return (place / "cache.json").exists()


def _key(sources: list[Path]) -> str:
    facts: list[Any] = [FORMAT_VERSION]
    for path in sources:
        about = path.stat()
        facts.append([str(path.resolve()), about.st_size, about.st_mtime_ns])
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _make(sources: list[Path], place: Path, with_moves: bool) -> None:
    """Create the cache if missing; of several processes one decodes and the others wait."""
    if _is_made(place):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_name(".lock")):
        if not _is_made(place):
            _build(sources, place, with_moves)


def _build(sources: list[Path], place: Path, with_moves: bool) -> None:
    temporary = place.with_name(f".writing-{place.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        rows, skipped = _write(sources, temporary, with_moves)
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


def _write(sources: list[Path], folder: Path, with_moves: bool) -> tuple[int, list[Skipped]]:
    rows = games = moves = 0
    skipped: list[Skipped] = []
    with contextlib.ExitStack() as stack:
        files: dict[str, BinaryIO] = {}

        def write(name: str, column: NDArray[Any]) -> None:
            if name not in files:
                files[name] = stack.enter_context((folder / f"{name}.bin").open("wb"))
            little = column.astype(column.dtype.newbyteorder("<"), copy=False)
            files[name].write(np.ascontiguousarray(little).data)

        for path in sources:
            before, last = rows, -1
            for part, of_part in _parts(path, skipped, with_moves):
                part.game += games
                last = int(part.game[-1])
                for name, column in part.columns().items():
                    write(name, column)
                if of_part is not None:
                    first = of_part.first + moves
                    of_rows = first if rows == 0 else first[1:]
                    write("first_move", of_rows)
                    write("candidate", of_part.move16)
                    write("visits", of_part.visits)
                    write("played", of_part.played)
                    moves = int(first[-1])
                rows += len(part)
            if rows == before:
                raise no_samples(path, skipped)
            games = last + 1
    return rows, skipped


def _parts(
    path: Path, skipped: list[Skipped], with_moves: bool
) -> Iterator[tuple[Samples, SampleMoves | None]]:
    """Yield the file's samples and their moves in parts; games are numbered from 0."""
    data = content(path)
    format = guess_format(path, data)
    if with_moves or (format.holds_games and len(data) > LARGE_BYTES):
        games = GameReader(path, data=data)
        if with_moves:
            yield from samples_with_moves(games)
        else:
            for few in few_games(games):
                yield Samples.concatenate([found for _, found in few]), None
        skipped += games.skipped
    elif format.holds_games:
        samples = load_samples(path)
        skipped += samples.skipped
        yield samples, None
    else:
        reader = SampleReader(path)
        for part in reader:
            yield part, None
        skipped += reader.skipped


def _open(place: Path) -> Samples:
    try:
        about = read_table(place / "cache.json")
        rows = about["rows"]
        skipped = [Skipped(Path(one[0]), *one[1:]) for one in about["skipped"]]
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{place}: a damaged cache, remove it: {what_is_wrong(error)}") from error
    columns = {}
    for name, column in samples_of([]).columns().items():
        columns[name] = _map(place, name, column.dtype, (rows, *column.shape[1:]))
    return Samples(**columns, skipped=skipped)


def _map(place: Path, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    path, dtype = place / f"{name}.bin", dtype.newbyteorder("<")
    wanted = int(np.prod(shape)) * dtype.itemsize
    if not path.exists() or path.stat().st_size != wanted:
        raise RecordError(f"{path}: missing or truncated; remove {place}")
    return map_file(path, dtype, shape)
