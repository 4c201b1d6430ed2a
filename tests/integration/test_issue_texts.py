"""Near duplicates of a workspace: portions of repositories, and clusters that are told apart."""

from __future__ import annotations

from pathlib import Path

from goldpan.core.terminal import Reporter
from goldpan.filters.clusters import workspace_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings
from tests.filtering import Row, build, issue, pull


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


def test_copies_and_tasks_of_one_template_are_told(tmp_path: Path) -> None:
    settings, quiet = DuplicateSettings(), Reporter(quiet=True)
    whole = workspace_duplicates(build(tmp_path, entries()), settings, quiet)
    assert set(whole["relation"].to_pylist()) == {"representative", "exact", "sibling"}
