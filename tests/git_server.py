"""A git server over HTTP on 127.0.0.1 that asks for a token and can cut connections."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

from tests.local_server import Answer, Asked, LocalServer
from tests.twin.history import git


class GitServer(LocalServer):
    """Serves the repositories below a folder while its `with` block runs.

    With a `token` it answers 401 to whoever does not send it; from `cut_after` on it ends each
    packed reply after so many bytes. `renamed` leads from names to addresses. `authorizations`
    lists what came with each request.
    """

    def __init__(self, root: Path, *, token: str | None = None, cut_after: int = 0) -> None:
        super().__init__()
        self._backend = Path(git("--exec-path").decode().strip()) / "git-http-backend"
        self.host = f"127.0.0.1:{self.port}"
        self.root = root
        self.token = token
        self.cut_after = cut_after
        self.authorizations: list[str | None] = []
        self.renamed: dict[str, str] = {}
        self.posts = 0

    def address(self, name: str) -> str:
        """Return a repository's address."""
        return f"{self.url}/{name}"

    def allows(self, authorization: str | None) -> bool:
        """Tell whether a request may pass."""
        if self.token is None:
            return True
        expected = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return authorization == f"Basic {expected}"

    def answer(self, asked: Asked) -> Answer:
        """Answer by git's own program, once the token is shown."""
        self.posts += asked.method == "POST"
        sent = asked.headers.get("Authorization")
        self.authorizations.append(sent)
        if not self.allows(sent):
            return Answer(401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        path, _, query = asked.target.partition("?")
        name, _, rest = path.lstrip("/").partition("/")
        if name in self.renamed:
            return Answer(301, headers={"Location": f"{self.renamed[name]}/{rest}?{query}"})
        done = subprocess.run(
            [str(self._backend)],
            input=asked.body,
            stdout=subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_PROJECT_ROOT": str(self.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": asked.headers.get("Git-Protocol", ""),
                "REQUEST_METHOD": asked.method,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": asked.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": asked.headers.get("Content-Encoding", ""),
                "REMOTE_ADDR": "127.0.0.1",
            },
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200 OK").split()[0])
        if self.cut_after and b"PACK" in content:
            headers["Content-Length"] = str(len(content))
            content = content[: self.cut_after]
        return Answer(status, content, headers)
