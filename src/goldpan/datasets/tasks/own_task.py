"""A task of one's own: its file, made from a table of texts and right answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from unicodedata import normalize

from goldpan.core import sanitize
from goldpan.core.errors import GoldpanError, UsageError, suggested
from goldpan.core.result import Result
from goldpan.core.settings.file import toml_text
from goldpan.datasets.table_files import table_rows
from goldpan.datasets.tasks.data import copies_of
from goldpan.datasets.tasks.importing import ImportResult
from goldpan.datasets.tasks.table_reader import cell_text
from goldpan.datasets.tasks.task import TaskType

_EXAMPLES, _LONGEST = 5, 40
_OFTEN = 10
"""Rows from which on answers may number them."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that looks wrong with a table, in words that end before the rows."""

    about: str
    rows: int
    examples: tuple[str, ...]
    """The first of the rows: their numbers, or FILE:NUMBER where there are several files."""

    @classmethod
    def of(cls, about: str, places: Sequence[str]) -> Self:
        """Return what is doubted of the rows at these places."""
        return cls(about, len(places), tuple(places[:_EXAMPLES]))

    def __str__(self) -> str:
        names = f"row{'s' if self.rows > 1 else ''} {', '.join(self.examples)}"
        more = f" and {self.rows - len(self.examples):,} more"
        return f"{self.about} ({names}{more if self.rows > len(self.examples) else ''})"


Row = tuple[str, str, str]
"""The place of a row in the files, its text's digest, empty for an empty text, and its answer."""


def find_doubts(rows: Iterable[Row], *, are_labels: bool) -> tuple[Doubt, ...]:
    """Return what looks wrong; of answers that are numbers, only their texts are judged."""
    rows = list(rows)
    counts = Counter(label for _, _, label in rows if label)
    usual: dict[str, str] = {}
    for label, _ in counts.most_common():
        usual.setdefault(_folded(label), label)
    found: dict[str, list[str]] = {}
    odd: dict[str, list[str]] = {}
    for label, count in counts.items() if are_labels else ():
        if (other := usual[_folded(label)]) != label:
            about = f"{_shown(label)} may be the same label as {_shown(other)}"
        elif count == 1:
            about = f"{_shown(label)} has one row, too few to train and test"
        else:
            continue
        odd[label] = found.setdefault(about, [])
    empty = found.setdefault("Empty texts", [])
    copies = found.setdefault("Equal texts with the same answer", [])
    contradicting = found.setdefault("Equal texts with different answers", [])
    first: dict[str, tuple[str, str]] = {}
    for place, text, label in rows:
        if label in odd:
            odd[label].append(place)
        if not text:
            empty.append(place)
        elif label:
            other, earlier = first.setdefault(text, (label, place))
            if earlier != place:
                same = copies if other == label else contradicting
                same.append(f"{place} = {earlier}")
    return tuple(Doubt.of(about, places) for about, places in found.items() if places)


def _number_the_rows(counts: Counter[str]) -> bool:
    """Tell whether the answers are the numbers of the rows: 0 or 1, 2, 3 and so on."""
    try:
        numbers = sorted(map(int, counts))
    except ValueError:
        return False
    every = numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else False
    return len(counts) > _OFTEN and max(counts.values()) == 1 and every


def _folded(label: str) -> str:
    """Return a label without what people write now one way and now the other, such as case."""
    label = re.sub("[\u200b-\u200f\u2060\ufeff\xad]", "", normalize("NFKC", label))
    return re.sub(r"(?<=[\w\s])[-_]|\s", "", label.casefold()).removesuffix(".0")


def _shown(label: str) -> str:
    return f"'{sanitize.line(label, _LONGEST)}'"


_NAME = re.compile(r"[a-z][a-z0-9_]{0,79}")
_MOST_LABELS = 100
_FEWEST_ROWS = 10
_POSITIVE = ("1", "1.0", "true", "yes", "y")
"""Values of which the label is the positive class, whatever the numbers of rows."""


@dataclass(frozen=True, slots=True)
class AddedTask(Result):
    """A task that was made of a table, with the rows that were imported."""

    schema = 2

    imported: ImportResult
    file: Path
    labels: Mapping[str, int]
    """Numbers of the table's rows by label; of a regression none."""
    doubts: tuple[Doubt, ...]
    """What looks wrong with the table."""

    @property
    def exit_code(self) -> int:
        """The exit code of the import."""
        return self.imported.exit_code


def describe_task(
    name: str,
    files: Sequence[Path],
    text: Sequence[str],
    label: str,
    *,
    repo: str = "",
    document: str = "",
    drop_empty: bool = False,
) -> tuple[str, dict[str, int], tuple[Doubt, ...]]:
    """Return the file of a task whose rows are tables with these columns, its labels and doubts.

    Two values of `label` make a binary task, more a multi-class one, and numbers of more than
    ten values a regression; of two, the positive class is 1, true or yes, else the rarer one.
    With `drop_empty`, rows without an answer are left out.
    Raises `UsageError` that names all problems, not the first alone.
    """
    rows: list[Row] = []
    columns = [*text, label, repo, document]
    problems = list(_arguments(name, files, text, label))
    for path in files:
        problems += _read(path, [name for name in columns if name], text, label, rows, len(files))
    values = Counter(answer for _, _, answer in rows if answer)
    kind = _type(values)
    if not problems:
        unlabeled = [place for place, _, answer in rows if not answer]
        if unlabeled and not drop_empty:
            empty = Doubt.of(f"rows without {label}: {len(unlabeled):,}", unlabeled)
            problems.append(f"{empty}; --drop-empty leaves them out")
        problems += _label_problems(values, kind, label)
    if problems:
        many = len(problems) > 1
        raise UsageError(
            f"{f'{len(problems)} things are' if many else 'One thing is'} missing or wrong: "
            f"{'; '.join(problems)}",
            f"Correct {'them all' if many else 'this'}, and run the command again",
        )
    labels = [] if kind == "regression" else _ordered(values)
    settings: dict[str, str | bool] = {"repo": repo, "document": document, "drop_empty": drop_empty}
    toml = _toml(name, files, text, label, kind, labels, settings)
    doubts = find_doubts(rows, are_labels=kind != "regression")
    return toml, {label: values[label] for label in labels}, doubts


def _arguments(name: str, files: Sequence[Path], text: Sequence[str], label: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"{name!r} cannot name a task: names have lower-case letters, digits and underscores"
        )
    if not files:
        yield "no file is named, such as reports.csv"
    if not text:
        yield "no column of texts is named: --text title --text body"
    if not label:
        yield "no column of labels is named: --label urgent"


def _read(
    path: Path, columns: Sequence[str], text: Sequence[str], label: str, rows: list[Row], files: int
) -> Iterator[str]:
    """Take in the rows of a file, with labels without blanks around them, and yield problems."""
    try:
        for number, row in enumerate(table_rows(path), 1):
            if number == 1 and (missing := [name for name in columns if name not in row]):
                yield (
                    f"{path} has no column "
                    f"{', '.join(f'{name!r}{suggested(name, row)}' for name in missing)}; it has "
                    f"{', '.join(map(repr, row))}"
                )
                return
            if nested := [name for name in text if isinstance(row.get(name), list | dict)]:
                yield f"{path}, row {number:,}: {nested[0]!r} holds a list or an object, no text"
                return
            place = f"{number:,}" if files == 1 else f"{path.name}:{number}"
            joined = "\n".join(cell_text(row.get(name)) for name in text)
            digest = copies_of(joined) if joined.strip() else ""
            rows.append((place, digest, cell_text(row.get(label)).strip()))
    except GoldpanError as error:
        yield f"{error.problem} ({error.remedy[:1].lower()}{error.remedy[1:]})"


def _label_problems(values: Counter[str], kind: TaskType, label: str) -> Iterator[str]:
    rows = values.total()
    if rows < _FEWEST_ROWS:
        yield f"at least {_FEWEST_ROWS} rows are needed to train and test, and there are {rows:,}"
    elif len(values) < 2:
        yield f"all rows have the same {label}"
    elif _number_the_rows(values):
        yield f"{label} numbers the rows, {min(values, key=int)} to {max(values, key=int)}"
    elif nested := [value for value in values if re.match(r"[\[{]['\"{]", value)]:
        yield (
            f"{label} holds lists or objects, such as {nested[0][:40]!r}: several labels a row "
            'need a task\'s file with type = "multi-label"'
        )
    elif kind == "multi-class" and _type([v.replace(",", "") for v in values]) == "regression":
        number = next(value for value in values if "," in value)
        yield (
            f"{label} holds numbers with commas, such as {number!r}: decimals have a point, and "
            "thousands no mark"
        )
    elif kind == "multi-class" and len(values) > min(_MOST_LABELS, rows // 2):
        few = ", ".join(repr(value[:40]) for value, _ in values.most_common(3))
        yield (
            f"{label} has {len(values):,} different values in {rows:,} rows, such as {few}: "
            f"labels repeat, and there are at most {_MOST_LABELS}"
        )


def _type(values: Collection[str]) -> TaskType:
    if len(values) > 10:
        with suppress(ValueError):
            list(map(float, values))
            return "regression"
    return "binary" if len(values) == 2 else "multi-class"


def _ordered(values: Counter[str]) -> list[str]:
    """Return the labels, of two the positive class first."""
    if len(values) > 2:
        return sorted(values)
    return sorted(values, key=lambda value: (value.lower() not in _POSITIVE, values[value], value))


def _toml(
    name: str,
    files: Sequence[Path],
    text: Sequence[str],
    label: str,
    kind: TaskType,
    labels: Sequence[str],
    settings: Mapping[str, str | bool],
) -> str:
    number = kind == "regression"
    title = name.replace("_", " ").capitalize()
    task = {
        "title": title,
        "type": kind,
        "description": f"Tell the {label} of the text.",
        "activity": "maintenance",
        "split": "random:0.8,0.2" if number else "stratified:0.8,0.2",
        **({"metric": "smape"} if number else {}),
        "columns": {"text": text, "target": [label]},
        "settings": {key: value for key, value in settings.items() if value},
        "source": {"title": title, "reader": "table", "files": [path.name for path in files]},
    }
    if not any(settings.values()):
        del task["settings"]
    told = [{"name": value, "description": f"{label} is {value}."} for value in labels]
    return "\n[[labels]]\n".join([toml_text(task), *map(toml_text, told)])
