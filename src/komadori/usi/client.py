"""Run another USI engine as a subprocess.

Every wait has a timeout. An engine that dies, hangs or sends invalid lines raises an EngineError
that quotes its last lines; its process group is always killed.
"""

from __future__ import annotations

import collections
import contextlib
import io
import os
import queue
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, overload

from komadori.reaper import reaper
from komadori.search.protocol import OneAtATime, one_at_a_time
from komadori.usi import protocol
from komadori.usi.protocol import BestMove, GoCommand, InfoLine, OptionLine, UsiSyntaxError
from komadori.wording import names_arguments, no_such_file

#: Debian's folders for games, which aren't on every user's PATH.
EXTRA_FOLDERS = ("/usr/games", "/usr/local/games")

#: Time for an engine to answer `stop`.
STOP_GRACE_S = 10.0

#: Time for an engine to read what it is sent, once its pipe is full.
SEND_LIMIT_S = 10.0


class EngineError(RuntimeError):
    """An engine failed. The message names it and quotes its last lines."""


class EngineTimeoutError(EngineError):
    """An engine didn't answer in time."""


class EngineDiedError(EngineError):
    """An engine's process ended, or its pipe closed."""


#: Maximum number of characters of one search's info lines; beyond it the older half is dropped.
MAX_INFOS = 1 << 22


class LazyInfos(Sequence[InfoLine]):
    """The last info lines, parsed on access: most callers need only a few."""

    def __init__(self, parse: Callable[[str], InfoLine]) -> None:
        self._parse = parse
        self._lines: list[str | InfoLine] = []
        self._characters = 0

    def append(self, line: str) -> None:
        """Add the words after `info`."""
        self._lines.append(line)
        self._characters += len(line)
        if self._characters > MAX_INFOS:
            del self._lines[: (len(self._lines) + 1) // 2]
            self._characters //= 2

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> InfoLine: ...
    @overload
    def __getitem__(self, index: slice) -> list[InfoLine]: ...
    def __getitem__(self, index: int | slice) -> InfoLine | list[InfoLine]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        line = self._lines[index]
        if isinstance(line, str):
            line = self._lines[index] = self._parse(line)
        return line


@dataclass
class Thought:
    """An engine's answer to one `go`."""

    best: BestMove
    infos: Sequence[InfoLine] = field(default_factory=list)
    time_ms: float = 0.0
    """Wall-clock time from sending the command to the answer."""

    @property
    def last_info(self) -> InfoLine | None:
        """The last info line with a score of the best variation."""
        for info in reversed(self.infos):
            if info.score is not None and info.multipv in (None, 1):
                return info
        return None

    @property
    def nodes(self) -> int:
        """Nodes of the last line that reports them; 0 if none does."""
        return next((info.nodes for info in reversed(self.infos) if info.nodes is not None), 0)


class ExternalEngine(Protocol):
    """An engine in another process, whatever its protocol."""

    name: str

    def new_game(self) -> None: ...

    def think(self, sfen: str, moves: Sequence[str], go: GoCommand, limit_s: float) -> Thought:
        """Return the engine's answer in the position after `moves` from `sfen`.

        After `limit_s` of wall-clock time the engine counts as hung (EngineTimeoutError).
        """

    def close(self) -> None: ...


def find_program(name: str) -> str | None:
    """Return the full path of a program, also looking in Debian's folders for games."""
    if found := shutil.which(name):
        return str(Path(found).absolute())
    if os.sep not in name:
        return shutil.which(name, path=os.pathsep.join(EXTRA_FOLDERS))
    return None


def split_words(command: str) -> list[str]:
    """Split a command line by the rules of the platform's shell. Raises EngineError."""
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError as error:  # an open quotation
        reason = str(error)
        raise EngineError(f"{command!r}: {reason[0].lower()}{reason[1:]}") from error
    if not words:
        raise EngineError("an engine's command is empty")
    return words


def split_command(command: str) -> list[str]:
    """Split a command line as `split_words` does and resolve its program. Raises EngineError."""
    words = split_words(command)
    program = find_program(words[0])
    if program is None:
        raise EngineError(f"no program {words[0]!r} found") from no_such_file(words[0])
    return [program, *words[1:]]


def program_folder(command: Sequence[str] | str) -> Path | None:
    """Return the folder to run a command in: the program's if it is given by its path, where
    engines look for their files; None, the working directory, if it is looked up on PATH, such as
    an interpreter. Raises EngineError.
    """
    program = (split_words(command) if isinstance(command, str) else command)[0]
    return Path(find_program(program) or program).parent if os.sep in program else None


#: Maximum number of lines held back (see `LineProcess`), and of their characters.
MAX_HELD = 256
MAX_HELD_CHARACTERS = 1 << 16
#: Maximum number of characters that wait to be read; the engine's output is blocked meanwhile.
MAX_WAITING = 1 << 22
#: Seconds that an engine has to quit, and again to end after SIGTERM; and after Ctrl-C.
GRACE_S, INTERRUPTED_GRACE_S = 2.0, 0.3


class LineProcess:
    """A line-based subprocess. A thread reads its output, so waits can time out.

    Lines that begin with one of the `held` words are held back until the next other line: waking
    the caller for each info line costs more than processing it.

    Memory and waits are bounded even if the program never stops writing.
    """

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        cwd: Path | str | None = None,
        held: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self._tail: collections.deque[str] = collections.deque(maxlen=8)
        self._arrived: queue.Queue[tuple[float, list[str] | None]] = queue.Queue()
        self._waiting = 0  # characters in _arrived
        self._taken = threading.Condition()
        self._is_closing = False
        self._lines: collections.deque[str] = collections.deque()  # arrived, not yet read
        self._held_words = tuple(f"{word} " for word in held)
        self._held: list[str] = []
        self._held_characters = 0
        self._holding = threading.Lock()
        try:
            self._process = reaper.start(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=cwd,
            )
        except OSError as error:
            raise EngineError(f"{name}: can't start {command[0]}: {error.strerror}") from error
        if sys.platform != "win32":
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        self._reader = threading.Thread(target=self._read, name=f"read {name}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while raw := self._process.stdout.readline(protocol.MAX_LINE):
                line = raw.decode("utf-8", "replace").strip()
                with self._holding:
                    self._held.append(line)
                    self._held_characters += len(line) + 1
                    if (
                        not line.startswith(self._held_words)
                        or len(self._held) >= MAX_HELD
                        or self._held_characters >= MAX_HELD_CHARACTERS
                    ):
                        self._release()
                if self._waiting >= MAX_WAITING:
                    with self._taken:
                        self._taken.wait_for(
                            lambda: self._waiting < MAX_WAITING or self._is_closing
                        )
                if self._is_closing:
                    self.pending()
        with self._holding:
            self._release()
        self._arrived.put((time.monotonic(), None))

    def _release(self) -> None:
        with self._taken:
            self._waiting += self._held_characters
        self._arrived.put((time.monotonic(), self._held))
        self._held = []
        self._held_characters = 0

    def _take(self, lines: list[str]) -> list[str]:
        """Count lines of the queue as taken."""
        with self._taken:
            self._waiting -= sum(map(len, lines)) + len(lines)
            self._taken.notify_all()
        return lines

    def send(self, *lines: str, limit_s: float | None = None) -> None:
        """Send lines together. Raises EngineDiedError if the engine has exited, EngineTimeoutError
        if its pipe is full and it doesn't read on within `limit_s`, by default SEND_LIMIT_S (not on
        Windows).
        """
        for line in lines:
            if "\n" in line or "\r" in line:
                raise EngineError(f"{self.name}: a line can't hold a line break: {line!r}")
        # Paths that aren't UTF-8 keep their bytes.
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
        try:
            self._write(
                data,
                SEND_LIMIT_S if limit_s is None else limit_s,
            )
        except TimeoutError:
            message = self._message(f"didn't read {lines[-1][:80]!r} in time")
            raise EngineTimeoutError(message) from None
        except (OSError, ValueError) as error:
            self._reader.join(timeout=1.0)  # its last words may still be on their way
            with contextlib.suppress(EngineError):
                while not self._arrived.empty():
                    self._receive(time.monotonic())
            raise EngineDiedError(self._message(f"ended before {lines[-1]!r} was sent")) from error

    def _write(self, data: bytes, limit_s: float) -> None:
        """Raises TimeoutError, OSError, and ValueError if the pipe is closed."""
        pipe = self._process.stdin
        assert isinstance(pipe, io.BufferedWriter)
        if sys.platform == "win32":
            pipe.write(data)
            pipe.flush()
            return
        while data := data[pipe.raw.write(data) or 0 :]:  # None if the pipe is full
            with selectors.DefaultSelector() as selector:
                selector.register(pipe, selectors.EVENT_WRITE)
                if not selector.select(limit_s):
                    raise TimeoutError

    def read(self, deadline: float) -> str:
        """Return the next line. `deadline` refers to time.monotonic()."""
        while not self._lines:
            self._receive(deadline)
        return self._lines.popleft()

    def _receive(self, deadline: float) -> None:
        """Move the next lines that have arrived to those to read.

        Raises EngineTimeoutError if they came after the deadline; the next call of `read` returns
        them.
        """
        try:
            arrival, lines = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            with self._holding:
                self._tail.extend(line for line in self._held[-8:] if line)
            raise EngineTimeoutError(self._message("gave no answer in time")) from None
        if lines is None:
            self._arrived.put((arrival, None))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1.0)
            status = self._process.poll()
            how = "closed its output" if status is None else f"ended (status {status})"
            raise EngineDiedError(self._message(how))
        self._lines.extend(self._take(lines))
        self._tail.extend(line for line in lines[-8:] if line)
        if arrival > deadline:
            raise EngineTimeoutError(self._message("gave no answer in time"))

    def pending(self) -> list[str]:
        """Return the unread lines received so far, without waiting."""
        with self._holding:
            self._release()
        now = time.monotonic()
        lines = list(self._lines)
        self._lines.clear()
        while True:
            try:
                arrival, arrived = self._arrived.get_nowait()
            except queue.Empty:
                return lines
            if arrived is None:
                self._arrived.put((arrival, None))
                return lines
            lines += self._take(arrived)
            if arrival > now:
                return lines

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def _message(self, what: str) -> str:
        tail = " | ".join(protocol.one_line(line, 160) for line in self._tail)
        return f"{self.name} {what}" + (f"; its last lines: {tail}" if tail else "")

    def close(self, farewell: str = "quit", grace_s: float = GRACE_S) -> None:
        """End the process: send `farewell`, then signals to its process group. Never raises."""
        with self._taken:
            self._is_closing = True
            self._taken.notify_all()
        with contextlib.suppress(EngineError):
            if farewell:
                self.send(farewell, limit_s=0.0)
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        for stop in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if stop is not None:
                self._signal(stop)
            if self._has_ended(grace_s):
                break
        reaper.release(self._process.pid)
        self._reader.join(timeout=1.0)
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdout is not None
            if not self._reader.is_alive():
                self._process.stdout.close()

    def _has_ended(self, timeout_s: float) -> bool:
        """Wait for the process, and for others in its group: a script may end before the engine
        that it started."""
        end = time.monotonic() + timeout_s
        try:
            self._process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return False
        while hasattr(os, "killpg"):
            try:
                os.killpg(self._process.pid, 0)
            except OSError:
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)


def grace_after(error: BaseException | None) -> float:
    """Return the seconds that an engine has to quit: fewer after Ctrl-C."""
    is_interrupted = error is not None and not isinstance(error, Exception)
    return INTERRUPTED_GRACE_S if is_interrupted else GRACE_S


@names_arguments
class UsiEngine(OneAtATime):
    """A USI engine. Adapters override the methods under "quirks".

    One thread uses an engine at a time; a call meanwhile raises RuntimeError, except `close`, which
    any thread may use to end the engine.
    """

    BUSY = "the engine is already in use; use one engine per thread"

    #: Options set before isready unless the caller sets them.
    DEFAULT_OPTIONS: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        command: Sequence[str] | str,
        options: Mapping[str, str] | None = None,
        name: str = "",
        startup_s: float = 60.0,
    ) -> None:
        """Start the engine and wait for `readyok`.

        A program given by its path runs in its own folder, one found on PATH in the caller's.
        `options` that the engine doesn't declare raise EngineError, so that a typo in the
        conditions of a match is noticed. `startup_s` limits the handshake and loading, separately.
        """
        super().__init__()
        words = split_command(command) if isinstance(command, str) else list(command)
        folder = program_folder(command if isinstance(command, str) else words)
        self.name = name or Path(words[0]).name
        self.author = ""
        self.declared: dict[str, OptionLine] = {}
        self._startup_s = startup_s
        self._process = LineProcess(words, self.name, cwd=folder, held=("info",))
        try:
            self._handshake(given_name=bool(name))
            self._set_options({**self.DEFAULT_OPTIONS, **(options or {})}, set(options or {}))
            self._ready()
        except BaseException as error:
            self.close(grace_s=grace_after(error))
            raise

    # ---- quirks

    def drop_in(self, move: str) -> str:
        """Convert a move written by this engine to USI."""
        return move

    def drop_out(self, move: str) -> str:
        """Convert a USI move to the engine's notation."""
        return move

    def declared_name(self, name: str) -> str:
        """Return the name that the engine declares for an option."""
        return name

    def corrected(self, option: OptionLine) -> OptionLine:
        """Correct an option's declaration."""
        return option

    def request(self, go: GoCommand) -> GoCommand:
        """Convert `go` to a command the engine supports. Raises EngineError if there is none."""
        return go

    def adjust(self, info: InfoLine) -> InfoLine:
        """Convert an info line to plain USI."""
        return info

    # ---- protocol

    def _handshake(self, given_name: bool) -> None:
        deadline = time.monotonic() + self._startup_s
        self._process.send("usi")
        while (line := self._process.read(deadline)) != "usiok":
            word, _, rest = line.partition(" ")
            if word == "id" and rest.startswith("name ") and not given_name:
                self.name = self._process.name = rest[5:].strip() or self.name
            elif word == "id" and rest.startswith("author "):
                self.author = rest[7:].strip()
            elif word == "option":
                with contextlib.suppress(UsiSyntaxError):
                    option = self.corrected(protocol.parse_option(rest))
                    self.declared[option.name] = option

    def _set_options(self, options: Mapping[str, str], required: set[str]) -> None:
        for name, value in options.items():
            if name not in self.declared:
                if name in required and not name.startswith("USI_"):
                    raise self._unknown_option(name)
                if not name.startswith("USI_"):
                    continue
            elif name in required:
                value = self._checked(self.declared[name], value)
            self._send_option(name, value)

    def _checked(self, option: OptionLine, value: str) -> str:
        """Return a value as the engine declares it. Raises EngineError for one outside its
        declaration, which engines ignore; the default is always allowed.
        """
        if option.kind not in ("spin", "check", "combo") or value == option.default:
            return value
        if option.kind == "combo":
            value = {one.lower(): one for one in option.choices}.get(value.lower(), value)
        value, problem = option.check(value)
        if problem:
            raise EngineError(f"{self.name}: {problem}")
        return value

    def declared_option(self, name: str) -> OptionLine:
        """Return an option as the engine declares it. Raises EngineError if it doesn't."""
        option = self.declared.get(self.declared_name(name))
        if option is None:
            raise self._unknown_option(name)
        return option

    def _unknown_option(self, name: str) -> EngineError:
        known = ", ".join(sorted(self.declared)) or "none"
        return EngineError(f"{self.name} has no option {name}; it has: {known}")

    @one_at_a_time
    def set_known_options(self, values: Mapping[str, str]) -> None:
        """Send options declared by the engine. Raises EngineError for others, and for values
        outside their declaration.
        """
        self._set_options(values, set(values))

    @one_at_a_time
    def set_option(self, name: str, value: str) -> None:
        """Send an option; the value is ignored for buttons."""
        self._send_option(name, value)

    def _send_option(self, name: str, value: str) -> None:
        declared = self.declared.get(name)
        if declared is not None and declared.kind == "button":
            self._process.send(f"setoption name {name}")
        else:
            self._process.send(f"setoption name {name} value {value}")

    def _ready(self) -> None:
        deadline = time.monotonic() + self._startup_s
        self._process.send("isready")
        while self._process.read(deadline) != "readyok":
            pass

    @one_at_a_time
    def new_game(self) -> None:
        """Wait until the engine is ready for another game."""
        self._process.pending()
        self._ready()
        self._process.send("usinewgame")

    def game_over(self, result: str) -> None:
        """Send the result: `win`, `lose` or `draw`. Raises EngineError."""
        self._process.send(f"gameover {result}")

    @one_at_a_time
    def think(self, sfen: str, moves: Sequence[str], go: GoCommand, limit_s: float) -> Thought:
        """Send `position` and `go` and wait for the answer; after `limit_s` send `stop`."""
        self._process.pending()
        start = "startpos" if sfen == protocol.STARTPOS else f"sfen {sfen}"
        tail = " moves " + " ".join(map(self.drop_out, moves)) if moves else ""
        request = self.request(go)
        if request.searchmoves:
            fields = {**vars(request), "searchmoves": tuple(map(self.drop_out, go.searchmoves))}
            request = GoCommand(**fields)
        start_time = time.monotonic()
        self._process.send(f"position {start}{tail}", str(request))
        infos = LazyInfos(self._info)
        try:
            best = self._await_answer(start_time + limit_s, infos)
        except EngineTimeoutError:
            self._process.send("stop")
            best = self._await_answer(time.monotonic() + STOP_GRACE_S, infos)
        return Thought(best, infos, (time.monotonic() - start_time) * 1000.0)

    def _info(self, words: str) -> InfoLine:
        info = protocol.parse_info(words)
        info.pv = tuple(map(self.drop_in, info.pv))
        return self.adjust(info)

    def _await_answer(self, deadline: float, infos: LazyInfos) -> BestMove:
        while True:
            line = self._process.read(deadline)
            word, _, rest = line.partition(" ")
            if word == "info":
                infos.append(rest)
            elif word == "bestmove":
                try:
                    best = protocol.parse_bestmove(rest)
                except UsiSyntaxError as error:
                    raise EngineError(f"{self.name}: {error}") from error
                return BestMove(self.drop_in(best.move), self.drop_in(best.ponder))

    def close(self, grace_s: float = GRACE_S) -> None:
        """Send `quit`; kill the engine after `grace_s`. May be called twice."""
        self._process.close(grace_s=grace_s)

    def __enter__(self) -> UsiEngine:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self.close(grace_s=grace_after(error))
