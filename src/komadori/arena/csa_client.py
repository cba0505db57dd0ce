"""A client of CSA servers such as floodgate.

Plays one game after another: log in, agree, play, log in again. A lost connection
is re-established with exponential backoff. Games are written as they end.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import queue
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from komadori.arena.csa_protocol import (
    MAX_MS,
    CsaProtocolError,
    CsaTimes,
    GameSummary,
    comment,
    parse_play,
    parse_summary,
)
from komadori.run_lock import InUseError, RunLock
from komadori.usi.protocol import GoCommand, one_line
from komadori.wording import reason_of

if TYPE_CHECKING:
    from komadori.players import Player
    from komadori.rules import Board

log = logging.getLogger(__name__)

#: Interval of blank lines that keep the connection alive; servers require at least 30 s.
KEEP_ALIVE_S = 45.0

#: The connection counts as lost if no line arrives for this long.
READ_TIMEOUT_S = 3600.0
#: The same for the answer to LOGIN and the lines within a game's summary.
ANSWER_TIMEOUT_S = 60.0
#: Seconds after an illegal move within which its result must follow.
RESULT_TIMEOUT_S = 10.0
#: Time per move of a game without a clock.
UNTIMED_MS = 10_000

#: First and maximum delay before reconnecting.
BACKOFF_S = (5.0, 300.0)

#: First and maximum delay after a game that ended at once: in fewer than so many seconds and moves.
SHORT_GAME_BACKOFF_S = (1.0, 60.0)
SHORT_GAME_S, SHORT_GAME_MOVES = 5.0, 10

#: Maximum time per move in a record: a day.
MAX_RECORD_MS = 24 * 3600 * 1000

#: Maximum number of unread lines, and of lines and characters in a game's summary.
MAX_WAITING = 1000
MAX_SUMMARY = 10_000
MAX_SUMMARY_CHARACTERS = 1 << 20

#: Minimum length of a password that is also hidden inside longer words.
MIN_HIDDEN_IN_WORDS = 5

#: Maximum length of a game's id in its file name.
MAX_FILE_NAME = 100

Outcome = Literal["win", "lose", "draw", "censored", "unknown"]
_OUTCOMES: dict[str, Outcome] = {
    "#WIN": "win",
    "#LOSE": "lose",
    "#DRAW": "draw",
    "#CENSORED": "censored",
    "#CHUDAN": "unknown",
}


class CsaLoginError(RuntimeError):
    """The server refused the name or the password."""


@dataclass(frozen=True)
class CsaAccount:
    """A server and its login. floodgate's password is `GAME_NAME,TRIP`."""

    host: str
    name: str
    password: str
    port: int = 4081

    @property
    def secrets(self) -> tuple[str, ...]:
        """Strings to hide in logs: the password, and its secret part on floodgate."""
        return (self.password, self.password.rpartition(",")[2])

    def __post_init__(self) -> None:
        for what, text in (("name", self.name), ("password", self.password)):
            if not text or any(c.isspace() or not c.isprintable() for c in text):
                raise ValueError(
                    f"the {what} of a CSA account has no blanks or control characters and isn't "
                    "empty"
                )
        try:
            if not self.host.encode("idna"):
                raise UnicodeError
        except UnicodeError:
            raise ValueError(f"{one_line(self.host)!r} can't be the name of a server") from None

    def hidden(self, text: str) -> str:
        """The text without the password, which a server may send back. A short password is hidden
        only as a whole word; a part of the name is no secret."""
        for secret in self.secrets:
            if secret and secret not in self.name:
                pattern = re.escape(secret)
                if len(secret) < MIN_HIDDEN_IN_WORDS:
                    pattern = rf"(?<!\w){pattern}(?!\w)"
                text = re.sub(pattern, "***", text)
        return text


@dataclass
class CsaGame:
    """A game played on a server."""

    summary: GameSummary
    moves: list[str] = field(default_factory=list)
    times_ms: list[int] = field(default_factory=list)
    end_time_ms: int | None = None
    """Spent before a resignation or declaration."""
    scores_cp: list[int | None] = field(default_factory=list)
    """The mover's view; None for the opponent's moves."""
    outcome: Outcome = "unknown"
    reason: str = ""
    """The server's reason, such as RESIGN or SENNICHITE."""
    seconds: float = 0.0
    """From its start to the result."""

    @property
    def ended_at_once(self) -> bool:
        return self.seconds < SHORT_GAME_S and len(self.moves) < SHORT_GAME_MOVES


class _Connection:
    """Lines over a socket. One thread receives, another keeps the connection alive."""

    def __init__(self, account: CsaAccount) -> None:
        self._account = account
        where = account.host, account.port
        try:
            self._socket = socket.create_connection(where, timeout=30.0)
        except OSError as error:
            raise ConnectionError(
                f"{account.host}:{account.port}: {error.strerror or error}"
            ) from error
        self._socket.settimeout(None)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._reader = self._socket.makefile("r", encoding="utf-8", errors="replace", newline="\n")
        self._lines: queue.Queue[str | None] = queue.Queue(MAX_WAITING)
        self._lock = threading.Lock()
        self._last_sent = time.monotonic()
        self._is_closed = threading.Event()
        self.is_game_over = threading.Event()
        """Set when the line with a game's result arrives, before it is read."""
        for target in (self._receive, self._keep_alive):
            threading.Thread(target=target, name=f"csa {target.__name__}", daemon=True).start()

    def send(self, line: str) -> None:
        if line:
            log.debug("> %s", "LOGIN ..." if line.startswith("LOGIN ") else self.shown(line))
        with self._lock:
            self._socket.sendall(line.encode() + b"\n")
            self._last_sent = time.monotonic()

    def read(self, timeout_s: float | None = None) -> str:
        """Return the next nonblank line. Raises ConnectionError at the end, and after `timeout_s`,
        by default READ_TIMEOUT_S, without one."""
        timeout_s = READ_TIMEOUT_S if timeout_s is None else timeout_s
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise ConnectionError(f"no line from the server for {timeout_s:.0f} s") from None
        if line is None:
            self._put(None)
            raise ConnectionError("the server closed the connection")
        return line

    def shown(self, line: str) -> str:
        """Format a server line for logs and messages: printable, without the password."""
        return one_line(self._account.hidden(line))

    def summary_of(self, lines: list[str]) -> GameSummary:
        """Parse a game's summary. Raises CsaProtocolError, without the password."""
        try:
            return parse_summary(lines)
        except CsaProtocolError:  # what it quotes may be cut within the password
            parse_summary(map(self._account.hidden, lines))
            raise CsaProtocolError("the game's summary holds the password") from None

    def _receive(self) -> None:
        has_started = False
        with contextlib.suppress(OSError, ValueError):
            while raw := self._reader.readline(1 << 16):
                if line := raw.strip():
                    log.debug("< %s", self.shown(line))
                    has_started = has_started or line.startswith("START")
                    if has_started and line in _OUTCOMES:
                        self.is_game_over.set()
                    self._put(line)
        self._put(None)

    def _put(self, line: str | None) -> None:
        """Add a line to the unread ones; wait if there are too many of them."""
        while not self._is_closed.is_set():
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=1.0)
                return

    def _keep_alive(self) -> None:
        while not self._is_closed.wait(KEEP_ALIVE_S / 3):
            if time.monotonic() - self._last_sent >= KEEP_ALIVE_S:
                with contextlib.suppress(OSError):
                    self.send("")

    def close(self) -> None:
        self._is_closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _pause_after(game: CsaGame, pause_s: float) -> float:
    """Return the delay before the next game; `pause_s` was the one before this game."""
    if not game.ended_at_once:
        return 0.0
    first, most = SHORT_GAME_BACKOFF_S
    return min(2.0 * pause_s, most) if pause_s else first


class CsaClient:
    """Plays games with a player on an account, one after another."""

    def __init__(
        self,
        account: CsaAccount,
        player: Player,
        *,
        margin_ms: int = 1000,
        out: Path | str | None = None,
        on_game: Callable[[CsaGame], None] | None = None,
    ) -> None:
        """`margin_ms`: safety margin of the clock for network latency.

        `out`: folder to which each game is written as a CSA file. `on_game` is called after each
        game; its errors end `play`.
        """
        self.account = account
        self._player = player
        self._margin_ms = margin_ms
        self._out = Path(out) if out is not None else None
        self._on_game = on_game
        self._ended: CsaGame | None = None  # not yet passed to on_game
        self.unsaved = 0
        """Number of games whose file couldn't be written; the log has their moves."""

    def play(self, games: int | None = None, stop: threading.Event | None = None) -> list[CsaGame]:
        """Play this many games (None: no limit), reconnecting whenever the connection is lost.

        It waits before it connects again, longer and longer, after errors and after games that
        ended at once. Raises CsaLoginError if the server refuses the account. `stop` ends it after
        the current game, and ends a wait.
        """
        stop = stop or threading.Event()
        played: list[CsaGame] = []
        error_s, pause_s, wait_s = BACKOFF_S[0], 0.0, 0.0
        while not stop.is_set() and (games is None or len(played) < games):
            if wait_s and stop.wait(wait_s):
                break
            fault: OSError | CsaProtocolError | None = None
            try:
                game = self._session()
            except (OSError, CsaProtocolError) as error:
                fault = error
            finally:
                self._show_ended()
            if fault is not None:
                what = one_line(self.account.hidden(reason_of(fault)))
                log.warning("%s; connecting again in %.0f s", what, error_s)
                wait_s = error_s
                error_s = min(2.0 * error_s, BACKOFF_S[1])
                continue
            played.append(game)
            error_s, wait_s = BACKOFF_S[0], 0.0
            pause_s = _pause_after(game, pause_s)
            if pause_s and (games is None or len(played) < games):
                log.warning("the game ended at once; connecting again in %.0f s", pause_s)
                wait_s = pause_s
        return played

    def _show_ended(self) -> None:
        """Call `on_game` for the game of the last session, complete or not. Outside of the session,
        where an error of the callback would count as one of the connection."""
        ended, self._ended = self._ended, None
        if ended is not None and self._on_game is not None:
            self._on_game(ended)

    def _session(self) -> CsaGame:
        """Log in, play one game, log out."""
        connection = _Connection(self.account)
        try:
            connection.send(f"LOGIN {self.account.name} {self.account.password}")
            answer = connection.read(ANSWER_TIMEOUT_S)
            if answer.startswith("LOGIN:incorrect"):
                raise CsaLoginError(
                    f"{self.account.host} refused the login of {self.account.name}: check the name "
                    "and the password"
                )
            if not answer.startswith("LOGIN:") or not answer.endswith(" OK"):
                raise CsaProtocolError(f"the answer to LOGIN was '{connection.shown(answer)}'")
            log.info(
                "logged in to %s as %s; waiting for a game",
                one_line(self.account.host),
                one_line(self.account.hidden(self.account.name)),
            )
            summary, board = self._agree(connection)
            black, white = map(self.account.hidden, summary.names)
            game_id = self.account.hidden(summary.game_id)
            game = CsaGame(replace(summary, names=(black, white), game_id=game_id))
            started = time.monotonic()
            try:
                self._play(connection, game, board)
            finally:
                game.seconds = time.monotonic() - started
                self._ended = game
                self._save(game)
            with contextlib.suppress(OSError):
                connection.send("LOGOUT")
            return game
        finally:
            connection.close()

    def _agree(self, connection: _Connection) -> tuple[GameSummary, Board]:
        """Wait until both sides agree to a game; return it and its position.

        The player gets ready before it agrees: afterwards its clock may run.
        """
        while True:
            if connection.read() != "BEGIN Game_Summary":
                continue
            lines: list[str] = []
            length = 0
            while (line := connection.read(ANSWER_TIMEOUT_S)) != "END Game_Summary":
                lines.append(line)
                length += len(line)
                if len(lines) > MAX_SUMMARY:
                    raise CsaProtocolError(
                        f"the game's summary has more than {MAX_SUMMARY:,} lines"
                    )
                if length > MAX_SUMMARY_CHARACTERS:
                    raise CsaProtocolError(
                        f"the game's summary has more than {MAX_SUMMARY_CHARACTERS:,} characters"
                    )
            summary = connection.summary_of(lines)
            board = self._begin(summary)
            connection.send(f"AGREE {summary.game_id}".rstrip())
            while True:
                line = connection.read()
                if line.startswith("START"):
                    return summary, board
                if line.startswith("REJECT"):
                    log.warning("%s; no game is played; waiting for a game", connection.shown(line))
                    break

    def _begin(self, summary: GameSummary) -> Board:
        """Prepare the player for a game; return the position."""
        from komadori.rules import Board

        try:
            board = Board(summary.sfen)
            for text in summary.moves:
                board.push_usi(text)
        except ValueError as error:
            raise CsaProtocolError(f"the server's position: {error}") from error
        # Max_Moves counts the moves of the game, Draw_Ply from 1 at the start of the game.
        first_ply = board.ply - len(board.moves)
        most = summary.max_moves
        self._player.new_game(None, draw_ply=first_ply - 1 + most if most > 0 else 0)
        return board

    def _play(self, connection: _Connection, game: CsaGame, board: Board) -> None:
        from komadori.players.player import tell

        summary = game.summary
        times = CsaTimes(summary)
        if board.turn == summary.color:
            self._move(connection, game, board, times)
        illegal: CsaProtocolError | None = None  # the last move, if the server sent an illegal one
        while True:
            try:
                line = connection.read(None if illegal is None else RESULT_TIMEOUT_S)
            except ConnectionError as error:
                raise illegal or error from None
            if line in _OUTCOMES:
                game.outcome = _OUTCOMES[line]
                if game.outcome in ("win", "lose", "draw"):
                    tell(self._player, game.outcome)
                if line == "#CHUDAN":  # a reason as well
                    game.reason = game.reason or "CHUDAN"
                return
            if line.startswith("#"):
                game.reason = one_line(self.account.hidden(line[1:]), 40)
                continue
            echo = parse_play(line)
            if echo is None:
                continue
            if illegal is not None:  # the server continues the game
                raise illegal
            side = board.turn
            clock = summary.clocks[side]
            if echo.text.startswith("%"):
                if echo.time is not None:
                    game.end_time_ms = min(MAX_MS, echo.time * clock.unit_ms)
                continue
            try:
                move = board.parse_csa(echo.text)
            except ValueError as error:
                # If it is the opponent's illegal move, the result follows.
                illegal = CsaProtocolError(f"the server's move {echo.text}: {error}")
                continue
            board.push(move)
            spent_ms = min(MAX_MS, (echo.time or 0) * clock.unit_ms)
            times.spend(side, spent_ms)
            game.moves.append(move.usi())
            game.times_ms.append(spent_ms)
            if len(game.scores_cp) < len(game.moves):
                game.scores_cp.append(None)
            if board.turn == summary.color:
                self._move(connection, game, board, times)

    def _move(self, connection: _Connection, game: CsaGame, board: Board, times: CsaTimes) -> None:
        """Choose a move and send it; it is made on the board when the server echoes it."""
        if 0 < game.summary.max_moves <= len(board.moves):
            return
        if not board.legal_moves:
            connection.send("%TORYO")
            return
        try:
            decision = self._player.play(board, self._go(game.summary, times))
        except Exception:
            with contextlib.suppress(OSError):
                connection.send("%TORYO")
            raise
        if connection.is_game_over.is_set():  # the result arrived while the player was thinking
            return
        score = decision.recorded_cp
        if decision.declares_win:
            connection.send("%KACHI")
        elif decision.resigns or decision.move is None:
            connection.send("%TORYO")
        else:
            game.scores_cp.append(score)
            text = board.csa(decision.move)
            connection.send(text + comment(board, score, decision.pv))

    def _go(self, summary: GameSummary, times: CsaTimes) -> GoCommand:
        """Return the `go` command for the player; its clocks are the time left minus the margin."""
        own = summary.clocks[summary.color]
        if not (own.total_ms or own.byoyomi_ms or own.increment_ms):
            return GoCommand(btime_ms=0, wtime_ms=0, byoyomi_ms=UNTIMED_MS)
        clocks_ms: list[int] = []
        for side, clock in enumerate(summary.clocks):
            left_ms = times.left_ms[side] + clock.increment_ms - self._margin_ms
            # Never 0 with an increment, which would mean that it is still to be added.
            clocks_ms.append(max(1 if clock.increment_ms else 0, left_ms))
        byoyomi = own.byoyomi_ms
        if byoyomi and not clocks_ms[summary.color]:
            byoyomi = max(1, byoyomi - self._margin_ms)
        return GoCommand(
            btime_ms=clocks_ms[0],
            wtime_ms=clocks_ms[1],
            byoyomi_ms=byoyomi if not own.increment_ms else None,
            binc_ms=summary.clocks[0].increment_ms or None,
            winc_ms=summary.clocks[1].increment_ms or None,
        )

    def _save(self, game: CsaGame) -> None:
        if self._out is not None and (game.moves or game.outcome != "unknown"):
            try:
                write_game(game, self._out)
            except (OSError, ValueError) as error:  # continue with the next game
                moves = " ".join([*game.summary.moves, *game.moves])
                self.unsaved += 1
                what = one_line(reason_of(error))
                log.error("%s; the game: sfen %s moves %s", what, game.summary.sfen, moves)


def file_name(game_id: str) -> str:
    """Return a safe and short file name for a game."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_+.") else "_" for c in game_id)
    safe = safe.lstrip(".") or "game"
    if len(safe) > MAX_FILE_NAME:
        digest = hashlib.sha256(game_id.encode()).hexdigest()[:10]
        safe = f"{safe[:MAX_FILE_NAME]}-{digest}"
    return safe


def write_game(game: CsaGame, folder: Path) -> Path:
    """Write a game as a CSA file named by its id, and return its path."""
    from komadori.records import End, Game, Winner, write_games

    ends = {
        "RESIGN": End.RESIGN,
        "SENNICHITE": End.SENNICHITE,
        "OUTE_SENNICHITE": End.PERPETUAL_CHECK,
        "ILLEGAL_MOVE": End.ILLEGAL_MOVE,
        "ILLEGAL_ACTION": End.ILLEGAL_MOVE,
        "TIME_UP": End.TIME_UP,
        "JISHOGI": End.DECLARATION,
        "MAX_MOVES": End.MAX_MOVES,
    }
    summary = game.summary
    we_win = {"win": True, "lose": False}.get(game.outcome)
    winner = Winner.UNKNOWN
    if we_win is not None:
        winner = Winner.BLACK if we_win == (summary.color == 0) else Winner.WHITE
    elif game.outcome == "draw":
        winner = Winner.DRAW
    before = len(summary.moves)
    record = Game.from_usi(
        [*summary.moves, *game.moves],
        summary.sfen,
        winner=winner,
        end=ends.get(game.reason, End.INTERRUPTED),
        scores_cp=[*[None] * before, *game.scores_cp[: len(game.moves)]],
        times_ms=[min(time_ms, MAX_RECORD_MS) for time_ms in (*summary.times_ms, *game.times_ms)],
        headers={
            "black": one_line(summary.names[0]),
            "white": one_line(summary.names[1]),
            "event": one_line(summary.game_id),
        },
    )
    if game.end_time_ms is not None:
        record.end_time_ms = min(game.end_time_ms, MAX_RECORD_MS)
    folder.mkdir(parents=True, exist_ok=True)
    safe = file_name(summary.game_id)
    for number in itertools.count(1):
        path = folder / (f"{safe}-{number}.csa" if number > 1 else f"{safe}.csa")
        # Both players of a game may write to one folder at once.
        with contextlib.suppress(InUseError), RunLock.of_file(path):
            if not path.exists():
                write_games(path, [record])
                return path
    raise AssertionError("unreachable")
