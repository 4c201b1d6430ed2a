"""Recipes of one's own: checked, and made of a shipped one where they extend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.execution.recipe import RunRecipe, load_recipes


def written(folder: Path, text: str) -> RunRecipe:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return load_recipes([path])[0]


def test_a_recipe_that_extends_a_shipped_one_has_its_commands_and_own_settings(
    tmp_path: Path,
) -> None:
    shipped = next(recipe for recipe in load_recipes() if recipe.name == "gradle")
    text = 'extends = "gradle"\nprograms = []\n[variables]\nGRADLE_INIT = "{recipe}/init"\n'
    own = written(tmp_path, text)
    assert own.is_own
    assert own.fields.tests == shipped.fields.tests
    assert own.fields.programs == ()
    assert own.variables("/h") == {
        "GRADLE_USER_HOME": "/h/gradle",
        "GRADLE_INIT": f"{tmp_path}/init",
    }
    assert own.scripts == (tmp_path / "init",)
    assert own.digest not in (shipped.digest, written(tmp_path, text + "A = 'b'\n").digest)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('extends = "npx"\n', r"no shipped recipe 'npx' \(did you mean npm\?\). Choose cargo, go"),
        ("extends = 3\n", "own.toml, line 1: there is no shipped recipe 3"),
        ('extends = "npm"\nvariables = 3\n', r"own\.toml, line 2: variables: "),
        ('extends = "npm"\nformat = []\n', r"own\.toml: format is one for all"),
    ],
)
def test_a_wrong_recipe_is_told(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        written(tmp_path, text)


def test_in_an_image_nothing_of_this_machine_is_named() -> None:
    cargo = next(recipe for recipe in load_recipes() if recipe.name == "cargo").in_image()
    assert cargo.readable == ()
    assert set(cargo.variables("/h")) == {"CARGO_HOME", "CARGO_TERM_COLOR"}


def test_only_what_is_limited_to_a_date_is_called_so() -> None:
    dated = {recipe.name for recipe in load_recipes() if recipe.is_dated}
    assert dated == {"python", "npm"}
