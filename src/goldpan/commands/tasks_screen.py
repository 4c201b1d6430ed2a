"""What the commands for tasks show, on the terminal and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.table import Table

from goldpan.core import sanitize
from goldpan.core.terminal import Terminal, clean

if TYPE_CHECKING:  # these take long to import
    from goldpan.core.workspace import Workspace
    from goldpan.datasets.importing import CountCheck, ImportResult
    from goldpan.datasets.overlap import Kind, Overlap
    from goldpan.datasets.task import Task
    from goldpan.datasets.task_checks import CheckedFiles


_MOST_LABELS = 24
_LONGEST_LABEL = 40
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


def task_line(task: Task, workspace: Workspace) -> TaskLine:
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
        (task_directory(workspace, task) / PROVENANCE).exists(),
    )


def listed_json(lines: list[TaskLine]) -> list[dict[str, Any]]:
    """Return the tasks as plain data."""
    return [asdict(line) for line in lines]


def print_listed(lines: list[TaskLine]) -> None:
    """Show the tasks, a line each."""
    console = _console()
    width = max((len(line.name) for line in lines), default=0)
    for line in lines:
        rows = f"{line.rows:,}" if line.rows is not None else ""
        mark = ", here" if line.imported else ""
        console.print(
            clean(line.name.ljust(width))
            + clean(f"  {line.type:<15}  {line.activity:<12}")
            + clean(f"  {rows:>9}  {_ACCESS[line.access]}{mark}")
        )
    console.print(f"{len(lines)} tasks, {sum(line.imported for line in lines)} in the workspace")


def print_task(task: Task, line: TaskLine) -> None:
    """Show a task."""
    console = _console()
    source = task.source
    console.print(clean(task.name, style="bold") + clean(": ") + clean(task.title))
    console.print(clean(task.definition))
    facts = {
        "type": task.type,
        "activity": task.activity,
        "category": task.category,
        "benchmarks": ", ".join(task.suites),
        "metric": task.metric,
        "split": task.split,
        "steps": ", ".join(task.steps) or "none",
        "longest input": f"{task.max_length:,} tokens",
        "rows": ", ".join(f"{key} {count:,}" for key, count in task.counts.items()),
        **{f"rows by {where}": f"{count:,}" for where, count in task.announced.items()},
        "source": f"{source.title}, {source.url}" if source.url else source.title,
        "license": source.license,
        "access": _ACCESS[source.access] + (", in the workspace" if line.imported else ""),
        "files": ", ".join(source.files),
        "on the Hub": f"{source.hub} {source.revision}".strip(),
        "columns": f"{', '.join(task.columns.text)} -> {', '.join(task.columns.target)}",
        "fresh rows": source.fresh or (f"goldpan build {source.builder}" * bool(source.builder)),
        "note": source.note,
    }
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if value:
            table.add_row(clean(name, style="dim"), clean(value))
    console.print(table)
    for label in task.labels[:_MOST_LABELS]:
        shown = f" ({label.text})" if label.text != label.name else ""
        console.print(clean("  ") + clean(f"{label.name}{shown}: {label.description}"))
    if len(task.labels) > _MOST_LABELS:
        console.print(f"  and {len(task.labels) - _MOST_LABELS} more labels")
    console.print("\nPrompt", style="bold")
    for part in task.prompt.fill("...").strip().split("\n"):
        console.print(clean("  ") + clean(part))


def validated_json(checked: CheckedFiles) -> dict[str, Any]:
    """Return what is wrong as plain data."""
    return {"tasks": checked.tasks, "problems": [asdict(problem) for problem in checked.problems]}


def print_validated(checked: CheckedFiles) -> None:
    """Show what is wrong with tasks' files."""
    console = _console()
    for problem in checked.problems:
        console.print(clean(problem))
    count = len(checked.problems)
    console.print(
        f"{checked.tasks} tasks, "
        + (f"{count} problem{'' if count == 1 else 's'}" if count else "no problem")
    )


def print_added(result: ImportResult, path: Path) -> None:
    """Show a task that was made, with its rows and what to do next."""
    print_imported(result)
    task = result.task
    names = ", ".join(
        sanitize.line(name, _LONGEST_LABEL) for name in task.label_names[:_MOST_LABELS]
    )
    more = len(task.label_names) - _MOST_LABELS
    of = {
        "regression": "numbers",
        "binary": f"the positive class is {names.replace(', ', ', the other ')}",
    }.get(task.type, f"labels {names}{f' and {more:,} more' if more > 0 else ''}")
    console = _console()
    console.print(clean(f"{path}: {task.type}, {of}"))
    console.print(clean(f"Next: goldpan evaluate run --task {task.name} --model tfidf-svm"))


def imported_json(result: ImportResult) -> dict[str, Any]:
    """Return what an import gave as plain data."""
    return {
        "task": result.task.name,
        "directory": str(result.written.directory),
        "rows": result.written.rows,
        "splits": {split.name: split.rows for split in result.written.splits},
        "exact": result.exact,
        "counts": [asdict(check) for check in result.checks],
        "announced": [asdict(check) for check in result.announced],
        "missing": list(result.missing),
        "seen_in_train": None if result.overlap is None else overlap_json(result.overlap),
        "date_signal": None if result.date_signal is None else asdict(result.date_signal),
    }


def overlap_json(overlap: Overlap) -> dict[str, Any]:
    """Return how many test rows resemble train, by kind, as plain data."""
    return {"test": overlap.test, **{kind: len(rows) for kind, rows in overlap.rows.items()}}


def overlap_sentences(overlap: Overlap) -> list[str]:
    """Return what is to be known of a test that resembles train, the worst first."""
    from goldpan.datasets.overlap import ALARM, WARNING

    share = overlap.repeated / overlap.test if overlap.test else 0.0
    sentences = []
    if overlap.repeated:
        start = "WARNING: " if share >= ALARM else "Warning: " if share >= WARNING else ""
        exact, near = (len(overlap.rows[kind]) for kind in ("text", "near"))
        sentences.append(
            f"{start}{overlap.repeated:,} of {overlap.test:,} test rows ({share:.1%}) have a text "
            f"that is also in train ({exact:,} exactly, {near:,} nearly)"
        )
    for kind, noun in (("document", "documents"), ("project", "projects")):
        if rows := overlap.rows.get(cast("Kind", kind)):
            sentences.append(
                f"{len(rows):,} of {overlap.test:,} test rows are of {noun} that are in train"
            )
    return sentences


def print_imported(result: ImportResult) -> None:
    """Show what an import gave, and every count that differs."""
    console = _console()
    written = result.written
    console.print(clean(result.task.name, style="bold") + clean(f": {written.rows:,} rows"))
    table = Table("split", "rows", box=None, header_style="dim")
    for split in written.splits:
        table.add_row(split.name, f"{split.rows:,}")
    console.print(table)
    for sentence in overlap_sentences(result.overlap) if result.overlap else ():
        console.print(clean(sentence))
    if result.date_signal is not None and (sentence := result.date_signal.sentence()):
        console.print(clean(sentence))
    if result.missing:
        names = ", ".join(result.missing[:_MOST_MISSING])
        more = " and more" * (len(result.missing) > _MOST_MISSING)
        console.print(
            clean(f"Partial: {len(result.missing)} projects were not given: {names}{more}")
        )
    absent = {f"repo:{name}" for name in result.missing}
    different = [
        count_check
        for count_check in result.checks
        if not count_check.exact and count_check.what not in absent
    ]
    for check in different:
        console.print(clean(f"{check.what}: {_difference(check)} than the registry says"))
    if result.exact and result.checks:
        console.print(f"All {len(result.checks)} counts match the registry.")
    for check in result.announced:
        if not check.exact and not result.missing:
            console.print(clean(f"{check.what} says {check.expected:,}: {_difference(check)}"))
    source = result.task.source
    if not source.url:
        console.print("Its source has no address: goldpan publish refuses unpublished data.")
    elif source.license == "unknown":
        console.print("Its license is unknown: check the source before you share it.")
    if source.url and source.access == "no-copy":
        console.print("Its source forbids copying: goldpan publish refuses it.")
    console.print(clean(f"Written to {written.directory}"))


def _difference(check: CountCheck) -> str:
    by = check.found - check.expected
    return f"{check.found:,} are {abs(by):,} {'more' if by > 0 else 'fewer'}"


def _console() -> Terminal:
    return Terminal()
