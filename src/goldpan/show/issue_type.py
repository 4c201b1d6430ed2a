"""Shows what building issue-type datasets gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # it takes long to import
    from goldpan.builders.issue_type.build import IssueTypeResult
    from goldpan.datasets.manifest import Written


def built_json(found: IssueTypeResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    return {
        "datasets": [_dataset_json(written) for written in found.written],
        "units": found.units,
        "gaps": dict(found.gaps),
        "closings": found.closings,
        "dropped": dict(found.dropped),
        "labels": dict(found.labels),
        "redacted": dict(found.redacted),
        "seconds": round(found.seconds, 3),
    }


def _dataset_json(written: Written) -> dict[str, Any]:
    return {
        "directory": str(written.directory),
        "family": written.family.name,
        "examples": written.rows,
        "splits": {split.name: split.rows for split in written.splits},
        "straddling_groups": written.report.straddling,
        "dropped_by_split": written.report.dropped,
    }


def built(found: IssueTypeResult) -> None:
    """Show what became of the closings, and what the datasets hold."""
    from goldpan.builders.issue_type.build import EXPLAINED

    console = Terminal()
    console.print(f"{found.closings:,} closings of issues in {found.seconds:.1f} s")
    for state, count in found.gaps.items():
        console.print(clean(f"  {count:,} hours of the archive are ") + clean(state))
    for reason, count in found.dropped.items():
        console.print(f"  {count:,} without an example: {EXPLAINED[reason]}")
    for label, count in found.labels.items():
        console.print(clean(f"  {count:,} are ") + clean(label))
    for kind, count in sorted(found.redacted.items()):
        console.print(clean(f"  {count:,} redacted in texts: ") + clean(kind))
    for written in found.written:
        _dataset(console, written)


def _dataset(console: Terminal, written: Written) -> None:
    console.print(titled(written.family.name, f": {written.rows:,} examples"))
    table = Table("split", "examples", "bytes", box=None, header_style="dim")
    for split in written.splits:
        table.add_row(split.name, f"{split.rows:,}", f"{sum(one.size for one in split.files):,}")
    console.print(table)
    if written.report.dropped:
        console.print(
            f"  {written.report.dropped:,} dropped: near duplicates of examples in another split"
        )
    console.print(clean("Written to ") + clean(str(written.directory)))
