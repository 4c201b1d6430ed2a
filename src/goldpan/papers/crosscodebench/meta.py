"""The `.meta.json` of a task (CrossCodeBench, section III-B and Figure 1).

It is Goldpan's or of the public benchmark: case, spaces and underscores do not count in the names
of fields, a list of one text stands for that text, and the names that the paper's authors used
before (`Prompt`, `BibTex`, `Instance_number`) are understood.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, BeforeValidator, NonNegativeInt

from goldpan.papers.crosscodebench.instances import PARTS
from goldpan.papers.crosscodebench.kinds import TaskKind, find_kind, kind_of_category, known_types
from goldpan.plugins.data import DatasetError, Source, Task, UsageError

META = ".meta.json"
DATA = ".data.json"
EXAMPLES = 4
"""Positive and negative examples that every task of the paper has, of each kind."""
_FORMAT = 1
"""The version of what only Goldpan writes, under `Goldpan`."""
_LARGEST = 64 * 2**20
_STEM = re.compile(r"task_([0-9]{3,6})_([^/\\]{1,200})")
_NO_WORD = re.compile(r"[^a-z0-9]+")


def _listed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else () if value is None else (value,)


def _only(value: object) -> object:
    """Return the value of a list of one, or of none, as its field may be written."""
    return (value[0] if value else "") if isinstance(value, list) else value


def _joined(value: object) -> object:
    is_texts = isinstance(value, list) and all(isinstance(part, str) for part in value)
    return PARTS.join(value) if is_texts else value  # type: ignore[arg-type]


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty")
    return value


_Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]
_First = Annotated[str, BeforeValidator(_only)]
_Filled = Annotated[_First, AfterValidator(_filled)]
_Joined = Annotated[str, BeforeValidator(_joined)]


@dataclass(frozen=True, slots=True)
class TaskExample:
    """A demonstration: for a negative one, the output is wrong and the reason says why."""

    input: _Joined
    output: _Joined
    reason: _Joined = ""


@dataclass(frozen=True, slots=True)
class Meta:
    """A task as its file describes it."""

    stem: str
    """The name of its two files without their endings."""
    kind: TaskKind
    description: _Filled
    """A short command, such as: Detect swapped operands."""
    definition: _Filled
    """The input, the way to the output, and the form of the output."""
    source: _First
    """The dataset that the instances are from; tasks of one dataset are never split apart."""
    categories: _Texts
    """The first is the one that counts."""
    positive: tuple[TaskExample, ...] = ()
    negative: tuple[TaskExample, ...] = ()
    input_language: _First = "Natural Language -> English"
    output_language: _First = "Natural Language -> English"
    bibtex: _First = ""
    url: _First = ""
    counts: Annotated[dict[str, NonNegativeInt], BeforeValidator(_only)] = field(
        default_factory=dict
    )
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
        values["Goldpan"] = {"format": _FORMAT, "task": asdict(meta.task)}
    return orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _plain_example(example: TaskExample) -> dict[str, str]:
    return {"Input": example.input, "Output": example.output, "Reason": example.reason}


_NAMES = {
    **{one.name.replace("_", ""): one.name for one in fields(Meta)},
    "positiveexamples": "positive",
    "negativeexamples": "negative",
    "prompt": "description",
    "category": "categories",
    "instancenumber": "counts",
    "explanation": "reason",
}
"""The fields by their names in files, as they are compared."""
_REQUIRED = ("type", "positive", "negative", "input_language", "output_language")


def read_meta(path: Path) -> Meta:
    """Return what a task's file says; raises `UsageError` that names file and field."""
    stem = path.name.removesuffix(META)
    match = _STEM.fullmatch(stem)
    if not match:
        raise UsageError(
            f"{path.name}: its name is not task_NNN_DATASET_TYPE{META}", "Rename both files"
        )
    values = _values(path)
    if missing := [name for name in _REQUIRED if name not in values]:
        raise UsageError(f"{path.name}: {missing[0]} is missing", "Add it")
    types = [*map(str, values["type"] if isinstance(values["type"], list) else [values["type"]])]
    own = values.get("goldpan", {"format": _FORMAT})
    if not isinstance(own, dict) or own.get("format") != _FORMAT:
        raise UsageError(f"{path.name}: another version than {_FORMAT} wrote it", "Write it again")
    known = {name: values[name] for name in values if name in _NAMES.values()}
    categories = values.get("categories") or [""]
    # Of an older name of a type, its category tells the type.
    kind = find_kind(types) or kind_of_category(str(_only(categories)))
    if kind is None:
        raise UsageError(
            f"{path.name}: type: {types} is not a type with its sub-type",
            f"The types are {', '.join(known_types())}",
        )
    source = _only(values.get("source")) or match[2].rpartition("_")[0] or match[2]
    task = own.get("task")
    read = {"categories": [], **known, "stem": stem, "kind": kind, "source": source, "task": task}
    return Source(path.name, values).read(Meta, read)


def _values(path: Path) -> dict[str, Any]:
    """Return what a file holds by the names of fields; raises `UsageError`."""
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path.name} is larger than 64 MiB", "Give meta information")
        read = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise UsageError(f"{path.name} cannot be read: {error}", "Give a file of JSON") from None
    values = _renamed(read)
    if not isinstance(values, dict):
        raise UsageError(f"{path.name} is not a JSON object", "Give meta information")
    for side in ("positive", "negative"):
        if isinstance(listed := values.get(side), list):
            values[side] = list(map(_renamed, listed))
    return values


def _renamed(value: object) -> Any:
    if not isinstance(value, dict):
        return value
    plain = {"".join(name.lower().replace("_", " ").split()): one for name, one in value.items()}
    return {_NAMES.get(name, name): one for name, one in plain.items()}


def list_metas(directory: Path) -> list[Path]:
    """Return the meta files of a directory, sorted; raises `DatasetError` where there are none."""
    remedy = "Write task files with goldpan build crosscode export, or give their directory"
    try:
        paths = sorted(path for path in directory.iterdir() if path.name.endswith(META))
    except FileNotFoundError:
        raise UsageError(f"There is no directory {directory}", remedy) from None
    except OSError as error:
        raise DatasetError(f"{directory} cannot be read: {error.strerror}", remedy) from None
    if not paths:
        raise DatasetError(f"{directory} holds no task_NNN_DATASET_TYPE{META}", remedy)
    return paths
