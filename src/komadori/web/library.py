"""The library of games, in SQLite.

A move is on disk before the page is notified, so a killed process loses none. The positions
of all games are indexed by Zobrist key.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from komadori.records import NO_SCORE, NO_TIME, End, Game, Winner
from komadori.records.ends import KIF_WORDS, winner_for
from komadori.rules import Board
from komadori.usi.models import user_folder
from komadori.web.errors import RefusedError
from komadori.web.http_shapes import GameSummary, OpeningMove, Openings
from komadori.whole_file import file_identity

Source = Literal["played", "imported", "saved", "studied"]

#: Maximum number of indexed plies, more than real games have.
INDEXED_PLIES = 1000
SCHEMA = 1
#: Seconds to wait for another server that locks the library.
BUSY_S = 5

_CREATE = """
CREATE TABLE games(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL, title TEXT NOT NULL, black TEXT NOT NULL, white TEXT NOT NULL,
    winner TEXT NOT NULL, end TEXT NOT NULL, started TEXT NOT NULL, digest TEXT NOT NULL,
    sfen TEXT NOT NULL, moves TEXT NOT NULL, plies INTEGER NOT NULL, details TEXT NOT NULL,
    record TEXT NOT NULL);
CREATE INDEX games_digest ON games(digest);
CREATE TABLE positions(key INTEGER NOT NULL, game INTEGER NOT NULL
    REFERENCES games(id) ON DELETE CASCADE, PRIMARY KEY(key, game)) WITHOUT ROWID;
CREATE INDEX positions_game ON positions(game);
CREATE TABLE studies(
    game INTEGER NOT NULL REFERENCES games(id) ON DELETE CASCADE, settings TEXT NOT NULL,
    model TEXT NOT NULL, effort TEXT NOT NULL, weight REAL NOT NULL, file TEXT NOT NULL,
    done INTEGER NOT NULL, total INTEGER NOT NULL, PRIMARY KEY(game, settings));
CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
#: Fields of `Entry` in columns of their own; the others are in `details`.
_COLUMNS = (
    "sfen",
    "source",
    "title",
    "black",
    "white",
    "winner",
    "end",
    "started",
    "record",
)


@dataclass
class Entry:
    """A stored game. Scores are from the mover's view."""

    sfen: str
    moves: list[str]
    source: Source = "saved"
    title: str = ""
    black: str = ""
    white: str = ""
    winner: str = "none"
    end: str = ""
    started: str = ""
    times_ms: list[int | None] = field(default_factory=list)
    scores_cp: list[int | None] = field(default_factory=list)
    comments: dict[Annotated[int, Field(ge=0, lt=1 << 31)], str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    record: str = ""

    @property
    def digest(self) -> str:
        """Digest of start position, moves and players."""
        text = "\n".join([self.sfen, " ".join(self.moves), self.black, self.white])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def version(self) -> str:
        """Digest of everything stored but the game's analyses."""
        return hashlib.sha256(json.dumps(_row(self)).encode()).hexdigest()[:32]

    def to_game(self) -> Game:
        """Convert to `komadori.records.Game`."""
        plies = len(self.moves)
        is_played = self.source == "played"  # for others it may be the time of saving
        started = {"start_time": _record_time(self.started)} if is_played and self.started else {}
        return Game.from_usi(
            self.moves,
            self.sfen,
            winner=_WINNERS.get(self.winner, Winner.UNKNOWN),
            end=_ends().get(self.end, End.UNKNOWN),
            scores_cp=[*self.scores_cp, *[None] * plies][:plies],
            times_ms=[*self.times_ms, *[None] * plies][:plies],
            headers={"black": self.black, "white": self.white, **started, **self.headers},
        )

    def with_comments(self) -> Game:
        game = self.to_game()
        game.comments = dict(self.comments)
        return game


#: Checks what a file claims to be an entry.
_ENTRY = TypeAdapter(Entry)
_WINNERS = {"black": Winner.BLACK, "white": Winner.WHITE, "draw": Winner.DRAW}
_WINNER_NAMES = {winner: name for name, winner in _WINNERS.items()}


def _ends() -> dict[str, End]:
    """Return endings by name: those of games played here, and of records."""
    from komadori.arena.store import ENDS

    played = {reason: End[name] for reason, name in ENDS.items()}
    return {**{end.name.lower(): end for end in End}, **played, "interrupted": End.INTERRUPTED}


def end_of(name: str) -> End | str:
    """Return the ending that an entry names; an unknown name itself."""
    return _ends().get(name, name)


def entry_of(game: Game, source: Source) -> Entry:
    """Create an entry from a record's game. Raises RulesError for illegal moves."""
    headers = dict(game.headers)
    return Entry(
        sfen=game.initial_sfen,
        moves=game.usi_moves(),
        source=source,
        title=headers.get("event", ""),
        black=headers.pop("black", ""),
        white=headers.pop("white", ""),
        winner=_WINNER_NAMES.get(game.winner, "none"),
        end="" if game.end == End.UNKNOWN else game.end.name.lower(),
        started=game.date,
        times_ms=[None if t == NO_TIME else int(t) for t in game.times_ms],
        scores_cp=[None if s == NO_SCORE else int(s) for s in game.scores_cp],
        comments=dict(game.comments),
        headers=headers,
    )


def result_of(word: str, board: Board) -> tuple[str, str]:
    """Return the winner and the ending for a record's word such as 投了, given the final position;
    no winner and the word itself if it is unknown.
    """
    for row in KIF_WORDS:
        if row.word == word:
            winner = winner_for(row.outcome, board.turn)
            return _WINNER_NAMES.get(winner, "none"), row.end.name.lower()
    return "none", word


def _record_time(started: str) -> str:
    """Return a time as records have it, in this machine's time zone; other text unchanged."""
    if "T" not in started:
        return started
    try:
        return datetime.fromisoformat(started).astimezone().strftime("%Y/%m/%d %H:%M:%S")
    except (OSError, OverflowError, ValueError):  # Windows has no zones before 1970
        return started


def now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn errors of the database, such as a full disk, into RefusedError that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise RefusedError("failed", f"{path}: {error}") from error


class Library:
    """The database of games and the folder of their analyses. Thread-safe."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: None for the user's data folder.

        Raises RefusedError for a damaged database, a full disk or a folder that can't be created or
        written.
        """
        self.folder = folder or user_folder() / "web"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RefusedError(
                "failed", f"the library's folder {self.folder} can't be created: {error}"
            ) from error
        if not os.access(self.folder, os.W_OK):  # SQLite needs it for reading, too
            raise RefusedError("failed", f"{self.folder}: the library's folder can't be written")
        (self.folder / "studies").mkdir(exist_ok=True)
        self._lock = threading.RLock()
        path = self.folder / "library.sqlite"
        self._path = path
        with self._lock, _reported(path):
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._database.row_factory = sqlite3.Row
            self._database.text_factory = lambda data: data.decode(errors="replace")
            self._database.create_function(
                "folded", 1, lambda data: _folded(data.decode(errors="replace")), deterministic=True
            )
            self._database.execute(f"PRAGMA busy_timeout={BUSY_S * 1000}")
            self._database.execute("BEGIN")
            self._is_empty()  # before the first change
            self._database.execute("COMMIT")
            self._file = file_identity(path)
            self._use_wal()
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute("PRAGMA foreign_keys=ON")
            with self._writing():  # another server may start at the same time
                if self._is_empty():
                    for statement in _CREATE.split(";\n"):
                        self._database.execute(statement)
                    self._database.execute(f"PRAGMA user_version={SCHEMA}")
            self._update_index()

    def _use_wal(self) -> None:
        """Use a write-ahead log. SQLite doesn't wait if another server changes to it meanwhile."""
        ends = time.monotonic() + BUSY_S
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > ends:
                    raise
            time.sleep(0.01)

    def _is_empty(self) -> bool:
        """Return whether the file has no tables yet. Raises RefusedError unless it is that or a
        library of this version."""
        rows = self._database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        tables = {row["name"] for row in rows}
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if not tables and not version:
            return True
        if version > SCHEMA:
            raise RefusedError("failed", f"{self._path}: written by a newer version of komadori")
        if version < SCHEMA or not all(
            table in tables and _columns(self._database, table) >= columns
            for table, columns in _created().items()
        ):
            raise RefusedError("failed", f"{self._path}: not a library of games")
        return False

    @contextmanager
    def _writing(self) -> Any:
        """A transaction. Raises RefusedError, and writes nothing, if the file can't be written."""
        if file_identity(self._path) != self._file:  # SQLite would write to what nobody can open
            raise RefusedError(
                "failed", f"{self._path}: deleted or replaced; start `komadori web` again"
            )
        with self._lock, _reported(self._path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")  # fails on a full disk
            except BaseException:
                if self._database.in_transaction:  # some errors end it
                    self._database.execute("ROLLBACK")
                raise

    def _update_index(self) -> None:
        """Reindex all games if this version's Zobrist keys differ from the index's."""
        current = f"{Board().key} {INDEXED_PLIES}"
        row = self._database.execute("SELECT value FROM facts WHERE name='start'").fetchone()
        if row is not None and row["value"] == current:
            return
        with self._writing() as database:
            database.execute("DELETE FROM positions")
            for game in database.execute("SELECT id, sfen, moves FROM games").fetchall():
                with suppress(ValueError, TypeError, AttributeError):  # a damaged game has none
                    self._index(game["id"], game["sfen"], game["moves"].split())
            database.execute("INSERT OR REPLACE INTO facts VALUES('start', ?)", (current,))

    def _index(self, game: int, sfen: str, moves: Sequence[str], first: int = 0) -> None:
        """Index the positions after `first` moves and later."""
        board = Board(sfen)
        keys = [board.key]
        for move in moves[:INDEXED_PLIES]:
            board.push_usi(move)
            keys.append(board.key)
        rows = [(_signed(key), game) for key in keys[first:]]
        self._database.executemany("INSERT OR IGNORE INTO positions VALUES(?, ?)", rows)

    # -- games

    def add(self, entry: Entry) -> int:
        """Store a game and return its number."""
        with self._writing() as database:
            cursor = database.execute(
                "INSERT INTO games(source, title, black, white, winner, end, started, digest, "
                "sfen, moves, plies, details, record) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                _row(entry),
            )
            game = int(cursor.lastrowid or 0)
            self._index(game, entry.sfen, entry.moves)
        return game

    def add_once(self, entry: Entry, copy: int | None = None) -> int:
        """Return the number of a stored game of the same moves and players, `copy` if it is one of
        several, else add the game. One that is stored for its analysis alone, without a record, is
        replaced.
        """
        with self._lock, _reported(self._path):
            row = self._database.execute(
                "SELECT id, source, record FROM games WHERE digest=? ORDER BY id=? DESC, id",
                (entry.digest, copy),
            ).fetchone()
            if row is None:
                return self.add(entry)
            if row["source"] == "studied" and entry.record and not row["record"]:
                self.replace(int(row["id"]), entry)
            return int(row["id"])

    def keep(self, entry: Entry, studied: int | None = None) -> int:
        """Add a saved game; one that is stored for its analysis alone is replaced, and keeps it.

        That is a game of the same moves and players, or `studied` if it has the same moves: its
        players may have been named since.
        """
        with self._lock, _reported(self._path):
            row = self._database.execute(
                "SELECT id FROM games WHERE source='studied' AND (digest=? OR id=? AND sfen=? AND "
                "moves=?) ORDER BY digest=? DESC",
                (entry.digest, studied, entry.sfen, " ".join(entry.moves), entry.digest),
            ).fetchone()
            if row is None:
                return self.add(entry)
            self.replace(int(row["id"]), entry)
            return int(row["id"])

    def keep_once(self, entry: Entry) -> tuple[int, bool]:
        """As `keep`, unless a game of the same moves and players has been kept already: then
        return its number and False, else True.
        """
        with self._lock, _reported(self._path):
            row = self._database.execute(
                "SELECT id FROM games WHERE digest=? AND source<>'studied'", (entry.digest,)
            ).fetchone()
            return (int(row["id"]), False) if row else (self.keep(entry), True)

    def replace(self, game: int, entry: Entry) -> None:
        """Replace a game. Raises RefusedError."""
        with self._writing():
            self._replace(self._find(game), entry)

    def _replace(self, old: sqlite3.Row, entry: Entry) -> None:
        """Replace a game within a transaction."""
        game = int(old["id"])
        self._database.execute(
            "UPDATE games SET source=?, title=?, black=?, white=?, winner=?, end=?, started=?, "
            "digest=?, sfen=?, moves=?, plies=?, details=?, record=? WHERE id=?",
            (*_row(entry), game),
        )
        before = old["moves"].split()
        if old["sfen"] == entry.sfen and entry.moves[: len(before)] == before:
            self._index(game, entry.sfen, entry.moves, len(before) + 1)
        else:
            self._database.execute("DELETE FROM positions WHERE game=?", (game,))
            self._index(game, entry.sfen, entry.moves)

    def update(self, game: int, change: Callable[[Entry], None], version: str = "") -> Entry:
        """Change a game's stored entry, in one transaction, and return it.

        `version`: that of the entry to change; "" for any. Raises RefusedError, `changed` for an
        entry of another version, unless the change has been made already.
        """
        with self._writing():
            row = self._find(game)
            entry = _entry(row)
            before = entry.version
            change(entry)
            after = entry.version
            if after == before:
                return entry
            if version and before != version:
                raise RefusedError("changed", f"game {game} has been changed")
            self._replace(row, entry)
            return entry

    def get(self, game: int) -> Entry:
        """Raises RefusedError."""
        with self._lock, _reported(self._path):
            return _entry(self._find(game))

    def summary(self, game: int) -> GameSummary:
        """Raises RefusedError."""
        with self._lock, _reported(self._path):
            return self._summary(self._find(game))

    def delete(self, game: int) -> None:
        """Raises RefusedError."""
        with self._writing() as database:
            self._find(game)
            studies = database.execute("SELECT * FROM studies WHERE game=?", (game,)).fetchall()
            database.execute("DELETE FROM games WHERE id=?", (game,))
        for row in studies:
            self._journal(game, str(row["settings"])).unlink(missing_ok=True)

    def _journal(self, game: int, settings: str) -> Path:
        """Return a study's journal. The database also holds its name, which could be any path."""
        digest = hashlib.sha256(settings.encode()).hexdigest()[:16]
        return self.folder / "studies" / f"{game}-{digest}.jsonl"

    def _find(self, game: int) -> sqlite3.Row:
        row = None
        if 0 < game < 1 << 62:
            row = self._database.execute("SELECT * FROM games WHERE id=?", (game,)).fetchone()
        if row is None:
            raise RefusedError("unknown_name", f"no game {game}")
        found: sqlite3.Row = row
        return found

    def search(
        self,
        *,
        text: str = "",
        player: str = "",
        winner: str = "",
        source: str = "",
        position: Board | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> tuple[list[GameSummary], int]:
        """Return a page of the matching games, newest first, and their total number. `text` matches
        players and title, `player` players, whatever their case and width; `position`: games that
        contain it.
        """
        where: list[str] = ["1"]
        values: list[str | int] = []
        for column, value in (("winner", winner), ("source", source)):
            if value:
                where.append(f"{column}=?")
                values.append(value)
        for columns, value in ((("black", "white"), player), (("black", "white", "title"), text)):
            if value:
                tests = (f"INSTR(folded(CAST({column} AS BLOB)), ?)" for column in columns)
                where.append(f"({' OR '.join(tests)})")
                values += [_folded(value)] * len(columns)
        if position is not None:
            where.append("id IN (SELECT game FROM positions WHERE key=?)")
            values.append(_signed(position.key))
        clause = " AND ".join(where)
        with self._lock, _reported(self._path):
            total = self._database.execute(
                f"SELECT COUNT(*) FROM games WHERE {clause}", values
            ).fetchone()[0]
            rows = self._database.execute(
                f"SELECT * FROM games WHERE {clause} ORDER BY id DESC LIMIT ? OFFSET ?",
                [*values, limit, offset],
            ).fetchall()
            return [self._summary(row) for row in rows], int(total)

    def openings(self, position: Board) -> Openings:
        """Return the moves played from a position, with their results."""
        children = {}
        for legal in position.legal_moves:
            position.push(legal)
            children[_signed(position.key)] = legal.usi()
            position.pop()
        key = _signed(position.key)
        placeholders = ",".join("?" * len(children))
        with self._lock, _reported(self._path):
            games = self._database.execute(
                "SELECT COUNT(*) FROM positions WHERE key=?", (key,)
            ).fetchone()[0]
            # A CROSS JOIN fixes the order of the tables: start with the few games of each child.
            rows = self._database.execute(
                "SELECT child.key AS key, games.winner AS winner, COUNT(*) AS n "
                "FROM positions AS child CROSS JOIN positions AS parent "
                "ON parent.key=? AND parent.game=child.game "
                f"JOIN games ON games.id=child.game WHERE child.key IN ({placeholders}) "
                "GROUP BY child.key, games.winner",
                (key, *children),
            ).fetchall()
        moves: dict[str, OpeningMove] = {}
        for row in rows:
            usi = children[row["key"]]
            move = moves.setdefault(usi, OpeningMove(move=usi, games=0, black=0, white=0, draws=0))
            move.games += row["n"]
            match row["winner"]:
                case "black":
                    move.black += row["n"]
                case "white":
                    move.white += row["n"]
                case "draw":
                    move.draws += row["n"]
        ranked = sorted(moves.values(), key=lambda move: (-move.games, move.move))
        return Openings(games=int(games), moves=ranked)

    def _summary(self, row: sqlite3.Row) -> GameSummary:
        studied = self._database.execute(
            "SELECT 1 FROM studies WHERE game=? LIMIT 1", (row["id"],)
        ).fetchone()
        try:
            Board(row["sfen"])
            return self._readable_summary(row, studied is not None)
        except (ValueError, TypeError):
            return GameSummary(
                game=row["id"],
                black="",
                white="",
                source="saved",
                winner="none",
                end="",
                plies=0,
                started="",
                is_studied=False,
                title="damaged",
                sfen=Board().sfen(),
            )

    @staticmethod
    def _readable_summary(row: sqlite3.Row, is_studied: bool) -> GameSummary:
        return GameSummary(
            game=row["id"],
            black=row["black"],
            white=row["white"],
            source=row["source"],
            winner=row["winner"],
            end=row["end"],
            plies=row["plies"],
            started=row["started"],
            is_studied=is_studied,
            title=row["title"],
            sfen=row["sfen"],
        )

    # -- studies

    def register_study(
        self,
        game: int,
        settings: Mapping[str, Any],
        *,
        model: str,
        effort: str,
        weight: float,
        done: int,
        total: int,
    ) -> Path:
        """Insert or update a study and return its journal. `weight`: higher for better studies.
        Raises RefusedError, `unknown_name` if the game has been deleted.
        """
        text = json.dumps(settings, sort_keys=True)
        journal = self._journal(game, text)
        with self._writing() as database:
            self._find(game)
            database.execute(
                "INSERT INTO studies VALUES(?,?,?,?,?,?,?,?) ON CONFLICT(game, settings) "
                "DO UPDATE SET done=MAX(done, excluded.done), total=excluded.total",
                (game, text, model, effort, weight, journal.name, done, total),
            )
        return journal

    def best_study(self, game: int) -> tuple[str, str, Path] | None:
        """Return model, effort and journal of a game's best study: complete ones first, then by
        weight; None if there is none.
        """
        with self._lock, _reported(self._path):
            row = self._database.execute(
                "SELECT * FROM studies WHERE game=? "
                "ORDER BY done>=total DESC, weight DESC, done DESC LIMIT 1",
                (game,),
            ).fetchone()
        if row is None:
            return None
        return str(row["model"]), str(row["effort"]), self._journal(game, str(row["settings"]))

    def close(self) -> None:
        with self._lock:
            self._database.close()


def _created() -> dict[str, set[str]]:
    """Return the tables of a library with their columns."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_CREATE)
        names = [
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        return {name: _columns(database, name) for name in names if not name.startswith("sqlite_")}


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


def _row(entry: Entry) -> tuple[Any, ...]:
    details = {
        "times_ms": entry.times_ms,
        "scores_cp": entry.scores_cp,
        "comments": entry.comments,
        "headers": entry.headers,
    }
    return (
        entry.source,
        entry.title,
        entry.black,
        entry.white,
        entry.winner,
        entry.end,
        entry.started,
        entry.digest,
        entry.sfen,
        " ".join(entry.moves),
        len(entry.moves),
        json.dumps(details, ensure_ascii=False),
        entry.record,
    )


def _entry(row: sqlite3.Row) -> Entry:
    """Raises RefusedError for a damaged game."""
    try:
        entry = _ENTRY.validate_python(
            {
                **{name: row[name] for name in _COLUMNS},
                **json.loads(row["details"]),
                "moves": row["moves"].split(),
            }
        )
        if entry.winner not in (*_WINNERS, "none"):
            raise ValueError(f"{entry.winner!r} is no winner")
        entry.to_game().final_board()
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        reason = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            reason = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        raise RefusedError("failed", f"game {row['id']} is damaged: {reason}") from error
    return entry


def _signed(key: int) -> int:
    """Convert an unsigned 64-bit number to SQLite's signed one."""
    return key - (1 << 64) if key >= 1 << 63 else key


def _folded(text: str) -> str:
    """The text without differences of case and of width (Ａ and A, ｱ and ア)."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
