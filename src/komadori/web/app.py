"""The application: pages, HTTP API and WebSocket."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, WebSocket
from fastapi.responses import PlainTextResponse
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from komadori import __version__
from komadori.web import protocol
from komadori.web.guard import Access, Guard
from komadori.web.session import Hub
from komadori.web.shapes import ModelInfo

STATIC = Path(__file__).parent / "static"


def make_app(hub: Hub, access: Access | None = None, static: Path = STATIC) -> ASGIApp:
    """The ASGI application around a hub, which it closes at its end."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await hub.close()

    app = FastAPI(
        title="komadori web",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )

    @app.websocket("/ws")
    async def connect(socket: WebSocket, session: str = "") -> None:
        await socket.accept()
        await hub.connect(socket, session)

    @app.get("/api/models", summary="The networks that pages may ask for, the default first")
    def models() -> list[ModelInfo]:
        return hub.models.infos()

    @app.get("/api/protocol.json", summary="JSON schema of the WebSocket's messages")
    def schema() -> dict[str, Any]:
        return protocol.json_schema()

    @app.get("/api/board.svg", summary="A picture of a position", response_class=Response)
    def board_svg(
        position: Annotated[str, Query(max_length=20_000)] = "startpos",
        flipped: bool = False,
        width: Annotated[int, Query(ge=100, le=2000)] = 520,
        arrows: Annotated[list[str] | None, Query(max_length=10)] = None,
    ) -> Response:
        from komadori.web.positions import read_position

        board = read_position(position)
        moves = [board.parse_usi(text) for text in arrows or []]
        drawn = [(move, 1.0 / rank) for rank, move in enumerate(moves, 1)]
        picture = board.svg(arrows=drawn, flipped=flipped, width=width, labels=False)
        return Response(picture, media_type="image/svg+xml")

    if (static / "index.html").is_file():
        app.mount("/", _Pages(directory=static, html=True), name="pages")
    else:

        @app.get("/", include_in_schema=False)
        def no_pages() -> PlainTextResponse:
            return PlainTextResponse(
                "The pages aren't built: npm --prefix web ci && npm --prefix web run build\n", 503
            )

    return Guard(app, access or Access())


class _Pages(StaticFiles):
    """Built assets: names with a hash in them are kept by the browser, the page is asked for."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        is_hashed = path.startswith("assets/")
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if is_hashed else "no-cache"
        )
        return response


mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("font/woff2", ".woff2")
