"""Installs Label Studio into an environment of its own: what it needs would break ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from goldpan.annotation.studio.errors import StudioError
from goldpan.progress import Reporter

REQUIREMENT = "label-studio>=1.23,<1.24"
"""The server whose API this package was tried with; about 1 GB with what it needs."""
_SECONDS = 1800


def default_place(environment: Mapping[str, str]) -> Path:
    """Return where the server is installed: `GOLDPAN_LABEL_STUDIO_VENV`, else the user's cache."""
    if given := environment.get("GOLDPAN_LABEL_STUDIO_VENV"):
        return Path(given)
    cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "goldpan" / "label-studio-1.23"


def program(place: Path) -> Path:
    """Return the server's program in its environment."""
    return place / "bin" / "label-studio"


def is_installed(place: Path) -> bool:
    """Tell whether the server was installed there to the end."""
    return (place / "goldpan-ready").exists() or (
        program(place).exists() and not (place / "goldpan-begun").exists()
    )


def install(place: Path, reporter: Reporter) -> None:
    """Install the server, which takes a minute or two; raises `StudioError` where that fails."""
    if is_installed(place):
        return
    reporter.note(f"Installing {REQUIREMENT} into {place}, about 1 GB")
    python = place / "bin" / "python"
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / "goldpan-begun").touch()
        _run([sys.executable, "-m", "venv", str(place)])
        _run([str(python), "-m", "pip", "install", "--quiet", REQUIREMENT])
        (place / "goldpan-ready").touch()
    except OSError as error:
        raise StudioError(
            f"{place} cannot be written: {error.strerror}",
            "Set GOLDPAN_LABEL_STUDIO_VENV to another directory",
        ) from None


def _run(command: list[str]) -> None:
    # Constraints on the packages of this environment are not meant for the server's.
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
        raise StudioError("Installing Label Studio took too long", "Try again") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise StudioError(
            f"Label Studio cannot be installed: {last[:300]}",
            f"Install it yourself with: {' '.join(command)}",
        )
