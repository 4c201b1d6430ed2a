"""Installs a package from a lock into an environment of its own, where it would break ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import goldpan
from goldpan.core.errors import GoldpanError
from goldpan.core.progress import Reporter
from goldpan.core.sanitize import line
from goldpan.core.secrets import mask

LOCKS = Path(goldpan.__file__).parent / "locks"
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

    def default_place(self, environment: Mapping[str, str]) -> Path:
        """Return where it is installed: what the variable says, else in the user's cache."""
        if given := environment.get(self.variable):
            return Path(given)
        cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
        return Path(cache).expanduser() / "goldpan" / self.folder

    def is_installed(self, place: Path) -> bool:
        """Tell whether it was installed there to the end."""
        if (place / _BEGUN).exists():
            return (place / _READY).exists()
        return any(place.glob(self.proof))

    def install(self, place: Path, reporter: Reporter) -> None:
        """Install it, which takes a minute or two; raises `GoldpanError` where that fails.

        What lies in `place` stays: a user may have named a folder that holds something else.
        """
        if self.is_installed(place):
            return
        reporter.note(f"Installing {self.name} into {place}")
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / _BEGUN).touch()
            self._run([sys.executable, "-m", "venv", str(place)])
            pip = [str(interpreter(place)), "-m", "pip"]
            install = ["install", "--quiet", "--no-deps", "--require-hashes", "--requirement"]
            self._run([*pip, *install, str(self.lock)])
            (place / _READY).touch()
        except OSError as error:
            raise GoldpanError(
                f"{place} cannot be written: {error.strerror}",
                f"Set {self.variable} to another directory",
            ) from None

    def _run(self, command: list[str]) -> None:
        # Constraints on the packages of this environment are not meant for another.
        environment = {key: each for key, each in os.environ.items() if key != "PIP_CONSTRAINT"}
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter and fixed arguments
                command,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            raise GoldpanError(f"Installing {self.name} took too long", "Try again") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise GoldpanError(
                f"{self.name} cannot be installed: {line(mask(last), 300)}",
                f"Install it yourself with: {' '.join(command)}",
            )


def interpreter(place: Path) -> Path:
    """Return the Python of an environment."""
    return place / "bin" / "python"
