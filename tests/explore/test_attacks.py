"""What others may try: pages of other sites, guessed addresses, paths, sizes, numbers, names and files."""

import gzip
import io
import json
import os
import socket
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import psutil
import pytest

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "__proto__",
    "{{7*7}}",
    "=cmd|' /C calc'!A0",
    "a\u202eb",
    "'); import os; os.system('x') #",
    "\\",
]


def alive(server):
    return server.json("api/state")["file"] is not None


# ------------------------------------------------------------------------------- who may ask
@pytest.mark.parametrize(
    "path", ["/", "/api/state", "/wrong-token/", "/wrong-token/api/state", "//", "/assets/main.js"]
)
def test_nothing_without_the_secret(server, path):
    status, headers, content = server.raw("GET", path)
    assert status == 404
    assert b"wine" not in content
    assert "default-src 'none'" in headers["content-security-policy"]


def test_every_shorter_or_changed_secret_is_refused(server):
    token = server.prefix.strip("/")
    assert len(token) >= 32
    for other in (token[:-1], token + "a", token.swapcase(), "A" * len(token), ""):
        assert server.raw("GET", f"/{other}/api/state")[0] == 404


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "[::1]:{port}",
        "",
    ],
)
def test_other_names_of_this_computer_are_refused(server, host):
    """A name of another site may be made to resolve to this computer (DNS rebinding)."""
    status, _, content = server.raw(
        "GET", server.prefix + "api/state", headers={"Host": host.format(port=server.port)}
    )
    assert status in (400, 421)
    assert b"version" not in content


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "http://localhost:{port}",
    ],
)
def test_other_origins_are_refused(server, origin):
    headers = {"Origin": origin.format(port=server.port)}
    for method, path in (("GET", "api/state"), ("POST", "api/do/undo"), ("POST", "api/file?name=x.csv")):
        assert server.raw(method, server.prefix + path, b"", headers)[0] == 403


def test_changes_need_an_origin(server):
    assert server.raw("POST", server.prefix + "api/do/all-back", b"{}")[0] == 403
    headers = {"Origin": server.origin, "Sec-Fetch-Site": "cross-site"}
    assert server.raw("POST", server.prefix + "api/do/all-back", b"{}", headers)[0] == 403
    assert server.raw("GET", server.prefix + "api/state", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403


def test_headers_that_contradict_each_other(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        lines = [
            f"GET {server.prefix}api/state HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            "Host: evil.example",
            "",
            "",
        ]
        connection.sendall("\r\n".join(lines).encode())
        assert b" 400 " in connection.recv(200)


def test_other_methods_and_upgrades(server):
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
        assert server.raw(method, server.prefix + "api/state", headers={"Origin": server.origin})[0] in (
            400,
            405,
        )
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    }
    assert (
        server.raw("GET", server.prefix + "api/state", headers=headers)[0] == 200
    )  # answered as any request


def test_this_computer_alone(server):
    process = psutil.Process(server.process.pid)
    listening = [c.laddr.ip for c in process.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN]
    assert listening == ["127.0.0.1"]


def test_every_answer_has_a_strict_policy(server):
    for path in ("", "assets/main.js", "api/state", "api/rows", "out/script.py", "nothing"):
        _, headers, _ = server.raw("GET", server.prefix + path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert "unsafe-eval" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert headers["cache-control"] == "no-store"


# ------------------------------------------------------------------------------- paths of the computer
@pytest.mark.parametrize(
    "path",
    [
        "assets/../../../../../../etc/passwd",
        "assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "assets/%2e%2e/%2e%2e/_server.py",
        "assets/..\\..\\_server.py",
        "assets//etc/passwd",
        "assets/_server.py",
        "assets/main.js%00.html",
        "out/../../../etc/passwd",
        "out/%2fetc%2fpasswd",
        "out/cleaned.csv/../../../etc/passwd",
        "api/../../etc/passwd",
        "file:///etc/passwd",
    ],
)
def test_no_path_is_read(server, path):
    status, _, content = server.raw("GET", server.prefix + path)
    assert status in (400, 404)
    assert b"root:" not in content
    assert b"import" not in content


@pytest.mark.parametrize(
    "name",
    [
        "../../escaped.csv",
        "/tmp/escaped.csv",
        "..\\..\\escaped.csv",
        "C:\\escaped.csv",
        "a/../escaped.csv",
        "escaped.csv",
    ],
)
def test_an_upload_names_no_path(server, wine, name):
    state = server.load(name, wine)
    assert state["file"]["name"] == "escaped.csv"
    files = psutil.Process(server.process.pid).open_files()
    assert not any("escaped" in file.path for file in files)
    assert not os.path.exists("/tmp/escaped.csv")
    assert not os.path.exists("escaped.csv")


def test_names_without_a_known_ending_are_refused(server):
    for name in ("", "x", "x.", ".csv/", "x.csv\0", "x.exe", "x.py", "x.csv;rm", "a" * 500):
        status, _, content = server.upload(name, b"a,b\n1,2\n3,4\n5,6\n")
        if status == 200:
            assert server.settled()["error"], name
        else:
            assert status == 400
            assert json.loads(content)["error"]
    assert alive(server)


# ------------------------------------------------------------------------------- too much, too fast
def test_huge_uploads_end_early(server):
    status, _, content = server.post("api/file?name=x.csv", b"", **{"Content-Length": str(1 << 40)})
    assert status == 413
    assert "MiB" in json.loads(content)["error"]
    block = b"1,2,3\n" * 20_000

    def endless():
        for _ in range(1000):
            yield block

    begin, sent = time.monotonic(), None
    headers = {"Origin": server.origin, "Transfer-Encoding": "chunked"}
    with suppress(OSError):  # the server may close the connection while we are still sending
        sent = server.raw("POST", server.prefix + "api/file?name=x.csv", endless(), headers, chunked=True)
    assert sent is None or sent[0] == 413
    assert time.monotonic() - begin < 30
    assert server.post("api/do/aside", b'{"rows": [' + b"1," * (1 << 20) + b"1]}")[0] == 413
    assert alive(server)


def test_bodies_that_are_no_json(server):
    deep = b"[" * 100_000 + b"]" * 100_000
    for body in (
        b"{",
        b"[]",
        b"1",
        b'"x"',
        b"\xff\xfe",
        b"null",
        deep,
        b'{"rows": [1e999]}',
        b'{"rows": [NaN]}',
    ):
        assert server.post("api/do/aside", body)[0] == 400, body[:20]
    for given in (
        {"rows": [0]},
        {"rows": [10**9]},
        {"rows": ["1"]},
        {"rows": [True]},
        {"rows": {}},
        {"cells": [[1]]},
        {"cells": [[1, 99]]},
        {"cells": [[1, -1]]},
    ):
        assert server.post("api/do/aside", json.dumps(given).encode())[0] == 400, given
    for settings in (
        {"method": "os.system"},
        {"columns": ["alcohol"]},
        {"columns": ["no such"]},
        {"n_components": 0},
        {"n_components": "3"},
        {"level": 2},
        {"level": True},
        {"secret": 1},
        [],
        {"scale": []},
    ):
        assert server.post("api/do/fit", json.dumps({"settings": settings}).encode())[0] == 400, settings
    assert server.post("api/do/nothing", b"{}")[0] == 400
    for query in ("start=-1", "start=x", "count=1e9", "only=x", "row=" + "9" * 30):
        assert server.raw("GET", f"{server.prefix}api/rows?{query}")[0] in (200, 400)
    assert server.raw("GET", server.prefix + "api/row?row=0")[0] == 400


def test_fifty_requests_at_once(server, wine):
    server.load("wine.csv", wine)
    paths = [
        "api/state",
        "api/rows?count=200",
        "api/figures",
        "api/row?row=11",
        "out/cleaned.csv",
        "out/script.py",
        "assets/plotly.js",
    ]

    def ask(i):
        if i % 10 == 9:
            return server.post("api/do/level", json.dumps({"level": [0.9, 0.999][i % 2]}).encode())[0]
        return server.raw("GET", server.prefix + paths[i % len(paths)])[0]

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(ask, range(100)))
    assert answers == [200] * 100
    assert server.settled()["error"] == ""


# ------------------------------------------------------------------------------- hostile tables
def test_hostile_names_stay_text(server):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(HOSTILE)))
    X[7] += 40.0
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in ["<b>label</b>", *HOSTILE])
    lines = [quoted, *(f'"<i>{i}</i>",' + ",".join(map(str, x)) for i, x in enumerate(X))]
    state = server.load("<script>.csv", "\n".join(lines).encode())
    assert state["numbers"] == HOSTILE
    assert state["label"] == "<b>label</b>"
    assert server.json("api/row?row=8")["label"] == "<i>7</i>"
    for path in ("api/state", "api/figures", "api/rows"):
        _, headers, _ = server.raw("GET", server.prefix + path)
        assert headers["content-type"] == "application/json"
    assert b"<script>alert" not in server.get("out/report.html")
    compile(server.get("out/script.py"), "script.py", "exec")
    for path in ("out/report.html", "out/flagged.csv"):
        _, headers, _ = server.raw("GET", server.prefix + path)
        assert headers["content-disposition"].startswith("attachment")
    assert b"\n=cmd" not in server.get("out/flagged.csv")


def bomb():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * 50_000_000)
    return packed.getvalue()


def pickled():
    held = io.BytesIO()
    np.save(held, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return held.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bomb.csv.gz", gzip.compress(b"0" * 300_000_000, 1)),
        ("bomb.npz", bomb()),
        ("pickle.npy", pickled()),
        ("broken.xlsx", b"PK\x03\x04" + b"\0" * 1000),
        ("broken.parquet", b"PAR1" + b"\xff" * 1000),
        ("broken.mat", b"MATLAB 5.0 MAT-file" + b"\xff" * 1000),
        ("empty.csv", b""),
        ("nul.csv", b"a,b\n\0\0\0,1\n"),
        ("ragged.csv", b"a,b\n1,2\n3\n"),
        ("text.csv", b"a,b\nx,y\nz,w\n"),
        ("one.csv", b"a\n1\n2\n3\n4\n"),
    ],
)
def test_hostile_files_are_refused_in_words(server, wine, name, content):
    before = server.load("wine.csv", wine)["file"]
    assert server.upload(name, content)[0] == 200
    state = server.settled()
    assert name in state["error"] or "column" in state["error"], state["error"]
    assert "tl1pca-" not in state["error"]  # the place of our copy is nobody's business
    assert state["file"] == before  # the table that was there stays
    assert server.fit()["error"] == ""


# ------------------------------------------------------------------------------- fits that end badly
def children(server):
    return [
        child
        for child in psutil.Process(server.process.pid).children()
        if "spawn_main" in " ".join(child.cmdline())
    ]


def test_a_crash_of_the_fit_does_not_end_the_server(server, wine):
    server.load("wine.csv", wine)
    (worker,) = children(server)
    worker.suspend()
    server.do("fit")
    worker.kill()
    state = server.settled()
    assert "has ended" in state["error"]
    assert state["fit"] is not None  # the one before
    state = server.fit()
    assert state["error"] == ""
    assert not state["fit"]["stale"]


def test_a_fit_can_be_canceled(server, wine):
    before = server.load("wine.csv", wine)["fit"]["version"]
    (worker,) = children(server)
    worker.suspend()  # a fit that never ends
    server.do("fit")
    assert server.json("api/state")["job"]["what"] == "fit"
    assert server.post("api/do/fit", b"{}")[0] == 409  # one at a time
    server.do("cancel")
    state = server.settled()
    assert state["error"] == ""
    assert state["fit"]["version"] == before
    assert server.fit()["fit"]["version"] > before
    server.do("cancel")  # nothing to cancel
    assert server.fit()["error"] == ""
