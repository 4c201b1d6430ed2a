"""What `goldpan reproduce` lists: recipes, and what one of them holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from goldpan.core.result import Block, Line, Result, Table, Title
from goldpan.reproduce.context import Context
from goldpan.reproduce.recipe import Recipe


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
    """What a recipe holds, and which of its files are there."""

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
