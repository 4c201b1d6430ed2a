"""Each command is a method, with the same names everywhere."""

from __future__ import annotations

import inspect
import shlex
from typing import Any

import pytest

import goldpan
from docs.generate.commands import python_name
from goldpan.commands.program import commands
from goldpan.miners.pairing import RULES
from goldpan.workspace.options import Option, options_of
from tests.invoking import invoke, typed
from tests.shared_names import find_pairs

EXPLAINED = {
    frozenset({"resolve_all", "verify_all"}): "two steps on one machinery; their operations take "
    "it as one Sandbox and one Execution",
    frozenset({"Record", "StepResult"}): "a step as it is stored, and as a run tells of it",
    frozenset(
        {"FileSettings", "__init__"}
    ): "the settings in effect, and those that a workspace is "
    "opened with, of which commands and plans take their options",
}
"""Pairs of declarations that share many names, and why they are not one."""


COMMANDS = commands(goldpan.Workspace())
METHODS = {name: command.method for name, command in COMMANDS.items() if command.method}


def options(name: str) -> list[Option]:
    return [*options_of(METHODS[name])]


def children(name: str) -> list[str]:
    return [other for other in COMMANDS if other.rpartition(" ")[0] == name]


def example(name: str) -> str:
    about = inspect.getdoc(METHODS[name]) or ""
    return about.partition("\nExample: ")[2].partition("\n")[0]


def test_every_command_has_a_panel_and_a_group() -> None:
    for name, command in COMMANDS.items():
        above = name.rpartition(" ")[0]
        assert not above or above in COMMANDS, name
        assert command.panel
        assert command.summary.endswith("."), name


@pytest.mark.parametrize("name", METHODS)
def test_a_command_is_the_method_of_its_words(name: str) -> None:
    """Those that need more than a workspace are functions that take one first."""
    called, method = python_name(name).partition("(")[0], METHODS[name]
    function = getattr(method, "__func__", method)
    first, *words = called.split(".")
    if called == "Workspace.build" or (first == "goldpan" and len(words) > 1):
        assert next(iter(inspect.signature(function).parameters)) == "lab"
        return
    found: Any = {"Workspace": goldpan.Workspace(), "Dataset": goldpan.Dataset}.get(first, goldpan)
    for word in words:
        found = getattr(found, word)
    routine = found if inspect.isroutine(found) else found.__call__
    assert getattr(routine, "__func__", routine) is function


@pytest.mark.parametrize("name", METHODS)
def test_every_option_has_help_in_words_and_the_result_a_type(name: str) -> None:
    returned = METHODS[name].__annotations__["return"]
    assert isinstance(returned, str)
    assert returned != "Any"
    for option in options(name):
        assert option.help, f"{name} --{option.word}"
        assert option.help[0].isupper() or option.help.partition(" ")[0].islower(), name


@pytest.mark.parametrize("name", METHODS)
def test_help_and_the_example_parse(name: str) -> None:
    words = shlex.split(example(name))
    assert words[: 1 + len(name.split())] == ["goldpan", *name.split()]
    assert typed(*words[1:]).func.__qualname__ == METHODS[name].__qualname__
    done = invoke(*name.split(), "-h")
    assert done.exit_code == 0
    assert COMMANDS[name].summary.split()[0] in done.stdout
    assert example(name) in " ".join(done.stdout.split())


def test_every_group_lists_its_commands() -> None:
    for name in COMMANDS.keys() - METHODS:
        done = invoke(*name.split(), "--help")
        assert done.exit_code == 0
        for child in children(name):
            assert child.rpartition(" ")[2] in done.stdout


def test_help_of_the_program_names_every_command() -> None:
    shown = invoke("-h").stdout
    assert all(f" {name} " in shown for name in COMMANDS if " " not in name)


def test_no_option_is_declared_twice() -> None:
    assert [told for pair, told in find_pairs().items() if pair not in EXPLAINED] == []


def test_help_names_the_profiles_and_rules_that_ship() -> None:
    for name in METHODS:
        named = {option.name: option.help for option in options(name)}
        if "rules" in named and "whose pairs to take" not in named["rules"]:
            assert all(rules in named["rules"] for rules in RULES.load()), name
        if "own" in named.get("profile", "") and "rules" in named:
            assert all(profile in named["profile"] for profile in ("default", "verified")), name
