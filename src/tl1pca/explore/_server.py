"""The server: one session behind a secret address on this computer, and nothing else.

Whoever asks must name the secret in the path, this server in Host, and, where
a browser says where the request comes from, this server there as well. Files
come in as uploads and go out as answers; no address stands for a path of the
computer.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from . import _exports
from ._actions import decide
from ._assets import assets
from ._session import BusyError, ChoiceError, Session

#: Bytes of a request that is no file, and seconds until all of it has to be there.
MOST_BYTES, MOST_SECONDS = 1 << 20, 20.0
#: Seconds that an upload may pause, and take.
MOST_PAUSE, MOST_UPLOAD = 20.0, 900.0
#: Name in the address: what it makes, and its kind.
DOWNLOADS: dict[str, tuple[Callable[[Session], bytes], str]] = {
    "cleaned.csv": (_exports.cleaned_table, "text/csv; charset=utf-8"),
    "flagged.csv": (_exports.flagged_rows, "text/csv; charset=utf-8"),
    "model.npz": (_exports.model_file, "application/octet-stream"),
    "report.html": (_exports.report_page, "application/octet-stream"),
    "script.py": (_exports.script, "text/plain; charset=utf-8"),
}
#: The first hash is that of nothing: Plotly makes an empty style element and fills it by script. The other is
#: that of font-weight:bold, the one style attribute that it writes (the first line of what a pointer shows).
POLICY = (
    "default-src 'none'; script-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
    "style-src-attr 'unsafe-hashes' 'sha256-wkY2X5hecQzbhnFCqvTpwrUJ1f4X8LH5WFjYUzv1wmU='; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets through what comes from our own page, and gives every answer the headers of ours."""

    def __init__(self, app: ASGIApp, token: str, port: int):
        self._app, self._prefix = app, f"/{token}/".encode()
        self._hosts = {f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refused(scope)

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                extra = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        if refused is not None:
            await PlainTextResponse(refused[1], refused[0])(scope, receive, sent)
            return
        path = scope["path"][len(self._prefix) - 1 :]
        await self._app({**scope, "path": path, "raw_path": path.encode()}, receive, sent)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is not answered."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in (b"host", b"origin", b"content-length"):
                return 400, "This request contradicts itself."
            headers[name] = value
        host = headers.get(b"host", b"")
        if host not in self._hosts:
            return 421, "This address is not served here."
        origin = headers.get(b"origin")
        if origin is not None and origin != b"http://" + host:
            return 403, "Requests of other pages are not answered."
        site = headers.get(b"sec-fetch-site", b"same-origin")
        if site not in ((b"same-origin", b"none") if scope["method"] == "GET" else (b"same-origin",)):
            return 403, "Requests of other pages are not answered."
        if scope["method"] != "GET" and origin is None:
            return 403, "Requests that change something must say where they come from."
        path = scope["path"].encode("utf-8", "replace")
        if not hmac.compare_digest(path[: len(self._prefix)], self._prefix):
            return 404, "There is nothing here. Open the address that tl1pca explore printed."
        return None


def build_app(session: Session, token: str, port: int, max_upload: int) -> ASGIApp:
    """The application."""
    pages = assets()

    async def asset(request: Request) -> Response:
        found = pages.get(request.path_params.get("name", "index.html"))
        return (
            PlainTextResponse("There is nothing here.", 404)
            if found is None
            else Response(found[0], media_type=found[1])
        )

    async def state(request: Request) -> Response:
        known = request.query_params.get("version", "")
        return JSONResponse(session.described(int(known) if known.isdecimal() and len(known) < 18 else None))

    async def figures(request: Request) -> Response:
        def find() -> Any:
            _, chosen, view = session.snapshot()
            if view is None:
                raise ChoiceError("Fit first.")
            return {"figures": view.figures(chosen.rows), "cells": view.cell_map()}

        return JSONResponse(await run_in_threadpool(find))

    async def rows(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(session.rows, _query(request)))

    async def row(request: Request) -> Response:
        i = session.position(_whole(request, "row", 0))
        loaded, chosen, view = session.snapshot()
        about = {} if view is None else await run_in_threadpool(view.row, i)
        table = loaded.table
        about |= {
            "row": int(table.rows[i]),
            "label": None if table.labels is None else table.labels[i],
            "values": [None if x != x else x for x in table.values[i].tolist()],  # noqa: PLR0124
            "texts": [cells[i] for cells in loaded.texts.cells],
            "aside": i in chosen.rows,
            "off": [j for j in range(len(table.columns)) if (i, j) in chosen.cells],
            "bad": [] if view is None else view.marks.get(i, []),
        }
        return JSONResponse(about)

    async def upload(request: Request) -> Response:
        name = Path(request.query_params.get("name", "").replace("\\", "/")).name[:200]
        path = session.new_file(name)
        try:
            await _received(request, path, max_upload)
            session.load(path, name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return JSONResponse(session.described())

    async def act(request: Request) -> Response:
        given = await _body(request)
        name = request.path_params["name"]
        await run_in_threadpool(_do, session, name, given)
        return JSONResponse(session.described())

    async def download(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in DOWNLOADS:
            return PlainTextResponse("There is nothing here.", 404)
        make, kind = DOWNLOADS[name]
        content = await run_in_threadpool(make, session)
        return Response(
            content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'}
        )

    routes = [
        Route("/", asset),
        Route("/assets/{name}", asset),
        Route("/api/state", state),
        Route("/api/figures", figures),
        Route("/api/rows", rows),
        Route("/api/row", row),
        Route("/api/file", upload, methods=["POST"]),
        Route("/api/do/{name}", act, methods=["POST"]),
        Route("/out/{name}", download),
    ]
    handlers = {
        ChoiceError: _said(400),
        BusyError: _said(409),
        _RefusedError: _refuse,
        ClientDisconnect: _said(400),
    }
    return Guard(Starlette(routes=routes, exception_handlers=handlers), token, port)


class _RefusedError(Exception):
    """A request that is too large, too slow or no JSON."""

    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code = code


def _said(code: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, code)

    return answer


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, _RefusedError)
    return JSONResponse({"error": str(error)}, error.code, headers={"connection": "close"})


def _do(session: Session, name: str, given: dict[str, Any]) -> None:
    """What the page asks for, by name."""
    if name == "fit":
        session.fit(given.get("settings"))
    elif name == "cancel":
        session.cancel()
    elif name == "curve":
        session.choose_components()
    elif name == "level":
        session.set_level(given.get("level"))
    elif name == "label":
        label = given.get("label")
        if label is not None and not isinstance(label, str):
            raise ChoiceError("label must be the name of a column.")
        session.relabel(label)
    else:
        session.decide(decide(name, given))


# ------------------------------------------------------------------------------- what comes in
async def _body(request: Request) -> dict[str, Any]:
    """A small JSON object, in time."""
    content = bytearray()
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for block in request.stream():
                content += block
                if len(content) > MOST_BYTES:
                    raise _RefusedError(413, "This request is too large.")
    except TimeoutError:
        raise _RefusedError(408, "This request took too long.") from None
    try:
        given = json.loads(bytes(content) or b"{}")
    except (ValueError, RecursionError):
        raise _RefusedError(400, "This request is no JSON.") from None
    if not isinstance(given, dict):
        raise _RefusedError(400, "This request is no JSON object.")
    return given


async def _received(request: Request, path: Path, most: int) -> None:
    """Write an upload to a file of ours, as long as it stays within the limits."""
    too_large = _RefusedError(
        413, f"The file is larger than {most >> 20:,} MiB; tl1pca explore --max-memory raises the limit."
    )
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared[:20]) > most:
        raise too_large
    stream, size = request.stream().__aiter__(), 0
    try:
        async with asyncio.timeout(MOST_UPLOAD):
            with path.open("xb") as file:
                while True:
                    async with asyncio.timeout(MOST_PAUSE):
                        block = await anext(stream, None)
                    if block is None:
                        break
                    size += len(block)
                    if size > most:
                        raise too_large
                    await run_in_threadpool(file.write, block)
    except TimeoutError:
        raise _RefusedError(408, "The file took too long to arrive.") from None


def _whole(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or len(text) > 12:
        raise ChoiceError(f"{name} must be a whole number.")
    return int(text)


def _query(request: Request) -> dict[str, Any]:
    given = request.query_params
    return {
        "start": _whole(request, "start", 0),
        "count": _whole(request, "count", 50),
        "column": _whole(request, "column", 0),
        "by": given.get("by", "row"),
        "kind": given.get("kind", "row"),
        "down": given.get("down") == "1",
        "find": given.get("find", ""),
        "only": given.get("only", "all"),
    }
