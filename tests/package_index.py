"""A package index on 127.0.0.1 with packages that are made up, for tests of building."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.local_server import LocalServer, QuietHandler

_DATED = "2020-01-01T00:00:00Z"


def write_wheel(folder: Path, name: str) -> Path:
    """Write version 1 of a package whose module has the same name."""
    path = folder / f"{name}-1-py3-none-any.whl"
    information = f"{name}-1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "HERE = True\n")
        wheel.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
        )
        wheel.writestr(
            f"{information}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{information}/RECORD", "")
    return path


@dataclass
class Index:
    """A server that is running."""

    port: int
    files: str
    """The address below which its pages say that the files lie."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """The host and the path of each request."""

    @property
    def url(self) -> str:
        """The address of its pages."""
        return f"http://127.0.0.1:{self.port}/simple"


@contextmanager
def serve_index(folder: Path, files: str = "") -> Iterator[Index]:
    """Serve the wheels of a folder, each with a date of years ago."""

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append((self.headers["Host"], self.path))
            name = self.path.strip("/").rpartition("/")[2]
            module = name.replace("-", "_")
            wheels = sorted(folder.glob(f"{module}-*.whl"))
            if "/moved/" in self.path:
                self.send_response(302)
                self.send_header("Location", f"http://localhost:{index.port}/simple/none/")
                self.end_headers()
            elif (folder / name).is_file():
                self._send((folder / name).read_bytes(), "application/octet-stream")
            elif not wheels:
                self.send_error(404)
            elif "json" in self.headers.get("Accept", ""):
                self._send(self._page(name, wheels), "application/vnd.pypi.simple.v1+json")
            else:
                links = "".join(f'<a href="{index.files}{path.name}">x</a>' for path in wheels)
                self._send(links.encode(), "text/html")

        def _page(self, name: str, wheels: list[Path]) -> bytes:
            dated = {"hashes": {}, "upload-time": _DATED}
            entries = [
                {"filename": path.name, "url": f"{index.files}{path.name}", **dated}
                for path in wheels
            ]
            page = {"meta": {"api-version": "1.1"}, "name": name, "files": entries}
            return json.dumps({**page, "versions": ["1"]}).encode()

        def _send(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def do_HEAD(self) -> None:
            self.do_GET()

    server = LocalServer(Handler)
    index = Index(server.port, files or f"{server.address}/files/")
    with server:
        yield index
