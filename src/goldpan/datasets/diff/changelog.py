"""The changes between two versions as a section of the newer one's card, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from goldpan.datasets.card import escape
from goldpan.datasets.diff.result import DiffResult

_MOST = 20


def changelog(found: DiffResult) -> str:
    """Return Markdown without a heading; whatever came from GitHub is escaped."""
    return "\n\n".join(part for part in _parts(found) if part)


def _parts(found: DiffResult) -> Iterator[str]:
    in_task = (
        f", {found.changed_in_task:,} of them in what a model is given or should answer"
        if found.changed and found.changed_in_task is not None
        else ""
    )
    yield (
        f"Compared with the version whose content is `{escape(found.old.content)}` "
        f"({found.old.rows:,} examples, Goldpan {escape(found.old.goldpan)}): "
        f"{found.added:,} added, {found.gone:,} gone, {found.changed:,} changed{in_task}, "
        f"{found.moved:,} in another split, {found.same:,} the same."
    )
    yield _table(
        ("change", "why", "examples"),
        ((each.change, each.reason, f"{each.rows:,}") for each in found.reasons),
    )
    yield " ".join(f"{escape(note[:1].upper() + note[1:])}." for note in found.notes)
    yield _table(
        ("column", "examples that differ in it"),
        ((name, f"{rows:,}") for name, rows in found.columns.items()),
    )
    for verb, names in (
        ("New columns", found.columns_added),
        ("Columns that are gone", found.columns_gone),
        ("Columns of another type", found.columns_retyped),
    ):
        if names:
            yield f"{verb}: {', '.join(map(escape, names))}."
    yield _table(
        ("made with", "before", "now"),
        ((each.what, each.old or "none", each.new or "none") for each in found.causes),
    )
    if gone := found.examples["gone"][:_MOST]:
        more = found.gone - len(gone)
        named = ", ".join(escape(row.id) for row in gone)
        yield f"Gone: {named}{f' and {more:,} more' if more else ''}."


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines])
