"""What users name is found by one rule, and an unknown name told by one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from goldpan.builders.recipes import find_recipe
from goldpan.core.errors import UnknownNameError, UsageError
from goldpan.core.plugins.registry import Registry, unknown_name
from goldpan.datasets.tasks.registry import find_task
from goldpan.datasets.tasks.wording import find_method
from goldpan.evaluation.model import find_model
from goldpan.evaluation.protocol import find_protocol
from goldpan.filters.profile import load_profile
from goldpan.miners.pairing import find_rules

COLOURS = Registry("colour", lambda: {"dark_red": 1, "blue": 2}, order=lambda item: item[0])


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError) as error:
        COLOURS.find("Dark-Rad", ["green"], where="plan.toml, line 3")
    assert type(error.value) is UsageError
    assert str(error.value) == (
        "plan.toml, line 3: there is no colour 'Dark-Rad' (did you mean dark_red?). "
        "Choose blue, dark_red or green."
    )
    assert str(unknown_name("colour", "x", [])) == "There is no colour 'x'. Leave the colour out."


@pytest.mark.parametrize(
    ("find", "noun", "name", "near"),
    [
        (find_task, "task", "sentimen", "sentiment"),
        (find_rules, "set of pairing rules", "defalt", "default"),
        (find_recipe, "dataset", "code_edits", "code-edit"),
        (lambda name: find_model(name, {}), "model", "majorty", "majority"),
        (find_protocol, "protocol", "defalt", "default"),
        (find_method, "method", "2/2-instruc", "2/2-instruct"),
        (load_profile, "profile", "verifed", "verified"),
    ],
)
def test_all_say_the_same_sentence(
    find: Callable[[str], object], noun: str, name: str, near: str
) -> None:
    with pytest.raises(UsageError) as error:
        find(name)
    assert error.value.problem.startswith(f"There is no {noun} {name!r} (did you mean {near}")
    assert error.value.remedy.startswith(("Choose ", "Run goldpan "))


def test_what_a_plugin_may_bring_is_told_apart() -> None:
    with pytest.raises(UnknownNameError):
        find_rules("mine")
    with pytest.raises(UsageError) as error:
        COLOURS.find("mine")
    assert not isinstance(error.value, UnknownNameError)
