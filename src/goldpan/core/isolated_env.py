"""Installs a package from a lock into an environment of its own, where it would break ours."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import goldpan
from goldpan.core.errors import GoldpanError
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask
from goldpan.core.terminal import Reporter

LOCKS = Path(goldpan.__file__).parent / "locks"
_BUILD = LOCKS / "build.txt"  # what builds the packages that come without a wheel
_READY, _BEGUN = "goldpan-ready", "goldpan-begun"
_SECONDS = 1800


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
        reporter.note(f"Installing {self.name} into {directory}, which takes a minute or two")
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
            self._run([*pip, *install, str(self.lock)])
            (directory / _READY).touch()
        except OSError as error:
            raise GoldpanError(
                f"{directory} cannot be written: {error.strerror}",
                f"Set {self.variable} to another directory",
            ) from None

    def _run(self, command: list[str]) -> None:
        # Constraints on the packages of this environment are not meant for another.
        environment = {key: value for key, value in os.environ.items() if key != "PIP_CONSTRAINT"}
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter and fixed arguments
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                env=environment,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GoldpanError(f"Installing {self.name} took too long", "Try again") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise GoldpanError(
                f"{self.name} cannot be installed: {line(mask(last), 300)}",
                f"Install it yourself with: {' '.join(command)}",
            )


def interpreter(directory: Path) -> Path:
    """Return the Python of an environment."""
    return directory / "bin" / "python"
