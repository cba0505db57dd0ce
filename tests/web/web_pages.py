"""A test server in this process, and clients that act as pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.testclient import TestClient, WebSocketTestSession

from komadori.web.app import make_app
from komadori.web.folders import Folders
from komadori.web.guard import Access
from komadori.web.library import Library
from komadori.web.models import Models
from komadori.web.session import Hub

ORIGIN = "http://127.0.0.1"


class Page:
    """A WebSocket client that acts as a page."""

    def __init__(self, socket: WebSocketTestSession) -> None:
        self._socket = socket
        self._number = 0
        self.welcome = self.receive()

    def send(self, type: str, **fields: Any) -> int:
        self._number += 1
        self._socket.send_text(json.dumps({"type": type, "id": self._number, **fields}))
        return self._number

    def send_text(self, text: str) -> None:
        self._socket.send_text(text)

    def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.receive_text())
        return message

    def until(self, type: str, **fields: Any) -> dict[str, Any]:
        """Return the next message of this type with these fields; fail on other errors."""
        while True:
            message = self.receive()
            if message["type"] == type and fields.items() <= message.items():
                return message
            assert message["type"] != "error" or type == "error", message

    def ask(self, type: str, answer: str, **fields: Any) -> dict[str, Any]:
        """Send a request and return its answer of a type."""
        return self.until(answer, id=self.send(type, **fields))


class Server:
    """HTTP and WebSocket clients of a server."""

    def __init__(self, client: TestClient) -> None:
        self.http = client

    def page(self, session: str = "", received: object = None) -> Any:
        """Connect a page; `received`: what it says to have received of a lost connection."""
        return _PageContext(self.http, session, received)


class _PageContext:
    def __init__(self, client: TestClient, session: str, received: object) -> None:
        query = urlencode(
            {"session": session} | ({} if received is None else {"received": received})
        )
        self._context = client.websocket_connect(
            f"ws://127.0.0.1/ws?{query}", headers={"origin": ORIGIN}
        )

    def __enter__(self) -> Page:
        return Page(self._context.__enter__())

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)


def make_server(
    folder: Path, *, token: str = "", model: str = "random:3", players: Sequence[str] = ()
) -> TestClient:
    folders = Folders([folder])
    library = Library(folder / "library")
    hub = Hub(Models(folders, model), folders, library, players=players)
    return TestClient(make_app(hub, Access(token=token)), base_url=ORIGIN)
