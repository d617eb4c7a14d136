"""The command: how it begins, and how it ends."""

import socket
import threading

import psutil
import pytest

from explore_server import Explorer
from tl1pca.cli import main
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


@pytest.mark.slow
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


def test_what_cannot_be_used_is_said_in_one_line(tmp_path, capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["explore", "--no-browser", *arguments])
        return end.value.code, capsys.readouterr().err

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = run("--port", str(port))
    assert code == 1
    assert len(said.splitlines()) == 1
    assert f"port {port}" in said
    for given, reason in ((tmp_path / "no.csv", "No such file"), (tmp_path, "not a regular file")):
        code, said = run(str(given))
        assert code == 1
        assert len(said.splitlines()) == 1
        assert reason in said
    assert run("--port", "99999")[0] == 2


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
