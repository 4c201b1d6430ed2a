"""Reads a task's `.meta.json`, of Goldpan's or of the public benchmark.

Case, spaces and underscores do not count in the names of fields, a list of one text stands for
that text, and the names that the paper's authors used before (`Prompt`, `BibTex`,
`Instance_number`) are understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

import orjson

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.task import Task
from goldpan.datasets.task_file import task_of
from goldpan.papers.crosscodebench.instance import joined_text
from goldpan.papers.crosscodebench.kinds import (
    Kind,
    find_kind,
    kind_of_category,
    known_subtypes,
    known_types,
)
from goldpan.papers.crosscodebench.meta import FORMAT, META, STEM, Example, Meta
from goldpan.papers.crosscodebench.problems import FieldError, Problem, refused, text_of

EXAMPLES = 4
"""Positive and negative examples that every task of the paper has, of each kind."""
_LARGEST = 64 * 2**20
_NAMES = {
    "Type": ("type",),
    "Description": ("description", "prompt"),
    "Definition": ("definition",),
    "Input Language": ("inputlanguage",),
    "Output Language": ("outputlanguage",),
    "Positive Examples": ("positiveexamples",),
    "Negative Examples": ("negativeexamples",),
    "BibTeX": ("bibtex",),
    "URL": ("url",),
    "Source": ("source",),
    "Categories": ("categories", "category"),
    "Instance Number": ("instancenumber",),
    "Goldpan": ("goldpan",),
}
_OPTIONAL = ("BibTeX", "URL", "Source", "Categories", "Instance Number", "Goldpan")


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
        fields = _Fields(_parsed(path))
        if not STEM.fullmatch(stem):
            raise FieldError("", "the file's name is not task_NNN_DATASET_TYPE.meta.json")
    except FieldError as error:
        return [error.problem(path.name)]
    meta = fields.meta(stem)
    return meta or [error.problem(path.name) for error in fields.errors]


def meta_warnings(meta: Meta) -> Iterator[Problem]:
    """Yield what a task lacks without being wrong."""
    file = f"{meta.stem}{META}"
    shown = {"Positive Examples": meta.positive, "Negative Examples": meta.negative}
    for name, examples in shown.items():
        if len(examples) < EXAMPLES:
            yield Problem(file, name, f"{len(examples)} of {EXAMPLES} examples", "warning")
    texts = {"BibTeX": meta.bibtex, "URL": meta.url, "Categories": meta.category}
    for name, text in texts.items():
        if not text:
            yield Problem(file, name, "is empty", "warning")


def _parsed(path: Path) -> Mapping[str, object]:
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
    return read


class _Fields:
    """The fields of one file; what is wrong with them is gathered in `errors`."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = {_plain(name): value for name, value in values.items()}
        self.errors: list[FieldError] = []

    def meta(self, stem: str) -> Meta | None:
        """Return what the fields say, or None where some are wrong."""
        categories = tuple(self._texts("Categories"))
        meta = Meta(
            stem=stem,
            kind=self._kind(categories),
            description=self._required_text("Description"),
            definition=self._required_text("Definition"),
            source=self._text("Source") or _source_in(stem),
            categories=categories,
            positive=self._examples("Positive Examples"),
            negative=self._examples("Negative Examples"),
            input_language=self._text("Input Language"),
            output_language=self._text("Output Language"),
            bibtex=self._text("BibTeX"),
            url=self._text("URL"),
            counts=self._counts(),
            task=self._task(),
        )
        return None if self.errors else meta

    def _value(self, name: str) -> object:
        for alias in _NAMES[name]:
            if alias in self._values:
                return self._values[alias]
        if name not in _OPTIONAL:
            expected = _NAMES[name][0]
            near = get_close_matches(expected, [key for key in self._values if key], n=1)
            hint = f"; is it {near[0]!r}?" if near and near[0] not in _KNOWN else ""
            self.errors.append(FieldError(name, f"is missing{hint}"))
        return None

    def _texts(self, name: str) -> list[str]:
        value = self._value(name)
        if value is None:
            return []
        try:
            if isinstance(value, list):
                return [text_of(item, f"{name}[{at}]") for at, item in enumerate(value)]
            return [text_of(value, name)]
        except FieldError as error:
            self.errors.append(error)
            return []

    def _text(self, name: str) -> str:
        """Return a text; of a list, the first, as the paper's authors use them."""
        return next(iter(self._texts(name)), "")

    def _required_text(self, name: str) -> str:
        """Return a text that must not be empty."""
        before = len(self.errors)
        text = self._text(name)
        if not text.strip() and len(self.errors) == before:
            self.errors.append(FieldError(name, "is empty"))
        return text

    def _kind(self, categories: tuple[str, ...]) -> Kind:
        names = self._texts("Type")
        kind = find_kind(names) or (kind_of_category(categories[0]) if categories else None)
        if kind is None and names:
            parent_kind = find_kind(names[:1])
            if parent_kind and (subtypes := known_subtypes(parent_kind.type)):
                text = f"{names[1:]} is not a sub-type of {parent_kind.type}: {', '.join(subtypes)}"
            elif parent_kind:
                text = f"{parent_kind.type} has no sub-types, {names[1:]} is given"
            else:
                text = f"{names[0]!r} is none of {', '.join(known_types())}"
            self.errors.append(FieldError("Type", text))
        elif kind is None and not any(error.field.startswith("Type") for error in self.errors):
            self.errors.append(FieldError("Type", "is empty"))
        return kind or Kind("")

    def _examples(self, name: str) -> tuple[Example, ...]:
        value = self._value(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.errors.append(FieldError(name, "is not a list of examples"))
            return ()
        examples = []
        for at, item in enumerate(value):
            try:
                examples.append(_example(item, f"{name}[{at}]"))
            except FieldError as error:
                self.errors.append(error)
        return tuple(examples)

    def _counts(self) -> Mapping[str, int]:
        value = self._value("Instance Number")
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None or isinstance(value, dict):
            counts = value or {}
            if all(isinstance(count, int) and count >= 0 for count in counts.values()):
                return counts
        self.errors.append(FieldError("Instance Number", "is not an object of counts by split"))
        return {}

    def _task(self) -> Task | None:
        value = self._value("Goldpan")
        if value is None:
            return None
        try:
            if not isinstance(value, dict) or value.get("format") != FORMAT:
                raise FieldError("Goldpan.format", f"is not {FORMAT}, another version wrote it")
            task = value.get("task")
            if not isinstance(task, dict):
                raise FieldError("Goldpan.task", "is not an object")
            return task_of(task, "")
        except UsageError as error:
            self.errors.append(FieldError("Goldpan.task", error.problem.removeprefix(": ")))
        except FieldError as error:
            self.errors.append(error)
        return None


def _example(value: object, field: str) -> Example:
    if not isinstance(value, dict):
        raise FieldError(field, "is not an object with Input and Output")
    fields = {_plain(name): item for name, item in value.items()}
    for name in ("Input", "Output"):
        if name.lower() not in fields:
            raise FieldError(f"{field}.{name}", "is missing")
    reason = fields.get("reason", fields.get("explanation", ""))
    return Example(
        joined_text(fields["input"], f"{field}.Input"),
        joined_text(fields["output"], f"{field}.Output"),
        joined_text(reason, f"{field}.Reason"),
    )


def _source_in(stem: str) -> str:
    """Return the dataset that a file's name tells: all but the number and the type's last word."""
    match = STEM.fullmatch(stem)
    return match.group(2).rpartition("_")[0] or match.group(2) if match else stem


def _plain(name: str) -> str:
    return "".join(name.lower().replace("_", " ").split())


_KNOWN = {alias for aliases in _NAMES.values() for alias in aliases}


def list_metas(directory: Path) -> list[Path]:
    """Return the meta files of a directory, sorted; raises `DatasetError` where there are none."""
    try:
        paths = sorted(path for path in directory.iterdir() if path.name.endswith(META))
    except FileNotFoundError:
        raise UsageError(
            f"There is no directory {directory}", "Give a directory of task files"
        ) from None
    except OSError as error:
        raise DatasetError(
            f"{directory} cannot be read: {error.strerror}", "Give a directory of task files"
        ) from None
    if not paths:
        raise DatasetError(
            f"{directory} holds no task_NNN_DATASET_TYPE{META}",
            "Write task files with goldpan build crosscode export",
        )
    return paths
