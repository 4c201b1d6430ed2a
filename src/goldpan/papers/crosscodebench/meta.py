"""The `.meta.json` of a task (CrossCodeBench, section III-B and Figure 1).

It is Goldpan's or of the public benchmark: case, spaces and underscores do not count in the names
of fields, a list of one text stands for that text, and the names that the paper's authors used
before (`Prompt`, `BibTex`, `Instance_number`) are understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from goldpan.papers.crosscodebench.instances import joined_text, refused, text_of
from goldpan.papers.crosscodebench.kinds import TaskKind, find_kind, kind_of_category, known_types
from goldpan.plugins.data import DatasetError, FieldError, Task, UsageError, plain_task, task_of

META = ".meta.json"
DATA = ".data.json"
EXAMPLES = 4
"""Positive and negative examples that every task of the paper has, of each kind."""
_FORMAT = 1
"""The version of what only Goldpan writes, under `Goldpan`."""
_LARGEST = 64 * 2**20
_STEM = re.compile(r"task_([0-9]{3,6})_([^/\\]{1,200})")
_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class TaskExample:
    """A demonstration: for a negative one, the output is wrong and the reason says why."""

    input: str
    output: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Meta:
    """A task as its file describes it."""

    stem: str
    """The name of its two files without their endings."""
    kind: TaskKind
    description: str
    """A short command, such as: Detect swapped operands."""
    definition: str
    """The input, the way to the output, and the form of the output."""
    source: str
    """The dataset that the instances are from; tasks of one dataset are never split apart."""
    categories: tuple[str, ...]
    """The first is the one that counts."""
    positive: tuple[TaskExample, ...] = ()
    negative: tuple[TaskExample, ...] = ()
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
        return int(self.stem.split("_")[1])

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
        """The license of that work; None where the file does not name it."""
        return self.task.source.license if self.task else None

    @property
    def shown_inputs(self) -> frozenset[str]:
        """The inputs of the examples, which must not be asked."""
        return frozenset(example.input for example in (*self.positive, *self.negative))


def stem_of(number: int, source: str, kind: TaskKind) -> str:
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
        "Positive Examples": [_plain_example(example) for example in meta.positive],
        "Negative Examples": [_plain_example(example) for example in meta.negative],
        "BibTeX": meta.bibtex,
        "URL": meta.url,
        "Source": meta.source,
        "Categories": list(meta.categories),
        "Instance Number": dict(meta.counts),
    }
    if meta.task:
        values["Goldpan"] = {"format": _FORMAT, "task": plain_task(meta.task)}
    return orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _plain_example(example: TaskExample) -> dict[str, str]:
    return {"Input": example.input, "Output": example.output, "Reason": example.reason}


def read_meta(path: Path) -> Meta:
    """Return what a task's file says; raises `DatasetError` that names file and field."""
    stem = path.name.removesuffix(META)
    try:
        match = _STEM.fullmatch(stem)
        if not match:
            raise FieldError("", "the file's name is not task_NNN_DATASET_TYPE.meta.json")
        return _meta(stem, match[2], _values(path))
    except FieldError as error:
        raise refused(error, path.name) from None


def list_metas(directory: Path) -> list[Path]:
    """Return the meta files of a directory, sorted; raises `DatasetError` where there are none."""
    remedy = "Give a directory of task files"
    try:
        paths = sorted(path for path in directory.iterdir() if path.name.endswith(META))
    except FileNotFoundError:
        raise UsageError(f"There is no directory {directory}", remedy) from None
    except OSError as error:
        raise DatasetError(f"{directory} cannot be read: {error.strerror}", remedy) from None
    if not paths:
        raise DatasetError(
            f"{directory} holds no task_NNN_DATASET_TYPE{META}",
            "Write task files with goldpan build crosscode export",
        )
    return paths


def _values(path: Path) -> Mapping[str, object]:
    """Return the fields of a file by the names of Figure 1; raises `FieldError`."""
    try:
        if path.stat().st_size > _LARGEST:
            raise FieldError("", "is larger than 64 MiB, so it is not meta information")
        read = orjson.loads(path.read_bytes())
    except OSError as error:
        raise FieldError("", f"cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise FieldError("", f"is not JSON ({error})") from None
    if not isinstance(read, dict):
        raise FieldError("", "is not a JSON object")
    values = {_NAMES.get(_plain(str(name)), str(name)): value for name, value in read.items()}
    if missing := [name for name in _REQUIRED if name not in values]:
        raise FieldError(missing[0], "is missing")
    return values


def _meta(stem: str, rest: str, values: Mapping[str, object]) -> Meta:
    """Return a task by the fields of its file; `rest` is its name without the number."""
    texts = {name: _texts(values.get(name), name) for name in _TEXTS}
    first = {name: next(iter(several), "") for name, several in texts.items()}
    if empty := [name for name in _FILLED if not first[name].strip()]:
        raise FieldError(empty[0], "is empty")
    categories = tuple(texts["Categories"])
    # Of an older name of a type, its category tells the type.
    kind = find_kind(texts["Type"]) or (kind_of_category(categories[0]) if categories else None)
    if kind is None:
        known = ", ".join(known_types())
        raise FieldError("Type", f"{texts['Type']} is not a type with its sub-type: {known}")
    return Meta(
        stem=stem,
        kind=kind,
        description=first["Description"],
        definition=first["Definition"],
        source=first["Source"] or rest.rpartition("_")[0] or rest,
        categories=categories,
        positive=_examples(values, "Positive Examples"),
        negative=_examples(values, "Negative Examples"),
        input_language=first["Input Language"],
        output_language=first["Output Language"],
        bibtex=first["BibTeX"],
        url=first["URL"],
        counts=_counts(values.get("Instance Number")),
        task=_task(values.get("Goldpan")),
    )


def _plain(name: str) -> str:
    return "".join(name.lower().replace("_", " ").split())


_FILLED = ("Description", "Definition")
_REQUIRED = (
    *("Type", *_FILLED, "Positive Examples", "Negative Examples"),
    *("Input Language", "Output Language"),
)
_TEXTS = (
    *("Type", *_FILLED, "Input Language", "Output Language"),
    *("Source", "Categories", "BibTeX", "URL"),
)
_NAMES = {
    "prompt": "Description",
    "category": "Categories",
    **{_plain(name): name for name in (*_REQUIRED, *_TEXTS, "Instance Number", "Goldpan")},
}
"""The names of the fields, as they are compared."""


def _texts(value: object, name: str) -> list[str]:
    """Return the texts of a field, of which one may stand by itself."""
    if isinstance(value, list):
        return [text_of(text, f"{name}[{at}]") for at, text in enumerate(value)]
    return [] if value is None else [text_of(value, name)]


def _examples(values: Mapping[str, object], name: str) -> tuple[TaskExample, ...]:
    listed = values[name] or []
    if not isinstance(listed, list):
        raise FieldError(name, "is not a list of examples")
    return tuple(_example(value, f"{name}[{at}]") for at, value in enumerate(listed))


def _example(value: object, name: str) -> TaskExample:
    if not isinstance(value, dict):
        raise FieldError(name, "is not an object with Input and Output")
    fields = {_plain(key): item for key, item in value.items()}
    for part in ("Input", "Output"):
        if part.lower() not in fields:
            raise FieldError(f"{name}.{part}", "is missing")
    reason = fields.get("reason", fields.get("explanation", ""))
    return TaskExample(
        joined_text(fields["input"], f"{name}.Input"),
        joined_text(fields["output"], f"{name}.Output"),
        joined_text(reason, f"{name}.Reason"),
    )


def _counts(value: object) -> dict[str, int]:
    counts = value[0] if isinstance(value, list) and len(value) == 1 else value
    if counts is None:
        return {}
    if not isinstance(counts, dict) or not all(
        isinstance(count, int) and count >= 0 for count in counts.values()
    ):
        raise FieldError("Instance Number", "is not an object of counts by split")
    return counts


def _task(value: object) -> Task | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        raise FieldError("Goldpan.format", f"is not {_FORMAT}, another version wrote it")
    task = value.get("task")
    if not isinstance(task, dict):
        raise FieldError("Goldpan.task", "is not an object")
    try:
        return task_of(task, "")
    except UsageError as error:
        raise FieldError("Goldpan.task", error.problem.removeprefix(": ")) from None
