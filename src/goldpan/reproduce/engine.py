"""Reproduces tables: finds files, computes cells, and puts them beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldpan.core.errors import GoldpanError, StoppedError
from goldpan.core.plugin_parts import Kind
from goldpan.core.plugins import blamed, digests
from goldpan.core.registry import Registry
from goldpan.evaluation.record import Environment, read_environment
from goldpan.reproduce.cells import Compute, Context, Effort, Outcome, TableResult, fill_table
from goldpan.reproduce.data import FoundFile, other_content
from goldpan.reproduce.recipe import Recipe, TableRecipe


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Tables of a recipe as they came out here, with their origin."""

    recipe: Recipe
    tables: tuple[TableResult, ...]
    files: tuple[FoundFile, ...]
    """The authors' files that were read, by key."""
    missing: tuple[tuple[str, str, str], ...]
    """Files that were needed and are not there: key, what, and how to get it."""
    folder: Path
    """Where the authors' files are looked for."""
    environment: Environment
    seed: int
    effort: Effort
    plugins: Mapping[str, str]
    """The SHA-256 of each plugin on which the cells depend, by its name."""

    @property
    def complete(self) -> bool:
        """Return whether every file was there, as published, and every computation ran."""
        return not self.missing and not any(table.problems for table in self.tables)


def _own() -> Mapping[str, Compute]:
    from goldpan.reproduce import printed, published, runs

    return {
        "confusion": printed.confusion,
        "derived": printed.derived,
        "published-scores": published.published_scores,
        "ranking": published.ranking,
        "runs": runs.runs,
        "split-counts": runs.split_counts,
        "tiers": published.tiers,
    }


COMPUTATIONS = Registry("computation", _own, "computation", lambda item: item[0])
find_computation = COMPUTATIONS.find


def reproduce(context: Context, tables: Sequence[TableRecipe]) -> Reproduction:
    """Return the tables of a recipe as they come out here.

    What a computation cannot do, for a file that lacks or is not the authors', is a problem of its
    table; other computations go on. Raises `UsageError` for a computation that there is not.
    """
    methods = {
        compute.method: find_computation(compute.method)
        for table in tables
        for compute in table.compute
    }
    results = []
    for table in tables:
        outcomes: list[Outcome] = []
        problems = context.problems
        problems.clear()
        context.notes.clear()
        context.used.clear()
        for computation in table.compute:
            method = methods[computation.method]
            with context.reporter.task(f"{table.title}: {computation.method}", 1) as progress:
                try:
                    context.files(computation.files)
                    with blamed("computation", computation.method):
                        for outcome in method(context, table, computation.settings):
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
    return Reproduction(
        context.recipe,
        tuple(results),
        tuple(file for _, file in sorted(context.data.files.items())),
        tuple((key, *missing) for key, missing in sorted(context.missing.items())),
        context.data.root,
        read_environment(),
        context.seed,
        context.effort,
        _plugins(context.recipe, methods),
    )


def _plugins(recipe: Recipe, methods: Iterable[str]) -> dict[str, str]:
    """Return the digests of the plugins on which a recipe's cells depend."""
    used: list[tuple[Kind, str]] = [("recipe", recipe.name), ("protocol", recipe.protocol)]
    used += [("computation", method) for method in methods]
    used += [("task", task.task) for task in recipe.tasks]
    used += [("model", model.model) for model in recipe.models]
    return digests(*used)
