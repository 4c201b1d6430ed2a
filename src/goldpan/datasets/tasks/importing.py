"""Imports a task's data from the files of its authors into a dataset of the workspace.

Nothing is downloaded here: files lie on this machine. Every count in the registry is compared with
the rows, and differences are reported with both figures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan._version import __version__
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.plugins.loading import attribute_to_plugin, digests
from goldpan.core.plugins.registry import Registry
from goldpan.core.result import NAME_IN_JSON, Result
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.corrections import Corrections, corrected_batches, corrected_family
from goldpan.datasets.family import GROUP
from goldpan.datasets.files import write_dataset
from goldpan.datasets.licenses import spdx
from goldpan.datasets.manifest import CardInputs, Written
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.tasks import table_reader
from goldpan.datasets.tasks.data import copies_of, task_batches
from goldpan.datasets.tasks.leakage import DateSignal, Overlap, date_signal, find_overlap
from goldpan.datasets.tasks.table_reader import source_address
from goldpan.datasets.tasks.task import Task, TaskType, input_column, target_column, task_family
from goldpan.text.preprocessing import ordered_steps, preprocess_rows

SEED = 42
"""The seed of splits, as in SELU."""
Reader = Callable[[Task, Sequence[Path]], Iterator[dict[str, Any]]]
"""Yields the rows of a task from its authors' files; raises `DatasetError` for wrong ones."""
PROJECT = "repo:"
_UNLABELED = "rows without an answer, left out"


@dataclass(frozen=True, slots=True)
class CountCheck:
    """A count in the registry, and the count of the rows."""

    what: str
    expected: int
    found: int

    @property
    def exact(self) -> bool:
        """True where both are equal."""
        return self.expected == self.found

    @property
    def difference(self) -> str:
        """The difference to the announced count, in words."""
        by = self.found - self.expected
        return f"{self.found:,} are {abs(by):,} {'more' if by > 0 else 'fewer'}"


@dataclass(frozen=True, slots=True)
class ImportResult(Result):
    """A task's data as they were imported."""

    schema = 2
    shown_in_json = ("type", "exact")

    task: Task = field(metadata=NAME_IN_JSON)
    written: Written
    checks: tuple[CountCheck, ...]
    """Every count of the task's file."""
    announced: tuple[CountCheck, ...]
    """Totals of papers, which the source need not hold."""
    missing: tuple[str, ...]
    """Projects of the source that were not given."""
    overlap: Overlap | None = None
    """Test rows that resemble train; None where there is no train or no test."""
    date_signal: DateSignal | None = None
    """The labels that dates alone tell; None where there is no train, or train has no dates."""
    unlabeled: int = 0
    """Rows without an answer, which were left out."""

    @property
    def type(self) -> TaskType:
        """The task's type."""
        return self.task.type

    @property
    def exact(self) -> bool:
        """True where all counts match."""
        return all(check.exact for check in self.checks)

    @property
    def exit_code(self) -> int:
        """3 where a count differs from the registry's."""
        return 0 if self.exact else 3

    def warnings(self) -> Iterator[str]:
        """Yield warnings for those who quote a score on these rows."""
        yield from self.overlap.sentences() if self.overlap else ()
        if self.date_signal is not None and (sentence := self.date_signal.sentence()):
            yield sentence


def import_files(
    workspace: WorkspaceLayout,
    task: Task,
    files: Sequence[Path],
    reporter: Reporter,
    *,
    steps: str = "default",
    split: str = "",
    seed: int = SEED,
    directory: Path | None = None,
    processes: int = 1,
    partitions: Mapping[str, str] | None = None,
    corrections: Corrections | None = None,
) -> ImportResult:
    """Import a task's data from its authors' files into `directory`, and count.

    `steps` is an order of preprocessing, `split` another split than the task's; more than one
    of `processes` prepare many texts side by side. `partitions` are splits by the rows' ids, in
    place of the source's own, for the split `given`. Copies of one input lie on one side of
    a split, unless it is the official one. The dataset is written even where counts differ; they
    are of the source's labels, before `corrections`.

    Raises `UsageError` where no file is given, `DatasetError` for files that are not the task's.
    """
    if not files:
        raise UsageError(*how_to_get(task))
    plan = SplitPlan.parse(split or task.split, seed)
    names = ordered_steps(task.steps, steps)
    counts: Counter[str] = Counter()
    read = find_reader(task)
    family, target = task_family(task), target_column(task.type).name
    with reporter.task(f"Importing {task.name}", task.counts.get("total", 0)) as progress:

        def rows() -> Iterator[dict[str, Any]]:
            imported = read(task, files)
            if names and input_column(task.type).name == "text":
                imported = preprocess_rows(imported, names, processes)
            with attribute_to_plugin("importer", task.source.reader):
                for row in imported:
                    if row[target] is None:
                        differences[_UNLABELED] += 1
                        continue
                    progress.advance()
                    if partitions is not None:
                        row["partition"] = partitions[row["id"]]
                    yield _with_all_columns(task, row, counts)
            if expected and counts["total"] != expected:
                reason = f"rows of {expected:,} that the source is said to have"
                differences[reason] = counts["total"]

        expected = task.counts.get("total")
        differences: Counter[str] = Counter()
        settings: dict[str, Any] = {
            "task": asdict(task),
            "steps": list(names),
            "files": {path.name: file_digest(path) for path in files if path.is_file()},
            "found": counts,
        }
        written = write_dataset(
            workspace,
            directory or workspace.dataset(task.name),
            corrected_family(family, corrections),
            corrected_batches(family.batches(rows()), family, task.label_names, corrections),
            plan,
            Provenance(
                settings=settings,
                counts=differences,
                plugins=digests(
                    ("task", task.name), ("importer", task.source.reader), ("step order", steps)
                ),
                corrections=corrections.projects if corrections else {},
            ),
            CardInputs(
                title=task.title,
                tags=task.suites,
                languages=(task.language,),
                subjects="rows",
                made=_preparation(task, files, names),
                apart="" if plan.kind == "given" else "Rows with the same text",
                redacted=False,
            ),
        )
    return ImportResult(
        task,
        written,
        checks=tuple(
            CountCheck(key, expected, counts[key]) for key, expected in task.counts.items()
        ),
        announced=tuple(
            CountCheck(where, expected, counts["total"])
            for where, expected in task.announced.items()
        ),
        missing=tuple(
            key.removeprefix(PROJECT)
            for key in task.counts
            if key.startswith(PROJECT) and not counts[key]
        ),
        overlap=find_overlap(
            task, _side(task, written, test=False), _side(task, written, test=True)
        )
        if {"train", "test"} <= {split.name for split in written.splits}
        else None,
        date_signal=date_signal(task, _side(task, written, test=False)),
        unlabeled=differences[_UNLABELED],
    )


def _side(task: Task, written: Written, *, test: bool) -> Iterator[pa.RecordBatch]:
    for split, batch in task_batches(written.directory, task):
        if (split == "test") == test:
            yield batch


def how_to_get(task: Task) -> tuple[str, str]:
    """Return why a task has no data yet, and how to get them."""
    source = task.source
    if source.access == "built":
        problem = f"The data of {task.name} are built, not imported"
        return problem, f"Run goldpan build {source.builder}"
    why = {"request": ", given to people who ask or log in", "no-copy": ", which forbids copying"}
    of = f" of {source.title} ({source.url}){why.get(source.access, '')}" if source.url else ""
    files = ", ".join(source.files) or "the files"
    problem = f"The data of {task.name} are not in the workspace"
    return problem, f"Get {files}{of}, then run goldpan tasks import {task.name} FILE..."


_READERS: Registry[Reader] = Registry("reader", lambda: {"table": table_reader.read}, "importer")
readers = _READERS.names
"""Returns the names of all readers."""


def find_reader(task: Task) -> Reader:
    """Return the reader of a task's source; raises `UsageError` where it has none."""
    name = task.source.reader
    if not name and task.source.access == "built":
        raise UsageError(*how_to_get(task))
    return _READERS.find(name, where=task.name)


def _preparation(task: Task, files: Sequence[Path], steps: Sequence[str]) -> str:
    preparation = f"with the steps {', '.join(steps)}" if steps else "without changing texts"
    source = task.source
    named = sorted(path.name for path in files)
    read = f"{'the file' if len(named) == 1 else 'the files'} {', '.join(named)}"
    if source.url:
        read += f" of {source.title} ({source.url})"
    return f"Goldpan {__version__} read {read} {preparation}."


def _with_all_columns(task: Task, row: Mapping[str, Any], counts: Counter[str]) -> dict[str, Any]:
    """Return a reader's row with every column, checked and counted."""
    input_name, target = input_column(task.type).name, target_column(task.type).name
    whole: dict[str, Any] = {
        **dict.fromkeys(("repo", "created_at", "document", "position", "partition", "source")),
        "license": spdx(task.source.license),
        **row,
    }
    if task.type == "multi-label":
        targets = set(whole[target])
        whole[target] = [name for name in task.label_names if name in targets]
        labels = [*whole[target], *sorted(targets - set(task.label_names))]
    else:
        labels = [whole[target]] if isinstance(whole[target], str) else []
    _check(task, whole, labels)
    for key in _keys(whole, labels):
        counts[key] += 1
    whole[GROUP] = copies_of(whole[input_name])
    return whole


def _check(task: Task, row: Mapping[str, Any], labels: Sequence[str]) -> None:
    value = row[target_column(task.type).name]
    problem = ""
    if task.type == "ner":
        labels = sorted(set(value))
        if len(value) != len(row["tokens"]):
            problem = f"has {len(row['tokens'])} words and {len(value)} tags"
    elif task.type == "regression" and not math.isfinite(value):
        problem = f"has the value {value}"
    if task.labels and (unknown := set(labels) - set(task.label_names)):
        problem = f"has the label {min(unknown)!r}, which {task.name} has not"
    if problem:
        raise DatasetError(
            f"{row['id']} {problem}",
            f"Give the files as their authors publish them{source_address(task)}",
        )


def _keys(row: Mapping[str, Any], labels: Sequence[str]) -> Iterator[str]:
    """Yield the keys of the counts that a row adds to; see `Task.counts`."""
    yield "total"
    partition, repo = row["partition"], row["repo"]
    if repo:
        yield f"{PROJECT}{repo}"
    if partition:
        yield partition
    for label in labels:
        yield f"label:{label}"
        if partition:
            yield f"{partition}/{label}"
