"""What a task is: what a model is given, what it should answer, and how that is scored.

A task is one TOML file in `datasets/tasks/`; `registry.py` reads them. Its rows, imported or
built, are a dataset like any other (`task_rows.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from goldpan.core.plugins import Kind

TaskType = Literal[
    "binary", "multi-class", "multi-label", "regression", "ner", "mlm", "text-generation"
]
Activity = Literal["requirements", "design", "development", "quality", "maintenance", "management"]
"""Of the software life cycle (SELU, Figure 2 and Appendix A); SELU has no task of `design`."""
Access = Literal["public", "built", "request", "no-copy"]
"""Whether people may take the source: `built` by Goldpan itself, on `request`, or not to copy."""
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
    """One of the answers that a classification task allows."""

    name: str
    description: str
    text: str
    """What it is called in prompts and text-to-text tasks; its name where a file has none."""


@dataclass(frozen=True, slots=True)
class TaskSource:
    """Where the data of a task come from, and what one may do with them."""

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
    """What reads the form its authors publish: `table`, or a reader of a paper or a plugin."""
    files: tuple[str, ...] = ()
    """The names of the files that the reader wants."""
    builder: str = ""
    """The `goldpan build` family that makes fresh data, or empty."""
    fresh: str = ""
    """How fresh rows come about: the command, or the work that is left to people."""
    hub: str = ""
    """The dataset on the Hugging Face Hub, as OWNER/NAME, where the authors publish it there."""
    revision: str = ""
    """The commit of that dataset, 40 hexadecimal digits."""
    note: str = ""
    """What people must know, such as why it cannot be imported."""


@dataclass(frozen=True, slots=True)
class TaskColumns:
    """The source's names of the columns that a task reads."""

    text: tuple[str, ...] = ()
    """Several are joined by a line break, in this order."""
    target: tuple[str, ...] = ()
    """Several for multi-label tasks that keep one column a label."""


@dataclass(frozen=True, slots=True)
class TaskPrompt:
    """How a language model is asked."""

    context: str
    instruction: str
    answer: str
    """The form of the answer (SELU, Figure 4)."""
    entity: str
    """What the text is called: ISSUE, COMMENT."""
    examples: tuple[tuple[str, str, str], ...] = ()
    """Positive examples: input, output, why it is right."""
    negative_examples: tuple[tuple[str, str, str], ...] = ()
    """Wrong outputs: input, output, why it is wrong."""
    template: str = BASE_TEMPLATE
    """How the parts make a prompt; a part stands in braces, the text as ``{text}``."""

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
    """How rows without an official partition are split."""
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
    """Where the source, or the builder's dataset, keeps the text and the target."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the reader, such as how labels are written."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("task", self.name, self)]

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels' names, in order."""
        return tuple(label.name for label in self.labels)
