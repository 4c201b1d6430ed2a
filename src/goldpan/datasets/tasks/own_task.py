"""A task of one's own: its file, made from a table of texts and right answers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from goldpan.core import sanitize
from goldpan.core.errors import GoldpanError, UsageError, suggested
from goldpan.core.result import Result
from goldpan.core.settings.file import toml_value
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

    def __str__(self) -> str:
        names = f"row{'s' if self.rows > 1 else ''} {', '.join(self.examples)}"
        more = f" and {self.rows - len(self.examples):,} more"
        return f"{self.about} ({names}{more if self.rows > len(self.examples) else ''})"


@dataclass(slots=True)
class Places:
    """How many rows there are of a kind, and the first of them."""

    rows: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count a row."""
        self.rows += 1
        if len(self.first) < _EXAMPLES:
            self.first.append(place)

    def doubt(self, about: str) -> Doubt:
        """Return what is doubted of these rows."""
        return Doubt(about, self.rows, tuple(self.first))


class LabeledTexts:
    """The rows of a table as they are read: its labels, and what looks wrong.

    Of a text only a digest is kept, some 200 bytes a row.
    """

    def __init__(self) -> None:
        self.by_label: defaultdict[str, Places] = defaultdict(Places)
        """The rows of each answer that is there."""
        self.unlabeled, self._empty = Places(), Places()
        self._copies, self._contradicting = Places(), Places()
        self._first: dict[str, tuple[str, str]] = {}

    @property
    def counts(self) -> Counter[str]:
        """The numbers of rows by label."""
        return Counter({label: places.rows for label, places in self.by_label.items()})

    def add(self, place: str, text: str, label: str) -> None:
        """Take in a row by its place in the files."""
        (self.by_label[label] if label else self.unlabeled).add(place)
        if not text.strip():
            self._empty.add(place)
        elif label:
            other, first = self._first.setdefault(copies_of(text), (label, place))
            if first != place:
                same = other == label
                (self._copies if same else self._contradicting).add(f"{place} = {first}")

    def numbered(self) -> bool:
        """Tell whether the answers are the numbers of the rows: 0 or 1, 2, 3 and so on."""
        counts = self.counts
        try:
            numbers = sorted(map(int, counts))
        except ValueError:
            return False
        start = numbers[0] if numbers else 0
        every = numbers == list(range(start, start + len(counts)))
        return len(counts) > _OFTEN and max(counts.values()) == 1 and every

    def doubts(self, *, are_labels: bool) -> Iterator[Doubt]:
        """Yield what looks wrong; of answers that are numbers, only their texts are judged."""
        if are_labels:
            yield from self._of_labels()
        if self._empty.rows:
            yield self._empty.doubt("Empty texts")
        if self._copies.rows:
            yield self._copies.doubt("Equal texts with the same answer")
        if self._contradicting.rows:
            yield self._contradicting.doubt("Equal texts with different answers")

    def _of_labels(self) -> Iterator[Doubt]:
        alike: defaultdict[str, list[str]] = defaultdict(list)
        for label in self.by_label:
            alike[_folded(label)].append(label)
        for label, places in self.by_label.items():
            usual = max(alike[_folded(label)], key=lambda name: self.by_label[name].rows)
            if usual != label:
                yield places.doubt(f"{_shown(label)} may be the same label as {_shown(usual)}")
            elif places.rows == 1:
                yield places.doubt(f"{_shown(label)} has one row, too few to train and test")


def _folded(label: str) -> str:
    """Return a label without what people write now one way and now the other: case and blanks."""
    return "".join(label.casefold().replace("-", " ").replace("_", " ").split())


def _shown(label: str) -> str:
    return f"'{sanitize.line(label, _LONGEST)}'"


_NAME = re.compile(r"[a-z][a-z0-9_]{0,79}")
_MOST_LABELS = 100
_FEWEST_ROWS = 10
_POSITIVE = ("1", "1.0", "true", "yes", "y")
"""Values of which the label is the positive class, whatever the numbers of rows."""


@dataclass(frozen=True, slots=True)
class TaskOfTable:
    """A task as a table shows it."""

    toml: str
    """The task's file."""
    labels: Mapping[str, int]
    """Numbers of rows by label; of a regression none."""
    doubts: tuple[Doubt, ...]
    """What looks wrong with the table."""


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
) -> TaskOfTable:
    """Return a task whose rows are tables with these columns.

    Two values of `label` make a binary task, more a multi-class one, and numbers of more than
    ten values a regression; of two, the positive class is 1, true or yes, else the rarer one.
    With `drop_empty`, rows without an answer are left out.
    Raises `UsageError` that names all problems, not the first alone.
    """
    rows = LabeledTexts()
    columns = [*text, label, repo, document]
    problems = list(_arguments(name, files, text, label))
    for path in files:
        problems += _read(path, [name for name in columns if name], text, label, rows, len(files))
    values, kind = rows.counts, _type(rows.counts)
    if not problems:
        problems += _label_problems(rows, kind, label, drop_empty=drop_empty)
    if problems:
        many = len(problems) > 1
        raise UsageError(
            f"{f'{len(problems)} things are' if many else 'One thing is'} missing or wrong: "
            f"{'; '.join(problems)}",
            f"Correct {'them all' if many else 'this'}, and run the command again",
        )
    labels = [] if kind == "regression" else _ordered(values)
    settings: dict[str, str | bool] = {"repo": repo, "document": document, "drop_empty": drop_empty}
    return TaskOfTable(
        _toml(name, files, text, label, kind, labels, settings),
        {label: values[label] for label in labels},
        tuple(rows.doubts(are_labels=kind != "regression")),
    )


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
    path: Path,
    columns: Sequence[str],
    text: Sequence[str],
    label: str,
    rows: LabeledTexts,
    files: int,
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
            place = f"{number:,}" if files == 1 else f"{path.name}:{number}"
            joined = "\n".join(cell_text(row.get(name)) for name in text)
            rows.add(place, joined, cell_text(row.get(label)).strip())
    except GoldpanError as error:
        yield f"{error.problem} ({error.remedy[:1].lower()}{error.remedy[1:]})"


def _label_problems(
    table: LabeledTexts, kind: TaskType, label: str, *, drop_empty: bool
) -> Iterator[str]:
    values = table.counts
    rows = values.total()
    if table.unlabeled.rows and not drop_empty:
        empty = table.unlabeled.doubt(f"rows without {label}: {table.unlabeled.rows:,}")
        yield f"{empty}; --drop-empty leaves them out"
    if rows < _FEWEST_ROWS:
        yield f"at least {_FEWEST_ROWS} rows are needed to train and test, and there are {rows:,}"
    elif len(values) < 2:
        yield f"all rows have the same {label}"
    elif table.numbered():
        yield f"{label} numbers the rows, {min(values, key=int)} to {max(values, key=int)}"
    elif lists := [value for value in values if value.startswith(("['", '["'))]:
        yield (
            f"{label} holds lists, such as {lists[0][:40]!r}: several labels a row need a task's "
            'file with type = "multi-label"'
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
    facts: Mapping[str, str | bool],
) -> str:
    number = kind == "regression"
    title = toml_value(name.replace("_", " ").capitalize())
    settings = [f"{key} = {toml_value(value)}" for key, value in facts.items() if value]
    lines = [
        f"title = {title}",
        f"type = {toml_value(kind)}",
        f"description = {toml_value(f'Tell the {label} of the text.')}",
        'activity = "maintenance"',
        f"split = {toml_value('random:0.8,0.2' if number else 'stratified:0.8,0.2')}",
        *(['metric = "smape"'] if number else []),
        "",
        "[columns]",
        f"text = {toml_value(text)}",
        f"target = {toml_value([label])}",
        *(["", "[settings]", *settings] if settings else []),
        "",
        "[source]",
        f"title = {title}",
        'reader = "table"',
        f"files = {toml_value([path.name for path in files])}",
    ]
    for value in labels:
        lines += ["", "[[labels]]", f"name = {toml_value(value)}"]
        lines.append(f"description = {toml_value(f'{label} is {value}.')}")
    return "\n".join(lines) + "\n"
