"""Shows what building, publishing and tracing datasets gave."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean, titled
from goldpan.show.basis import basis

if TYPE_CHECKING:  # these take long to import, and each command needs one of them
    from goldpan.builders.build import BuildResult
    from goldpan.code.edits.files import Applied
    from goldpan.datasets.hub import PublishResult
    from goldpan.report.page import ReportFacts
    from goldpan.trace import Trace

_MOST_CHANGES = 30


def built_json(found: BuildResult) -> dict[str, Any]:
    """Return what was built as plain data."""
    written = found.written
    return {
        "directory": str(written.directory),
        "family": written.family.name,
        "examples": written.rows,
        "splits": {split.name: split.rows for split in written.splits},
        "considered": found.considered,
        "kept": found.kept,
        "dropped": dict(found.dropped),
        "redacted": dict(found.redacted),
        "basis": [asdict(one) for one in found.basis],
        "replaced": found.replaced,
        "straddling_groups": written.report.straddling,
        "dropped_by_split": written.report.dropped,
        "seconds": round(found.seconds, 3),
    }


def built(found: BuildResult) -> None:
    """Show what a dataset holds, and what became of the rest."""
    console = Terminal()
    written = found.written
    console.print(
        titled(written.family.name, f": {written.rows:,} examples in {found.seconds:.1f} s")
    )
    table = Table("split", "examples", "bytes", box=None, header_style="dim")
    for split in written.splits:
        size = sum(file.size for file in split.files)
        table.add_row(split.name, f"{split.rows:,}", f"{size:,}")
    console.print(table)
    console.print(f"{found.considered:,} considered, {found.kept:,} kept by the filters")
    for reason, count in sorted(found.dropped.items()):
        console.print(clean(f"  {count:,} gave no example: ") + clean(reason))
    if written.report.dropped:
        console.print(
            f"  {written.report.dropped:,} are in no split: near duplicates of "
            "examples on another side"
        )
    for kind, count in sorted(found.redacted.items()):
        console.print(clean(f"  {count:,} made unreadable in texts: ") + clean(kind))
    basis(found.basis)
    if found.replaced is not None:
        console.print(clean(f"It replaces {found.replaced}"))
    console.print(clean(f"It lies in {written.directory}"))


def applied(found: Applied) -> None:
    """Show which files blocks changed."""
    console = Terminal()
    done = "changed" if found.written else "would change"
    for file in found.files:
        line = clean(f"{file.action} ") + clean(file.path)
        console.print(line + clean(f" ({_count(file.blocks, 'block')})"))
        for forgiven in file.forgiven:
            console.print(clean(f"  forgiven in {forgiven}"))
    console.print(f"{_count(len(found.files), 'file')} {done}")


def published(found: PublishResult) -> None:
    """Show what was sent, or would be."""
    console = Terminal()
    for change in found.changes[:_MOST_CHANGES]:
        console.print(clean(f"  {change.action} ") + clean(change.path) + f" {change.size:,} bytes")
    if len(found.changes) > _MOST_CHANGES:
        console.print(f"  and {len(found.changes) - _MOST_CHANGES:,} more")
    if found.dry_run:
        console.print(f"Nothing was sent. All checks passed; it would go to {found.url}")
        if not found.compared:
            console.print("Without a token the Hub was not asked what it holds already.")
        return
    if not found.changes:
        console.print(f"{found.url} holds the same content already")
    else:
        console.print(f"Published as {found.url} in commit {found.commit}")
    if found.tag:
        console.print(f"Tagged {found.tag}")


def traced(found: Trace) -> None:
    """Show where an example comes from."""
    console = Terminal()
    console.print(clean(found.id))
    console.print(clean(f"split {found.split} of {found.dataset}"))
    for name, value in found.place.items():
        console.print(clean(f"  {name}: ") + clean(str(value)))
    if found.entries:
        console.print("\nEntries", style="bold")
    for one in found.entries:
        if one.entry:
            console.print(
                clean(f"  {one.repo}#{one.number} {one.entry['kind']}: ")
                + clean(one.entry["title"])
            )
    numbers = {one.number for one in found.entries}
    pairs = [pair for one in found.entries[:1] for pair in one.pairs if pair["pull"] in numbers]
    for pair in pairs:
        console.print(f"\nEvidence: {', '.join(pair['signals'])}", style="bold")
        for evidence in pair["evidence"]:
            if evidence["excerpt"]:
                console.print(clean(f"  {evidence['where']}: ") + clean(evidence["excerpt"]))
    if found.objects:
        console.print("\nGit objects", style="bold")
    for thing in found.objects:
        state = f"{thing.kind}, {thing.size:,} bytes" if thing.size is not None else "not there"
        console.print(f"  {thing.column} {thing.sha}  {state}")
    if found.replies:
        console.print("\nRaw replies", style="bold")
    for reply in found.replies:
        state = f"{reply.size:,} bytes, sha256 {reply.sha256}" if reply.sha256 else "not there"
        console.print(f"  {reply.name}  {reply.part}, {reply.fetched_at}, {state}")


def reported(found: ReportFacts) -> None:
    """Show where a report lies and what it holds."""
    console = Terminal()
    console.print(
        f"{_count(found.examples, 'example')} and {_count(found.dropped, 'dropped subject')} of "
        f"{_count(len(found.repos), 'repository')}, {found.size / 1e6:.1f} MB"
    )
    basis(found.basis)
    console.print(clean(f"Open {found.output} in a browser"))


def _count(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
