"""The `.meta.json` of a task (CrossCodeBench, section III-B and Figure 1).

It is Goldpan's or of the public benchmark: case, spaces and underscores do not count in the names
of fields, a list of one text stands for that text, and the names that the paper's authors used
before (`Prompt`, `BibTex`, `Instance_number`) are understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    InstanceOf,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails

from goldpan.papers.crosscodebench.instances import (
    Problem,
    joined_text,
    problem_of,
    refused,
    text_of,
)
from goldpan.papers.crosscodebench.kinds import (
    TaskKind,
    find_kind,
    kind_of_category,
    known_subtypes,
    known_types,
)
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
    examined = examine_meta(path)
    if isinstance(examined, Meta):
        return examined
    raise refused(examined[0], len(examined) - 1)


def examine_meta(path: Path) -> Meta | list[Problem]:
    """Return what a task's file says, or all that keeps it from being read."""
    stem = path.name.removesuffix(META)
    try:
        values = _values(path)
        match = _STEM.fullmatch(stem)
        if not match:
            raise FieldError("", "the file's name is not task_NNN_DATASET_TYPE.meta.json")
        fields = dict(_File.model_validate(values))
    except FieldError as error:
        return [problem_of(error, path.name)]
    except ValidationError as error:
        return [problem_of(_field_error(each, values), path.name) for each in error.errors()]
    dataset = match[2].rpartition("_")[0] or match[2]  # all but the number and the type's last word
    return Meta(stem, **{**fields, "source": fields["source"] or dataset})


def meta_warnings(meta: Meta) -> Iterator[Problem]:
    """Yield the gaps of a task that are not errors."""
    file = f"{meta.stem}{META}"
    shown = {"Positive Examples": meta.positive, "Negative Examples": meta.negative}
    for name, examples in shown.items():
        if len(examples) < EXAMPLES:
            yield Problem(file, name, f"{len(examples)} of {EXAMPLES} examples", "warning")
    texts = {"BibTeX": meta.bibtex, "URL": meta.url, "Categories": meta.category}
    for name, text in texts.items():
        if not text:
            yield Problem(file, name, "is empty", "warning")


def count_problem(meta: Meta, counts: Mapping[str, int]) -> Problem | None:
    """Return what is wrong where a data file has not as many instances as announced."""
    announced, count = meta.counts.get("total"), sum(counts.values())
    if announced is None or announced == count:
        return None
    text = f"{count:,} instances, but {meta.stem}{META} announces {announced:,}"
    return Problem(f"{meta.stem}{DATA}", "", text)


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
    """Return the fields of a file by the names of `_File`, others by theirs; or `FieldError`."""
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
    values = {_plain(name): value for name, value in read.items()}
    known = {_NAMES[name]: values.pop(name) for name in _NAMES if name in values}
    return {**values, **known}


def _plain(name: str) -> str:
    return "".join(name.lower().replace("_", " ").split())


def _texts(value: object) -> Sequence[str]:
    """Return texts, of which one may stand by itself."""
    if isinstance(value, list):
        return [text_of(text, f"[{at}]") for at, text in enumerate(value)]
    return [] if value is None else [text_of(value)]


def _first(value: object) -> str:
    """Return a text; of a list, the first, as the paper's authors use them."""
    return next(iter(_texts(value)), "")


def _filled(text: str) -> str:
    if not text.strip():
        raise FieldError("", "is empty")
    return text


def _example(value: object) -> TaskExample:
    if not isinstance(value, dict):
        raise FieldError("", "is not an object with Input and Output")
    fields = {_plain(name): item for name, item in value.items()}
    for name in ("Input", "Output"):
        if name.lower() not in fields:
            raise FieldError(f".{name}", "is missing")
    reason = fields.get("reason", fields.get("explanation", ""))
    return TaskExample(
        joined_text(fields["input"], ".Input"),
        joined_text(fields["output"], ".Output"),
        joined_text(reason, ".Reason"),
    )


def _examples(value: object) -> object:
    if value is not None and not isinstance(value, list):
        raise FieldError("", "is not a list of examples")
    return value or ()


def _counts(value: object) -> object:
    counts = value[0] if isinstance(value, list) and len(value) == 1 else value
    if counts is None:
        return {}
    if not isinstance(counts, dict) or not all(
        isinstance(count, int) and count >= 0 for count in counts.values()
    ):
        raise FieldError("", "is not an object of counts by split")
    return counts


def _task(value: object) -> Task | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        raise FieldError(".format", f"is not {_FORMAT}, another version wrote it")
    task = value.get("task")
    if not isinstance(task, dict):
        raise FieldError(".task", "is not an object")
    try:
        return task_of(task, "")
    except UsageError as error:
        raise FieldError(".task", error.problem.removeprefix(": ")) from None


_Text = Annotated[str, BeforeValidator(_first)]
_Required = Annotated[str, BeforeValidator(_first), AfterValidator(_filled)]
_Examples = Annotated[
    tuple[Annotated[InstanceOf[TaskExample], BeforeValidator(_example)], ...],
    BeforeValidator(_examples),
]


class _File(BaseModel):
    """The fields of a task's file, by the names of Figure 1."""

    categories: Annotated[tuple[str, ...], BeforeValidator(_texts)] = Field((), alias="Categories")
    kind: InstanceOf[TaskKind] = Field(alias="Type")
    description: _Required = Field(alias="Description")
    definition: _Required = Field(alias="Definition")
    source: _Text = Field("", alias="Source")
    positive: _Examples = Field(alias="Positive Examples")
    negative: _Examples = Field(alias="Negative Examples")
    input_language: _Text = Field(alias="Input Language")
    output_language: _Text = Field(alias="Output Language")
    bibtex: _Text = Field("", alias="BibTeX")
    url: _Text = Field("", alias="URL")
    counts: Annotated[dict[str, int], BeforeValidator(_counts)] = Field({}, alias="Instance Number")
    task: Annotated[InstanceOf[Task] | None, BeforeValidator(_task)] = Field(None, alias="Goldpan")

    @field_validator("kind", mode="before")
    @classmethod
    def _kind(cls, value: object, info: ValidationInfo) -> TaskKind:
        """Return the type, however it is written; of an older name, that of the category."""
        names, categories = list(_texts(value)), info.data.get("categories")
        kind = find_kind(names) or (kind_of_category(categories[0]) if categories else None)
        if kind is None:
            raise FieldError("", _no_kind(names))
        return kind


def _no_kind(names: list[str]) -> str:
    """Return why names are no type."""
    if not names:
        return "is empty"
    parent = find_kind(names[:1])
    if parent is None:
        return f"{names[0]!r} is none of {', '.join(known_types())}"
    if subtypes := known_subtypes(parent.type):
        return f"{names[1:]} is not a sub-type of {parent.type}: {', '.join(subtypes)}"
    return f"{parent.type} has no sub-types, {names[1:]} is given"


_NAMES = {
    "prompt": "Description",
    "category": "Categories",
    **{_plain(str(field.alias)): str(field.alias) for field in _File.model_fields.values()},
}
"""The names of the fields, as they are compared."""


def _field_error(error: ErrorDetails, values: Mapping[str, object]) -> FieldError:
    """Return what pydantic found as what is wrong with a field."""
    name, *inner = error["loc"]
    where = f"{name}{''.join(f'[{part}]' for part in inner)}"
    if error["type"] == "missing":
        strange = [key for key in values if key not in _NAMES.values()]
        near = get_close_matches(_plain(str(name)), strange, n=1)
        return FieldError(where, f"is missing; is it {near[0]!r}?" if near else "is missing")
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, FieldError):
        return FieldError(f"{where}{cause.field}", cause.text)
    return FieldError(where, error["msg"])
