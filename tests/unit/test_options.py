"""The options of methods, as cyclopts reads them and plans take them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from goldpan import Execution, RowOptions, Workspace
from goldpan.core.values import LOCAL
from goldpan.plan.file import dataset_of
from goldpan.workspace.checking import checked
from goldpan.workspace.options import options_of
from tests.invoking import typed


def test_an_option_has_its_type_default_help_and_limits() -> None:
    options = {option.name: option for option in options_of(Workspace().build.qa)}
    assert [*options][:3] == ["repos", "source", "answer"]
    assert options["repos"].word == "repo"
    assert options["source"].placeholder == "issues|discussions..."
    limit = options["limit"]
    assert (limit.default, limit.group, limit.limits and limit.limits.ge) == (None, "rows", 1)
    assert limit.help.startswith("At most this many rows")


ROWS = RowOptions()


def test_a_method_takes_the_fields_of_its_groups_of_options() -> None:
    @checked
    def method(self: object, *, rows: RowOptions = ROWS, execution: Execution = LOCAL) -> object:
        return rows, execution

    given: Any = partial(method, None)
    assert given(limit=9, workers=2) == (RowOptions(limit=9), Execution(workers=2))
    assert given(rows=RowOptions(seed=1), limit=9) == (RowOptions(seed=1, limit=9), LOCAL)


def test_a_plan_keeps_the_limits_of_an_option() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        dataset_of("qa").model_validate({"name": "x", "family": "qa", "limit": 0})


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("evaluate run --task a --task b", "task", ["a", "b"]),
        ("evaluate run --task a", "task", "a"),
        ("evaluate run --seed 1 --seed 2", "seed", [1, 2]),
        ("evaluate run --set C=0.5 --set loss=hinge", "settings", {"C": 0.5, "loss": "hinge"}),
        ("build qa --source issues --source discussions", "source", ["issues", "discussions"]),
        ("clone --no-network", "network", False),
        ("open --no-browser", "browser", False),
        ("status --repo a/b --repo c/d", "repos", ["a/b", "c/d"]),
    ],
)
def test_words_give_values(words: str, name: str, value: object) -> None:
    given = typed(*words.split()).keywords[name]
    assert (given if isinstance(value, (str, dict, bool)) else [*given]) == value
