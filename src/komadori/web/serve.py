"""Runs the server: addresses, token, browser, shutdown within a second of Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import io
import logging
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import uvicorn

from komadori.web.app import make_app
from komadori.web.connections import Connection
from komadori.web.guard import Access
from komadori.web.session import MAX_MESSAGE_BYTES, Hub

#: Ports to try if none is given.
PORTS = range(8624, 8634)
#: Size of the listen queue; asyncio accepts up to this many connections at a time.
BACKLOG = 32
#: Seconds after Ctrl-C before the process is forced to exit.
SHUTDOWN_TIMEOUT_S = 0.9
#: From malloc.h.
_M_ARENA_MAX = -8
#: Uvicorn's warnings of clients that don't speak HTTP, such as a scan of the network, or that ask
#: for another protocol, such as HTTP/2, and get HTTP/1.1.
_CLIENT_WARNINGS = ("Invalid HTTP request received.", "Unsupported upgrade request.")


@dataclass(frozen=True)
class Address:
    """The server's addresses."""

    listener: socket.socket
    access: Access
    local_url: str
    lan_url: str | None


def bind(port: int | None, is_lan: bool, token: str = "") -> Address:
    """Bind the given port, or the first free one of PORTS. Raises OSError."""
    host = "0.0.0.0" if is_lan else "127.0.0.1"
    ports = PORTS if port is None else [port]
    listener: socket.socket | None = None
    problem = OSError("no port")
    for number in ports:
        try:
            listener = _listen(host, number)
            break
        except OSError as error:
            problem = error
    if listener is None:
        raise problem
    number = listener.getsockname()[1]
    token = token or (secrets.token_urlsafe(16) if is_lan else "")
    query = f"/?token={token}" if token else "/"
    local = f"http://127.0.0.1:{number}{query}"
    if not is_lan:
        return Address(listener, Access(token=token), local, None)
    lan_host = lan_address()
    access = Access.on_lan({lan_host, socket.gethostname().lower()}, token)
    return Address(listener, access, local, f"http://{lan_host}:{number}{query}")


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def lan_address() -> str:
    """Return this machine's LAN address: that of the interface with the default route."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def qr_code(url: str) -> str:
    """Return a QR code as text for the terminal."""
    import segno

    out = io.StringIO()
    segno.make(url, error="l").terminal(out, compact=True, border=2)
    return out.getvalue()


def _limit_malloc_arenas() -> None:
    """Limit glibc to two arenas. With its default of eight per CPU, fragmentation makes the process
    grow by 2 kB per analysed position.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def serve(hub: Hub, address: Address, open_browser: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    _limit_malloc_arenas()
    logging.getLogger("uvicorn.error").addFilter(_is_of_the_server)
    # It warns of every message to a page whose connection has just been lost.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    config = uvicorn.Config(
        make_app(hub, address.access),
        log_level="warning",
        access_log=False,
        http=Connection,
        backlog=BACKLOG,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        timeout_graceful_shutdown=1,
        server_header=False,
        # There is no proxy: ignore forwarded headers.
        proxy_headers=False,
    )
    server = _Server(config)
    say(f"komadori web: {address.local_url}")
    if address.lan_url:
        say(f"in the network: {address.lan_url}")
        if sys.stdout.isatty():
            for row in qr_code(address.lan_url).splitlines():
                say(row)
    say("Ctrl-C ends it")
    if open_browser:
        threading.Timer(0.3, webbrowser.open, (address.local_url,)).start()
    asyncio.run(server.serve(sockets=[address.listener]))


def _is_of_the_server(record: logging.LogRecord) -> bool:
    """Leave out errors of the client: the line per request that isn't HTTP or asks for another
    protocol, and the traceback of a message that isn't UTF-8."""
    if record.msg in _CLIENT_WARNINGS:
        return False
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
    return True


class _Server(uvicorn.Server):
    """A server that exits in time even if a search or connection doesn't end."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            watchdog = threading.Timer(SHUTDOWN_TIMEOUT_S, os._exit, (128 + sig,))
            watchdog.daemon = True
            watchdog.start()
        super().handle_exit(sig, frame)
