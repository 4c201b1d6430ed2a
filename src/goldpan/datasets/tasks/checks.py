"""Checks the content of task files, beyond their form: `goldpan tasks validate`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
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

_SPLITS = ("train", "validation", "test")
_BRACES = re.compile(r"\{([^{}]*)\}")
_FEWEST = 2
"""Examples of each kind that a prompt needs."""
_WORDS, _PLAIN = r"(?s).*\S.*", r"[^{}]*[^{}\s][^{}]*"
_SAY = "Say in a few words what the task is"
_SAY_PLAIN = f"{_SAY}, with braces in prompt.template alone"
_PATTERNS = {
    **dict.fromkeys(("title", "description", "definition", "category"), (_WORDS, _SAY)),
    "source.title": (_WORDS, _SAY),
    **dict.fromkeys(
        ("prompt.context", "prompt.instruction", "prompt.entity"), (_PLAIN, _SAY_PLAIN)
    ),
    "prompt.answer": (r"[^{}]*", _SAY_PLAIN),
    "metric": (r"[a-z0-9]+(?:[_.][a-z0-9]+)*", "Write macro_f1 or the like"),
    "language": (r"[a-z]{2,3}", "Write an ISO 639 code, such as en"),
    "source.url": (r"(?:https?://.*)?", "Give the web address of the source"),
    "source.dataset": (r"[a-z0-9]+(?:-[a-z0-9]+)*", "Write a short name in kebab-case"),
    "source.hub": (r"(?:[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)?", "Write OWNER/NAME"),
    "source.revision": (r"(?:[0-9a-f]{40})?", "Give 40 hexadecimal digits: branches move"),
}
"""What texts have to look like, and else the remedy, by key."""


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


def _texts(task: Task) -> _Problems:
    for key, (pattern, remedy) in _PATTERNS.items():
        value = attrgetter(key)(task)
        if not re.fullmatch(pattern, value):
            yield key, f"{value[:80]!r} cannot be right" if value else "it is empty", remedy
    if task.max_length < 1:
        yield "max_length", "it is below 1", "Give a number of tokens, such as 512"
    try:
        SplitPlan.parse(task.split)
    except UsageError as error:
        yield "split", error.problem, error.remedy
    for step in task.steps:
        if step not in STEPS:
            yield "steps", f"there is no step {step!r}", f"Choose {', '.join(STEPS)}"


def _labels(task: Task) -> _Problems:
    texts = tuple(label.text for label in task.labels)
    for part, values in (("name", task.label_names), ("text", texts)):
        if repeated := sorted({value for value in values if values.count(value) > 1}):
            yield "labels", f"two labels share the {part} {repeated[0]!r}", "Tell them apart"
    is_labeled = task.type in (*CLASSIFICATION, "ner")
    most = {"binary": 2}.get(task.type, math.inf) if is_labeled else 0
    least = 2 if is_labeled else 0
    if not least <= len(task.labels) <= most:
        remedy = f"Give {'2 or more' if most > least else least}, or another type"
        yield "labels", f"a {task.type} task cannot have {len(task.labels)}", remedy
    for label in task.labels:
        if task.type == "ner" and not re.fullmatch(r"O|[BI]-\S+", label.name):
            yield "labels", f"{label.name!r} is not a tag", "Write O, B-KIND or I-KIND"


def _counts(task: Task) -> _Problems:
    counts, labels = task.counts, task.label_names
    of_labels = {split: [f"{split}/{name}" for name in labels] for split in _SPLITS}
    by_label = [f"label:{name}" for name in labels]
    known = {"total", *_SPLITS, *by_label, *(key for keys in of_labels.values() for key in keys)}
    repos = [key for key in counts if key.startswith("repo:")]
    for key in counts.keys() - known - set(repos):
        remedy = "Write total, train, validation, test, label:LABEL, SPLIT/LABEL or repo:NAME"
        yield "counts", f"{key!r} counts nothing that is known", remedy
    splits = [name for name in _SPLITS if name in counts]
    sums = [("total", splits), ("total", repos)]
    if task.type in ("binary", "multi-class"):
        sums += [("total", by_label), *of_labels.items()]
    for whole, keys in sums:
        sizes = [counts[key] for key in keys if key in counts]
        if whole in counts and sizes and len(sizes) == len(keys) and sum(sizes) != counts[whole]:
            told = f"{', '.join(keys)} have a sum of {sum(sizes)}, where {whole} is {counts[whole]}"
            yield "counts", told, "Fix the counts"
    if "total" not in counts and (counts or task.source.access == "public"):
        yield "counts", "the total is missing", "Write how many rows the source holds"


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
    yield from _columns(task)


def _columns(task: Task) -> _Problems:
    if task.source.reader == "table":
        if unknown := sorted(set(task.settings) - set(SETTINGS)):
            yield (
                "settings",
                f"the reader table has no setting {unknown[0]!r}",
                f"It has {', '.join(SETTINGS)}",
            )
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
    names = [match[1] for match in _BRACES.finditer(prompt.template)]
    if unknown := [name for name in names if name not in PLACEHOLDERS]:
        remedy = f"Choose {', '.join(PLACEHOLDERS)}"
        yield "prompt.template", f"there is no part {{{unknown[0]}}}", remedy
    if names.count("text") != 1:
        yield "prompt.template", "{text} does not stand there once", "Put it where the text goes"
    right = {(example[0], example[1]) for example in prompt.examples}
    for key, examples in (
        ("prompt.examples", prompt.examples),
        ("prompt.negative_examples", prompt.negative_examples),
    ):
        if len(examples) < _FEWEST and (examples or task.source.url):
            yield key, f"there are {len(examples)}", f"Write at least {_FEWEST}, better 4"
        for number, (input_text, output, reason) in enumerate(examples, 1):
            if not input_text.strip() or not reason.strip():
                yield key, f"number {number} lacks its input or its reason", "Fill it in"
            if examples is prompt.examples:
                problem = _answer_problem(task, input_text, output)
            else:
                problem = "is a positive example too" * ((input_text, output) in right)
            if problem:
                yield key, f"number {number}: {problem}", "Fix the output"


def _answer_problem(task: Task, input_text: str, output: str) -> str:
    """Return why an output cannot be right, or nothing."""
    if task.type == "mlm":
        blanks, lines = input_text.count(MASK), len(output.split("\n"))
        return "" if blanks == lines else f"it has {lines} words for {blanks} masks"
    try:
        _, answer = read_texts(wording_of(task), input_text, output)
    except WordingError as error:
        return str(error)
    if task.type == "ner" and (odd := [tag for tag in answer if tag not in task.label_names]):
        return f"{odd[0]!r} is not a tag"
    return "" if output.strip() else "it is empty"


_CHECKS: tuple[Callable[[Task], _Problems], ...] = (_texts, _labels, _counts, _source, _prompt)
