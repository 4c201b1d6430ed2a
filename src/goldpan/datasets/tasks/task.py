"""Tasks: the input and the answer of a model, the score, and the shape of rows.

A task is one TOML file in `datasets/tasks/`; `registry.py` reads them. Its rows, imported or
built, are a dataset like any other: `write_dataset` writes the family that `task_family` makes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

from goldpan.core.plugins.parts import Kind
from goldpan.datasets.family import Column, Family, column_of

TaskType = Literal[
    "binary", "multi-class", "multi-label", "regression", "ner", "mlm", "text-generation"
]
Activity = Literal["requirements", "design", "development", "quality", "maintenance", "management"]
"""Parts of the software life cycle (SELU, Figure 2, Appendix A); SELU has none of `design`."""
Access = Literal["public", "built", "request", "no-copy"]
"""Access to the source: `built` by Goldpan itself, on `request`, or not to be copied."""
BASE_TEMPLATE = """\
In the context of {context}, {instruction}. {answer}.

{entity}:
{text}
"""
"""The base template of SELU (Figure 4)."""
PLACEHOLDERS = ("context", "instruction", "answer", "entity", "text")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
CLASSIFICATION: tuple[TaskType, ...] = ("binary", "multi-class", "multi-label")


@dataclass(frozen=True, slots=True)
class Label:
    """An answer that a classification task allows."""

    name: str
    description: str = ""
    """The label's name where a file has none, as `text`."""
    text: str = ""
    """Its name in prompts and text-to-text tasks."""

    def __post_init__(self) -> None:
        """Fill in the name."""
        for part in ("description", "text"):
            object.__setattr__(self, part, getattr(self, part) or self.name)


@dataclass(frozen=True, slots=True)
class TaskSource:
    """The source of a task's data, and its terms of use."""

    title: str
    url: str
    license: str
    """SPDX identifier, or `unknown`."""
    citation: str
    """BibTeX."""
    access: Access
    dataset: str
    """A short kebab-case name; tasks that share it share data (CrossCodeBench, III-C)."""
    reader: str = ""
    """The reader of its authors' form: `table`, or one of a paper or a plugin."""
    files: tuple[str, ...] = ()
    """The names of the files that the reader wants."""
    builder: str = ""
    """The `goldpan build` family that makes fresh data, or empty."""
    fresh: str = ""
    """The way to fresh rows: the command, or the work that is left to people."""
    hub: str = ""
    """The dataset on the Hugging Face Hub, as OWNER/NAME, where the authors publish it there."""
    revision: str = ""
    """The commit of that dataset, 40 hexadecimal digits."""
    note: str = ""
    """A remark for people, such as why it cannot be imported."""


@dataclass(frozen=True, slots=True)
class TaskColumns:
    """The source's names of the columns that a task reads."""

    text: tuple[str, ...] = ()
    """Several are joined by a line break, in this order."""
    target: tuple[str, ...] = ()
    """Several for multi-label tasks that keep one column a label."""


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """The prompt of a task for language models."""

    context: str
    instruction: str
    answer: str
    """The form of the answer (SELU, Figure 4)."""
    entity: str
    """The name of the text: ISSUE, COMMENT."""
    examples: tuple[tuple[str, str, str], ...] = ()
    """Positive examples: input, output, why it is right."""
    negative_examples: tuple[tuple[str, str, str], ...] = ()
    """Wrong outputs: input, output, why it is wrong."""
    template: str = BASE_TEMPLATE
    """The form of a prompt, with its parts in braces, the text as ``{text}``."""

    def fill(self, text: str) -> str:
        """Return the prompt for a text; braces in the text stay as they are."""
        parts = {
            "context": self.context,
            "instruction": self.instruction,
            "answer": self.answer,
            "entity": self.entity,
            "text": text,
        }
        return _PLACEHOLDER.sub(lambda match: parts.get(match[1], match[0]), self.template)


@dataclass(frozen=True, slots=True)
class Task:
    """One task of the registry."""

    name: str
    """snake_case, the name of its file."""
    title: str
    type: TaskType
    description: str
    """One short command, such as: Classify the issue."""
    definition: str
    """The input, the mapping to the output, and the form of the output, in plain sentences."""
    category: str
    """Tasks of one intent share it (CrossCodeBench, III-B3)."""
    activity: Activity
    source: TaskSource
    prompt: TaskPrompt
    labels: tuple[Label, ...] = ()
    """In the order of scores; of a binary task, the first is the positive class; for `ner` the
    tags; for the others empty."""
    metric: str = "macro_f1"
    """The one that ranks: macro_f1, smape, seqeval_f1, mlm_accuracy, edit_similarity, ..."""
    steps: tuple[str, ...] = ()
    """Preprocessing, in order, by the names of `text/preprocessing.py`."""
    split: str = "stratified:0.8,0.2"
    """The split of rows without an official partition."""
    max_length: int = 512
    """Tokens."""
    language: str = "en"
    counts: Mapping[str, int] = field(default_factory=dict)
    """Rows that the source holds, to check imports by: `total`, and by SPLIT, ``label:LABEL``,
    ``SPLIT/LABEL`` or ``repo:PROJECT``."""
    announced: Mapping[str, int] = field(default_factory=dict)
    """Totals that papers state, by paper and table; the source may have others."""
    suites: tuple[str, ...] = ()
    """The benchmarks that it belongs to, by name."""
    columns: TaskColumns = field(default_factory=TaskColumns)
    """The columns of text and target in the source, or in the builder's dataset."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the reader, such as how labels are written."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("task", self.name, self)]

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels' names, in order."""
        return tuple(label.name for label in self.labels)


_DECLARED = tomllib.loads((files("goldpan.datasets") / "task_columns.toml").read_text("utf-8"))
_FACTS = tuple(map(column_of, _DECLARED["facts"]))
_INPUT, _TOKENS = map(column_of, _DECLARED["inputs"])
_TARGETS = {kind: column_of(declared) for kind, declared in _DECLARED["targets"].items()}


def target_column(task_type: TaskType) -> Column:
    """Return the column of the right answers."""
    return _TARGETS[task_type]


def input_column(task_type: TaskType) -> Column:
    """Return the column of a model's input: `tokens` for NER, else `text`."""
    return _TOKENS if task_type == "ner" else _INPUT


def task_family(task: Task) -> Family:
    """Return the kind of dataset that holds a task's rows."""
    input_field, target = input_column(task.type), target_column(task.type)
    is_published = bool(task.source.url or task.source.citation)
    return Family(
        name=task.name,
        title=task.title,
        task=task.definition,
        source=task.source.title if is_published else "",
        citation=task.source.citation,
        columns=(*_FACTS, input_field, target),
        order=("id",),
        subject=("id",),
        inputs=(input_field.name,),
        target=target.name,
        task_categories=(_DECLARED["categories"][task.type],),
        tags=task.suites,
        limits=(task.source.note,) if task.source.note else (),
        stratum=target.name if task.type in CLASSIFICATION else "",
        partition="partition",
        origin=task.source.title,
    )
