"""Limits on HTTP connections: their number, and the time to send a request's headers.

Without them, idle connections could exhaust the process's file descriptors.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: Maximum number of connections, in total and per address.
MAX_CONNECTIONS = 512
MAX_PER_ADDRESS = 256
#: Seconds to wait for the headers of a request.
HEADER_TIMEOUT_S = 10.0


def max_connections() -> int:
    """Return the maximum number of connections: at most half of the file descriptors."""
    try:
        import resource
    except ImportError:  # Windows
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


class Connection(H11Protocol):
    """An HTTP connection that is closed without a response if it exceeds the limits."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        clients = [getattr(connection, "client", None) for connection in self.connections]
        same = sum(client is not None and client[0] == host for client in clients)
        if len(clients) > max_connections() or same > min(MAX_PER_ADDRESS, max_connections() - 8):
            transport.abort()
            return
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADER_TIMEOUT_S, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self._timer = None
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.transport.get_protocol() is self:  # not upgraded to a WebSocket
            self.transport.abort()
