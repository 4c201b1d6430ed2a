"""Shows what cloning and reading histories gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from goldpan.core.terminal import Terminal, titled

if TYPE_CHECKING:
    from goldpan.git.clone import CloneResult
    from goldpan.miners.history.revisions import History

_MOST_NUMBERS = 20


def histories(found: Sequence[tuple[CloneResult, History]]) -> None:
    """Show how many pull requests have which state, and what was odd."""
    console = Terminal()
    for cloned, history in found:
        console.print(
            titled(
                history.repo,
                f": {cloned.refs:,} refs, {history.pulls:,} pull requests "
                f"read, {history.changes:,} changed files, {history.fetched:,} files fetched",
            )
        )
        if cloned.kept:
            console.print(f"{cloned.kept:,} commits that the source no longer has are kept")
        table = Table("state or note", "pull requests", box=None, header_style="dim")
        for name, count in (*history.states.items(), *history.notes.items()):
            table.add_row(name, f"{count:,}")
        console.print(table)
        if history.disagreeing:
            numbers = ", ".join(f"#{number}" for number in history.disagreeing[:_MOST_NUMBERS])
            more = len(history.disagreeing) - _MOST_NUMBERS
            console.print(
                f"Size differs from GitHub's figures: {numbers}"
                + (f" and {more:,} more" * (more > 0))
            )
