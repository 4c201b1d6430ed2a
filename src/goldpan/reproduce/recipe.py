"""Recipes: all that is needed to repeat a paper's tables, as TOML files.

A recipe comes with a paper or a plugin, or is one's own. It holds facts alone: where the
authors' files lie, their digests and counts, settings, and the figures that the paper prints.
Texts of the authors, such as prompts, stay in their files, which the recipe names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from goldpan.core.errors import UsageError, refuse_empty
from goldpan.core.plugins.registry import Registry, unknown_name
from goldpan.core.settings.file import read_toml

Value = float | str | None
"""A figure or a word that a table prints; None where the paper leaves the cell empty."""
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40})?$")]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


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
    rows: int | None = Field(default=None, ge=0)
    """How many rows it has, for tables."""
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
    """Rows by `total` and `label:NAME`; rows that differ from them are not used."""
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
    """The name in Goldpan's catalogue, of baselines."""
    hub: str = ""
    """OWNER/NAME of the weights on the Hugging Face Hub."""
    commit: Commit = ""
    """Commit of the weights; empty where the authors did not say and none could be checked."""
    parameters: int | None = None
    license: str = "unknown"
    settings: Mapping[str, Any] = {}
    """Settings of the model or of fine-tuning, beside those of the protocol."""
    quick: Mapping[str, Any] = {}
    """Settings of a small grid, for a first look."""
    task_types: tuple[str, ...] = ()
    """Types of tasks that the authors ran it on; empty for all."""
    gpus: int = Field(default=1, ge=0)
    """On one machine, for the jobs of a cluster."""
    memory_gb: int = Field(default=32, gt=0)
    hours: int = Field(default=24, gt=0)


class Computation(StrictModel):
    """One way to obtain cells of a table."""

    method: str
    """The name of a computation: one of `reproduce/cells.py`, or of a paper or a plugin."""
    files: tuple[Key, ...] = ()
    """Files that it reads."""
    settings: Mapping[str, Any] = {}


class TableRecipe(StrictModel):
    """A printed table."""

    key: Key
    """Number in the paper in Arabic digits, or a word."""
    title: str
    columns: tuple[str, ...] = Field(min_length=1)
    rows: Mapping[str, tuple[Value, ...]]
    """The printed figures by row, a value a column; an empty text is a cell without one."""
    own: tuple[str, ...] = ()
    """Rows that the print has not: systems that are run here, beside it."""
    decimals: int = Field(default=3, ge=0, le=9)
    """Decimals of the printed figures."""
    compute: tuple[Computation, ...] = ()
    """Later ones replace cells of earlier ones where they are nearer to a run."""
    note: str = ""
    """Note for readers, such as an error in the print."""

    @field_validator("rows")
    @classmethod
    def _empty(cls, rows: Mapping[str, tuple[Value, ...]]) -> Mapping[str, tuple[Value, ...]]:
        return {
            name: tuple(None if value == "" else value for value in values)
            for name, values in rows.items()
        }

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for name, values in self.rows.items():
            if len(values) != len(self.columns):
                raise ValueError(
                    f"row {name!r} has {len(values)} values for {len(self.columns)} columns"
                )
        return self

    def cells_of(self, task: str, models: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield row and column of the cells of a task and a model by any of its names."""
        for model in models:
            for row, column in ((task, model), (model, task)):
                if row in self.rows and column in self.columns:
                    yield row, column

    def number(self, row: str, column: str) -> float | None:
        """Return the number that is printed in a cell; None where there is none."""
        if row not in self.rows or column not in self.columns:
            return None
        value = self.rows[row][self.columns.index(column)]
        return None if value is None or isinstance(value, str) else float(value)


class Statistics(StrictModel):
    """How the paper compares models."""

    approach: Literal["bayesian", "frequentist"] = "bayesian"
    alpha: float = 0.05
    rope: float = 0.1
    samples: int = 50_000
    seed: int = 0


class PaperRecipe(StrictModel):
    """A paper's recipe."""

    name: str
    """Name of its file."""
    title: str
    citation: str
    """A line: authors, year, title, place."""
    url: str = ""
    schema_version: Literal[1] = Field(alias="schema")
    protocol: str = "default"
    """Protocol of evaluation."""
    about: tuple[str, ...] = ()
    """Notes for readers on the whole, a sentence each."""
    files: tuple[SourceFile, ...] = ()
    tasks: tuple[TaskRecipe, ...] = ()
    models: tuple[ModelRecipe, ...] = ()
    statistics: Statistics = Statistics()
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
        file_keys = {file.key for file in self.files}
        for where, keys in self._named():
            if unknown := [key for key in keys if key not in file_keys]:
                raise ValueError(
                    f"{where} names the file {unknown[0]!r}, which is not in [[files]]"
                )
        return self

    def _named(self) -> list[tuple[str, tuple[str, ...]]]:
        named = [
            (f"table {table.key}", compute.files)
            for table in self.tables
            for compute in table.compute
        ]
        for task in self.tasks:
            others = tuple(filter(None, (task.split.file, task.prompt, task.preprocessed)))
            named.append((f"task {task.task}", (*task.files, *others)))
        return named

    def file(self, key: str) -> SourceFile:
        """Return the file of that key."""
        return next(file for file in self.files if file.key == key)

    def task(self, name: str) -> TaskRecipe | None:
        """Return the task of that name, if it is one of the paper's."""
        return next((task for task in self.tasks if task.task == name), None)

    def model(self, name: str) -> ModelRecipe | None:
        """Return the model of that name or title, if it is one of the paper's."""
        return next((model for model in self.models if name in (model.name, model.title)), None)


PATTERN = re.compile(r"[a-z][a-z0-9-]*")
"""The name of a recipe's file, without .toml."""


_ENDING = ".toml"
RECIPES: Registry[Path | Traversable] = Registry(
    "recipe",
    dict,
    "recipe",
    lambda item: item[0],
    remedy="Choose {names}, or give the path of a TOML file",
)
"""Recipes of papers and plugins."""
recipe_names = RECIPES.names


def find_recipe(name: str) -> PaperRecipe:
    """Return the recipe of that name, or the one in the TOML file at that path.

    Raises `UsageError` that lists the recipes there are, or says what is wrong with a file.
    """
    return read_recipe(Path(name) if name.endswith(_ENDING) else RECIPES.find(name))


def read_recipe(path: Path | Traversable) -> PaperRecipe:
    """Read a recipe's file; raises `UsageError` that names file, line, key and remedy."""
    if isinstance(path, Path):
        refuse_empty(path, "docs/recipes.md shows what a recipe holds")
    source = read_toml(path, "docs/reference/files.md")
    name = path.name.removesuffix(_ENDING)
    if not PATTERN.fullmatch(name):
        raise UsageError(
            f"{path}: {name!r} is not a name for a recipe",
            "Name the file with lower-case letters, digits and hyphens, such as our-paper.toml",
        )
    return source.read(PaperRecipe, source.named(name))


def find_tables(recipe: PaperRecipe, keys: Sequence[str]) -> tuple[TableRecipe, ...]:
    """Return the tables of those keys, all of them without any; raises `UsageError`."""
    by_key = {table.key.lower(): table for table in recipe.tables}
    for key in keys:
        if key.lower() not in by_key:
            choice = [table.key for table in recipe.tables]
            raise unknown_name("table", key, choice, where=f"The recipe {recipe.name}")
    chosen = dict.fromkeys(key.lower() for key in keys)
    return tuple(by_key[key] for key in chosen) if keys else recipe.tables


def find_tasks(recipe: PaperRecipe, names: Sequence[str]) -> tuple[TaskRecipe, ...]:
    """Return the tasks of those names, all of them without any; raises `UsageError`."""
    by_name = {task.task: task for task in recipe.tasks}
    for name in names:
        if name not in by_name:
            raise unknown_name("task", name, by_name, where=f"The recipe {recipe.name}")
    return tuple(by_name[name] for name in names) if names else recipe.tasks


def split_names(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the names in arguments such as `a,b` and `c`, each once, in order."""
    names = (name.strip() for argument in arguments for name in argument.split(","))
    return tuple(dict.fromkeys(name for name in names if name))
