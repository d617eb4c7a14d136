"""A real tl1pca explore, and requests to it as anyone could send them."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from urllib.parse import quote, urlsplit


class Explorer:
    """The command in a process of its own."""

    def __init__(self, *arguments, temporary=None):
        command = [sys.executable, "-m", "tl1pca.cli", "explore", "--no-browser", *map(str, arguments)]
        environment = dict(os.environ) if temporary is None else {**os.environ, "TMPDIR": str(temporary)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError(line + self.process.communicate(timeout=30)[1])
        self.address = found.group()
        parts = urlsplit(self.address)
        self.port, self.prefix = parts.port, parts.path
        self.origin = f"http://127.0.0.1:{self.port}"

    def raw(self, method, target, body=None, headers=None, chunked=False):
        """Status, headers and content of an answer to exactly this request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, target, body=body, headers=headers or {}, encode_chunked=chunked)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, content = self.raw("GET", self.prefix + path)
        assert status == 200, (path, status, content[:300])
        return content

    def json(self, path):
        return json.loads(self.get(path))

    def post(self, path, body=b"", **headers):
        return self.raw("POST", self.prefix + path, body, {"Origin": self.origin, **headers})

    def do(self, name, **given):
        status, _, content = self.post(f"api/do/{name}", json.dumps(given).encode())
        assert status == 200, (name, status, content)
        return json.loads(content)

    def upload(self, name, content):
        return self.post(f"api/file?name={quote(name, safe='')}", content)

    def load(self, name, content):
        """Upload, and the state after the fit that follows."""
        status, _, answer = self.upload(name, content)
        assert status == 200, (status, answer)
        return self.settled()

    def settled(self, seconds=60):
        """The state once nothing is computed any more."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = self.json("api/state")
            if state["job"] is None:
                return state
            time.sleep(0.05)
        raise TimeoutError(state)

    def fit(self, **settings):
        self.do("fit", settings=settings)
        return self.settled()

    def stop(self):
        """Ctrl-C; the exit code and what was said on the way."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            _, err = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, err
