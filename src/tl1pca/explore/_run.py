"""Start the server, open the browser, and end with Ctrl-C."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from ..tables import DEFAULT_MAX_MEMORY, TableError
from ._server import build_app
from ._session import Session

#: Requests at the same time; more are told to come again.
MOST_REQUESTS = 200
#: Bytes of the head of a request.
MOST_HEAD = 64 << 10


def serve(
    path: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    labels: str | None = None,
    max_memory: int = DEFAULT_MAX_MEMORY,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the page for one table on this computer until it is interrupted.

    Parameters
    ----------
    path : str, optional
        File to begin with. Others can be dropped on the page.
    port : int, default=0
        0: one that is free.
    browser : bool, default=True
        Whether to open the page in a browser.
    labels : str, optional
        Column of the file that names the rows.
    max_memory : int
        Bytes of a file that are accepted, as in `tl1pca.tables.read_table`.
    say : callable
        Told the address.

    Raises
    ------
    KeyboardInterrupt
        When it is interrupted, after the server has ended.
    OSError
        The port is taken, or the file cannot be opened.
    """
    if path is not None and not Path(path).is_file():
        if Path(path).exists():
            raise TableError(f"{path}: is not a regular file; name one file.")
        raise FileNotFoundError(2, "No such file or directory", path)
    listening = _listen(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    session = Session(max_memory)
    try:
        if path is not None:
            copy = session.new_file(Path(path).name)
            shutil.copyfile(path, copy)
            session.load(copy, Path(path).name, labels)
        server = uvicorn.Server(_config(session, token, port, max_memory))
        address = f"http://127.0.0.1:{port}/{token}/"
        say(f"Open {address} in a browser on this computer. Ctrl-C ends it.")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        with _terminable():
            server.run(sockets=[listening])
    finally:
        session.close()
        listening.close()


@contextmanager
def _terminable() -> Iterator[None]:
    """Whoever ends this process by SIGTERM leaves nothing behind: what is in `finally` is done first."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not the main thread, which alone gets signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listen(port: int) -> socket.socket:
    """The port, on this computer alone; the browser may knock before the server is ready."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise OSError(
            error.errno, f"port {port} cannot be used ({error.strerror}); --port takes another"
        ) from None
    return listening


def _config(session: Session, token: str, port: int, max_memory: int) -> uvicorn.Config:
    return uvicorn.Config(
        build_app(session, token, port, max_memory),
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=MOST_REQUESTS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=MOST_HEAD,
    )
