"""Each command is one operation: the same function as a method, with the same names everywhere."""

from __future__ import annotations

import inspect
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import goldpan
from docs.generate.commands import python_name
from goldpan.filters.profile import shipped_profiles
from goldpan.miners.pairing import RULES
from goldpan.operations.command import command_function
from goldpan.operations.program import with_what_is_registered
from goldpan.operations.signature import Operation, Parameter, fields_of, read_operation
from goldpan.operations.table import (
    Group,
    children,
    every_command,
    first_words,
    function_of,
    is_group,
    operations,
    summary_of,
)
from tests.invoking import find_command, invoke
from tests.shared_names import find_pairs

EXPLAINED = {
    frozenset({"resolve_all", "verify_all"}): "two steps on one machinery; their operations take "
    "it as one Sandbox and one Execution",
    frozenset({"UnitRecord", "UnitResult"}): "a unit as it is stored, and as a run tells of it",
    frozenset({"Settings", "__init__"}): "the settings in effect, and those that a workspace is "
    "opened with, of which commands and plans take their options",
}
"""Pairs of declarations that share many names, and why they are not one."""


def operation(name: str) -> Operation:
    return read_operation(function_of(name))


def options(name: str) -> list[Parameter]:
    parameters = operation(name).parameters
    groups = [fields_of(item.type) for item in parameters if item.kind == "group"]
    return [item for item in parameters if item.kind != "group"] + [
        field for group in groups for field in group
    ]


def test_every_command_is_in_the_tables() -> None:
    for name in operations():
        assert name.split()[0] in first_words()
        above = name.rpartition(" ")[0]
        assert not above or every_command()[above].group, name
    assert all(first_words().values())


@pytest.mark.parametrize("name", operations())
def test_a_command_is_the_method_of_its_words(tmp_path: Path, name: str) -> None:
    first, *words = python_name(name).split(".")
    places = {"Workspace": goldpan.Workspace(tmp_path), "Dataset": goldpan.Dataset}
    found: Any = places.get(first, goldpan)
    for word in words:
        found = getattr(found, word)
    if isinstance(found, Group):
        found = found.__call__
    if isinstance(found, partial):
        found = found.func
    assert getattr(found, "__func__", found) is function_of(name)


@pytest.mark.parametrize("name", operations())
def test_every_option_has_help_in_words_and_the_result_a_type(name: str) -> None:
    assert operation(name).summary.endswith("."), name
    returned = operation(name).function.__annotations__["return"]
    assert isinstance(returned, str)
    assert returned != "Any"
    for parameter in options(name):
        assert parameter.help, f"{name} --{parameter.option}"
        assert parameter.help[0].isupper() or parameter.help.partition(" ")[0].islower(), name


@pytest.mark.parametrize("name", operations())
def test_help_and_the_example_parse(name: str) -> None:
    words = shlex.split(every_command()[name].whole_example)
    assert words[: 1 + len(name.split())] == ["goldpan", *name.split()]
    app, others = find_command(words[1:])
    _, bound, ignored = app.parse_args(others, exit_on_error=False, print_error=False)
    assert not ignored
    taken = inspect.signature(command_function(operation(name))).parameters
    assert list(bound.signature.parameters) == list(taken)
    done = invoke(*name.split(), "-h")
    assert done.exit_code == 0
    assert summary_of(name).split()[0] in done.stdout
    assert every_command()[name].whole_example in done.stdout


def test_every_group_lists_its_commands() -> None:
    for name in filter(is_group, every_command()):
        done = invoke(*name.split(), "--help")
        assert done.exit_code == 0
        for child in children(name):
            assert child.rpartition(" ")[2] in done.stdout


def test_help_of_the_program_names_every_command() -> None:
    shown = invoke("-h").stdout
    assert all(f" {name} " in shown for name in first_words())


def test_no_option_is_declared_twice() -> None:
    unexplained = [
        str(pair)
        for pair in find_pairs()
        if frozenset((pair.first.name, pair.second.name)) not in EXPLAINED
    ]
    assert unexplained == []


def test_help_names_the_profiles_of_the_workspace_and_the_rules_of_plugins(tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts" / "octo" / "gem" / "mine" / "careful.parquet"
    verdicts.parent.mkdir(parents=True)
    verdicts.touch()
    shown = invoke("filter", "-h", "--workspace", tmp_path).stdout
    assert "Also here: careful, faun-eval." in " ".join(shown.split()).replace("- ", "-")
    assert "Also here: faun-eval, mine." in " ".join(shown.split()).replace("- ", "-")
    shown = invoke("filter", "-h", "--workspace", tmp_path / "new").stdout
    assert " ".join(shown.split()).replace("- ", "-").count("Also here: faun-eval.") == 2


def test_help_names_the_profiles_and_rules_that_ship() -> None:
    for name in operations():
        parameters = with_what_is_registered(operation(name).parameters)
        named = {parameter.name: parameter.help for parameter in parameters}
        if "rules" in named and "whose pairs to take" not in named["rules"]:
            assert all(rules in named["rules"] for rules in RULES.names()), name
        if "own" in named.get("profile", "") and "rules" in named:
            assert all(profile in named["profile"] for profile in shipped_profiles()), name
