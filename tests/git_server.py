"""A git server over HTTP on 127.0.0.1 that asks for a token and can cut connections."""

from __future__ import annotations

import base64
import os
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.local_server import LocalServer, QuietHandler
from tests.twin.history import git


class GitServer(LocalServer):
    """Serves the repositories below a folder while its `with` block runs.

    With a `token` it answers 401 to whoever does not send it; from `cut_after` on it ends each
    packed reply after so many bytes. `renamed` leads from names to addresses. `authorizations`
    lists what came with each request.
    """

    def __init__(self, root: Path, *, token: str | None = None, cut_after: int = 0) -> None:
        super().__init__(_handler(self))
        self.host = f"127.0.0.1:{self.port}"
        self.root = root
        self.token = token
        self.cut_after = cut_after
        self.authorizations: list[str | None] = []
        self.renamed: dict[str, str] = {}
        self.posts = 0

    def url(self, name: str) -> str:
        """Return a repository's address."""
        return f"http://{self.host}/{name}"

    def allows(self, authorization: str | None) -> bool:
        """Tell whether a request may pass."""
        if self.token is None:
            return True
        expected = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return authorization == f"Basic {expected}"


def _handler(owner: GitServer) -> type[BaseHTTPRequestHandler]:
    backend = Path(git("--exec-path").decode().strip()) / "git-http-backend"

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            owner.posts += 1
            self._answer(self._body())

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                return body
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def _answer(self, body: bytes) -> None:
            sent = self.headers.get("Authorization")
            owner.authorizations.append(sent)
            if not owner.allows(sent):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            name, _, rest = path.lstrip("/").partition("/")
            if name in owner.renamed:
                self.send_response(301)
                self.send_header("Location", f"{owner.renamed[name]}/{rest}?{query}")
                self.end_headers()
                return
            done = subprocess.run(
                [str(backend)],
                input=body,
                stdout=subprocess.PIPE,
                env={
                    "PATH": os.environ["PATH"],
                    "GIT_CONFIG_NOSYSTEM": "1",
                    "GIT_CONFIG_GLOBAL": os.devnull,
                    "GIT_PROJECT_ROOT": str(owner.root),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                    "REQUEST_METHOD": self.command,
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "REMOTE_ADDR": "127.0.0.1",
                },
                check=False,
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if owner.cut_after and b"PACK" in content:
                content = content[: owner.cut_after]
                self.close_connection = True
            self.wfile.write(content)

    return Handler
