"""Environments of their own that tests install: Label Studio's and fastText's."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from goldpan.core.errors import GoldpanError
from goldpan.core.isolated_env import IsolatedEnv
from goldpan.core.progress import Reporter


def installed_once(environment: IsolatedEnv, request: pytest.FixtureRequest, folder: str) -> Path:
    """Return where a package is installed: where its variable says, else below pytest's cache.

    Processes wait for the one that installs it. Where it cannot be installed, that is a failure
    with the log of pip.
    """
    given = os.environ.get(environment.variable)
    cache = request.config.cache
    assert cache is not None
    place = Path(given) if given else Path(cache.mkdir(folder)) / "environment"
    place.parent.mkdir(parents=True, exist_ok=True)
    log = place.with_name(f"{folder}.log")
    with (
        place.with_name(f"{folder}.lock").open("w") as lock,
        pytest.MonkeyPatch.context() as patch,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.setenv("PIP_LOG", str(log))
        try:
            environment.install(place, Reporter(quiet=True))
        except GoldpanError as error:
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            pytest.fail(f"{error}\n{said[-20_000:]}", pytrace=False)
    return place
