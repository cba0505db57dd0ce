"""The registry of record formats, and detection of a file's format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from komadori._core import records as _core
from komadori.records import kif, usi
from komadori.records.checking import check_game
from komadori.records.errors import RecordError, Skipped
from komadori.records.files import plain_suffix
from komadori.records.game import NO_SCORE, NO_TIME, Game, Source
from komadori.records.table import games_of, table_of
from komadori.records.text import (
    Line,
    LongLineError,
    as_utf8,
    decode_exactly,
    lines_of,
    take_scores,
    with_line_feeds,
)
from komadori.rules import RulesError
from komadori.wording import names_arguments

__all__ = ["FORMATS", "Chunk", "Format", "find_format", "guess_format", "valid_fraction"]

CHUNK_GAMES = 512
#: Consecutive lines without a game after which reading a file of one game per line stops.
MAX_JUNK_LINES = 10_000
#: Largest file of JSON, which is read as a whole.
JKF_BYTES = 1 << 28
Data = NDArray[np.uint8]


@dataclass(slots=True)
class Chunk:
    """Some games of a file, the parts skipped around them, and the byte reached."""

    games: list[Game]
    skipped: list[Skipped]
    offset: int


@names_arguments
@dataclass(frozen=True, slots=True)
class Format:
    """A record format. Only formats of whole games have `read` and `write`.

    read   yields the games of a file's content in chunks
    write  one game as bytes; raises RecordError or RulesError if the format can't represent it
    lacks  the fields of `Game` that the format has no place for
    needs_scores  each position has a score; 0 is stored for those without one
    lines_need_scores  it has a place for a principal variation beside a move's score only
    keeps_winner  whether a game read back has the same winner; None: any that can be written
    """

    name: str
    suffixes: tuple[str, ...]
    summary: str
    read: Callable[[Data, Path], Iterator[Chunk]] | None = None
    write: Callable[[Game, str], bytes] | None = None
    between: bytes = b""
    lacks: frozenset[str] = frozenset()
    needs_scores: bool = False
    lines_need_scores: bool = False
    keeps_winner: Callable[[Game], bool] | None = None

    @property
    def holds_games(self) -> bool:
        """Whether the format holds whole games; the others hold single positions."""
        return self.read is not None

    def lost(self, game: Game) -> Counter[str]:
        """Count, by field of `Game`, what the format has no place for: texts, variations, plies
        with a score, a time or candidates, those of variations included; a `winner` whose end
        the format has no word for."""
        lines = [game, *game.all_variations()]
        counts = Counter(variations=len(lines) - 1 if "variations" in self.lacks else 0)
        for line in lines:
            if self.lines_need_scores:
                scored = np.flatnonzero(line.scores_cp != NO_SCORE) + 1
                counts["pvs"] += len(line.pvs.keys() - set(scored.tolist()))
            for field in self.lacks - {"variations"}:
                if field == "scores_cp":
                    counts[field] += int((line.scores_cp != NO_SCORE).sum())
                elif field == "times_ms":
                    counts[field] += int((line.times_ms != NO_TIME).sum())
                    counts[field] += line.end_time_ms != NO_TIME
                elif field == "candidates":
                    if line.candidates is not None:
                        counts[field] += int(line.candidates.count.astype(bool).sum())
                else:
                    counts[field] += len(getattr(line, field))
        if self.keeps_winner is not None and not self.keeps_winner(game):
            counts["winner"] = 1
        return +counts

    def __reduce__(self) -> tuple[Callable[[str], Format], tuple[str]]:
        """Pickle the name: readers, which hold their format, can be sent to other processes."""
        return find_format, (self.name,)


def _read_core(
    reader: Callable[..., tuple[dict[str, object], list[tuple[int, int, int, str, int]], int]],
) -> Callable[[Data, Path], Iterator[Chunk]]:
    def read(data: Data, path: Path) -> Iterator[Chunk]:
        at = 0
        while at < len(data):
            columns, faults, at = reader(data, at, CHUNK_GAMES)
            games = games_of(columns, path)
            for game in games:
                if game.comments:
                    take_scores(game)
            yield Chunk(games, [Skipped(path, *fault) for fault in faults], at)

    return read


_read_csa_bytes = _read_core(_core.read_csa)


def _read_csa(data: Data, path: Path) -> Iterator[Chunk]:
    text, offset_of = as_utf8(data)
    for chunk in _read_csa_bytes(with_line_feeds(text), path):
        if text is not data:
            for game in chunk.games:
                assert game.source is not None
                game.source = Source(path, offset_of(game.source.offset))
            chunk.skipped = [
                replace(
                    skip,
                    begin=offset_of(skip.begin),
                    end=offset_of(skip.end),
                    offset=offset_of(skip.offset),
                )
                for skip in chunk.skipped
            ]
            chunk.offset = offset_of(chunk.offset)
        yield chunk


def _readable_lines(data: Data, path: Path, skipped: list[Skipped]) -> Iterator[Line]:
    """The lines up to one that is too long for text; the rest is added to `skipped`."""
    try:
        yield from lines_of(data)
    except LongLineError as error:
        reason = f"line {error.number}: {error}; the rest isn't read"
        skipped.append(Skipped(path, error.offset, len(data), error.offset, reason))


def _read_kif(data: Data, path: Path) -> Iterator[Chunk]:
    left: list[Skipped] = []
    games = kif.split_games(_readable_lines(data, path, left))
    while True:
        try:
            lines = next(games, None)
        except kif.BadLineError as error:
            reason = f"line {error.number}: {error}; the rest isn't read"
            yield Chunk(
                [], [Skipped(path, error.offset, len(data), error.offset, reason)], len(data)
            )
            return
        if lines is None:
            if left:
                yield Chunk([], left, len(data))
            return
        begin, end = lines[0].offset, lines[-1].end
        game, fault = kif.read_sound_part(lines)
        skipped = []
        if fault is not None:
            reason = f"line {fault.number}: {fault}"
            left_out, until = (begin, end) if game is None else (fault.offset, end)
            if game is not None and fault.keeps_game:
                reason += "; the rest of the game is kept"
                until = fault.end
            elif game is not None:
                reason += "; the moves before it are kept"
            skipped.append(Skipped(path, left_out, until, fault.offset, reason))
        if game is not None:
            game.source = Source(path, begin)
        yield Chunk([game] if game is not None else [], skipped, end)


def _read_usi(data: Data, path: Path) -> Iterator[Chunk]:
    chunk = Chunk([], [], 0)
    junk = 0  # lines in a row
    left: list[Skipped] = []
    for line in _readable_lines(data, path, left):
        text = line.text.lstrip("\ufeff").strip()
        chunk.offset = line.end
        if not text or text.startswith("#"):
            continue
        try:
            game, fault = usi.read_sound_part(text)
        except (RecordError, RulesError) as error:
            chunk.skipped.append(Skipped(path, line.offset, chunk.offset, line.offset, str(error)))
            junk += 1
            if junk == MAX_JUNK_LINES:
                reason = f"{junk:,} lines without a game; the rest isn't read"
                chunk.skipped.append(Skipped(path, line.end, len(data), line.end, reason))
                break
        else:
            junk = 0
            if fault is not None:
                reason = f"{fault}; the moves before it are kept"
                chunk.skipped.append(Skipped(path, line.offset, chunk.offset, line.offset, reason))
            game.source = Source(path, line.offset)
            chunk.games.append(game)
        if len(chunk.games) == CHUNK_GAMES:
            yield chunk
            chunk = Chunk([], [], chunk.offset)
    chunk.skipped += left
    yield chunk


def _jkf_text(game: Game) -> str:
    from komadori.records import jkf

    return jkf.write_jkf(game) + "\n"


def _read_jkf(data: Data, path: Path) -> Iterator[Chunk]:
    from komadori.records import jkf  # needs rsshogi, which training does without

    if len(data) > JKF_BYTES:
        raise RecordError(f"{path}: more than {JKF_BYTES >> 20} MB of JSON; split it")
    text, size_of = decode_exactly(data.tobytes())
    offset = reached = 0
    for at, document, damage in jkf.documents(text):
        offset += size_of(text[reached:at])
        reached = at
        try:
            if damage is not None and not document:
                raise damage
            game, fault = jkf.read_game(document)
            fault = fault or damage
        except (RecordError, RulesError) as error:
            end = len(data) if damage is not None else offset + size_of(document)
            yield Chunk([], [Skipped(path, offset, end, offset, str(error))], end)
        else:
            game.source = Source(path, offset)
            skipped = [] if fault is None else [Skipped(path, offset, offset, offset, str(fault))]
            yield Chunk([game], skipped, offset)


def _write_text(writer: Callable[[Game], str]) -> Callable[[Game, str], bytes]:
    def write(game: Game, encoding: str) -> bytes:
        check_game(game)
        text = writer(game)
        if encoding != "utf-8":
            text = text.replace("encoding=UTF-8", "encoding=Shift_JIS", 1)
        return text.encode(encoding, "replace")

    return write


def _write_csa(game: Game, encoding: str) -> bytes:
    data = table_of([game]).csa(0)
    if encoding == "utf-8":
        return data
    return data.decode().replace("encoding=UTF-8", "encoding=SHIFT_JIS").encode(encoding, "replace")


def _write_hcpe3(game: Game, _encoding: str) -> bytes:
    return table_of([game]).hcpe3(0)


_TEXTS = frozenset({"headers", "comments", "bookmarks", "pvs", "variations"})
_ALL = (
    Format(
        "csa",
        (".csa",),
        "CSA text",
        _read_csa,
        _write_csa,
        between=b"/\n",
        lacks=frozenset({"candidates", "bookmarks", "variations"}),
        lines_need_scores=True,
    ),
    Format(
        "kif",
        (".kif", ".kifu"),
        "KIF text",
        _read_kif,
        _write_text(kif.write_kif),
        between=b"\n",
        lacks=frozenset({"candidates"}),
    ),
    Format(
        "ki2",
        (".ki2", ".ki2u"),
        "KI2 text",
        _read_kif,
        _write_text(kif.write_ki2),
        between=b"\n",
        lacks=frozenset({"candidates", "times_ms"}),
    ),
    Format(
        "jkf",
        (".jkf", ".json"),
        "JSON kifu format, one object per line",
        _read_jkf,
        _write_text(_jkf_text),
        lacks=frozenset({"candidates", "bookmarks"}),
    ),
    Format(
        "usi",
        (".usi", ".sfen", ".txt"),
        "USI position lines",
        _read_usi,
        _write_text(lambda game: usi.write_usi(game) + "\n"),
        lacks=_TEXTS | {"scores_cp", "times_ms", "candidates"},
        keeps_winner=usi.keeps_winner,
    ),
    Format(
        "hcpe3",
        (".hcpe3",),
        "dlshogi's games with candidates",
        _read_core(_core.read_hcpe3),
        _write_hcpe3,
        lacks=_TEXTS | {"times_ms"},
        needs_scores=True,
    ),
    Format("hcpe", (".hcpe",), "positions: Apery's and dlshogi's 38 bytes", needs_scores=True),
    Format("hcpe2", (".hcpe2",), "positions: hcpe with the kind of result", needs_scores=True),
    Format(
        "apery", (".apery",), "positions: newer Apery's 42 bytes, with plies", needs_scores=True
    ),
    Format(
        "psv",
        (".psv", ".bin"),
        "positions: YaneuraOu's PackedSfenValue, 40 bytes",
        needs_scores=True,
    ),
)
FORMATS = {format.name: format for format in _ALL}

#: Number of records checked to tell the formats of positions apart.
PROBED_RECORDS = 64


def find_format(name: str) -> Format:
    """The format of that name. Raises RecordError that lists the known names."""
    try:
        return FORMATS[name]
    except KeyError:
        raise RecordError(f"no record format {name!r}; there are {', '.join(FORMATS)}") from None


def guess_format(path: Path, data: Data | None = None) -> Format:
    """Detect the format of a file by its suffix, ignoring that of a compression.

    With `data`, the file's content, formats of single positions are told apart by the first
    records: the format with most valid ones is taken, the suffix's if equal. Raises RecordError for
    an unknown suffix.
    """
    suffix = plain_suffix(path)
    for format in _ALL:
        if suffix in format.suffixes:
            if format.holds_games or data is None:
                return format
            return _sound_format(format, data)
    known = " ".join(suffix for format in _ALL for suffix in format.suffixes)
    raise RecordError(f"{path}: no record format has the suffix {suffix!r}; known: {known}")


def valid_fraction(format: Format, data: Data) -> float:
    """The fraction of the first records that are valid in a format of single positions, 0 to 1."""
    tried = min(len(data) // _core.record_size(format.name), PROBED_RECORDS)
    return _core.count_valid(format.name, data, tried) / tried if tried else 0.0


def _sound_format(expected: Format, data: Data) -> Format:
    others = [FORMATS[name] for name in ("hcpe", "hcpe2", "apery", "psv")]
    return max([expected, *others], key=lambda f: valid_fraction(f, data))
