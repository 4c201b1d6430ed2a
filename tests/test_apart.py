"""A package's environment is its own: what constrains ours does not reach it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.errors import GoldpanError
from goldpan.core.isolated_env import IsolatedEnv
from goldpan.core.progress import Reporter

QUIET = Reporter(quiet=True)
SMALL = IsolatedEnv(
    "Mdurl", "mdurl>=0.1,<0.2", "MDURL_VENV", "mdurl", "lib/python*/*/mdurl/__init__.py"
)


def test_constraints_of_our_environment_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("mdurl==0.0.1\n", encoding="utf-8")
    monkeypatch.setenv("PIP_CONSTRAINT", str(constraints))
    place = tmp_path / "environment"
    SMALL.install(place, QUIET)
    assert SMALL.is_installed(place)
    (place / "goldpan-begun").unlink()  # as if a user had installed it
    assert SMALL.is_installed(place)


def test_a_failed_installation_is_told_repaired_and_deletes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "environment"
    place.mkdir()
    (place / "thesis.txt").write_text("all of it", encoding="utf-8")
    with pytest.raises(GoldpanError, match="Mdurl cannot be installed"):
        replace(SMALL, requirement="mdurl<0").install(place, QUIET)
    assert not SMALL.is_installed(place)
    SMALL.install(place, QUIET)
    assert SMALL.is_installed(place)
    assert (place / "thesis.txt").read_text(encoding="utf-8") == "all of it"


def test_where_it_lives(tmp_path: Path) -> None:
    assert SMALL.default_place({"MDURL_VENV": "/x"}) == Path("/x")
    assert SMALL.default_place({"XDG_CACHE_HOME": "/c"}) == Path("/c/goldpan/mdurl")
    (tmp_path / "file").touch()
    with pytest.raises(GoldpanError, match=r"cannot be written.*MDURL_VENV"):
        SMALL.install(tmp_path / "file", QUIET)
