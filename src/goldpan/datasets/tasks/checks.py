"""Checks the content of task files, beyond their form: `goldpan tasks validate`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.datasets.licenses import UNKNOWN, bibtex_problem, spdx
from goldpan.datasets.splits import SplitPlan
from goldpan.datasets.tasks.importing import readers
from goldpan.datasets.tasks.registry import added_tasks, read_task, task_paths
from goldpan.datasets.tasks.table_reader import NAME_COLUMNS, NO_COLUMNS, SETTINGS, layouts_of
from goldpan.datasets.tasks.task import CLASSIFICATION, PLACEHOLDERS, Task
from goldpan.datasets.tasks.wording import MASK, WordingError, read_texts, wording_of
from goldpan.text.preprocessing import STEPS

_BRACES = re.compile(r"\{([^{}]*)\}")
_FEWEST = 2
"""Examples of each kind that a prompt needs."""
_COUNTED = ("total", "train", "validation", "test")


@dataclass(frozen=True, slots=True)
class TaskProblem:
    """A problem with a key of a task's file."""

    task: str
    key: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.task}: {self.key}: {self.cause}. {self.remedy}."


@dataclass(frozen=True, slots=True)
class CheckedFiles(Result):
    """The problems that checking all files found."""

    tasks: int
    problems: tuple[TaskProblem, ...]

    @property
    def exit_code(self) -> int:
        """1 where something is wrong."""
        return 1 if self.problems else 0


def check_files(own: Path | None = None) -> CheckedFiles:
    """Check every task of the registry and every file of the directory `own`."""
    problems: list[TaskProblem] = []
    paths = task_paths(own)
    seen: set[str] = set()
    for path in paths:
        if path.stem in seen:
            cause = "another task, which ships with Goldpan, bears this name"
            problems.append(TaskProblem(path.stem, "file", cause, f"Rename {path}"))
        seen.add(path.stem)
        try:
            problems += check_task(read_task(path))
        except UsageError as error:
            problems.append(TaskProblem(path.stem, "file", error.problem, error.remedy))
    added = added_tasks()
    for task in added:
        problems += check_task(task)
    return CheckedFiles(len(paths) + len(added), tuple(problems))


def check_task(task: Task) -> list[TaskProblem]:
    """Return all problems of a task."""
    return [
        TaskProblem(task.name, key, cause, remedy)
        for check in _CHECKS
        for key, cause, remedy in check(task)
    ]


_Problems = Iterator[tuple[str, str, str]]
"""Key, cause and remedy of each."""


def _form(task: Task) -> _Problems:
    try:
        SplitPlan.parse(task.split)
    except UsageError as error:
        yield "split", error.problem, error.remedy
    for step in task.steps:
        if step not in STEPS:
            yield "steps", f"there is no step {step!r}", f"Choose {', '.join(STEPS)}"
    texts = tuple(label.text for label in task.labels)
    for part, values in (("name", task.label_names), ("text", texts)):
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            yield "labels", f"two labels share the {part} {repeated[0]!r}", "Tell them apart"
    is_labeled = task.type in (*CLASSIFICATION, "ner")
    if (len(task.labels) < 2) == is_labeled or (task.type == "binary" and len(task.labels) > 2):
        remedy = "Give 2, more where they exclude each other, or none for other types"
        yield "labels", f"a {task.type} task cannot have {len(task.labels)}", remedy
    for key in task.counts:
        kind, _, name = key.partition("/" if "/" in key else ":")
        is_label = kind in ("label", *_COUNTED[1:]) and name in task.label_names
        if key not in _COUNTED and kind != "repo" and not is_label:
            remedy = "Write total, train, validation, test, label:LABEL, SPLIT/LABEL or repo:NAME"
            yield "counts", f"{key!r} counts nothing that is known", remedy


def _source(task: Task) -> _Problems:
    source = task.source
    if source.license != UNKNOWN and spdx(source.license) is None:
        cause = f"{source.license!r} is not a license that is known"
        yield "source.license", cause, f"Write its SPDX identifier, or {UNKNOWN!r}"
    if (source.url or source.citation) and (problem := bibtex_problem(source.citation)):
        yield "source.citation", problem, "Give a BibTeX entry"
    is_built = source.access == "built"
    if source.reader not in readers() and (source.reader or not is_built):
        cause = f"there is no reader {source.reader!r}"
        yield "source.reader", cause, f"Choose {', '.join(readers())}"
    if is_built and not source.builder:
        yield "source.builder", "it is missing", "Name the goldpan build family that makes the rows"


def _columns(task: Task) -> _Problems:
    if task.source.reader == "table":
        if unknown := sorted(task.settings.keys() - set(SETTINGS)):
            cause = f"the reader table has no setting {unknown[0]!r}"
            yield "settings", cause, f"It has {', '.join(SETTINGS)}"
        try:
            named = {label for layout in layouts_of(task) for label in layout.labels.values()}
        except UsageError as error:
            yield "settings", error.problem, error.remedy
            named = set()
        if unknown_labels := named - set(task.label_names):
            cause = f"there is no label {min(unknown_labels)!r}"
            yield "settings.labels", cause, "Name labels of the task"
    if not task.columns.text or not task.columns.target:
        yield "columns", NO_COLUMNS, NAME_COLUMNS
    several = len(task.columns.target) > 1
    if several and (task.type != "multi-label" or len(task.columns.target) != len(task.labels)):
        yield (
            "columns.target",
            f"{len(task.columns.target)} columns do not fit {len(task.labels)} labels",
            "Name one column, or for a multi-label task one a label in the labels' order",
        )


def _prompt(task: Task) -> _Problems:
    prompt = task.prompt
    names = _BRACES.findall(prompt.template)
    if unknown := [name for name in names if name not in PLACEHOLDERS]:
        remedy = f"Choose {', '.join(PLACEHOLDERS)}"
        yield "prompt.template", f"there is no part {{{unknown[0]}}}", remedy
    if names.count("text") != 1:
        yield "prompt.template", "{text} does not stand there once", "Put it where the text goes"
    right = {example[:2] for example in prompt.examples}
    for key, examples in (
        ("prompt.examples", prompt.examples),
        ("prompt.negative_examples", prompt.negative_examples),
    ):
        if len(examples) < _FEWEST and (examples or task.source.url):
            yield key, f"there are {len(examples)}", f"Write at least {_FEWEST}, better 4"
        for number, (input_text, output, _) in enumerate(examples, 1):
            problem = "is a positive example too" * ((input_text, output) in right)
            if examples is prompt.examples:
                problem = _answer_problem(task, input_text, output)
            if problem:
                yield key, f"number {number}: {problem}", "Fix the output"


def _answer_problem(task: Task, input_text: str, output: str) -> str:
    """Return why an output cannot be right, or nothing."""
    if task.type == "mlm":
        blanks, lines = input_text.count(MASK), len(output.split("\n"))
        return "" if blanks == lines else f"it has {lines} words for {blanks} masks"
    try:
        read_texts(wording_of(task), input_text, output)
    except WordingError as error:
        return str(error)
    return "" if output.strip() else "it is empty"


_CHECKS: tuple[Callable[[Task], _Problems], ...] = (_form, _source, _columns, _prompt)
