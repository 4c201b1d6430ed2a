"""The server's environment is its own: what constrains ours does not reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.annotation.studio import install
from goldpan.annotation.studio.errors import StudioError
from goldpan.progress import Reporter

QUIET = Reporter(quiet=True)


def test_constraints_of_our_environment_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("mdurl==0.0.1\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONSTRAINT", str(constraints))
    monkeypatch.setattr(install, "REQUIREMENT", "mdurl>=0.1,<0.2")
    place = tmp_path / "environment"
    install.install(place, QUIET)
    assert install.is_installed(place)


def test_a_failed_installation_is_told_and_not_taken_for_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "REQUIREMENT", "mdurl<0")
    place = tmp_path / "environment"
    with pytest.raises(StudioError, match="cannot be installed"):
        install.install(place, QUIET)
    assert not install.is_installed(place)
