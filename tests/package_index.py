"""A package index on 127.0.0.1 with packages that are made up, for tests of building."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

from tests.local_server import Answer, Asked, LocalServer

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


class Index(LocalServer):
    """Serves the wheels of a folder, each with a date of years ago."""

    def __init__(self, folder: Path, files: str = "") -> None:
        super().__init__()
        self.folder = folder
        self.files = files or f"{self.url}/files/"
        """The address below which its pages say that the files lie."""
        self.url = f"{self.url}/simple"
        self.asked: list[tuple[str, str]] = []
        """The host and the path of each request."""

    def answer(self, asked: Asked) -> Answer:
        """Answer a request for a page or a file, on a connection of its own."""
        answer = self._answer(asked)
        return replace(answer, headers={**answer.headers, "Connection": "close"})

    def _answer(self, asked: Asked) -> Answer:
        self.asked.append((asked.headers["Host"], asked.target))
        name = asked.target.strip("/").rpartition("/")[2]
        wheels = sorted(self.folder.glob(f"{name.replace('-', '_')}-*.whl"))
        if "/moved/" in asked.target:
            return Answer(302, headers={"Location": f"http://localhost:{self.port}/simple/none/"})
        if (self.folder / name).is_file():
            kind = {"Content-Type": "application/octet-stream"}
            return Answer(body=(self.folder / name).read_bytes(), headers=kind)
        if not wheels:
            return Answer(404)
        if "json" in asked.headers.get("Accept", ""):
            return self._page(name, wheels)
        links = "".join(f'<a href="{self.files}{path.name}">x</a>' for path in wheels)
        return Answer(body=links.encode(), headers={"Content-Type": "text/html"})

    def _page(self, name: str, wheels: list[Path]) -> Answer:
        dated = {"hashes": {}, "upload-time": _DATED}
        entries = [
            {"filename": path.name, "url": f"{self.files}{path.name}", **dated} for path in wheels
        ]
        page = {"meta": {"api-version": "1.1"}, "name": name, "files": entries, "versions": ["1"]}
        return Answer(body=page, headers={"Content-Type": "application/vnd.pypi.simple.v1+json"})
