"""Near duplicates of a workspace: portions of repositories, and clusters that are told apart."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from goldpan.core.terminal import Reporter
from goldpan.filters import clusters
from goldpan.filters.clusters import deal_out, workspace_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings
from tests.filtering import REPO, Row, build, issue, pull


def entries() -> list[Row]:
    """Return copies, tasks of one template, and pull requests between them."""
    words = [f"word{number}" for number in range(60)]
    rows = []
    for number in range(1, 41):
        match number % 4:
            case 0:
                rows.append(pull(number))
            case 1:
                rows.append(issue(number, " ".join(words), title=f"Update to 1.{number}"))
            case 2:
                rows.append(issue(number, " ".join(words[::-1]), title="Sluice leaks"))
            case _:
                body = " ".join(f"own{number}x{at}" for at in range(30))
                rows.append(issue(number, body, title=f"Other {number}"))
    return rows


def test_portions_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, quiet = DuplicateSettings(), Reporter(quiet=True)
    whole = workspace_duplicates(build(tmp_path / "whole", entries()), settings, quiet)
    assert set(whole["relation"].to_pylist()) == {"representative", "exact", "sibling"}
    monkeypatch.setattr(clusters, "_ENTRIES", 10)
    parted = build(tmp_path / "parted", entries())
    portions = deal_out(parted, [REPO])
    numbers = [
        [number for batch in portion() for number in batch["number"].to_pylist()]
        for portion in portions
    ]
    assert len(numbers) == 4
    assert all(numbers)
    assert sorted(chain.from_iterable(numbers)) == [number for number in range(1, 41) if number % 4]
    assert str(portions[0]) == f"issues of {REPO}"
    assert workspace_duplicates(parted, settings, quiet).equals(whole)


def test_small_repositories_go_together(tmp_path: Path) -> None:
    workspace = build(tmp_path, entries())
    (portion,) = deal_out(workspace, [REPO, REPO])
    assert len(portion.repos) == 2
    assert deal_out(workspace, []) == []
