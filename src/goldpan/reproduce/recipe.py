"""Recipes: a paper's tables as a Python file that computes their cells, and a CSV of the print.

The file has a `PaperRecipe` called `PAPER`: where the authors' files lie, with their digests, which
tasks and models there are, and the functions that give each table's cells. It comes with a paper or
a plugin, or is one's own. Texts of the authors, such as prompts, stay in their files.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_origin
from urllib.parse import quote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from goldpan.core.plugins.registry import unknown_name

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40})?$")]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
M = TypeVar("M", bound=BaseModel)


Value = float | str | None
"""A figure or a word; None where there is none."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell as it is printed."""

    value: float | str
    decimals: int = 0
    """Printed decimals of a number."""
    tolerance: float = 0.0
    """How far from the print a number is near; 0 where only the printed digits count."""


class StrictModel(BaseModel):
    """Data that nobody changes; a key that is not known is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceFile(StrictModel):
    """A file of the authors, or of somebody who publishes what they measured."""

    key: Key
    title: str
    """Description in a few words."""
    paths: tuple[str, ...] = Field(min_length=1)
    """Where it lies: the end of its path below the data folder, with slashes, without .xz or
    .gz; the first is where people are told to put it."""
    sha256: tuple[Digest, ...] = ()
    """Digests of its content, decompressed: all under which it is known."""
    repository: Annotated[str, StringConstraints(pattern=r"^([\w.-]+/[\w.-]+)?$")] = ""
    """OWNER/NAME on GitHub, where it is published there."""
    commit: Commit = ""
    """Commit of that repository."""
    path: str = ""
    """Path in that repository."""
    lfs: bool = False
    """True if the repository has it in Git LFS: a clone without that holds a pointer to it."""
    url: str = ""
    """The page of its authors, where there is no repository."""
    license: str = "unknown"
    """SPDX identifier, or `unknown`."""
    columns: tuple[str, ...] = ()
    """Columns that it must have, for tables."""
    note: str = ""

    @field_validator("paths", "path")
    @classmethod
    def _inside(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for path in (value,) if isinstance(value, str) else value:
            parts = path.split("/")
            if path and ({"", ".", ".."} & {*parts} or not path.isprintable() or "\\" in path):
                raise ValueError(f"{path!r} is not a path below a folder")
        return value

    @property
    def address(self) -> str:
        """Return where people find it, or an empty text."""
        if not self.repository:
            return self.url
        if not (self.commit and self.path):
            return f"https://github.com/{self.repository}"
        return f"https://github.com/{self.repository}/blob/{self.commit}/{quote(self.path)}"

    @property
    def raw_path(self) -> str:
        """Return where its bytes at a fixed commit lie on GitHub's server of files, or nothing."""
        if not (self.repository and self.commit and self.path):
            return ""
        return f"{self.repository}/{self.commit}/{self.path}"


class SplitRecipe(StrictModel):
    """How rows are split."""

    kind: Literal["file", "shuffled", "plan"] = "plan"
    """`file`: as the authors' file says; `shuffled`: scikit-learn's train_test_split on the rows in
    the order of the files; `plan`: a split of Goldpan, which also takes the place of a file that is
    missing (cells are then in part)."""
    file: Key | None = None
    """A CSV file of the authors with a line a row, in the order of the task's files."""
    column: str = ""
    """The file's column that tells the split."""
    test: str = ""
    """Value of that column for test rows."""
    share: float = Field(default=0.2, gt=0, lt=1)
    """Share of the test, for `shuffled`."""
    stratified: bool = True
    labels: tuple[str, ...] = ()
    """In the order of the authors' numbers, for `shuffled`: the rows drawn depend on it."""
    seed: int = 42
    plan: str = "stratified:0.8,0.2"
    """As `goldpan tasks import --split` takes it."""


class TaskRecipe(StrictModel):
    """A task of the paper with its data."""

    task: str
    """The name in Goldpan's registry."""
    files: tuple[Key, ...] = ()
    """In the order in which the authors put them together: splits depend on it."""
    preprocessed: Key | None = None
    """The authors' rows after preprocessing: Parquet with the columns `text_clean` and `label`, a
    number in the order of the split's labels, or a column `label_NAME` a label. Where it is there,
    it takes the place of files and steps."""
    steps: str | tuple[str, ...] = "default"
    """The profile of preprocessing: default, none or one that is named after a paper; or the
    steps themselves, in order."""
    counts: Mapping[str, int] = {}
    """Rows by `total` and `label:NAME`, where they are not the registry's; rows that differ from
    them are not used."""
    split: SplitRecipe = SplitRecipe()
    prompt: Key | None = None
    """The file that holds the authors' prompt, with {text} for the row's text."""
    answers: Mapping[str, str] = {}
    """Names of labels in that prompt, where they differ from the task's."""


class ModelRecipe(StrictModel):
    """A model of the paper."""

    name: Key
    title: str
    """As the tables print it."""
    kind: Literal["baseline", "fine-tuned", "prompted"]
    model: str = ""
    """The name in Goldpan's catalog, of baselines."""
    hub: str = ""
    """OWNER/NAME of the weights on the Hugging Face Hub."""
    commit: Commit = ""
    """Commit of the weights; empty where the authors did not say and none could be checked."""
    parameters: int | None = None
    license: str = "unknown"
    settings: Mapping[str, Any] = {}
    """Settings of the model or of fine-tuning, beside those of the protocol."""
    task_types: tuple[str, ...] = ()
    """Types of tasks that the authors ran it on; empty for all."""


class TableRecipe(StrictModel):
    """A printed table, and what computes its cells."""

    key: Key
    """Number in the paper in Arabic digits, or a word."""
    title: str
    compute: tuple[Callable[..., Any], ...] = ()
    """Functions of the context and this table that yield a `CellOutcome` for each cell that they
    can obtain; of several for one cell, the one nearest to a run counts, then the last."""
    runs: bool = False
    """True if one of them trains models by itself."""
    own: tuple[str, ...] = ()
    """Rows that the print has not: systems that are run here, beside it."""
    note: str = ""
    """Note for readers, such as an error in the print."""
    rows: Mapping[str, Mapping[str, Figure]] = {}
    """The printed figures by row and column, from the paper's CSV file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns, in the order of the print."""
        return tuple(dict.fromkeys(column for row in self.rows.values() for column in row))

    def printed(self, row: str, column: str) -> Value:
        """Return what is printed in a cell; None where the paper leaves it empty."""
        figure = self.rows.get(row, {}).get(column)
        return None if figure is None else figure.value

    def number(self, row: str, column: str) -> float | None:
        """Return the number that is printed in a cell; None where there is none."""
        value = self.printed(row, column)
        return None if isinstance(value, str) else value

    def cells_of(self, task: str, models: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield row and column of the cells of a task and a model by any of its names."""
        for model in models:
            for row, column in ((task, model), (model, task)):
                if column in self.rows.get(row, {}):
                    yield row, column


class PaperRecipe(StrictModel):
    """A paper's recipe."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
    title: str
    citation: str
    """A line: authors, year, title, place."""
    url: str = ""
    protocol: str = "default"
    """Protocol of evaluation."""
    about: tuple[str, ...] = ()
    """Notes for readers on the whole, a sentence each."""
    files: tuple[SourceFile, ...] = ()
    tasks: tuple[TaskRecipe, ...] = ()
    models: tuple[ModelRecipe, ...] = ()
    printed: Path
    """The CSV file of what the paper prints: table, row, column, printed, and tolerance where
    numbers near the print count as near."""
    tables: tuple[TableRecipe, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for noun, names in (
            ("file", [file.key for file in self.files]),
            ("task", [task.task for task in self.tasks]),
            ("model", [model.name for model in self.models]),
            ("table", [table.key for table in self.tables]),
        ):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"two {noun}s are called {twice[0]!r}")
        keys = {file.key for file in self.files}
        for task in self.tasks:
            others = filter(None, (task.split.file, task.prompt, task.preprocessed))
            if unknown := [key for key in (*task.files, *others) if key not in keys]:
                raise ValueError(
                    f"task {task.task} names the file {unknown[0]!r}, which is not in files"
                )
        figures = _read_printed(self.printed, [table.key for table in self.tables])
        tables = (table.model_copy(update={"rows": figures[table.key]}) for table in self.tables)
        object.__setattr__(self, "tables", tuple(tables))
        return self

    def file(self, key: str) -> SourceFile:
        """Return the file of that key; raises `UsageError`."""
        return chosen(self, "file", [key], {file.key: file for file in self.files})[0]

    def table(self, key: str) -> TableRecipe:
        """Return the table of that key; raises `UsageError`."""
        return self.find_tables([key])[0]

    def find_tables(self, keys: Sequence[str]) -> tuple[TableRecipe, ...]:
        """Return the tables of those keys, all of them without any; raises `UsageError`."""
        known = {table.key.lower(): table for table in self.tables}
        return tuple(chosen(self, "table", [key.lower() for key in keys] or [*known], known))

    def task(self, name: str) -> TaskRecipe | None:
        """Return the task of that name, if it is one of the paper's."""
        return next((task for task in self.tasks if task.task == name), None)

    def model(self, name: str) -> ModelRecipe | None:
        """Return the model of that name or title, if it is one of the paper's."""
        return next((model for model in self.models if name in (model.name, model.title)), None)


_COLUMNS = ("table", "row", "column", "printed")
_NUMBER = re.compile(r"[+-]?\d+(?:\.(\d+))?")


def _read_printed(path: Path, keys: Sequence[str]) -> dict[str, dict[str, dict[str, Figure]]]:
    """Return the printed figures by table, row and column."""
    tables: dict[str, dict[str, dict[str, Figure]]] = {key: {} for key in keys}
    for number, row in enumerate(_csv_rows(path), 2):
        where = f"{path}, line {number}"
        if missing := [name for name in _COLUMNS if not row.get(name)]:
            raise ValueError(f"{where} has no {missing[0]}")
        table, name, column, text = (row[key] for key in _COLUMNS)
        if table not in tables:
            raise ValueError(f"{where} names the table {table!r}, which is not in tables")
        cells = tables[table].setdefault(name, {})
        if column in cells:
            raise ValueError(f"{where}: {name!r}, {column!r} of table {table} stands twice")
        cells[column] = _figure(text, row.get("tolerance", ""), where)
    if empty := [key for key, rows in tables.items() if not rows]:
        raise ValueError(f"{path} has no cell of table {empty[0]}")
    return tables


def _figure(text: str, tolerance: str, where: str) -> Figure:
    matched = _NUMBER.fullmatch(text)
    if matched is None and not tolerance:
        return Figure(text)
    try:
        limit = float(tolerance or 0)
    except ValueError:
        limit = math.nan
    if matched is None or not limit >= 0:
        raise ValueError(f"{where}: {tolerance!r} is not a tolerance of {text!r}")
    decimals = len(matched[1] or "")
    return Figure(float(text) if decimals else int(text), decimals, limit)


def _csv_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column; raises `ValueError` where it cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.DictReader(lines, strict=True, restval="", restkey=""))
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"{path} cannot be read ({error})") from None


T = TypeVar("T")


def chosen(recipe: PaperRecipe, noun: str, names: Sequence[str], known: Mapping[str, T]) -> list[T]:
    """Return what has these names, each once; raises `UsageError` for a name of nothing."""
    for name in names:
        if name not in known:
            raise unknown_name(noun, name, known, where=f"The recipe {recipe.name}")
    return [known[name] for name in dict.fromkeys(names)]


def read_list(path: Path, kind: type[M]) -> tuple[M, ...]:
    """Read files or models of a recipe from a CSV file: a column a field, | between several."""
    several = {
        name for name, field in kind.model_fields.items() if get_origin(field.annotation) is tuple
    }
    return tuple(
        kind.model_validate(
            {
                name: tuple(text.split("|")) if name in several else text
                for name, text in row.items()
                if text
            }
        )
        for row in _csv_rows(path)
    )
