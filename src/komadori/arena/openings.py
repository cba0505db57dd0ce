"""Openings for paired games: random by seed, from a file, or from game records.

An opening is a start position with moves from it. Each is played twice with colours swapped, so
openings need not be balanced; balanced ones are more informative.
"""

from __future__ import annotations

import numbers
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from komadori.usi.protocol import STARTPOS, UsiSyntaxError, parse_position
from komadori.whole_file import read_whole
from komadori.wording import counted, names_arguments, not_expected

if TYPE_CHECKING:
    from komadori.records import Games, Skipped
    from komadori.rules import Board

#: Maximum attempts to find one random opening.
MAX_ATTEMPTS = 1000


class OpeningError(ValueError):
    """A bad opening. The message names the file, the line and the problem."""


@dataclass(frozen=True)
class Opening:
    """A start position (SFEN or `startpos`) and the moves played from it before the players take
    over."""

    sfen: str = STARTPOS
    moves: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # One opening has one value: a resumed match compares openings.
        if self.sfen == "startpos":
            object.__setattr__(self, "sfen", STARTPOS)
        if isinstance(self.moves, list):
            object.__setattr__(self, "moves", tuple(self.moves))

    def board(self) -> Board:
        """Return the position after the moves. Raises ValueError for illegal moves."""
        from komadori.rules import Board

        board = Board(self.sfen)
        for move in self.moves:
            board.push_usi(move)
        return board

    def __str__(self) -> str:
        start = "startpos" if self.sfen == STARTPOS else f"sfen {self.sfen}"
        return f"{start} moves {' '.join(self.moves)}" if self.moves else start


Filter = Callable[["Board"], bool]
OnSkipped = Callable[["Skipped"], None]


@names_arguments
def random_openings(
    count: int,
    plies: int | None = None,
    seed: int = 0,
    sfen: str = STARTPOS,
    is_fair: Filter | None = None,
) -> list[Opening]:
    """Return `count` different openings of `plies` random legal moves each, by default 8.

    `is_fair` selects positions; by default those without check, mate in one or an immediate gain
    of more than a pawn exchange. The same arguments give the same openings. Raises OpeningError
    if `count` different ones can't be found, ValueError for negative numbers.
    """
    plies = RANDOM_PLIES if plies is None else plies
    for name, value in (("count", count), ("plies", plies)):
        if not isinstance(value, numbers.Integral):
            raise not_expected(name, value, "int")
        if value < 0:
            raise ValueError(f"{name} is {value}, at least 0 is needed")
    if plies == 0 and count > 0:
        return [Opening(sfen)] * count
    is_fair = is_fair or is_quiet
    rng = random.Random(f"openings {seed} {plies}")
    openings: list[Opening] = []
    seen: set[int] = set()
    attempts = 0
    while len(openings) < count:
        attempts += 1
        if attempts > MAX_ATTEMPTS * (count + 1 if openings else 1):
            raise OpeningError(f"only {len(openings)} of {count} openings of {plies} plies found")
        board = Opening(sfen).board()
        for _ in range(plies):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
        if len(board.moves) < plies or board.key in seen or not is_fair(board):
            continue
        seen.add(board.key)
        openings.append(Opening(sfen, tuple(move.usi() for move in board.moves)))
    return openings


#: Maximum gain of a capture in a fair position.
QUIET_GAIN_CP = 200


def is_quiet(board: Board) -> bool:
    """Return whether material is even, no king in check, and no move mates or wins material."""
    from komadori.players.simple import gain_cp, material_cp

    if board.is_check() or not board.legal_moves or board.mate_in_one() is not None:
        return False
    if abs(material_cp(board)) > QUIET_GAIN_CP:
        return False
    return all(gain_cp(board, move) <= QUIET_GAIN_CP for move in board.legal_moves)


#: Suffixes of files with one opening per line; others are game records.
TEXT_SUFFIXES = (".txt", ".sfen", ".epd", "")

#: Default number of random moves, and of moves of a recorded game; lines of a text file are played
#: whole.
RANDOM_PLIES, RECORD_PLIES = 8, 24


@names_arguments
def read_openings(
    path: Path | str, plies: int | None = None, on_skipped: OnSkipped | None = None
) -> list[Opening]:
    """Read openings from a text file, one per line, or from a file of game records.

    A line is `startpos [moves ...]`, `sfen ... [moves ...]`, the same after `position`, a bare
    SFEN, or bare USI moves from the start position; blank lines and lines that begin with `#`
    are ignored. The text is UTF-8, UTF-16 or Shift-JIS, and may be compressed (.xz, .gz). `plies`
    limits its moves; by default all are played. A file of games in any format
    of `komadori.records` gives the first `plies` moves of each, by default 24, without duplicates;
    the name `sample` means the bundled games. `on_skipped` is called for each damaged part of a
    file of games.
    Raises OpeningError naming file and line.
    """
    if str(path) == "sample":
        from komadori.records import sample_path

        path = sample_path()
    path = Path(path)
    if not is_text(path):
        return _from_records(path, RECORD_PLIES if plies is None else plies, on_skipped)
    openings = []
    for number, line in _lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            opening = parse_opening(line, plies)
            opening.board()
        except ValueError as error:
            raise OpeningError(f"{path}, line {number}: {error}") from error
        openings.append(opening)
    if not openings:
        raise OpeningError(f"{path}: holds no opening")
    return openings


def is_text(path: Path) -> bool:
    """Return whether a file, compressed or not, has one opening per line, by its name."""
    from komadori.records.files import plain_suffix

    return plain_suffix(path) in TEXT_SUFFIXES


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers. Raises OpeningError."""
    import numpy as np

    from komadori.records.errors import RecordError
    from komadori.records.files import content
    from komadori.records.text import LongLineError, lines_of

    try:
        if path.suffix.lower() in TEXT_SUFFIXES:
            data = np.frombuffer(read_whole(path), np.uint8)  # also from a pipe
        else:
            data = content(path)
        for line in lines_of(data):
            yield line.number, line.text
    except OSError as error:
        raise OpeningError(f"{path}: {error.strerror or error}") from error
    except LongLineError as error:
        raise OpeningError(f"{path}, line {error.number}: {error}") from error
    except RecordError as error:
        raise OpeningError(str(error)) from error


def parse_opening(line: str, plies: int | None = None) -> Opening:
    """Parse one line of an opening file; at most `plies` of its moves. Doesn't check legality."""
    words = line.split()
    if words and words[0] == "position":
        words = words[1:]
    if not words:
        raise UsiSyntaxError("an empty line is no opening")
    if words[0] not in ("startpos", "sfen"):
        words = ["sfen", *words] if "/" in words[0] else ["startpos", "moves", *words]
    command = parse_position(" ".join(words))
    return Opening(command.sfen, command.moves[:plies])


def read_opening_games(path: Path, on_skipped: OnSkipped | None = None) -> Games:
    """Read the games of a file of openings. Raises OpeningError."""
    from komadori.records import read_games

    try:
        games = read_games(path)
    except OSError as error:
        raise OpeningError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise OpeningError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    if on_skipped is not None:
        for skipped in games.skipped:
            on_skipped(skipped)
    return games


def _from_records(path: Path, plies: int, on_skipped: OnSkipped | None) -> list[Opening]:
    openings = []
    for game in read_opening_games(path, on_skipped):
        moves = game.usi_moves()[:plies]
        if len(moves) == plies:
            openings.append(Opening(game.initial_sfen, tuple(moves)))
    if not openings:
        raise OpeningError(f"{path}: no game of at least {plies} plies")
    return list(dict.fromkeys(openings))


def source_text(openings: Path | str | None, plies: int | None) -> str:
    """Return where openings come from, in words: `games.kif, 24 plies`, `8 random plies`."""
    if not openings:
        return counted(RANDOM_PLIES if plies is None else plies, "random ply", "random plies")
    name = Path(openings).name
    if plies is None and is_text(Path(openings)) and name != "sample":
        return name
    return f"{name}, {counted(RECORD_PLIES if plies is None else plies, 'ply', 'plies')}"


def distinct(openings: Iterable[Opening]) -> list[Opening]:
    """Keep the first opening of each position, in order: deterministic players repeat a game from
    the same position."""
    first: dict[str, Opening] = {}
    for opening in openings:
        position = opening.board().sfen().rsplit(" ", 1)[0]  # without the ply
        first.setdefault(position, opening)
    return list(first.values())


def choose(openings: Iterable[Opening], count: int, seed: int) -> list[Opening]:
    """Choose `count` openings in an order given by `seed`. Openings that lead to the same position
    count as one; all are used before any repeats."""
    available = distinct(openings)
    if not available:
        raise OpeningError("there are no openings to choose from")
    rng = random.Random(f"choose {seed}")
    chosen: list[Opening] = []
    while len(chosen) < count:
        shuffled = available.copy()
        rng.shuffle(shuffled)
        chosen += shuffled
    return chosen[:count]
