"""Access control: host, origin, token, and size limits.

Rejects pages of other sites in the same browser (wrong Origin), DNS rebinding to 127.0.0.1 (wrong
Host) and, on the LAN, clients without the token.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Maximum size of a request's body, including uploads.
MAX_BODY_BYTES = 8 << 20
#: Maximum size of the bodies of all requests being handled; those below `SMALL_BODY_BYTES` don't
#: count, so that the interface works while uploads fill it.
MAX_BODIES_BYTES = 64 << 20
SMALL_BODY_BYTES = 64 << 10
#: Seconds to wait for the next part of a body.
BODY_TIMEOUT_S = 20.0
COOKIE = "komadori_token"

_CSP = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-src 'self'; frame-ancestors 'self'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})


@dataclass(frozen=True)
class Access:
    """`hosts`: accepted host names, without port; `token`: "" if none is required."""

    hosts: frozenset[str] = _LOCAL
    token: str = ""

    @classmethod
    def on_lan(cls, addresses: Iterable[str], token: str) -> Access:
        return cls(_LOCAL | frozenset(addresses), token)


class TooSlowError(HTTPException):
    """Raised if a request's body doesn't arrive in time."""

    def __init__(self) -> None:
        super().__init__(408, f"no data for {BODY_TIMEOUT_S:.0f} s")


class TooLargeError(HTTPException):
    """Raised if a request's body exceeds the limit."""

    def __init__(self) -> None:
        super().__init__(413, f"more than {MAX_BODY_BYTES >> 20} MB")


class TooManyError(HTTPException):
    """Raised if the bodies of all requests together exceed the limit."""

    def __init__(self) -> None:
        super().__init__(503, "too many uploads at the same time; try again")


class Guard:
    """ASGI middleware that checks every request."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._held_bytes = 0  # of the larger bodies of requests being handled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            else:
                await refusal(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        await self._handle_http(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or _name(headers["host"]) not in self._access.hosts:
            return PlainTextResponse("unknown host", 421)
        origin = headers.get("origin")
        foreign = origin is not None and _authority(origin) != headers["host"]
        if foreign or (origin is None and scope["type"] == "websocket"):
            return PlainTextResponse("foreign origin", 403)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and (
            scope["path"].startswith("/api/") or scope["method"] not in ("GET", "HEAD")
        ):
            return PlainTextResponse("foreign site", 403)
        if not self._access.token:
            return None
        if self._is_token(_cookie(headers)):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self._is_token(given):
            return PlainTextResponse(
                "This server needs the token of the address that `komadori web` printed.", 401
            )
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/":
            response = RedirectResponse("/", 303)  # removes the token from the address bar
            response.set_cookie(COOKIE, self._access.token, httponly=True, samesite="strict")
            return response
        return None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._access.token.encode())

    async def _handle_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = held = 0
        has_started = is_complete = False

        async def limited_receive() -> Message:
            nonlocal received, held, is_complete
            try:
                # Not asyncio.wait_for: before Python 3.12 it can swallow a cancellation.
                async with asyncio.timeout(None if is_complete else BODY_TIMEOUT_S):
                    message = await receive()
            except TimeoutError:
                raise TooSlowError from None
            is_complete = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                raise TooLargeError
            if received > SMALL_BODY_BYTES:
                if self._held_bytes + received - held > MAX_BODIES_BYTES:
                    raise TooManyError
                self._held_bytes += received - held
                held = received
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("content-security-policy", _CSP)
            await send(message)

        too_large = PlainTextResponse(f"more than {MAX_BODY_BYTES >> 20} MB", 413)
        length = Headers(scope=scope).get("content-length", "0")
        if length.isdigit() and int(length) > MAX_BODY_BYTES:
            await too_large(scope, receive, send_with_headers)
            return
        try:
            await self._app(scope, limited_receive, send_with_headers)
        except (TooLargeError, TooManyError, TooSlowError) as error:
            if not has_started:
                response = PlainTextResponse(error.detail, error.status_code)
                await response(scope, receive, send_with_headers)
        finally:
            self._held_bytes -= held


def _name(host: str) -> str:
    """Return the host without port."""
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdigit() else host.lower()


def _authority(origin: str) -> str:
    """Return host and port of an origin; "" if it is malformed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
