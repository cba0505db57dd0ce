"""The application: pages, HTTP API and WebSocket."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from komadori import __version__
from komadori.web.api import make_api
from komadori.web.errors import RefusedError
from komadori.web.guard import Access, Guard
from komadori.web.http_shapes import Problem
from komadori.web.session import Hub

STATIC = Path(__file__).parent / "static"

#: HTTP status per error code; 422 for all others.
_STATUS = {
    "unknown_name": 404,
    "unknown_model": 404,
    "changed": 409,
    "failed": 500,
    "too_many": 413,
}


def make_app(hub: Hub, access: Access | None = None, static: Path = STATIC) -> ASGIApp:
    """Create the ASGI application of a hub; its shutdown closes the hub."""

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
    app.include_router(make_api(hub))

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> JSONResponse:
        problem = Problem(code=error.code, detail=str(error))
        return JSONResponse(problem.model_dump(), _STATUS.get(error.code, 422))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        detail = f"{where}: {first['msg']}"[:300].encode(errors="replace").decode()
        problem = Problem(code="bad_message", detail=detail)
        return JSONResponse(problem.model_dump(), 422)

    @app.exception_handler(HTTPException)
    async def failed(_: Request, error: HTTPException) -> JSONResponse:
        problem = Problem(code="bad_message", detail=str(error.detail))
        return JSONResponse(problem.model_dump(), error.status_code, headers=error.headers)

    @app.websocket("/ws")
    async def connect(socket: WebSocket, session: str = "", received: str = "") -> None:
        await socket.accept()
        is_number = received.isascii() and received.isdigit() and len(received) < 16
        await hub.connect(socket, session, int(received) if is_number else None)

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
    """Serves the built pages; browsers may cache files with hashed names forever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        # Browsers ask for this name on pages that name no icon, such as reports.
        name = "icon.svg" if path == "favicon.ico" else path
        response = await super().get_response(name, scope)
        is_hashed = path.startswith("assets/")
        response.headers["cache-control"] = (
            "public, max-age=31536000, immutable" if is_hashed else "no-cache"
        )
        return response


mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("font/woff2", ".woff2")
