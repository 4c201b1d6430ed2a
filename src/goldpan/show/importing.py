"""Shows what importing all tasks of a source gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean
from goldpan.show import tasks

if TYPE_CHECKING:  # it takes long to import
    from goldpan.datasets.importing import ImportResult


def imported_json(found: Sequence[ImportResult], left: Sequence[str]) -> dict[str, Any]:
    """Return the imports as plain data; `left` names the tasks whose files were not given."""
    return {"tasks": [tasks.imported_json(one) for one in found], "not_given": list(left)}


def imported(found: Sequence[ImportResult], left: Sequence[str]) -> None:
    """Show the imports, a line each, and what differs from the source's counts."""
    console = Terminal()
    table = Table("task", "rows", "train", "test", "counts", box=None, header_style="dim")
    for one in found:
        rows = {split.name: split.rows for split in one.written.splits}
        wrong = [check.what for check in one.checks if not check.exact]
        told = "differ: " + ", ".join(wrong) if wrong else f"all {len(one.checks)} match"
        sides = [f"{rows.get(side, 0):,}" for side in ("train", "test")]
        table.add_row(clean(one.task.name), f"{one.written.rows:,}", *sides, clean(told))
    console.print(table)
    if left:
        console.print(clean(f"Files not given: {', '.join(left)}"))
