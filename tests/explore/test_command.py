"""The command: how it begins, and how it ends."""

import socket
import subprocess
import sys
import threading

import psutil

from explore_server import Explorer
from tl1pca.explore import _server
from tl1pca.explore._run import _config
from tl1pca.explore._session import Session


def test_ctrl_c_leaves_nothing_behind(tmp_path, wine):
    explorer = Explorer(temporary=tmp_path)
    assert list(tmp_path.iterdir())
    assert explorer.json("api/state")["file"] is None
    assert explorer.post("api/do/fit")[0] == 400  # nothing to fit yet
    workers = psutil.Process(explorer.process.pid).children(recursive=True)
    assert workers
    explorer.upload("wine.csv", wine)  # and ended while it is read
    code, err = explorer.stop()
    assert code == 130
    assert err == ""
    psutil.wait_procs(workers, timeout=10)
    assert not any(worker.is_running() for worker in workers)
    assert list(tmp_path.iterdir()) == []


def test_sigterm_leaves_nothing_behind_either(tmp_path):
    explorer = Explorer(temporary=tmp_path)
    assert list(tmp_path.iterdir())
    explorer.json("api/state")
    workers = psutil.Process(explorer.process.pid).children(recursive=True)
    explorer.process.terminate()
    assert explorer.process.wait(20) == 143
    explorer.process.communicate()
    psutil.wait_procs(workers, timeout=10)
    assert not any(worker.is_running() for worker in workers)
    assert list(tmp_path.iterdir()) == []


def run(*arguments):
    command = [sys.executable, "-m", "tl1pca.cli", "explore", "--no-browser", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_what_cannot_be_used_is_said_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("--port", str(port))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert f"port {port}" in done.stderr
    for given, said in ((tmp_path / "no.csv", "No such file"), (tmp_path, "not a regular file")):
        done = run(str(given))
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
        assert said in done.stderr
    assert run("--port", "99999").returncode == 2


def test_a_request_that_never_ends_is_given_up(monkeypatch):
    """Slow senders: here with limits that a test can wait for."""
    import uvicorn

    monkeypatch.setattr(_server, "MOST_SECONDS", 0.3)
    monkeypatch.setattr(_server, "MOST_PAUSE", 0.3)
    session = Session(1 << 20)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    server = uvicorn.Server(_config(session, "secret", port, 1 << 20))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        for path in ("api/do/fit", "api/file?name=x.csv"):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as slow:
                lines = [
                    f"POST /secret/{path} HTTP/1.1",
                    f"Host: 127.0.0.1:{port}",
                    f"Origin: http://127.0.0.1:{port}",
                    "Content-Length: 100",
                    "",
                    "{",
                ]
                slow.sendall("\r\n".join(lines).encode())
                assert b" 408 " in slow.recv(300)
    finally:
        server.should_exit = True
        thread.join(20)
        session.close()
        listening.close()
