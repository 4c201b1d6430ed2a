"""Finds recipes: those of papers and plugins by name, a user's own by the path of its file."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from pydantic import ValidationError

from goldpan.core.errors import GoldpanError, UsageError, refuse_empty
from goldpan.core.plugins.parts import Plugin, plugin_failure
from goldpan.core.plugins.registry import Registry
from goldpan.reproduce.recipe import PaperRecipe

RECIPES: Registry[PaperRecipe] = Registry(
    "recipe",
    dict,
    "recipe",
    lambda item: item[0],
    remedy="Choose {names}, or give the path of a Python file",
)
"""Recipes of papers and plugins."""
recipe_names = RECIPES.names
_ENDING = ".py"
_NAME = "PAPER"


def find_recipe(name: str) -> PaperRecipe:
    """Return the recipe of that name, or the one in the Python file at that path.

    Raises `UsageError` that lists the recipes there are, or says what is wrong with a file.
    """
    return read_recipe(Path(name)) if name.endswith(_ENDING) else RECIPES.find(name)


def read_recipe(path: Path) -> PaperRecipe:
    """Import a file with a recipe; raises `UsageError` that names file, place and remedy."""
    refuse_empty(path, "docs/papers.md shows what a recipe holds")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"There is no file {path}", "Give a Python file with a paper's tables")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or error.title
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{path}: {place}: {message}", f"Correct {path}") from None
    except GoldpanError:
        raise
    except Exception as error:  # a user's file may raise anything: its author needs the line
        raise plugin_failure(f"The recipe {path}", own_file(path), error) from error
    recipe = getattr(module, _NAME, None)
    if not isinstance(recipe, PaperRecipe):
        raise UsageError(
            f"{path} has no recipe called {_NAME}", f"Define it as {_NAME} = PaperRecipe(...)"
        )
    return recipe


def own_file(path: Path) -> Plugin:
    """Return a user's file with a recipe, as what failures are told of."""
    return Plugin(path.name, str(path), "")
