"""Finds and reads recipes: those that ship with Goldpan, and files of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from goldpan.core.errors import UsageError
from goldpan.core.registry import Registry, unknown_name
from goldpan.core.settings_file import read_toml
from goldpan.reproduce.recipe import PATTERN, Recipe, TableRecipe, TaskRecipe

_ENDING = ".toml"


RECIPES: Registry[Path | Traversable] = Registry(
    "recipe",
    dict,
    "recipe",
    lambda item: item[0],
    remedy="Choose {names}, or give the path of a TOML file",
)
"""Those of papers and plugins."""
recipe_names = RECIPES.names


def find_recipe(name: str) -> Recipe:
    """Return the recipe of that name, or the one in the TOML file at that path.

    Raises `UsageError` that lists the recipes there are, or says what is wrong with a file.
    """
    return read_recipe(Path(name) if name.endswith(_ENDING) else RECIPES.find(name))


def read_recipe(path: Path | Traversable) -> Recipe:
    """Read a recipe's file; raises `UsageError` that names file, line, key and remedy."""
    source = read_toml(path, "docs/recipes.md")
    name = path.name.removesuffix(_ENDING)
    if not PATTERN.fullmatch(name):
        raise UsageError(
            f"{path}: {name!r} is not a name for a recipe",
            "Name the file with lower-case letters, digits and hyphens, such as selu.toml",
        )
    return source.read(Recipe, source.named(name))


def find_tables(recipe: Recipe, keys: Sequence[str]) -> tuple[TableRecipe, ...]:
    """Return the tables of those keys, all of them without any; raises `UsageError`."""
    by_key = {table.key.lower(): table for table in recipe.tables}
    for key in keys:
        if key.lower() not in by_key:
            choice = [table.key for table in recipe.tables]
            raise unknown_name("table", key, choice, where=f"The recipe {recipe.name}")
    chosen = dict.fromkeys(key.lower() for key in keys)
    return tuple(by_key[key] for key in chosen) if keys else recipe.tables


def find_tasks(recipe: Recipe, names: Sequence[str]) -> tuple[TaskRecipe, ...]:
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
