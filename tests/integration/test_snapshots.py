"""What people and programs stand on changes only where somebody says so in the changelog."""

from __future__ import annotations

from difflib import unified_diff

import pytest

from tests.snapshots.render import FOLDER, SNAPSHOTS


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_nothing_public_changed_unnoticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOLDPAN_PLUGINS", raising=False)
    stored = (FOLDER / name).read_text(encoding="utf-8")
    change = list(
        unified_diff(
            stored.splitlines(), SNAPSHOTS[name]().splitlines(), "before", "now", lineterm=""
        )
    )
    if change:
        pytest.fail(
            f"tests/snapshots/{name} is not what there is now:\n"
            + "\n".join(change)
            + "\n\nWhere that is meant, add a line to CHANGELOG.md and run "
            "python -m tests.snapshots",
            pytrace=False,
        )
