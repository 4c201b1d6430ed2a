"""Tables beside the print: their cells, and the computations that fill them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, TypeVar, get_type_hints

from pydantic import create_model

from goldpan.core.errors import GoldpanError, StoppedError
from goldpan.core.plugins.loading import attribute_to_plugin, digests
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
from goldpan.core.settings.file import Source
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.evaluation.record import Environment, read_environment
from goldpan.reproduce.data import DataFolder, FoundFile, MissingFileError, other_content
from goldpan.reproduce.recipe import PaperRecipe, StrictModel, TableRecipe, Value

State = Literal["run", "in part", "recomputed", "untested"]
"""Origin of a cell: by running what the paper ran, by running less than that, by computing
from scores that the authors published, or not at all."""
STATES: tuple[State, ...] = ("run", "in part", "recomputed", "untested")
MEANING: Mapping[State, str] = {
    "run": "run here as the paper describes it",
    "in part": "run here with less than the paper's data or settings",
    "recomputed": "computed from figures that the authors published; nothing was run",
    "untested": "not obtained here",
}
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """Value that a computation gives to a cell."""

    row: str
    column: str
    value: Value
    """None where it could not be obtained."""
    state: State
    note: str = ""
    """Why it is untested or in part, or what else a reader must know."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Origin of the value, as plain JSON data: the run's directory, rows, seeds."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a printed table beside what came out here."""

    row: str
    column: str
    paper: Value
    here: Value
    state: State
    note: str
    facts: Mapping[str, Any]
    decimals: int
    others: tuple[CellOutcome, ...] = ()
    """Outcomes of other computations, such as the published score beside a run."""

    @property
    def distance(self) -> float | None:
        """Return here less paper; None where either is no number."""
        if isinstance(self.paper, float | int) and isinstance(self.here, float | int):
            return self.here - self.paper
        return None

    @property
    def same(self) -> bool | None:
        """Return whether both agree to the printed digits; None where one is missing."""
        if self.paper is None or self.here is None:
            return None
        if (distance := self.distance) is not None:
            return abs(distance) <= 0.5 * 10.0**-self.decimals + _ROUNDING
        return str(self.paper) == str(self.here)


@dataclass(frozen=True, slots=True)
class TableResult:
    """A table as it came out here."""

    recipe: TableRecipe
    cells: tuple[Cell, ...]
    """By row and column, in the order of the print; cells that the paper leaves empty are not
    among them."""
    problems: tuple[str, ...] = ()
    """Reasons why computations did not run, a sentence each."""
    notes: tuple[str, ...] = ()

    @property
    def obtained(self) -> bool:
        """Return whether any cell was: a table of untested cells shows the print alone."""
        return any(cell.state != "untested" for cell in self.cells)

    def differing(self) -> tuple[Cell, ...]:
        """Return the cells that do not agree to the printed digits."""
        return tuple(cell for cell in self.cells if cell.same is False)


def count_states(tables: Iterable[TableResult]) -> dict[State, int]:
    """Return how many cells of tables are in each state."""
    counts = Counter(cell.state for table in tables for cell in table.cells)
    return {state: counts[state] for state in STATES}


def fill_table(
    recipe: TableRecipe,
    outcomes: Iterable[CellOutcome],
    problems: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> TableResult:
    """Put outcomes into a table; of several for a cell, the one nearest to a run counts.

    Raises `ValueError` for an outcome of a cell that the table has not: a mistake of the
    computation. Rows of Goldpan's own have the cells that were obtained.
    """
    printed = {**recipe.rows, **{row: (None,) * len(recipe.columns) for row in recipe.own}}
    by_cell: dict[tuple[str, str], list[CellOutcome]] = {}
    for outcome in outcomes:
        if outcome.row not in printed or outcome.column not in recipe.columns:
            raise ValueError(f"{recipe.key} has no cell {outcome.row!r}, {outcome.column!r}")
        by_cell.setdefault((outcome.row, outcome.column), []).append(outcome)
    cells = []
    for row, values in printed.items():
        for column, paper in zip(recipe.columns, values, strict=True):
            if paper is None and (row in recipe.rows or (row, column) not in by_cell):
                continue
            # A later outcome of the same state replaces an earlier one.
            outcomes_of = by_cell.get((row, column), [])[::-1]
            ranked = sorted(outcomes_of, key=lambda outcome: STATES.index(outcome.state))
            best = ranked[0] if ranked else CellOutcome(row, column, None, "untested")
            others = tuple(outcome for outcome in ranked[1:] if outcome.state != "untested")
            came = best.value, best.state, best.note, best.facts
            cells.append(Cell(row, column, paper, *came, recipe.decimals, others))
    return TableResult(recipe, tuple(cells), tuple(problems), tuple(notes))


C = TypeVar("C", bound=Callable[..., Any])
_SIGNS = ("datasets", "runs", "tables")
"""Folders of which a workspace has one at least."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The share of possible runs that is made here."""

    run: bool = True
    """True if models are trained; finished runs count in any case."""
    models: tuple[str, ...] = ()
    """Models to run, by the recipe's names; empty for the baselines."""
    tasks: tuple[str, ...] = ()
    """Tasks to run; empty for all that have data."""
    limit: int | None = None
    """The most rows of a task; cells are then `in part`."""
    quick: bool = False
    """True if models are tuned on small grids; cells are then `in part`."""


@dataclass(frozen=True)
class PaperContext:
    """The recipe with the user's data, workspace and options."""

    recipe: PaperRecipe
    data: DataFolder
    workspace: WorkspaceLayout
    reporter: Reporter
    argument: str = ""
    """How the user names the recipe, where it is a file."""
    seed: int = 0
    effort: Effort = Effort()
    download: bool = False
    """True if missing files may be downloaded."""
    missing: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Files that are not there: the problem, and how to get it, by key."""
    notes: list[str] = field(default_factory=list)
    """Notes of computations for readers, in order."""
    problems: list[str] = field(default_factory=list)
    """Reasons why single cells of the table at hand were not computed, a sentence each."""
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
        """Return several files; raises `MissingFileError` once all missing ones are remembered."""
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
        """Note why a cell was not computed, once; others go on."""
        if text not in self.problems:
            self.problems.append(text)

    def note(self, text: str) -> None:
        """Note something on the table at hand for readers, once."""
        if text not in self.notes:
            self.notes.append(text)


_RUNS = "runs_models"


def runs_models(compute: C) -> C:
    """Mark a computation that trains models by itself, so that --model and --task apply to it."""
    setattr(compute, _RUNS, True)
    return compute


def can_run(compute: Compute) -> bool:
    """Return whether a computation trains models by itself."""
    return getattr(compute, _RUNS, False)


Compute = Callable[..., Iterable[CellOutcome]]
"""Yields the cells of a table that it can obtain, given the context and the table's recipe.

Its parameters after these are its settings in recipes; one called `settings` is a model of them
all. Raises `GoldpanError` where it can obtain none; the table says so and other computations go on.
"""


def outcomes_of(
    compute: Compute, context: PaperContext, table: TableRecipe, settings: Mapping[str, Any]
) -> Iterable[CellOutcome]:
    """Return the cells that a computation yields; raises `UsageError` for wrong settings."""
    kinds = get_type_hints(compute, include_extras=True)
    source = Source("A computation's settings", settings, "docs/reference/files.md")
    if "settings" in kinds:
        return compute(context, table, source.read(kinds["settings"]))
    parameters = list(signature(compute).parameters.items())[2:]
    fields: dict[str, Any] = {
        name: (kinds[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in parameters
    }
    chosen = source.read(create_model("settings", __base__=StrictModel, **fields))
    return compute(context, table, **dict(chosen))


def workspaces(context: PaperContext) -> Iterator[WorkspaceLayout]:
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
            yield WorkspaceLayout(folder)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Tables of a recipe as they came out here, with their origin."""

    context: PaperContext
    tables: tuple[TableResult, ...]
    environment: Environment
    plugins: Mapping[str, str]
    """The SHA-256 of each plugin on which the cells depend, by its name."""

    @property
    def missing(self) -> dict[str, tuple[str, str]]:
        """Return which files are missing, and how to get them, by key."""
        return dict(sorted(self.context.missing.items()))

    @property
    def complete(self) -> bool:
        """Return whether every file was there, as published, and every computation ran."""
        return not self.missing and not any(table.problems for table in self.tables)


_OWN = {
    "confusion": "figures:confusion",
    "derived": "figures:derived",
    "published-scores": "figures:published_scores",
    "ranking": "figures:ranking",
    "runs": "runs:runs",
    "split-counts": "runs:split_counts",
    "tiers": "figures:tiers",
}
"""Where computations stand in this folder; those modules import this one."""


COMPUTATIONS: Registry[Compute] = Registry(
    "computation",
    lambda: {name: resolve_name(f"goldpan.reproduce.{place}") for name, place in _OWN.items()},
    "computation",
    lambda item: item[0],
)
find_computation = COMPUTATIONS.find


def reproduce(context: PaperContext, tables: Sequence[TableRecipe]) -> Reproduction:
    """Return the tables of a recipe as they come out here.

    What a computation cannot do, as a file is missing or not the authors', is a problem of its
    table; other computations go on. Raises `UsageError` for a computation that there is not.
    """
    methods = {
        compute.method: find_computation(compute.method)
        for table in tables
        for compute in table.compute
    }
    results = []
    for table in tables:
        outcomes: list[CellOutcome] = []
        problems = context.problems
        problems.clear()
        context.notes.clear()
        context.used.clear()
        for computation in table.compute:
            method = methods[computation.method]
            with context.reporter.task(f"{table.title}: {computation.method}", 1) as progress:
                try:
                    context.files(computation.files)
                    with attribute_to_plugin("computation", computation.method):
                        for outcome in outcomes_of(method, context, table, computation.settings):
                            outcomes.append(outcome)  # noqa: PERF402 - what came before a failure stays
                except StoppedError:
                    raise
                except GoldpanError as error:
                    context.problem(str(error))
                progress.advance()
        problems += [
            f"{sentence}, by SHA-256. Get the authors' file, or judge the cells with that in mind."
            for sentence in other_content(context.used.values())
        ]
        if table.note:
            context.note(table.note)
        results.append(fill_table(table, outcomes, problems, tuple(context.notes)))
    plugins = _plugins(context.recipe, methods)
    return Reproduction(context, tuple(results), read_environment(), plugins)


def _plugins(recipe: PaperRecipe, methods: Iterable[str]) -> dict[str, str]:
    """Return the digests of the plugins on which a recipe's cells depend."""
    used: list[tuple[Kind, str]] = [("recipe", recipe.name), ("protocol", recipe.protocol)]
    used += [("computation", method) for method in methods]
    used += [("task", task.task) for task in recipe.tasks]
    used += [("model", model.model) for model in recipe.models]
    return digests(*used)
