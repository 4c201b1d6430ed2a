"""Each command is called on the demo's workspace, in words and in Python, and gives the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from docs.generate.pages import FOLDER
from goldpan import Workspace
from goldpan.commands.program import commands
from tests.operation_calls import CALLS, ELSEWHERE, PAGE, Called, call_all, prepare, render, shape


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Called]:
    folder = tmp_path_factory.mktemp("every")
    prepare(folder)
    return call_all(folder)


def test_every_command_is_called_here_or_elsewhere() -> None:
    called = {name for name, command in commands(Workspace()).items() if command.method}
    assert {*CALLS, *ELSEWHERE} == called
    assert not CALLS.keys() & ELSEWHERE.keys()
    tests = Path(__file__).parent.parent
    for place in ELSEWHERE.values():
        name = place.partition(":")[0]
        assert any(tests.rglob(name)), place


@pytest.mark.parametrize("name", CALLS)
def test_the_method_gives_what_the_command_prints(name: str, called: Mapping[str, Called]) -> None:
    printed, returned = (
        {path.rstrip("[]") for path, _ in shape(value)}
        for value in (called[name].printed, called[name].plain)
    )
    assert printed == returned
    assert called[name].returned.exit_code == called[name].exit_code
    assert called[name].returned._repr_html_()


def test_what_is_printed_is_documented(called: Mapping[str, Called]) -> None:
    documented = (FOLDER / PAGE).read_text(encoding="utf-8")
    assert render(called) == documented, "Run python -m tests.operation_calls"
