"""A container engine and a small image of this machine's own programs, for tests that need one."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

_PROGRAMS = ("sh", "bash", "cat", "env", "grep", "head", "mkdir", "seq", "sleep", "tail", "touch")


class NoEngineError(Exception):
    """Podman does not run containers here; the message says why."""


@contextmanager
def shell_image(folder: Path) -> Iterator[str]:
    """Give the name of an image that has a shell and a few programs; it is removed afterwards.

    Its files are this machine's, since tests reach no registry. Raises `NoEngineError`.
    """
    if shutil.which("podman") is None:
        raise NoEngineError("podman is not installed")
    root = folder / "image"
    for name in ("bin", "dev", "etc", "proc", "sys", "tmp", "testbed"):
        (root / name).mkdir(parents=True)
    for program in _PROGRAMS:
        path = shutil.which(program, path="/bin:/usr/bin")
        if path is None:
            raise NoEngineError(f"{program} is in neither /bin nor /usr/bin")
        shutil.copy2(path, root / "bin" / program)
        for library in re.findall(r"(/\S+) \(0x", _output("ldd", path)):
            target = root / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, target)
    name = f"localhost/goldpan-test-{uuid4().hex[:12]}"
    archive = folder / "image.tar"
    _output("tar", "--create", "--file", str(archive), "--directory", str(root), ".")
    _output("podman", "import", str(archive), name)
    try:
        _output(
            "podman", "run", "--rm", "--init", "--network", "none", name, "/bin/sh", "-c", "true"
        )
        yield name
    finally:
        subprocess.run(["podman", "rmi", name], check=False, capture_output=True)


def _output(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise NoEngineError(f"{' '.join(command[:2])} fails: {done.stderr.strip()[-300:]}")
    return done.stdout
