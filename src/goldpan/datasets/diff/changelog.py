"""The changes between two versions as a section of the newer one's card, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from goldpan.datasets.card import escape
from goldpan.datasets.diff.result import DiffResult

_MOST = 20


def changelog(difference: DiffResult) -> str:
    """Return Markdown without a heading; whatever came from GitHub is escaped."""
    return "\n\n".join(part for part in _parts(difference) if part)


def _parts(difference: DiffResult) -> Iterator[str]:
    in_task = (
        f", {difference.changed_in_task:,} of them in what a model is given or should answer"
        if difference.changed and difference.changed_in_task is not None
        else ""
    )
    yield (
        f"Compared with the version whose content is `{escape(difference.old.content)}` "
        f"({difference.old.rows:,} examples, Goldpan {escape(difference.old.goldpan)}): "
        f"{difference.added:,} added, {difference.gone:,} gone, "
        f"{difference.changed:,} changed{in_task}, {difference.moved:,} in another split, "
        f"{difference.same:,} the same."
    )
    yield _table(
        ("change", "why", "examples"),
        ((item.change, item.reason, f"{item.rows:,}") for item in difference.reasons),
    )
    yield " ".join(f"{escape(note[:1].upper() + note[1:])}." for note in difference.notes)
    yield _table(
        ("column", "examples that differ in it"),
        ((name, f"{rows:,}") for name, rows in difference.columns.items()),
    )
    for verb, names in (
        ("New columns", difference.columns_added),
        ("Columns that are gone", difference.columns_gone),
        ("Columns of another type", difference.columns_retyped),
    ):
        if names:
            yield f"{verb}: {', '.join(map(escape, names))}."
    yield _table(
        ("made with", "before", "now"),
        ((item.what, item.old or "none", item.new or "none") for item in difference.causes),
    )
    if removed := difference.examples["gone"][:_MOST]:
        more = difference.gone - len(removed)
        named = ", ".join(escape(row.id) for row in removed)
        yield f"Gone: {named}{f' and {more:,} more' if more else ''}."


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines])
