"""Shows tasks, what is wrong with their files, and what an import gave."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:
    from goldpan.core.workspace import Workspace
    from goldpan.datasets.importing import CountCheck, ImportResult
    from goldpan.datasets.task import Task
    from goldpan.datasets.task_checks import CheckedFiles

_MOST_LABELS = 24
_MOST_MISSING = 8
_ACCESS = {
    "public": "public",
    "built": "built",
    "request": "on request",
    "no-copy": "no copying",
}


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task in a list."""

    name: str
    title: str
    type: str
    activity: str
    suites: tuple[str, ...]
    rows: int | None
    """That the source holds, as far as is known."""
    labels: int
    access: str
    license: str
    imported: bool


def task_line(task: Task, place: Workspace) -> TaskLine:
    """Return what a list says of a task."""
    from goldpan.datasets.provenance import PROVENANCE
    from goldpan.datasets.task_data import task_directory

    return TaskLine(
        task.name,
        task.title,
        task.type,
        task.activity,
        task.suites,
        task.counts.get("total"),
        len(task.labels),
        task.source.access,
        task.source.license,
        (task_directory(place, task) / PROVENANCE).exists(),
    )


def listed_json(lines: list[TaskLine]) -> list[dict[str, Any]]:
    """Return the tasks as plain data."""
    return [asdict(line) for line in lines]


def listed(lines: list[TaskLine]) -> None:
    """Show the tasks, a line each."""
    console = _console()
    width = max((len(line.name) for line in lines), default=0)
    for line in lines:
        rows = f"{line.rows:,}" if line.rows is not None else ""
        here = ", here" if line.imported else ""
        console.print(
            clean(line.name.ljust(width))
            + clean(f"  {line.type:<15}  {line.activity:<12}")
            + clean(f"  {rows:>9}  {_ACCESS[line.access]}{here}")
        )
    console.print(f"{len(lines)} tasks, {sum(line.imported for line in lines)} in the workspace")


def task(found: Task, line: TaskLine) -> None:
    """Show a task."""
    console = _console()
    source = found.source
    console.print(clean(found.name, style="bold") + clean(": ") + clean(found.title))
    console.print(clean(found.definition))
    facts = {
        "type": found.type,
        "activity": found.activity,
        "category": found.category,
        "benchmarks": ", ".join(found.suites),
        "metric": found.metric,
        "split": found.split,
        "steps": ", ".join(found.steps) or "none",
        "longest input": f"{found.max_length:,} tokens",
        "rows": ", ".join(f"{key} {count:,}" for key, count in found.counts.items()),
        **{f"rows by {where}": f"{count:,}" for where, count in found.announced.items()},
        "source": f"{source.title}, {source.url}" if source.url else source.title,
        "licence": source.license,
        "access": _ACCESS[source.access] + (", in the workspace" if line.imported else ""),
        "files": ", ".join(source.files),
        "on the Hub": f"{source.hub} {source.revision}".strip(),
        "columns": f"{', '.join(found.columns.text)} -> {', '.join(found.columns.target)}",
        "fresh rows": source.fresh or (f"goldpan build {source.builder}" * bool(source.builder)),
        "note": source.note,
    }
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if value:
            table.add_row(clean(name, style="dim"), clean(value))
    console.print(table)
    for label in found.labels[:_MOST_LABELS]:
        shown = f" ({label.text})" if label.text != label.name else ""
        console.print(clean("  ") + clean(f"{label.name}{shown}: {label.description}"))
    if len(found.labels) > _MOST_LABELS:
        console.print(f"  and {len(found.labels) - _MOST_LABELS} more labels")
    console.print("\nPrompt", style="bold")
    for part in found.prompt.fill("...").strip().split("\n"):
        console.print(clean("  ") + clean(part))


def validated_json(checked: CheckedFiles) -> dict[str, Any]:
    """Return what is wrong as plain data."""
    return {"tasks": checked.tasks, "problems": [asdict(one) for one in checked.problems]}


def validated(checked: CheckedFiles) -> None:
    """Show what is wrong with tasks' files."""
    console = _console()
    for problem in checked.problems:
        console.print(clean(problem))
    count = len(checked.problems)
    console.print(
        f"{checked.tasks} tasks, "
        + (f"{count} problem{'' if count == 1 else 's'}" if count else "no problem")
    )


def imported_json(found: ImportResult) -> dict[str, Any]:
    """Return what an import gave as plain data."""
    return {
        "task": found.task.name,
        "directory": str(found.written.directory),
        "rows": found.written.rows,
        "splits": {split.name: split.rows for split in found.written.splits},
        "exact": found.exact,
        "counts": [asdict(check) for check in found.checks],
        "announced": [asdict(check) for check in found.announced],
        "missing": list(found.missing),
    }


def imported(found: ImportResult) -> None:
    """Show what an import gave, and every count that differs."""
    console = _console()
    written = found.written
    console.print(clean(found.task.name, style="bold") + clean(f": {written.rows:,} rows"))
    table = Table("split", "rows", box=None, header_style="dim")
    for split in written.splits:
        table.add_row(split.name, f"{split.rows:,}")
    console.print(table)
    if found.missing:
        names = ", ".join(found.missing[:_MOST_MISSING])
        more = " and more" * (len(found.missing) > _MOST_MISSING)
        console.print(
            clean(f"Partial: {len(found.missing)} projects were not given: {names}{more}")
        )
    absent = {f"repo:{name}" for name in found.missing}
    different = [one for one in found.checks if not one.exact and one.what not in absent]
    for check in different:
        console.print(clean(f"{check.what}: {_difference(check)} than the registry says"))
    if found.exact and found.checks:
        console.print(f"All {len(found.checks)} counts match the registry.")
    for check in found.announced:
        if not check.exact and not found.missing:
            console.print(clean(f"{check.what} says {check.expected:,}: {_difference(check)}"))
    source = found.task.source
    if not source.url:
        console.print("Its source has no address: goldpan publish refuses unpublished data.")
    elif source.license == "unknown":
        console.print("Its licence is unknown: check the source before you share it.")
    if source.url and source.access == "no-copy":
        console.print("Its source forbids copying: goldpan publish refuses it.")
    console.print(clean(f"Written to {written.directory}"))


def _difference(check: CountCheck) -> str:
    by = check.found - check.expected
    return f"{check.found:,} are {abs(by):,} {'more' if by > 0 else 'fewer'}"


def _console() -> Terminal:
    return Terminal()
