"""Selection of files and of games."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori.records.errors import RecordError
from komadori.records.files import plain_suffix
from komadori.records.formats import FORMATS
from komadori.records.game import End, Game, Winner
from komadori.records.samples import Samples
from komadori.wording import no_such_file

__all__ = ["ANALYSED", "RESULTS", "Selection", "find_files", "match_files"]

#: Endings of the records that `komadori analyse` writes beside the ones it read: NAME.csa gives
#: NAME.analysed.csa.
ANALYSED = (".analysed.csa", ".analysed.kif")

#: Names allowed in `Selection.results`: winners and ends.
RESULTS = tuple(
    name.lower().replace("_", "-")
    for name in dict.fromkeys([*Winner.__members__, *End.__members__])
)
_SUFFIXES = {suffix for format in FORMATS.values() for suffix in format.suffixes}
_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


def _is_other_json(path: Path) -> bool:
    """Return whether a file is JSON without a game, such as the settings beside generated ones."""
    if path.suffix.lower() != ".json":
        return False
    try:
        data = path.read_bytes()
    except OSError:
        return False  # reported when it is read
    return not any('"moves"'.encode(encoding) in data for encoding in _ENCODINGS)


def _files_below(folder: Path, on_error: Callable[[OSError], None]) -> Iterator[Path]:
    """The files in a folder and those in it, linked ones too, each folder once."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, onerror=on_error, followlinks=True):
        if (real := os.path.realpath(place)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (Path(place, name) for name in names)


def _without_analysed(paths: list[Path]) -> list[Path]:
    """Leave out the analysed copies of records that are there too: each game once."""
    originals = {path.with_suffix("") for path in paths}
    return [
        path
        for path in paths
        if not any(
            path.name.endswith(ending) and Path(str(path).removesuffix(ending)) in originals
            for ending in ANALYSED
        )
    ]


def _records_below(folder: Path, on_error: Callable[[OSError], None]) -> list[Path]:
    found = []
    for path in _files_below(folder, on_error):
        if plain_suffix(path) not in _SUFFIXES:
            continue
        if path.is_file():
            if not _is_other_json(path):
                found.append(path)
        elif path.is_symlink() and not os.path.exists(path) and not path.name.startswith("."):  # noqa: PTH110
            reason = f"a link to {os.readlink(path)}, which can't be found"  # noqa: PTH115
            on_error(FileNotFoundError(errno.ENOENT, reason, str(path)))
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def _check_access(path: Path | str) -> None:
    """Raise RecordError if it can't be known whether the path exists."""
    try:
        os.stat(path)  # noqa: PTH116
    except PermissionError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    except (OSError, ValueError):
        pass


def find_files(
    paths: Iterable[Path],
    on_error: Callable[[OSError], None] = _raise,
    *,
    with_analysed: bool = False,
) -> Iterator[Path]:
    """List the files named, and the files with a record format's suffix below the folders named,
    sorted by name within a folder, without JSON that is no game. Raises RecordError for a missing
    path; `on_error` is called with the error of a folder that can't be read or a link that leads to
    no file, which names it. Linked folders are followed, each once.

    with_analysed: list also what `komadori analyse` wrote beside a record found in a folder.
    """
    for path in paths:
        # os.path: a name that no file can have is one of no file, not an error.
        if os.path.isdir(path):  # noqa: PTH112
            below = _records_below(path, on_error)
            yield from below if with_analysed else _without_analysed(below)
        elif os.path.exists(path):  # noqa: PTH110
            yield path
        else:
            _check_access(path)
            raise RecordError(f"{path}: no such file") from no_such_file(path)


def match_files(patterns: Iterable[str], *, with_analysed: bool = False) -> list[Path]:
    """As `find_files`, for paths or patterns such as `games/*.hcpe3`; each file once.

    An existing path is never a pattern, even with brackets. Raises RecordError for a pattern
    without a match.
    """
    paths: list[Path] = []
    for pattern in patterns:
        is_path = os.path.exists(pattern)  # noqa: PTH110
        named = [pattern] if is_path else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (absolute ones too)
        found = list(find_files(map(Path, named), with_analysed=with_analysed))
        if not found and is_path:
            raise RecordError(f"{pattern}: no records there")
        if not found:
            _check_access(pattern)
            raise RecordError(f"{pattern}: no such file") from no_such_file(pattern)
        paths += found
    return list(dict.fromkeys(paths))


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions on games, all of which must hold.

    min_rating  both players' ratings are known and at least this
    player      substring of a player's name, ignoring case
    results     names in RESULTS, of the winner or the end
    """

    min_rating: float | None = None
    min_plies: int = 0
    max_plies: int | None = None
    player: str = ""
    results: frozenset[str] = frozenset()

    def needs_games(self) -> list[str]:
        """The names of conditions that can't be tested on single positions."""
        return [
            name
            for name, used in {
                "min_rating": self.min_rating is not None,
                "min_plies": self.min_plies > 0,
                "max_plies": self.max_plies is not None,
                "player": bool(self.player),
            }.items()
            if used
        ]

    def accepts(self, game: Game) -> bool:
        """Whether a game meets all conditions."""
        if not self.min_plies <= len(game) <= (self.max_plies or max(len(game), self.min_plies)):
            return False
        if self.player and not any(
            self.player.casefold() in name.casefold() for name in (game.black, game.white)
        ):
            return False
        if self.min_rating is not None:
            ratings = (game.rating(0), game.rating(1))
            if any(rating is None or rating < self.min_rating for rating in ratings):
                return False
        names = {_name(game.winner)} | {_name(end) for end in (game.end,) if end != End.UNKNOWN}
        return not self.results or bool(names & self.results)

    def rows(self, samples: Samples) -> NDArray[np.bool_]:
        """A mask of the positions that meet the conditions on results."""
        if not self.results:
            return np.ones(len(samples), np.bool_)
        white_moves = samples.hcp[:, 0] & 1
        black_won = np.where(white_moves, 1 - samples.result, samples.result)
        winners = {1.0: Winner.BLACK, 0.0: Winner.WHITE, 0.5: Winner.DRAW}
        chosen = np.zeros(len(samples), np.bool_)
        for value, winner in winners.items():
            if _name(winner) in self.results:
                chosen |= black_won == value
        for end in End:
            if end != End.UNKNOWN and _name(end) in self.results:
                chosen |= samples.end == end
        return chosen


def _name(member: Winner | End) -> str:
    return member.name.lower().replace("_", "-")
