"""Installs fastText's trainer into an environment of its own.

It has the import name of the predictor that tells languages apart, so both cannot share one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from goldpan.errors import EvaluationError
from goldpan.progress import Reporter

REQUIREMENT = "fasttext-wheel==0.9.2"
"""Later builds for numpy 2, and 0.9.3, end some trainings with NaN."""
VARIABLE = "GOLDPAN_FASTTEXT_VENV"
_READY = "goldpan-ready"
_SECONDS = 900


def default_place(environment: Mapping[str, str]) -> Path:
    """Return where the trainer is installed: `GOLDPAN_FASTTEXT_VENV`, else the user's cache."""
    if given := environment.get(VARIABLE):
        return Path(given)
    cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "goldpan" / "fasttext-0.9.2"


def interpreter(place: Path) -> Path:
    """Return the Python of that environment."""
    return place / "bin" / "python"


def is_installed(place: Path) -> bool:
    """Tell whether the trainer was installed there to the end."""
    return (place / _READY).exists()


def install(place: Path, reporter: Reporter) -> None:
    """Install the trainer, in half a minute; raises `EvaluationError` where that fails."""
    if is_installed(place):
        return
    reporter.note(f"Installing {REQUIREMENT} into {place}")
    try:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", str(place)])
        _run([str(interpreter(place)), "-m", "pip", "install", "--quiet", REQUIREMENT])
        (place / _READY).touch()
    except OSError as error:
        raise EvaluationError(
            f"{place} cannot be written: {error.strerror}", f"Set {VARIABLE} to another directory"
        ) from None


def _run(command: list[str]) -> None:
    # Constraints on the packages of this environment are not meant for the trainer's.
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
        raise EvaluationError("Installing fastText took too long", "Try again") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise EvaluationError(
            f"fastText cannot be installed: {last[:300]}",
            f"Install it yourself with: {' '.join(command)}",
        )
