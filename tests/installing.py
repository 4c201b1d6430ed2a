"""Environments of their own that tests install: Label Studio's and fastText's.

`python -m tests.installing FOLDER...`, each below pytest's cache, installs them beside the tests.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from goldpan.annotation.studio.serve import SERVER
from goldpan.core.errors import GoldpanError
from goldpan.core.isolated_env import IsolatedEnv
from goldpan.core.terminal import Reporter
from goldpan.evaluation.models.fasttext import TRAINER
from tests.places import ROOT

FOLDERS = {"label-studio": SERVER, "fasttext": TRAINER}
"""The environments by their folders below pytest's cache."""


def installed_once(folder: str, cache: pytest.Cache) -> Path:
    """Return where a package is installed: where its variable says, else below pytest's cache.

    Processes wait for the one that installs it. Where it cannot be installed, that is a failure
    with the log of pip.
    """
    above = Path(cache.mkdir(folder))
    environment = FOLDERS[folder]
    if sys.version_info[:2] > environment.newest_python:
        newest = ".".join(map(str, environment.newest_python))
        pytest.skip(f"needs Python {newest} or earlier, for {environment.name}")
    try:
        return install(environment, above)
    except GoldpanError as error:
        log = _log(_folder(environment, above))
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        pytest.fail(f"{error}\n{text[-20_000:]}", pytrace=False)


@contextmanager
def installed_meanwhile(cache: pytest.Cache) -> Iterator[None]:
    """Install all environments in a process beside the tests, which then need not wait for them.

    What fails there is tried again, and told, by the test that needs it.
    """
    folders = [cache.mkdir(folder) for folder in FOLDERS]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.installing", *folders],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def install(environment: IsolatedEnv, above: Path) -> Path:
    """Install a package unless a process has, or does; raises `GoldpanError` where that fails."""
    folder = _folder(environment, above)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        folder.with_name(f"{above.name}.lock").open("w") as lock,
        pytest.MonkeyPatch.context() as patch,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setenv("PIP_LOG", str(_log(folder)))
        environment.install(folder, Reporter(quiet=True))
    return folder


def _folder(environment: IsolatedEnv, above: Path) -> Path:
    variable = os.environ.get(environment.variable)
    return Path(variable) if variable else above / "environment"


def _log(folder: Path) -> Path:
    return folder.with_name("install.log")


def main() -> None:
    """Install environments, and prepare Label Studio's database."""
    from tests.studio import prepare_once

    for argument in sys.argv[1:]:
        above = Path(argument)
        environment = FOLDERS[above.name]
        with suppress(GoldpanError):
            folder = install(environment, above)
            if environment is SERVER:
                prepare_once(folder, above)


if __name__ == "__main__":
    main()
