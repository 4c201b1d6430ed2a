"""What a computation is given, and what it may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from goldpan.core.progress import Reporter
from goldpan.core.settings_file import Source
from goldpan.core.workspace import Workspace
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.data import DataFolder, FoundFile, MissingFileError
from goldpan.reproduce.recipe import Recipe, TableRecipe

C = TypeVar("C", bound=Callable[..., Any])
Settings = TypeVar("Settings", bound=BaseModel)
_SIGNS = ("datasets", "runs", "tables")
"""Folders of which a workspace has one at least."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much of what can be run here is run."""

    run: bool = True
    """Whether models are trained; without it, finished runs count still."""
    models: tuple[str, ...] = ()
    """Models to run, by the recipe's names; empty for the baselines."""
    tasks: tuple[str, ...] = ()
    """Tasks to run; empty for all that have data."""
    limit: int | None = None
    """The most rows of a task; cells are then `in part`."""
    quick: bool = False
    """Whether models take small grids; cells are then `in part`."""


@dataclass(frozen=True)
class Context:
    """The recipe with the user's data, workspace and wishes."""

    recipe: Recipe
    data: DataFolder
    workspace: Workspace
    reporter: Reporter
    argument: str = ""
    """How the user names the recipe, where it is a file."""
    seed: int = 0
    effort: Effort = Effort()
    download: bool = False
    """Whether files that lack may be fetched."""
    missing: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Files that were asked for and are not there: what, and how to get it, by key."""
    notes: list[str] = field(default_factory=list)
    """What computations want readers to know, in order."""
    problems: list[str] = field(default_factory=list)
    """What kept single cells of the table at hand from being computed, a sentence each."""
    used: dict[str, FoundFile] = field(default_factory=dict)
    """Files of the table at hand, by key."""

    @property
    def directory(self) -> Path:
        """Return where datasets, caches and jobs of this paper lie."""
        return self.workspace.root / "reproduce" / self.recipe.name

    @property
    def recipe_argument(self) -> str:
        """Return what names the recipe on a command line from anywhere."""
        if not self.argument.endswith(".toml"):
            return self.recipe.name
        return str(Path(self.argument).resolve())

    def file(self, key: str) -> FoundFile:
        """Return a file of the recipe; raises `MissingFileError`, which is remembered."""
        source = self.recipe.file(key)
        try:
            file = self.data.fetch(source) if self.download else self.data.find(source)
        except MissingFileError as error:
            self.missing[key] = error.problem, error.remedy
            raise
        self.used[key] = file
        return file

    def files(self, keys: Iterable[str]) -> list[FoundFile]:
        """Return several files; raises `MissingFileError` after all that lack are remembered."""
        files, missing = [], None
        for key in keys:
            try:
                files.append(self.file(key))
            except MissingFileError as error:
                missing = missing or error
        if missing is not None:
            raise missing
        return files

    def problem(self, text: str) -> None:
        """Tell what kept a cell from being computed, once; others go on."""
        if text not in self.problems:
            self.problems.append(text)

    def note(self, text: str) -> None:
        """Tell readers something of the table at hand, once."""
        if text not in self.notes:
            self.notes.append(text)


_RUNS = "runs_models"


def runs_models(compute: C) -> C:
    """Mark a computation that trains models by itself, so that --model and --task apply to it."""
    setattr(compute, _RUNS, True)
    return compute


def can_run(compute: Compute) -> bool:
    """Tell whether a computation trains models by itself."""
    return getattr(compute, _RUNS, False)


Compute = Callable[[Context, TableRecipe, Mapping[str, Any]], Iterable[Outcome]]
"""Yields the cells of a table that it can obtain. Settings are those of the recipe.

Raises `GoldpanError` where it can obtain none; the table says so and other computations go on.
"""


def parsed(kind: type[Settings], settings: Mapping[str, Any]) -> Settings:
    """Return a computation's settings; raises `UsageError` that names the keys that are wrong."""
    return Source("A computation's settings", settings, "docs/recipes.md").read(kind)


def workspaces(context: Context) -> Iterator[Workspace]:
    """Yield the folders that are workspaces: of the data, of this paper, and the user's own.

    The first two count with the folders in them, as the plan of a paper makes its workspace beside
    itself.
    """
    folders: list[Path] = []
    for root in (context.data.root, context.directory):
        if root.is_dir():
            folders += [root, *sorted(path for path in root.iterdir() if path.is_dir())]
    seen: set[Path] = set()
    for folder in (*folders, context.workspace.root):
        if (resolved := folder.resolve()) in seen:
            continue
        seen.add(resolved)
        if any((folder / sign).is_dir() for sign in _SIGNS):
            yield Workspace(folder)
