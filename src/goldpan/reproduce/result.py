"""What `goldpan reproduce` returns: tables beside the print, or the recipes there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import orjson

from goldpan.core.errors import WorkspaceError
from goldpan.core.result import NOT_IN_JSON, Result, json_data
from goldpan.core.sanitize import for_json
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.evaluation.environment import Environment, read_environment
from goldpan.reproduce.cells import Effort, PaperContext, TableResult, reproduce
from goldpan.reproduce.data import FoundFile
from goldpan.reproduce.recipe import PaperRecipe, TableRecipe

NAME = "result.json"
"""The file that holds a result."""


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file of the authors that is not there."""

    key: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Reproduced(Result):
    """Tables of a paper as they came out here, with their origin."""

    schema: ClassVar[int] = 4

    paper: str
    title: str
    citation: str
    url: str
    seed: int
    effort: Effort
    complete: bool
    """Whether every file was there, as published, and every computation ran."""
    tables: tuple[TableResult, ...]
    files: tuple[FoundFile, ...]
    missing: tuple[MissingFile, ...]
    environment: Environment
    recipe: PaperRecipe = field(metadata=NOT_IN_JSON)
    data: Path = field(metadata=NOT_IN_JSON)
    path: Path = field(metadata=NOT_IN_JSON)
    """The file that holds the result."""

    @property
    def exit_code(self) -> int:
        """3 where a file is missing, is not the authors', or a computation did not run."""
        return 0 if self.complete else 3


def reproduced(context: PaperContext, tables: Sequence[TableRecipe], directory: Path) -> Reproduced:
    """Return the tables as they come out here, and write them as JSON into a directory.

    Raises `WorkspaceError` where it cannot be written.
    """
    recipe, results = context.recipe, reproduce(context, tables)
    missing = sorted(context.missing.items())
    result = Reproduced(
        recipe.name,
        recipe.title,
        recipe.citation,
        recipe.url,
        context.seed,
        context.effort,
        not missing and not any(table.problems for table in results),
        results,
        tuple(file for _, file in sorted(context.data.files.items())),
        tuple(MissingFile(key, *texts) for key, texts in missing),
        read_environment(),
        recipe,
        context.data.root,
        directory / NAME,
    )
    text = orjson.dumps(json_data(result), option=orjson.OPT_INDENT_2).decode()
    try:
        make_directory(directory)
        write_whole(result.path, for_json(text) + "\n")
    except OSError as error:
        raise WorkspaceError(
            f"{directory} cannot be written: {error.strerror or error}", "Choose another --output"
        ) from None
    return result


@dataclass(frozen=True, slots=True)
class RecipeSummary(Result):
    """A recipe in a line."""

    name: str
    title: str
    citation: str
    tables: tuple[str, ...]

    @classmethod
    def of(cls, recipe: PaperRecipe) -> RecipeSummary:
        """Return a recipe in a line."""
        tables = tuple(table.key for table in recipe.tables)
        return cls(recipe.name, recipe.title, recipe.citation, tables)
