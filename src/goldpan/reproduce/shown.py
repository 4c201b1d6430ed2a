"""Screens of `goldpan reproduce`: recipes, the content of one, and tables beside the print."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.report.document import count
from goldpan.reproduce.cells import MEANING, Cell, Context, TableResult
from goldpan.reproduce.engine import Reproduction
from goldpan.reproduce.recipe import Recipe, SourceFile
from goldpan.reproduce.report import NAMES, as_json, counted, distance_shown, sentences, shown


@dataclass(frozen=True, slots=True)
class RecipeSummary(Result):
    """A recipe in a line."""

    recipe: Recipe

    def plain(self) -> dict[str, Any]:
        """Return its name, citation and tables."""
        return {
            "name": self.recipe.name,
            "title": self.recipe.title,
            "citation": self.recipe.citation,
            "tables": [table.key for table in self.recipe.tables],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield one line."""
        tables = ", ".join(table.key for table in self.recipe.tables)
        yield Line(f"{self.recipe.name}: {self.recipe.title} (tables {tables})")


@dataclass(frozen=True, slots=True)
class RecipeDescription(Result):
    """Content of a recipe, and which of its files are there."""

    context: Context

    def plain(self) -> dict[str, Any]:
        """Return its tables, files, tasks and models."""
        recipe = self.context.recipe
        paths_of = {
            source.key: [str(path) for path in self.context.data.candidates(source)[:1]]
            for source in recipe.files
        }
        return {
            **RecipeSummary(recipe).plain(),
            "tables": [{"table": table.key, "title": table.title} for table in recipe.tables],
            "files": [
                {
                    "key": source.key,
                    "title": source.title,
                    "path": source.paths[0],
                    "address": source.address,
                    "license": source.license,
                    "found": next(iter(paths_of[source.key]), None),
                }
                for source in recipe.files
            ],
            "tasks": [
                {
                    "task": task.task,
                    "rows": task.counts.get("total"),
                    "data": all(paths_of[key] for key in task.files) and bool(task.files),
                }
                for task in recipe.tasks
            ],
            "models": [
                {
                    **model.model_dump(include={"name", "title", "kind", "parameters", "license"}),
                    "weights": f"{model.hub}@{model.commit or 'COMMIT'}" if model.hub else "",
                }
                for model in recipe.models
            ],
        }

    def blocks(self) -> Iterator[Block]:
        """Yield the same for people."""
        facts = self.plain()
        yield Title(facts["title"])
        yield Line(facts["citation"])
        for table in facts["tables"]:
            yield Line(f"  table {table['table']}: {table['title']}")
        yield Title("Files")
        for file in facts["files"]:
            where = file["found"] or f"missing; {file['address'] or 'no address is known'}"
            yield Line(f"  {file['path']}: {where}")
        for task in facts["tasks"]:
            rows = "" if task["rows"] is None else f"{task['rows']:,} rows, "
            state = "all files are there" if task["data"] else "files are missing"
            yield Line(f"  task {task['task']}: {rows}{state}")
        if facts["models"]:
            yield Title("Models")
        columns = ("model", "kind", "million parameters", "license", "weights")
        cells = [
            (
                model["name"],
                model["kind"],
                "" if model["parameters"] is None else round(model["parameters"] / 1e6),
                "" if model["kind"] == "baseline" else model["license"],
                model["weights"],
            )
            for model in facts["models"]
        ]
        if cells:
            yield Table(columns, cells)


_MOST_NAMES = 3
"""Missing files of one source that are named on the screen."""
_MARKS = {"run": "r", "in part": "p", "recomputed": "c", "untested": "-"}


@dataclass(frozen=True, slots=True)
class Reproduced(Result):
    """A reproduction and the files that hold it."""

    reproduction: Reproduction
    paths: tuple[Path, ...]

    @property
    def exit_code(self) -> int:
        """3 where a file is missing, is not the authors', or a computation did not run."""
        return 0 if self.reproduction.complete else 3

    def plain(self) -> dict[str, Any]:
        """Return everything as plain JSON data."""
        return as_json(self.reproduction)

    def blocks(self) -> Iterator[Block]:
        """Yield each table beside the print, and where the results lie."""
        result = self.reproduction
        named = {f"{what}. {remedy}.": what for _, what, remedy in result.missing}
        said: set[str] = set()
        for table in result.tables:
            if table.obtained:
                yield Title(table.recipe.title)
                yield _beside_print(table)
            else:
                yield Line("")
            yield from map(Line, sentences(table))
            for problem in table.problems:
                short = named.get(problem)
                text = problem if short is None else f"{short}. How to get it stands below."
                yield Line(f"Problem: {text}")
            for note in table.notes:
                if note not in said:  # tables may share what they lack
                    yield Line(f"Note: {note}")
                said.add(note)
        yield Title("Marks: ", ", ".join(f"{_MARKS[name]} {name}" for name in MEANING))
        yield Line(f"All tables: {counted(result.tables)}.")
        yield from map(Line, _missing_files(result))
        if fetched := sum(bool(result.recipe.file(key).raw_path) for key, _, _ in result.missing):
            few = f"{fetched} of the {count(len(result.missing), 'missing file')}"
            yield Line(f"--download fetches {few}; {NAMES[1]} names each.")
        yield from (Line(f"Wrote {path}") for path in self.paths)


def _missing_files(result: Reproduction) -> Iterator[str]:
    """Yield how to get what lacks, a line a source: authors publish many files at one address."""
    sources: dict[str, list[tuple[SourceFile, str]]] = {}
    missing = {key: f"{problem}. {remedy}." for key, problem, remedy in result.missing}
    for file in result.recipe.files:
        if file.key in missing:
            # A note says of a single file how to make it.
            shared = (file.path and file.repository) or (not file.note and file.url)
            sources.setdefault(shared or file.key, []).append((file, missing[file.key]))
    for files in sources.values():
        first, text = files[0]
        if len(files) == 1:
            yield text
            continue
        names = ", ".join(file.paths[0] for file, _ in files[:_MOST_NAMES])
        more = " and so on" if len(files) > _MOST_NAMES else ""
        how = f"Get them from {first.address}, and put them below {result.folder}"
        if first.repository:
            commit = f" at {first.commit[:12]}" if first.commit else ""
            how = f"Clone https://github.com/{first.repository}{commit} below {result.folder}"
        yield f"{len(files):,} files are missing: {names}{more}. {how}."


def _beside_print(table: TableResult) -> Table:
    """Return a table with three lines a row: print, here and distance."""
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    rows = dict.fromkeys(cell.row for cell in table.cells)
    ways: dict[str, Callable[[Cell], str]] = {
        "paper": lambda cell: shown(cell.paper, cell.decimals),
        "here": lambda cell: f"{shown(cell.here, cell.decimals)} {_MARKS[cell.state]}".strip(),
        "distance": distance_shown,
    }

    def text(row: str, column: str, show: Callable[[Cell], str]) -> str:
        cell = cells.get((row, column))
        return "" if cell is None else show(cell)

    columns = [
        name
        for name in table.recipe.columns
        if any(text(row, name, show) for row in rows for show in ways.values())
    ]
    lines = [
        (("" if number else row), way, *(text(row, name, show) for name in columns))
        for row in rows
        for number, (way, show) in enumerate(ways.items())
    ]
    return Table(("", "", *columns), lines, repeated=2)
