"""What a task's `.meta.json` holds (CrossCodeBench, section III-B and Figure 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from goldpan.datasets.task import Task
from goldpan.datasets.task_file import plain_task
from goldpan.papers.crosscodebench.kinds import Kind

META = ".meta.json"
DATA = ".data.json"
FORMAT = 1
"""Of what only Goldpan writes, under `Goldpan`."""
STEM = re.compile(r"task_([0-9]{3,6})_([^/\\]{1,200})")
_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Example:
    """A demonstration: for a negative one, the output is wrong and the reason says why."""

    input: str
    output: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Meta:
    """A task as its file describes it."""

    stem: str
    """The name of its two files without their endings."""
    kind: Kind
    description: str
    """A short command, such as: Detect swapped operands."""
    definition: str
    """The input, the way to the output, and the form of the output."""
    source: str
    """The dataset that the instances are from; tasks of one dataset are never split apart."""
    categories: tuple[str, ...]
    """The first is the one that counts."""
    positive: tuple[Example, ...] = ()
    negative: tuple[Example, ...] = ()
    input_language: str = "Natural Language -> English"
    output_language: str = "Natural Language -> English"
    bibtex: str = ""
    url: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Instances by split of the task itself, and their total; empty where not said."""
    task: Task | None = None
    """The registry's task, in a file that Goldpan wrote."""

    @property
    def number(self) -> int:
        """The number in the name of its files."""
        return number_of(self.stem)

    @property
    def name(self) -> str:
        """The registry's name of the task, else that of its files."""
        return self.task.name if self.task else self.stem

    @property
    def category(self) -> str:
        """The intent that tasks may share."""
        return self.categories[0] if self.categories else ""

    @property
    def work(self) -> str:
        """The title of the work that the instances are from, else the name of the dataset."""
        return self.task.source.title if self.task else self.source

    @property
    def license(self) -> str | None:
        """The license of that work; None where the file does not tell."""
        return self.task.source.license if self.task else None

    @property
    def shown_inputs(self) -> frozenset[str]:
        """The inputs of the examples, which must not be asked."""
        return frozenset(example.input for example in (*self.positive, *self.negative))


def number_of(stem: str) -> int:
    """Return the number in a task's file name."""
    match = STEM.fullmatch(stem)
    if not match:
        raise ValueError(f"{stem} is not task_NNN_DATASET_TYPE")
    return int(match.group(1))


def stem_of(number: int, source: str, kind: Kind) -> str:
    """Return the name of a task's files: small letters, digits and underscores alone."""
    return f"task_{number:03}_{slug(source)}_{slug(kind.type)}"


def slug(text: str) -> str:
    """Return a text as a part of a file name."""
    return _NO_WORD.sub("_", text.lower()).strip("_")[:80] or "unnamed"


def meta_json(meta: Meta) -> bytes:
    """Return the content of a task's file, with the names of Figure 1."""
    values: dict[str, Any] = {
        "Type": meta.kind.names,
        "Description": meta.description,
        "Definition": meta.definition,
        "Input Language": meta.input_language,
        "Output Language": meta.output_language,
        "Positive Examples": [_example(example) for example in meta.positive],
        "Negative Examples": [_example(example) for example in meta.negative],
        "BibTeX": meta.bibtex,
        "URL": meta.url,
        "Source": meta.source,
        "Categories": list(meta.categories),
        "Instance Number": dict(meta.counts),
    }
    if meta.task:
        values["Goldpan"] = {"format": FORMAT, "task": plain_task(meta.task)}
    return orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _example(example: Example) -> dict[str, str]:
    return {"Input": example.input, "Output": example.output, "Reason": example.reason}
