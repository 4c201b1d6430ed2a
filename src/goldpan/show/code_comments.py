"""Shows what building a dataset of class comments gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled

if TYPE_CHECKING:  # it takes long to import
    from goldpan.builders.code_comments.build import CommentsResult


def built_json(found: CommentsResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    written, tally = found.written, found.tally
    return {
        "directory": str(written.directory),
        "family": written.family.name,
        "commits": {commit.repo: commit.id for commit in found.commits},
        "files": tally.files,
        "files_read": tally.read,
        "comments": tally.comments,
        "sentences": written.rows,
        "languages": dict(sorted(tally.languages.items())),
        "labelled": tally.labelled,
        "splits": {split.name: split.rows for split in written.splits},
        "left_out": dict(sorted(tally.left_out.items())),
        "redacted": dict(sorted(tally.redacted.items())),
        "straddling_groups": written.report.straddling,
        "dropped_by_split": written.report.dropped,
        "seconds": round(found.seconds, 3),
    }


def built(found: CommentsResult) -> None:
    """Show what a dataset of class comments holds, and what became of the rest."""
    from goldpan.builders.code_comments.build import EXPLAINED

    console = Terminal()
    written, tally = found.written, found.tally
    console.print(
        titled(
            written.family.name,
            f": {written.rows:,} sentences of {tally.comments:,} comments in {found.seconds:.1f} s",
        )
    )
    for commit in found.commits:
        console.print(clean(commit.repo) + clean(f" at {commit.id} of {commit.at:%Y-%m-%d}"))
    table = Table("split", "sentences", "bytes", box=None, header_style="dim")
    for split in written.splits:
        size = sum(file.size for file in split.files)
        table.add_row(split.name, f"{split.rows:,}", f"{size:,}")
    console.print(table)
    spoken = ", ".join(f"{name} {count:,}" for name, count in sorted(tally.languages.items()))
    console.print(f"{tally.read:,} of {tally.files:,} files read; sentences: {spoken}")
    if tally.labelled:
        console.print(f"{tally.labelled:,} sentences have labels")
    for reason, count in sorted(tally.left_out.items()):
        console.print(clean(f"  {count:,} ") + clean(EXPLAINED.get(reason, reason)))
    if written.report.dropped:
        console.print(
            f"  {written.report.dropped:,} dropped: their comment is a near duplicate of one "
            "in another split"
        )
    for kind, count in sorted(tally.redacted.items()):
        console.print(clean(f"  {count:,} redacted in comments and code: ") + clean(kind))
    console.print(clean(f"Written to {written.directory}"))
