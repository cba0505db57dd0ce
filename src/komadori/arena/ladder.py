"""Players and their games in one SQLite file, from which ratings are fitted.

    settings   conditions and openings of all games, as JSON by key; openings taken by each pair
    players    name, specification, fingerprint of its files, fixed rating of an anchor, note
    games      who had Black and White, the result, and the whole game as JSON

A game is stored as soon as it ends, so a ladder can be stopped at any time and several processes
can add to one file.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from komadori.arena.elo import score_from_elo
from komadori.arena.game import Conditions, GameRecord
from komadori.arena.limits import check_players
from komadori.arena.openings import (
    OnSkipped,
    Opening,
    choose,
    distinct,
    random_openings,
    read_openings,
    source_text,
)
from komadori.arena.ratings import LOGIT, Fit, Tally, fit
from komadori.arena.workers import Job, run_jobs
from komadori.atomic import atomic_writer
from komadori.json_file import parse_json, parse_table
from komadori.run_lock import RunLock
from komadori.wording import no_such_file, what_is_wrong

FORMAT = 1

_SCHEMA = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE players (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, files TEXT NOT NULL,
    anchor_elo REAL, note TEXT NOT NULL, added TEXT NOT NULL
);
CREATE TABLE games (
    id INTEGER PRIMARY KEY, black INTEGER NOT NULL REFERENCES players (id),
    white INTEGER NOT NULL REFERENCES players (id), winner TEXT NOT NULL, reason TEXT NOT NULL,
    plies INTEGER NOT NULL, played TEXT NOT NULL, conditions TEXT NOT NULL, source TEXT UNIQUE,
    record TEXT NOT NULL
);
CREATE INDEX games_by_players ON games (black, white);
"""

#: The end of a journal that names a super-journal (SQLite, Database File Format, 3.1).
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")

#: Openings played by each pair of players before any repeats.
RANDOM_OPENINGS = 500


class LadderError(ValueError):
    """An unusable ladder or unknown player. The message says which."""


class LadderRequestError(LadderError):
    """What the ladder can't do as it is, such as games of an unknown player."""


@dataclass(frozen=True)
class Settings:
    """The conditions of a ladder's games, fixed at its creation."""

    conditions: Conditions = field(default_factory=Conditions)
    openings: tuple[Opening, ...] = ()
    opening_source: str = ""


@dataclass(frozen=True)
class LadderPlayer:
    """A player of a ladder."""

    id: int
    name: str
    spec: str
    files: dict[str, str]
    anchor_elo: float | None
    note: str
    added: str


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    where = f"{path.resolve().as_uri()}?mode={mode}"
    database = sqlite3.connect(where, timeout=60.0, isolation_level=None, uri=True)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA foreign_keys = ON")
    return database


def make_settings(
    conditions: Conditions,
    openings: str = "",
    opening_plies: int | None = None,
    seed: int = 0,
    on_skipped: OnSkipped | None = None,
) -> Settings:
    """Create settings with openings from a file, `sample` or random moves, of `opening_plies` moves
    as in `read_openings`, which calls `on_skipped`, and `random_openings`. Raises OpeningError."""
    source = source_text(openings, opening_plies)
    if openings:
        read = distinct(read_openings(openings, opening_plies, on_skipped))
        chosen = choose(read, min(len(read), RANDOM_OPENINGS), seed)
        return Settings(conditions, tuple(chosen), source)
    made = random_openings(RANDOM_OPENINGS, opening_plies, seed)
    return Settings(conditions, tuple(made), f"{source}, seed {seed}")


class Ladder:
    """A ladder file; a context manager."""

    def __init__(self, path: Path | str, *, reads_only: bool = False) -> None:
        """Open a ladder. Raises LadderError for other files.

        reads_only: the file isn't changed, not even to undo what a killed process left half
        written; then a copy is read.
        """
        self.path = Path(path)
        if not self.path.is_file():
            raise LadderError(
                f"{path}: no such ladder; `komadori ladder new` makes one"
            ) from no_such_file(path)
        self._copies = contextlib.ExitStack()
        self._database = _connect(self.path, "ro" if reads_only else "rw")
        try:
            rows = self._settings_rows(reads_only)
            found = {row["key"]: parse_json(row["value"]) for row in rows}
            if found["format"] != FORMAT:
                raise LadderError(f"{path}: a ladder of format {found['format']}, not {FORMAT}")
            self.settings = Settings(
                Conditions(**found["conditions"]),
                tuple(Opening(sfen, tuple(moves)) for sfen, moves in found["openings"]),
                found["opening_source"],
            )
        except (sqlite3.DatabaseError, KeyError, TypeError, ValueError) as error:
            self.close()
            if isinstance(error, LadderError):
                raise
            raise LadderError(f"{path}: not a ladder ({error})") from error

    @classmethod
    def create(cls, path: Path | str, settings: Settings) -> Ladder:
        """Create a ladder file. Raises LadderError if the file exists."""
        path = Path(path)
        if path.exists():
            raise LadderError(f"{path} exists already")
        with RunLock.of_file(path):
            if path.exists():  # created by another process in the meantime
                raise LadderError(f"{path} exists already")
            try:
                content = _empty_ladder(settings)
            except sqlite3.Error as error:
                raise LadderError(f"{path}: {error}") from error
            with atomic_writer(path) as file:
                file.write(content)
        return cls(path)

    def __enter__(self) -> Ladder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()
        self._copies.close()

    def _settings_rows(self, reads_only: bool) -> list[sqlite3.Row]:
        """Return the rows of settings; where the file must be mended first, of a mended copy."""
        query = "SELECT key, value FROM settings"
        try:
            return self._database.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if not reads_only or error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
                raise
        self._database.close()
        self._database = _connect(self._copy_of_unfinished(), "rw")
        return self._database.execute(query).fetchall()

    def _copy_of_unfinished(self) -> Path:
        """Copy the file and its rollback journal. Raises LadderError for the journal of several
        databases: undoing it would delete files that it names."""
        path = self.path.resolve()  # SQLite's journals lie beside the file, not beside a link
        journal = path.with_name(f"{path.name}-journal")
        folder = Path(self._copies.enter_context(tempfile.TemporaryDirectory()))
        try:
            content = journal.read_bytes()
            if content.endswith(_SUPER_JOURNAL):
                raise LadderError(f"{journal}: a transaction of several databases")
            (folder / "ladder.db-journal").write_bytes(content)
            return Path(shutil.copyfile(path, folder / "ladder.db"))
        except OSError as error:
            raise LadderError(f"{self.path}: can't be copied ({error})") from error

    @functools.cached_property
    def _starts(self) -> frozenset[str]:
        """The start positions of the openings. Raises LadderError for a damaged opening."""
        for number, opening in enumerate(self.settings.openings, 1):
            try:
                if not all(isinstance(text, str) for text in (opening.sfen, *opening.moves)):
                    raise ValueError("expected texts")
                opening.board()
            except ValueError as error:
                raise LadderError(f"{self.path}: opening {number} is damaged ({error})") from error
        return frozenset(opening.sfen for opening in self.settings.openings)

    # ---- players

    def add(
        self, name: str, spec: str, anchor_elo: float | None = None, note: str = ""
    ) -> LadderPlayer:
        """Add a player. Raises LadderError if the name is taken, and PlayerSpecError, also if the
        player is known not to support the ladder's limits or openings, its network or weights can't
        be loaded, its program doesn't exist or refuses an option: nothing removes a player."""
        from komadori.players import check_files, fingerprint

        if not name.strip() or not name.isprintable():
            raise LadderRequestError(f"{name!r} is no name: it must be printable and not blank")
        if anchor_elo is not None and not math.isfinite(anchor_elo):
            raise LadderRequestError(f"{name}: a rating is a finite number")
        check_players(self.settings.conditions, [spec], self._starts)
        check_files(spec)
        files = json.dumps(fingerprint(spec))
        self._insert_player(name, spec, files, anchor_elo, note)
        return self.player(name)

    def _execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute a query. Raises LadderError if SQLite fails: a full disk, a damaged file."""
        try:
            return self._database.execute(query, values)
        except sqlite3.Error as error:
            raise LadderError(f"{self.path}: {error}") from error
        except UnicodeEncodeError as error:  # SQLite stores text as UTF-8
            raise LadderError(f"{self.path} can't store {error.object!r}: not UTF-8") from error

    def _rows(self, query: str, values: Sequence[Any] = ()) -> Generator[sqlite3.Row, None, None]:
        """Yield the rows of a query. Raises LadderError."""
        cursor = self._execute(query, values)
        try:
            for row in cursor:  # noqa: UP028 - `yield from` would close the cursor unguarded
                yield row
        except sqlite3.Error as error:
            raise LadderError(f"{self.path}: {error}") from error
        finally:  # releases the lock on the database
            with contextlib.suppress(sqlite3.Error):
                cursor.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Make the changes of a block all or none. Raises LadderError."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    def _insert_player(
        self, name: str, spec: str, files: str, anchor_elo: float | None, note: str
    ) -> None:
        try:
            self._execute(
                "INSERT INTO players (name, spec, files, anchor_elo, note, added) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (name, spec, files, anchor_elo, note, _now()),
            )
        except LadderError:
            if name not in (player.name for player in self.players()):
                raise
            raise LadderRequestError(f"{self.path} has a player {name!r} already") from None

    def players(self) -> list[LadderPlayer]:
        """Return all players in the order they were added."""
        rows = self._rows("SELECT * FROM players ORDER BY id")
        return [self._player_of(dict(row)) for row in rows]

    def _player_of(self, row: dict[str, Any]) -> LadderPlayer:
        """Return the player of a row. Raises LadderError if it is damaged."""
        try:
            for name in ("name", "spec", "files", "note", "added"):
                if not isinstance(row[name], str):
                    raise ValueError(f"{name}: expected a text")
            anchor = row["anchor_elo"]
            if anchor is not None and not (isinstance(anchor, float) and math.isfinite(anchor)):
                raise ValueError("anchor_elo: expected a finite number")
            return LadderPlayer(**{**row, "files": parse_table(row["files"])})
        except (TypeError, ValueError, LookupError) as error:
            raise LadderError(f"{self.path}: a damaged player ({what_is_wrong(error)})") from error

    def player(self, name: str) -> LadderPlayer:
        """Return a player by name. Raises LadderError."""
        for player in self.players():
            if player.name == name:
                return player
        names = ", ".join(player.name for player in self.players()) or "nobody yet"
        raise LadderRequestError(f"{self.path} has no player {name!r}; it has {names}")

    # ---- games

    def insert(self, record: GameRecord, conditions: str, source: str | None = None) -> bool:
        """Store a finished game; return False if it exists already. Raises LadderError."""
        black, white = (self.player(name).id for name in record.names)
        cursor = self._execute(
            "INSERT OR IGNORE INTO games "
            "(black, white, winner, reason, plies, played, conditions, source, record) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                black,
                white,
                record.winner,
                record.reason,
                len(record.moves),
                _now(),
                conditions,
                source,
                json.dumps(record.to_json(), ensure_ascii=False),
            ),
        )
        return cursor.rowcount == 1

    def games(
        self,
        player: str | None = None,
        against: str | None = None,
        *,
        newest_first: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Generator[GameRecord, None, None]:
        """Return all games, a player's, or those between two, in the order they were stored.

        Raises LadderError for unknown names.
        """
        names = {p.id: p.name for p in self.players()}
        ids = [self.player(name).id for name in (player, against) if name]
        query = "SELECT id, black, white, record FROM games"
        if ids:
            query += " WHERE " + " AND ".join("? IN (black, white)" for _ in ids)
        query += f" ORDER BY id {'DESC' if newest_first else 'ASC'} LIMIT ? OFFSET ?"
        found = self._rows(query, (*ids, -1 if limit is None else limit, offset))
        with contextlib.closing(found):
            for row in found:
                if not {row["black"], row["white"]} <= names.keys():  # another process added one
                    names = {p.id: p.name for p in self.players()}
                try:
                    record = GameRecord.from_json(parse_json(row["record"]))
                    record.names = (names[row["black"]], names[row["white"]])
                except (TypeError, ValueError, LookupError) as error:
                    which = f"game {row['id']}"
                    raise LadderError(f"{self.path}: {which} is damaged ({error})") from error
                yield record

    def tallies(self) -> list[Tally]:
        """Return results by Black and White. Raises LadderError for a game without a result."""
        unknown = "SELECT id FROM games WHERE winner NOT IN ('black', 'draw', 'white') LIMIT 1"
        for row in self._rows(unknown):
            raise LadderError(f"{self.path}: game {row['id']} is damaged (unknown winner)")
        rows = self._rows(
            "SELECT b.name AS black, w.name AS white, SUM(winner = 'black') AS black_wins, "
            "SUM(winner = 'draw') AS draws, SUM(winner = 'white') AS white_wins FROM games "
            "JOIN players b ON b.id = black JOIN players w ON w.id = white "
            "GROUP BY black, white ORDER BY black, white"
        )
        return [Tally(**dict(row)) for row in rows]

    def conditions(self) -> list[tuple[str, int]]:
        """Return the conditions of games, with their numbers of games."""
        rows = self._rows(
            "SELECT conditions, COUNT(*) FROM games GROUP BY conditions ORDER BY COUNT(*) DESC"
        )
        return [(str(row[0]), row[1]) for row in rows]

    def fit(self) -> Fit:
        """Fit ratings to all games."""
        tallies = self.tallies()
        players = self.players()  # afterwards: another process may add one, and play
        anchors = {p.name: p.anchor_elo for p in players if p.anchor_elo is not None}
        return fit([player.name for player in players], tallies, anchors)

    def import_match(self, folder: Path | str) -> tuple[int, int]:
        """Import the games of a match folder; return (new games, already known games).

        Players that the ladder lacks are added under their names in the match. Raises
        LadderError, MatchStoreError.
        """
        terms, records = read_match(Path(folder))
        conditions = str(Conditions(**terms["conditions"]))
        with self._transaction():  # a folder that is refused leaves nothing behind
            known = {player.name for player in self.players()}
            for record in records[:1]:
                for name, spec, files in zip(
                    _sides(record),
                    terms["players"],
                    terms.get("files", ({}, {})),
                    strict=True,
                ):
                    if name not in known:
                        self._insert_player(name, spec, json.dumps(files), None, f"from {folder}")
            new = self._insert_of_match(terms, records, conditions)
        return new, len(records) - new

    def _insert_of_match(
        self, terms: Mapping[str, Any], records: Sequence[GameRecord], conditions: str
    ) -> int:
        """Store the games of a match; return how many are new."""
        from komadori.arena.match import short_digest

        key = short_digest(json.dumps(terms, sort_keys=True))
        return sum(
            self.insert(
                record, conditions, f"{key} {record.index} {short_digest(' '.join(record.moves))}"
            )
            for record in records
        )

    # ---- play

    def next_pairing(
        self, among: Sequence[str] = (), against: Sequence[str] = ()
    ) -> tuple[str, str]:
        """Return the two players whose next game is most informative about the ratings.

        Its result is open and the difference of the ratings uncertain. `among` restricts one of
        the two, `against` the other. Raises LadderError without two players.
        """
        fitted = self.fit()
        rated = {rating.name for rating in fitted.ratings}  # another process may have added more
        names = [player.name for player in self.players() if player.name in rated]
        for name in (*among, *against):
            self.player(name)
        played = {(t.black, t.white): t.games for t in self.tallies()}
        best: tuple[float, int, tuple[str, str]] | None = None
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                if not _is_allowed(a, b, among, against) and not _is_allowed(b, a, among, against):
                    continue
                chance = score_from_elo(fitted.of(a).elo - fitted.of(b).elo)
                open_fraction = chance * (1.0 - chance)
                spread = (fitted.difference_error(a, b) / LOGIT) ** 2
                games = played.get((a, b), 0) + played.get((b, a), 0)
                gain = math.log1p(open_fraction * spread)
                if best is None or (gain, -games) > best[:2]:
                    best = (gain, -games, (a, b))
        if best is None:
            raise LadderRequestError(f"{self.path} has no two players to play")
        return best[2]

    def play(
        self,
        games: int,
        *,
        among: Sequence[str] = (),
        against: Sequence[str] = (),
        block: int = 10,
        concurrency: int = 1,
        on_game: Callable[[GameRecord, int], None] | None = None,
    ) -> int:
        """Play `games` more games, `block` between two players before the next pairing is chosen.

        Games come in pairs (one opening, both colours). Each is stored as it ends; `on_game` is
        called with it and the number played. Returns the number played. Raises LadderError if a
        player's files have changed since it was added, and PlayerSpecError if one of a match that
        was imported is known not to support the ladder's limits or openings.
        """
        if games < 2 or games % 2 or block < 2 or block % 2:
            raise LadderRequestError("games come in pairs: even numbers above zero")
        done = 0
        while done < games:
            pair = self.next_pairing(among, against)
            count = min(block, games - done)
            with contextlib.closing(self._play_block(pair, count, concurrency)) as played:
                for record in played:
                    self.insert(record, str(self.settings.conditions))
                    done += 1
                    if on_game:
                        on_game(record, done)
        return done

    def _play_block(
        self, pair: tuple[str, str], games: int, concurrency: int
    ) -> Generator[GameRecord, None, None]:
        from komadori.players import PlayerSpecError, fingerprint

        a, b = (self.player(name) for name in pair)
        starts = self._starts
        for player in (a, b):
            try:
                check_players(self.settings.conditions, [player.spec], starts)
            except PlayerSpecError as error:
                raise PlayerSpecError(f"{player.name!r} can't play: {error}") from error
            now = fingerprint(player.spec)
            for path in sorted(now.keys() | player.files.keys()):
                if now.get(path) != player.files.get(path):
                    raise LadderError(
                        f"{path} has changed since {player.name!r} was added: "
                        "add it under a new name"
                        if path in now
                        else f"{path} of {player.name!r} is missing; relative paths count from "
                        "the working directory"
                    )
        if not self.settings.openings:
            raise LadderError(f"{self.path} has no openings")
        first = self._take_openings(a, b, games // 2)
        jobs = []
        for i in range(games):
            number = first + i // 2
            opening = self.settings.openings[number % len(self.settings.openings)]
            jobs.append(Job(2 * number + i % 2, number, opening, i % 2 == 0, 2 * number + i % 2))
        workers = min(concurrency, games)
        specs, files = (a.spec, b.spec), (a.files, b.files)
        played = run_jobs(specs, self.settings.conditions, jobs, workers, files)
        with contextlib.closing(played):
            for record in played:
                record.names = pair if record.first_is_black else (pair[1], pair[0])
                yield record

    def _take_openings(self, a: LadderPlayer, b: LadderPlayer, count: int) -> int:
        """Return the first of `count` numbers of openings that no other game of the two has.

        They stay taken, since another process may play the same two, and a killed one leaves gaps:
        deterministic players would repeat a game, which would count twice.
        """
        key = f"openings of {min(a.id, b.id)} {max(a.id, b.id)}"
        with self._transaction():
            ((played,),) = self._rows(
                "SELECT COUNT(*) FROM games WHERE (black, white) IN (VALUES (?, ?), (?, ?))",
                (a.id, b.id, b.id, a.id),
            )
            taken = self._rows("SELECT value FROM settings WHERE key = ?", (key,))
            first: int = max((played + 1) // 2, *(self._opening_of(row) for row in taken), 0)
            self._execute(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, str(first + count))
            )
        return first

    def _opening_of(self, row: sqlite3.Row) -> int:
        """Return the number of the next opening of two players. Raises LadderError."""
        try:
            number = int(row["value"])
        except (TypeError, ValueError):
            number = -1
        if not 0 <= number < 1 << 31:
            raise LadderError(f"{self.path}: a damaged number of openings")
        return number


def _empty_ladder(settings: Settings) -> bytes:
    """Return the content of a ladder file without players."""
    values = {
        "format": FORMAT,
        "conditions": asdict(settings.conditions),
        "openings": [[o.sfen, o.moves] for o in settings.openings],
        "opening_source": settings.opening_source,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ladder.db"
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.executescript(_SCHEMA)
            rows = [(key, json.dumps(value)) for key, value in values.items()]
            database.executemany("INSERT INTO settings VALUES (?, ?)", rows)
        return path.read_bytes()


def read_match(folder: Path) -> tuple[dict[str, Any], list[GameRecord]]:
    """Read the terms and games of a match folder; a last line that is cut off, as by a kill, is
    left out. Raises LadderError."""
    from komadori.arena.store import to_game

    path = folder / "games.jsonl"
    try:
        *lines, _ = path.read_bytes().split(b"\n")
        terms = parse_json(lines[0])
        records = [GameRecord.from_json(parse_json(line)) for line in lines[1:]]
        for record in records:
            to_game(record)  # its moves can be made
        Conditions(**terms["conditions"])
        _check_players(terms, records)
    except OSError as error:
        raise LadderError(f"{path}: {error.strerror}") from error
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise LadderError(f"{path}: not a match ({error})") from error
    return terms, records


def _sides(record: GameRecord) -> tuple[str, str]:
    """Return the names of a match's players, the first player's first."""
    black, white = record.names
    return (black, white) if record.first_is_black else (white, black)


def _check_players(terms: Mapping[str, Any], records: Sequence[GameRecord]) -> None:
    """Raise ValueError unless terms and games of a match are those of two players."""
    specs, files = terms["players"], terms.get("files", [{}, {}])
    if not (isinstance(specs, list) and [type(spec) for spec in specs] == [str, str]):
        raise ValueError("a match has two players")
    if not (isinstance(files, list) and [type(of_one) for of_one in files] == [dict, dict]):
        raise ValueError("a match has a table of files for each player")
    if len(names := set(map(_sides, records))) > 1 or any(a == b for a, b in names):
        raise ValueError("its games aren't all between the same two players")


def _is_allowed(a: str, b: str, among: Sequence[str], against: Sequence[str]) -> bool:
    return (not among or a in among) and (not against or b in against)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
