"""Ctrl-C and SIGTERM: every command ends within a second or two and says how to resume.

The first signal raises KeyboardInterrupt in the main thread, or sets an event that long work
checks. While a module is imported it ends the process: packages swallow the exception, or turn it
into another. A separate thread sees the signal at once: if the main thread stays in compiled code
or in clean-up, it removes unfinished files and ends the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn, TypeVar

from komadori import atomic
from komadori.cli import leave as leave_early
from komadori.wording import on_one_line

T = TypeVar("T")

#: Seconds until a process that can't handle the signal is ended ...
_UNHANDLED_SECONDS = 0.8
#: ... and one that handles it: time for engines to quit and for files to be closed.
_UNWINDING_SECONDS = 3.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_last_signal = signal.SIGINT
_hint: str | Callable[[], str] = ""
_handled, _is_over = threading.Event(), threading.Event()
_is_raised = False
#: Whether the command is ending because of a signal; further ones change nothing.
_is_leaving = False
#: Whether the signal was delivered as an event; the process isn't killed then before `_grace_s`.
_is_graceful = False
#: Time limit of that work, and whether it has ended.
_grace_s: float | Callable[[], float] | None = None
_has_ended = threading.Event()


class InterruptError(Exception):
    """Ends the command with `status()`; `hint` says how to resume, or what was kept."""

    def __init__(self, hint: str = "") -> None:
        super().__init__(hint)
        self.hint = hint or _current_hint()

    def __str__(self) -> str:
        return _sentence(self.hint)


def status() -> int:
    """Return the signal's exit status: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + int(_last_signal)


def hint(text: str | Callable[[], str]) -> None:
    """Set the message of later interrupts: how to resume, or what is kept.

    Commands set it before they import or read anything. A function is called at the interrupt, in
    any thread; it must not import.
    """
    global _hint
    _hint = text


def hint_of_run(is_saved: Callable[[], bool], resume: str) -> None:
    """Set `resume` as the hint once the run's folder holds something to resume from."""
    hint(lambda: resume if is_saved() else "nothing was saved; the same command starts over")


def _current_hint() -> str:
    if isinstance(_hint, str):
        return _hint
    try:
        return _hint()
    except OSError:  # of the folder that it looks into
        return ""


def install() -> None:
    """Install signal handlers; signals ignored by the caller's shell stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, leave_early):
            signal.signal(number, _interrupt)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    watch = threading.Thread(target=_watch, args=(reader, writer), name="signals", daemon=True)
    try:
        watch.start()
    except RuntimeError:  # no more threads: the handlers alone must do
        reader.close()
        writer.close()
    else:
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)


def finish() -> None:
    """Stop the watchdog; call when the command has ended."""
    _is_over.set()


def ignore_further() -> None:
    """Let signals raise nothing from now on: Ctrl-C pressed again must not break the message."""
    global _is_leaving
    _is_leaving = True


def leave() -> NoReturn:
    """End the process with the signal's message and status."""
    ignore_further()
    _force()


@contextlib.contextmanager
def interrupt_sets(
    event: threading.Event, grace_s: float | Callable[[], float] | None = None
) -> Iterator[None]:
    """Let the first signal set the event; the second raises KeyboardInterrupt as usual.

    With `grace_s` the process is killed if the work takes longer to end; a function is called at
    the signal, in another thread. Only for work that may be killed at any time; set `hint`
    beforehand.
    """
    global _grace_s

    def handle(number: int, frame: FrameType | None) -> None:
        global _is_graceful
        if event.is_set():
            _is_graceful = False
            _interrupt(number, frame)
        _record(number)
        _is_graceful = True
        event.set()

    old = {number: signal.signal(number, handle) for number in _SIGNALS}
    _grace_s = grace_s
    _has_ended.clear()
    try:
        yield
    finally:
        _has_ended.set()
        for number, handler in old.items():
            signal.signal(number, handler)


def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread. A signal ends the command without waiting for it.

    Only for work that may be killed at any time.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(1.0)
    except KeyboardInterrupt:
        raise InterruptError from None
    if errors:
        raise errors[0]
    return results[0]


def _record(number: int) -> None:
    global _last_signal
    _last_signal = signal.Signals(number)
    _handled.set()


def _sentence(hint: str) -> str:
    word = "terminated" if _last_signal == signal.SIGTERM else "interrupted"
    return f"{word}; {hint}" if hint else word


def was_raised() -> bool:
    """Return whether a signal has raised KeyboardInterrupt: a later error is its consequence."""
    return _is_raised


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _is_raised
    if _is_leaving:
        return
    _record(number)
    if _is_importing(frame):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        _force()
    _is_raised = True
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _watch(reader: socket.socket, _writer: socket.socket) -> None:
    while data := reader.recv(1):
        if data[0] not in _SIGNALS or signal.getsignal(data[0]) == signal.SIG_IGN:
            continue
        handled = _handled.wait(_UNHANDLED_SECONDS)
        if _is_graceful:
            _handled.clear()
            grace_s = _grace_s() if callable(_grace_s) else _grace_s
            if grace_s is not None and not _has_ended.wait(grace_s):
                _force()
            continue
        if handled and _is_over.wait(_UNWINDING_SECONDS):
            return
        if not _is_over.is_set():
            if not handled:
                _record(data[0])
            _force()


def _force() -> NoReturn:
    atomic.discard_unfinished()
    text = on_one_line(_sentence(_current_hint())) + "\n"
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr.isatty():
            text = "\x1b[?25h\n" + text  # show the cursor hidden by a progress bar
        os.write(2, text.encode(errors="replace"))
    os._exit(status())
