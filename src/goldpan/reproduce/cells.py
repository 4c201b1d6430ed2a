"""Runs the functions of a paper's tables, and compares their cells with the print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from goldpan.core.errors import GoldpanError, StoppedError, UsageError
from goldpan.core.plugins.loading import source_of
from goldpan.core.plugins.parts import plugin_failure
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.reproduce.data import DataFolder, FoundFile, MissingFileError, other_content
from goldpan.reproduce.finding import own_file
from goldpan.reproduce.recipe import Figure, PaperRecipe, TableRecipe, Value

State = Literal["run", "in part", "recomputed", "untested"]
"""Origin of a cell: by running what the paper ran, by running less than that, by computing
from scores that the authors published, or not at all."""
STATES: tuple[State, ...] = ("run", "in part", "recomputed", "untested")
Verdict = Literal["equal", "near", "different", "untested"]
"""`equal` to the printed digits or word, `near` within the tolerance that the paper's CSV file
gives, `different`, or `untested` where the print or the value here is missing."""
VERDICTS: tuple[Verdict, ...] = ("equal", "near", "different", "untested")
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """Value that a computation gives to a cell."""

    row: str
    column: str
    value: Value
    """None where it could not be obtained."""
    state: State = "recomputed"
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
    distance: float | None
    """Here less paper; None where either is no number."""
    verdict: Verdict
    state: State
    note: str
    facts: Mapping[str, Any]
    decimals: int


@dataclass(frozen=True, slots=True)
class TableResult:
    """A table as it came out here."""

    table: str
    title: str
    counts: Mapping[State, int]
    verdicts: Mapping[Verdict, int]
    problems: tuple[str, ...]
    """Reasons why computations did not run, a sentence each."""
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]
    """By row and column, in the order of the print; cells that the paper leaves empty are not
    among them."""

    @property
    def obtained(self) -> bool:
        """Return whether any cell was: a table of untested cells shows the print alone."""
        return any(cell.state != "untested" for cell in self.cells)


def fill_table(
    recipe: TableRecipe,
    outcomes: Iterable[CellOutcome],
    problems: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> TableResult:
    """Put outcomes into a table; of several for a cell, the one nearest to a run counts.

    Rows of Goldpan's own have the cells that were obtained.
    """
    best: dict[tuple[str, str], CellOutcome] = {}
    # A later outcome of the same state replaces an earlier one.
    for outcome in sorted(outcomes, key=lambda outcome: -STATES.index(outcome.state)):
        best[outcome.row, outcome.column] = outcome
    width = max(figure.decimals for row in recipe.rows.values() for figure in row.values())
    cells = []
    for row, column in product((*recipe.rows, *recipe.own), recipe.columns):
        figure = recipe.rows.get(row, {}).get(column)
        if figure is not None or (row in recipe.own and (row, column) in best):
            outcome = best.get((row, column), CellOutcome(row, column, None, "untested"))
            cells.append(_compared(figure, outcome, width))
    verdicts = Counter(cell.verdict for cell in cells)
    counts = Counter(cell.state for cell in cells)
    return TableResult(
        recipe.key,
        recipe.title,
        {state: counts[state] for state in STATES},
        {verdict: verdicts[verdict] for verdict in VERDICTS},
        tuple(problems),
        tuple(notes),
        tuple(cells),
    )


def _compared(figure: Figure | None, outcome: CellOutcome, width: int) -> Cell:
    paper, here = None if figure is None else figure.value, outcome.value
    decimals = width if figure is None or isinstance(paper, str) else figure.decimals
    distance: float | None = None
    verdict: Verdict = "untested"
    if figure and isinstance(paper, float | int) and isinstance(here, float | int):
        distance = here - paper
        equal = 0.5 * 10.0**-decimals
        verdict = "different"
        if abs(distance) <= max(equal, figure.tolerance) + _ROUNDING:
            verdict = "equal" if abs(distance) <= equal + _ROUNDING else "near"
    elif paper is not None and here is not None:
        verdict = "equal" if str(paper) == str(here) else "different"
    came = outcome.state, outcome.note, outcome.facts
    return Cell(outcome.row, outcome.column, paper, here, distance, verdict, *came, decimals)


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


@dataclass(frozen=True)
class PaperContext:
    """The recipe with the user's data, workspace and options."""

    recipe: PaperRecipe
    data: DataFolder
    workspace: WorkspaceLayout
    reporter: Reporter
    source: Path | None = None
    """The recipe's file, where it is a user's own."""
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
        """Return where datasets and caches of this paper lie."""
        return self.workspace.root / "reproduce" / self.recipe.name

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
        files, missing = [], []
        for key in keys:
            try:
                files.append(self.file(key))
            except MissingFileError as error:
                missing.append(error)
        if missing:
            raise missing[0]
        return files

    def problem(self, text: str) -> None:
        """Note why a cell was not computed, once; others go on."""
        if text not in self.problems:
            self.problems.append(text)

    def note(self, text: str) -> None:
        """Note something on the table at hand for readers, once."""
        if text not in self.notes:
            self.notes.append(text)


def workspaces(context: PaperContext) -> Iterator[WorkspaceLayout]:
    """Yield the folders that are workspaces: of the data, of this paper, and the user's own.

    The first two count with the folders in them, as the plan of a paper makes its workspace beside
    itself.
    """
    folders: list[Path] = []
    for root in (context.data.root, context.directory):
        folders += [root, *sorted(path for path in root.glob("*") if path.is_dir())]
    by_place: dict[Path, Path] = {}
    for folder in (*folders, context.workspace.root):
        by_place.setdefault(folder.resolve(), folder)
    for folder in by_place.values():
        if any((folder / sign).is_dir() for sign in _SIGNS):
            yield WorkspaceLayout(folder)


def from_print(
    row: str,
    column: str,
    table: TableRecipe,
    cells: Iterable[tuple[str, str]],
    combine: Callable[[Sequence[float]], Value],
) -> Iterator[CellOutcome]:
    """Yield a cell that follows from other printed cells; nothing where one of them is empty.

    `combine` makes it of their numbers; None, as of a division by zero, gives no cell.
    """
    figures = [table.number(*cell) for cell in cells]
    present = [figure for figure in figures if figure is not None]
    if present and len(present) == len(figures) and (value := combine(present)) is not None:
        yield CellOutcome(row, column, value, "recomputed", "from printed figures")


def reproduce(context: PaperContext, tables: Sequence[TableRecipe]) -> tuple[TableResult, ...]:
    """Return the tables of a recipe as they come out here.

    What a function cannot do, as a file is missing or not the authors', is a problem of its
    table; other functions go on.
    """
    return tuple(_reproduced(context, table) for table in tables)


def _reproduced(context: PaperContext, table: TableRecipe) -> TableResult:
    outcomes: list[CellOutcome] = []
    for noted in (context.problems, context.notes, context.used):
        noted.clear()
    with context.reporter.task(table.title, len(table.compute)) as progress:
        for compute in table.compute:
            try:
                for outcome in compute(context, table):
                    _check_place(table, outcome)
                    outcomes.append(outcome)  # what came before a failure stays
            except StoppedError:
                raise
            except GoldpanError as error:
                context.problem(str(error))
            except Exception as error:  # noqa: BLE001 (a user's code may raise anything)
                context.problem(str(_failure(context, error)))
            progress.advance()
    context.problems.extend(
        f"{sentence}, by SHA-256. Get the authors' file, or judge the cells with that in mind."
        for sentence in other_content(context.used.values())
    )
    if table.note:
        context.note(table.note)
    return fill_table(table, outcomes, context.problems, context.notes)


def _failure(context: PaperContext, error: Exception) -> GoldpanError:
    """Return a failure as that of the recipe's author, with file and line.

    One of Goldpan's own recipes is raised as it is.
    """
    name, own = context.recipe.name, context.source
    plugin = source_of("recipe", name) if own is None else own_file(own)
    if plugin is None or plugin.ships:
        raise error
    return plugin_failure(f"The recipe {own or name}", plugin, error)


def _check_place(table: TableRecipe, outcome: CellOutcome) -> None:
    known = outcome.row in (*table.rows, *table.own) and outcome.column in table.columns
    if not known:
        raise UsageError(
            f"Table {table.key} has no cell {outcome.row!r}, {outcome.column!r}",
            "Name rows and columns as the CSV file of printed figures does",
        )
