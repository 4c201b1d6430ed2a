"""Finds the interpreters of Python that are installed on this machine, or in an image."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from goldpan.execution.command import Command, Limits
from goldpan.execution.isolation import Isolation

RELEASED = {
    "3.6": "2016-12-23",
    "3.7": "2018-06-27",
    "3.8": "2019-10-14",
    "3.9": "2020-10-05",
    "3.10": "2021-10-04",
    "3.11": "2022-10-24",
    "3.12": "2023-10-02",
    "3.13": "2024-10-07",
    "3.14": "2025-10-07",
}
"""When each version came out."""
Finder = Callable[[str], str | None]
"""Gives the path of the interpreter of a version such as 3.11, None where it is not installed."""
_FIND = ("python", "find", "--no-config", "--system", "--no-python-downloads")
_FIND_ALL = (
    f'uv=$1; shift; for v do p=$("$uv" --no-cache {" ".join(_FIND)} "$v" 2> /dev/null) '
    '&& echo "$v $p"; done'
)
_SECONDS = 120


def find_pythons(isolation: Isolation, uv: str) -> Finder:
    """Return the finder of the interpreters that isolated commands can run."""
    if isolation.is_own_system:
        return lambda version: _installed(version, uv)
    return _of_image(isolation, uv).get


def _installed(version: str, uv: str) -> str | None:
    """Return this machine's interpreter of a version, by uv or else of pyenv, if there is one."""
    process = subprocess.run(  # noqa: S603 - uv with our own arguments
        [uv, *_FIND, version], capture_output=True, text=True, check=False
    )
    if process.returncode == 0:
        return os.path.realpath(process.stdout.strip())
    # pyenv's shims run only the version that is switched on, so uv takes the others for broken.
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    programs = sorted(root.glob(f"versions/{version}.*/bin/python"))
    return os.path.realpath(programs[-1]) if programs else None


def _of_image(isolation: Isolation, uv: str) -> dict[str, str]:
    """Return the interpreters of an image by version; uv runs there, in an empty folder."""
    arguments = ["/bin/sh", "-c", _FIND_ALL, "sh", uv, *RELEASED]
    with tempfile.TemporaryDirectory(prefix="goldpan-") as folder:
        log = Path(folder, "log")
        testbed = Path(folder, "testbed")
        testbed.mkdir()
        isolation.run(Command(arguments, testbed, (), (Path(uv),)), Limits(_SECONDS), log)
        lines = log.read_text("utf-8", "replace").splitlines()
    pairs = (line.split(" ", 1) for line in lines if " /" in line)
    return {version: path for version, path in pairs if version in RELEASED}
