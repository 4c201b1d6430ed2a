"""Installs a package from a lock into an environment of its own, where it would break ours."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import goldpan
from goldpan.core.errors import GoldpanError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.terminal import ProgressTask, Reporter

LOCKS = Path(goldpan.__file__).parent / "locks"
_BUILD = LOCKS / "build.txt"  # what builds the packages that come without a wheel
_READY, _BEGUN = "goldpan-ready", "goldpan-begun"
_SECONDS = 1800
_PINNED = re.compile(r"^\S+==", re.M)
_COLLECTED = ("Collecting ", "Processing ")


@dataclass(frozen=True, slots=True)
class IsolatedEnv:
    """A package that lives in an environment of its own."""

    name: str
    lock: Path
    """All its packages with their hashes; `make lock` writes those of `LOCKS`."""
    variable: str
    """The environment variable that says where it lives."""
    folder: str
    """Where it lives in the user's cache if nothing says so."""
    proof: str
    """A pattern of a file of its environment that is there where a user installed it."""
    newest_python: tuple[int, int]
    """The newest Python for which all its packages have wheels."""

    def default_place(self, environment: Mapping[str, str]) -> Path:
        """Return where it is installed: what the variable says, else in the user's cache."""
        if folder := environment.get(self.variable):
            return Path(folder)
        cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
        return Path(cache).expanduser() / "goldpan" / self.folder

    def is_installed(self, directory: Path) -> bool:
        """Tell whether it was installed there to the end."""
        if (directory / _BEGUN).exists():
            return (directory / _READY).exists()
        return any(directory.glob(self.proof))

    def install(self, directory: Path, reporter: Reporter) -> None:
        """Install it, which takes a minute or two; raises `GoldpanError` where that fails.

        What lies in `directory` stays: a user may have named a folder that holds something else.
        """
        if self.is_installed(directory):
            return
        if sys.version_info[:2] > self.newest_python:
            newest = ".".join(map(str, self.newest_python))
            raise GoldpanError(
                f"{self.name} cannot be installed with Python {platform.python_version()}",
                f"Run this with Python {newest} or earlier, or set {self.variable} to the "
                "directory of an environment that has it",
            )
        reporter.note(f"Installing {self.name} into {directory}")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / _BEGUN).touch()
            # Our own pip serves another environment, which need not install one first.
            lent = ["--without-pip"] if find_spec("pip") else []
            self._run([sys.executable, "-m", "venv", *lent, str(directory)])
            python = str(interpreter(directory))
            pip = (
                [sys.executable, "-m", "pip", "--python", python] if lent else [python, "-m", "pip"]
            )
            # What is never imported need not be compiled; Python compiles the rest once.
            install = ["install", "--disable-pip-version-check", "--no-compile", "--no-deps"]
            install += ["--require-hashes", "--no-build-isolation", "--requirement"]
            self._run([*pip, *install, str(_BUILD)])
            packages = len(_PINNED.findall(self.lock.read_text(encoding="utf-8")))
            with reporter.task(f"Installing {self.name}, packages", packages) as task:
                self._run([*pip, *install, str(self.lock)], task)
            (directory / _READY).touch()
        except OSError as error:
            raise GoldpanError(
                f"{directory} cannot be written: {error.strerror}",
                f"Set {self.variable} to another directory",
            ) from None

    def _run(self, command: list[str], task: ProgressTask | None = None) -> None:
        """Run a command, and count the packages that pip says it collects."""
        # Constraints on the packages of this environment are not meant for another.
        environment = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and fixed arguments
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                env=environment,
            )
            with process, _killed_after(process, _SECONDS) as expired:
                for output_line in process.stdout or ():
                    if task is not None and output_line.startswith(_COLLECTED):
                        task.advance()
            if expired.is_set():
                raise GoldpanError(f"Installing {self.name} took too long", "Try again")
            if process.returncode:
                complaints.seek(0)
                last = (complaints.read().strip().splitlines() or ["no reason given"])[-1]
                raise GoldpanError(
                    f"{self.name} cannot be installed: {line(mask(last), 300)}",
                    f"Install it yourself with: {' '.join(command)}",
                )


@contextmanager
def _killed_after(process: subprocess.Popen[str], seconds: float) -> Iterator[threading.Event]:
    """Kill a process that runs for longer; the event then is set."""
    expired = threading.Event()

    def end() -> None:
        expired.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()


def interpreter(directory: Path) -> Path:
    """Return the Python of an environment."""
    return directory / "bin" / "python"
