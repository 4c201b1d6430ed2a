"""What `goldpan reproduce` returns: tables beside the print, and what a recipe holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from goldpan.core.result import NOT_IN_JSON, Result
from goldpan.evaluation.environment import Environment, read_environment
from goldpan.reproduce.cells import Effort, PaperContext, TableResult, plugins_of
from goldpan.reproduce.data import DataFolder, FoundFile
from goldpan.reproduce.recipe import PaperRecipe


@dataclass(frozen=True, slots=True)
class UsedFile:
    """A file of the authors that was read."""

    key: str
    title: str
    name: str
    sha256: str
    state: str
    address: str
    license: str


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file of the authors that is not there."""

    key: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Reproduced(Result):
    """Tables of a paper as they came out here, with their origin."""

    schema: ClassVar[int] = 2

    paper: str
    title: str
    citation: str
    url: str
    seed: int
    effort: Effort
    complete: bool
    """Whether every file was there, as published, and every computation ran."""
    tables: tuple[TableResult, ...]
    files: tuple[UsedFile, ...]
    missing: tuple[MissingFile, ...]
    environment: Environment
    plugins: Mapping[str, str]
    """The SHA-256 of each plugin on which the cells depend, by its name."""
    recipe: PaperRecipe = field(metadata=NOT_IN_JSON)
    data: Path = field(metadata=NOT_IN_JSON)
    paths: tuple[Path, ...] = field(default=(), metadata=NOT_IN_JSON)
    """The files that hold the result."""

    @classmethod
    def of(cls, context: PaperContext, tables: Iterable[TableResult]) -> Reproduced:
        """Return the tables with their origin."""
        recipe, results = context.recipe, tuple(tables)
        missing = sorted(context.missing.items())
        return cls(
            recipe.name,
            recipe.title,
            recipe.citation,
            recipe.url,
            context.seed,
            context.effort,
            not missing and not any(table.problems for table in results),
            results,
            tuple(_used(file) for _, file in sorted(context.data.files.items())),
            tuple(MissingFile(key, *texts) for key, texts in missing),
            read_environment(),
            plugins_of(recipe),
            recipe,
            context.data.root,
        )

    @property
    def exit_code(self) -> int:
        """3 where a file is missing, is not the authors', or a computation did not run."""
        return 0 if self.complete else 3


def _used(file: FoundFile) -> UsedFile:
    source = file.source
    return UsedFile(
        source.key,
        source.title,
        file.path.name,
        file.sha256,
        file.state,
        source.address,
        source.license,
    )


@dataclass(frozen=True, slots=True)
class RecipeSummary(Result):
    """A recipe in a line."""

    name: str
    title: str
    citation: str
    tables: tuple[str, ...]


def summary(recipe: PaperRecipe) -> RecipeSummary:
    """Return a recipe in a line."""
    tables = tuple(table.key for table in recipe.tables)
    return RecipeSummary(recipe.name, recipe.title, recipe.citation, tables)


@dataclass(frozen=True, slots=True)
class RecipeDescription(Result):
    """Content of a recipe, and which of its files are there."""

    name: str
    title: str
    citation: str
    tables: tuple[Mapping[str, str], ...]
    files: tuple[Mapping[str, Any], ...]
    tasks: tuple[Mapping[str, Any], ...]
    models: tuple[Mapping[str, Any], ...]


def description(recipe: PaperRecipe, data: DataFolder) -> RecipeDescription:
    """Return the content of a recipe, and which of its files are there."""
    found = {
        source.key: next((str(path) for path in data.candidates(source)), None)
        for source in recipe.files
    }
    files = (
        {
            "key": source.key,
            "title": source.title,
            "path": source.paths[0],
            "address": source.address,
            "license": source.license,
            "found": found[source.key],
        }
        for source in recipe.files
    )
    tasks = (
        {
            "task": task.task,
            "rows": task.counts.get("total"),
            "data": all(found[key] for key in task.files) and bool(task.files),
        }
        for task in recipe.tasks
    )
    models = (
        {
            **model.model_dump(include={"name", "title", "kind", "parameters", "license"}),
            "weights": f"{model.hub}@{model.commit or 'COMMIT'}" if model.hub else "",
        }
        for model in recipe.models
    )
    return RecipeDescription(
        recipe.name,
        recipe.title,
        recipe.citation,
        tuple({"table": table.key, "title": table.title} for table in recipe.tables),
        tuple(files),
        tuple(tasks),
        tuple(models),
    )
