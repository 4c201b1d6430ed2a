"""Stored runs for tests of comparisons: models that answer as they are told to."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.files import write_dataset
from goldpan.datasets.manifest import CardInputs
from goldpan.datasets.provenance import Provenance
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.datasets.tasks.task import Task, target_column, task_family
from goldpan.evaluation.compare.compare import compare_runs
from goldpan.evaluation.compare.question import ComparisonQuestion, ComparisonResult
from goldpan.evaluation.model import Answers, Model, TrainingContext
from goldpan.evaluation.record import RunRecord, read_runs
from goldpan.report.compared import make_report
from goldpan.report.document import Report
from tests.evaluating import labeled, ran, replaced, rows
from tests.shared_folder import made_once

QUIET = Reporter(quiet=True)
SIX = ("bug_issue", "commit_intent", "incivility", "requirement_type", "sentiment", "tone_bearing")
"""Tasks of the registry with one label a text, each a data set of its own."""


@dataclass(frozen=True, slots=True)
class Scripted:
    """Answers a share of the rows rightly, always the same ones for a seed."""

    name: str
    truths: Mapping[str, Any]
    labels: Sequence[str]
    wrong: Any
    """A wrong answer to all; None takes the label after the right one."""
    share: float
    settings: Mapping[str, Any]
    silent: float = 0.0
    """The share of rows to which it gives no valid answer."""
    seed: int = 0

    def model(self, *, neighbors: bool = False) -> Model:
        """Return it as a model."""
        return Model(self.name, self.fit, dict(self.settings), uses_neighbors=neighbors)

    def fit(self, lesson: TrainingContext) -> Scripted:
        """Know nothing but the seed; settings, where there are some, count as chosen."""
        if self.settings:
            lesson.learning.chosen_on, lesson.learning.candidates = lesson.validation_name, 3
        return replace(self, seed=lesson.seed)

    def answer(self, table: pa.Table) -> Answers:
        """Answer by the names of the rows."""
        values: list[Any] = []
        scores: list[list[float]] = []
        for name in table["id"].to_pylist():
            draw = random.Random(f"{name} {self.seed}")
            right, sure = draw.random() < self.share, draw.random()
            truth = self.truths[name]
            value = truth if right else self._wrong(truth)
            values.append(None if draw.random() < self.silent else value)
            scores.append([sure if label == value else 0.5 - sure for label in self.labels])
        raw = ["<i>what?</i>"] * len(values)
        return Answers(values, scores if self.wrong is None else None, raw)

    def _wrong(self, truth: Any) -> Any:
        if self.wrong is not None:
            return self.wrong
        index = self.labels.index(truth)
        return self.labels[(index + 1) % 2]


def two_labels(name: str = "requirement_type", train: int = 60, test: int = 60) -> TaskData:
    """Return rows of a task that bear its first label or its second."""
    task = find_task(name)
    names = dict(zip(find_task("requirement_type").label_names, task.label_names, strict=False))
    pairs = [(text, names[label]) for text, label in labeled(train + test)]
    return split_rows(task, pairs, train)


def planted(data: TaskData, share: float, seed: int = 0) -> tuple[TaskData, set[str]]:
    """Return the data with this share of its labels turned, and the rows that bear them."""
    ids = sorted(name for table in data.splits.values() for name in table["id"].to_pylist())
    wrong = set(random.Random(seed).sample(ids, round(share * len(ids))))
    first, second = data.task.label_names

    def turned(table: pa.Table) -> pa.Table:
        pairs = zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True)
        labels = [{first: second, second: first}[x] if name in wrong else x for name, x in pairs]
        return replaced(table, label=labels)

    return replace(data, splits={name: turned(table) for name, table in data.splits.items()}), wrong


def split_rows(task: Task, pairs: Sequence[tuple[Any, Any]], train: int) -> TaskData:
    """Return rows of a task, the first of them train."""
    splits = {
        "train": rows(task, list(pairs[:train])),
        "test": rows(task, list(pairs[train:]), start=train),
    }
    return task_data(task, {name: _partitioned(name, table) for name, table in splits.items()})


def _partitioned(split: str, table: pa.Table) -> pa.Table:
    """Return rows that say in which split they were given."""
    return replaced(table, partition=[split] * len(table))


def independent(data: TaskData) -> TaskData:
    """Return the data with a document of its own for each row."""

    splits = {
        name: replaced(table, document=table["id"].to_pylist())
        for name, table in data.splits.items()
    }
    return replace(data, splits=splits)


def add_run(
    workspace: WorkspaceLayout,
    data: TaskData,
    name: str,
    share: float,
    *,
    seed: int = 0,
    protocol: str = "default",
    neighbors: bool = False,
    silent: float = 0.0,
    wrong: Any = None,
    **settings: Any,
) -> RunRecord:
    """Run a model that answers this share rightly."""
    target = target_column(data.task.type).name
    truths = {row["id"]: row[target] for table in data.splits.values() for row in table.to_pylist()}
    scripted = Scripted(name, truths, data.task.label_names, wrong, share, settings, silent)
    model = scripted.model(neighbors=neighbors)
    return ran(workspace.root, data, model, protocol, seed)


def add_runs(
    workspace: WorkspaceLayout, data: TaskData, shares: Mapping[str, float], **options: Any
) -> None:
    """Run models that answer these shares rightly."""
    for name, share in shares.items():
        add_run(workspace, data, name, share, **options)


def compared(
    workspace: WorkspaceLayout, question: ComparisonQuestion | None = None
) -> ComparisonResult:
    """Return the comparison of all runs of a workspace."""
    runs = read_runs(workspace)
    return compare_runs(runs, runs, load_tasks(), question or ComparisonQuestion())


def reported(workspace: WorkspaceLayout) -> Report:
    """Return the report on all runs of a workspace."""
    return make_report(workspace, compared(workspace), load_tasks())


def write_rows(workspace: WorkspaceLayout, data: TaskData) -> Path:
    """Write the rows where the report looks for them."""
    family = task_family(data.task)
    tables = list(data.splits.values())
    directory = workspace.dataset(data.task.name)
    plan = SplitPlan.parse("given")
    write_dataset(
        workspace, directory, family, pa.concat_tables(tables), plan, Provenance(), CardInputs()
    )
    return directory


def six_tasks(workspace: WorkspaceLayout, count: int = 6) -> None:
    """Store runs of a good model, one that is nearly as good, and a bad one on the first tasks."""
    shutil.copytree(
        made_once("six-tasks", _run_six_tasks),
        workspace.root,
        ignore=shutil.ignore_patterns(*SIX[count:]),
        dirs_exist_ok=True,
    )


def _run_six_tasks(folder: Path) -> None:
    workspace = WorkspaceLayout(folder)
    for name in SIX:
        data = two_labels(name)
        add_run(workspace, data, "good", 0.9)
        add_run(workspace, data, "near", 0.895)
        add_run(workspace, data, "bad", 0.55)
