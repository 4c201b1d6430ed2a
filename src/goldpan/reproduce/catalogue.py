"""Finds and reads recipes: those that ship with Goldpan, and files of one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldpan.core.errors import UsageError, cause_of
from goldpan.core.suggest import question
from goldpan.reproduce.names import unknown_name
from goldpan.reproduce.recipe import PATTERN, Recipe, TableRecipe, TaskRecipe

_ENDING = ".toml"
_SHIPPED = files("goldpan.reproduce") / "recipes"
_HELP = "docs/papers.md describes every key"


def recipe_names() -> list[str]:
    """Return the names of the recipes that ship with Goldpan, sorted."""
    return sorted(
        path.name.removesuffix(_ENDING)
        for path in _SHIPPED.iterdir()
        if path.name.endswith(_ENDING)
    )


def find_recipe(name: str) -> Recipe:
    """Return the recipe of that name, or the one in the TOML file at that path.

    Raises `UsageError` that lists the recipes there are, or says what is wrong with a file.
    """
    if name.endswith(_ENDING):
        try:
            return read_recipe(name, Path(name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{name} cannot be read: {cause_of(error)}", "Check the file"
            ) from None
    names = recipe_names()
    if name not in names:
        hint = question(name, names)
        raise UsageError(
            f"There is no recipe {name!r}",
            f"{hint} Choose {', '.join(names)}, or give the path of a TOML file".lstrip(),
        )
    file = _SHIPPED / f"{name}{_ENDING}"
    return read_recipe(file.name, file.read_text(encoding="utf-8"))


def read_recipe(file: str, text: str) -> Recipe:
    """Read the text of a recipe's file; raises `UsageError` that names file, key and remedy."""
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is not valid TOML: {error}", "Correct it") from None
    name = Path(file).name.removesuffix(_ENDING)
    if not PATTERN.fullmatch(name):
        raise UsageError(
            f"{file}: {name!r} is not a name for a recipe",
            "Name the file with lower-case letters, digits and hyphens, such as selu.toml",
        )
    try:
        return Recipe.model_validate({**values, "name": name})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = _key(first["loc"], values)
        problem = str(first["msg"]).removeprefix("Value error, ")
        where = f"{file}: {key}" if key else file
        raise UsageError(f"{where}: {problem}", _HELP) from None


def find_tables(recipe: Recipe, keys: Sequence[str]) -> tuple[TableRecipe, ...]:
    """Return the tables of those keys, all of them without any; raises `UsageError`."""
    by_key = {table.key.lower(): table for table in recipe.tables}
    for key in keys:
        if key.lower() not in by_key:
            choice = [table.key for table in recipe.tables]
            raise unknown_name(recipe.name, "table", key, choice)
    chosen = dict.fromkeys(key.lower() for key in keys)
    return tuple(by_key[key] for key in chosen) if keys else recipe.tables


def find_tasks(recipe: Recipe, names: Sequence[str]) -> tuple[TaskRecipe, ...]:
    """Return the tasks of those names, all of them without any; raises `UsageError`."""
    by_name = {task.task: task for task in recipe.tasks}
    for name in names:
        if name not in by_name:
            raise unknown_name(recipe.name, "task", name, list(by_name))
    return tuple(by_name[name] for name in names) if names else recipe.tasks


def _key(location: Sequence[int | str], values: Any) -> str:
    """Return where a problem is, with the name of the part of a list in place of its number."""
    path = ""
    for part in location:
        if isinstance(part, int):
            inside = values[part] if isinstance(values, list) and part < len(values) else None
            name = part if not isinstance(inside, dict) else _name_of(inside, part)
            path += f"[{name}]"
            values = inside
        else:
            path += f".{part}"
            values = values.get(part) if isinstance(values, dict) else None
    return path.removeprefix(".")


def _name_of(table: dict[str, Any], number: int) -> Any:
    return next((table[key] for key in ("key", "name", "task") if key in table), number)
