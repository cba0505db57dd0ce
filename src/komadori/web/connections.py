"""Limits on connections: how many there are, and how long one may take to ask for something.

Without them, anyone on the network could use up the process's files with silent connections.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: Maximum number of connections, and of those from one address.
MOST_CONNECTIONS = 512
MOST_PER_ADDRESS = 256
#: Seconds for the headers of a request.
HEADERS_S = 10.0


def most_connections() -> int:
    """Return the maximum number of connections: half of the files the process may open."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


class Connection(H11Protocol):
    """An HTTP connection within the limits; one that exceeds them is closed without an answer."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        others = [getattr(one, "client", None) for one in self.connections]
        same = sum(other is not None and other[0] == host for other in others)
        if len(others) > most_connections() or same > min(MOST_PER_ADDRESS, most_connections() - 8):
            transport.abort()
            return
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is None:
            self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._timer = self.loop.call_later(HEADERS_S, self._end_if_silent)

    def _end_if_silent(self) -> None:
        self._timer = None
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.transport.get_protocol() is self:  # and hasn't become a WebSocket
            self.transport.abort()
