"""Repositories that GitHub's search selects: the most starred, once each, the same at each run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from goldpan.core.errors import MiningError, WorkspaceError
from goldpan.plan.command import open_plan
from goldpan.plan.file import load_plan
from goldpan.plan.opened import open_workspace
from goldpan.plan.section import Repositories, Select
from goldpan.plan.selection import search
from tests.mining import Notes, twin_settings
from tests.planning import PAN, SLUICE, write_plan
from tests.twin import Twin, synthetic_world

PLAN = """
[repositories]
listed = ["prospector/listed"]
[[repositories.select]]
language = "Python"
min_stars = 100
limit = 2
"""


@pytest.fixture
def twin() -> Iterator[Twin]:
    """Serve 104 repositories in Python, two of which have as many stars."""
    world = synthetic_world()
    pan = world.repository(PAN)
    assert pan is not None
    for number in range(102):
        stars = 200 if number > 100 else 100 + number
        name = f"claim-{number:03}"
        world.put_repository(replace(pan, name=name, id=70_000_000 + number, stars=stars))
    world.put_repository(replace(pan, name="Old", id=79_000_000, stars=999, archived=True))
    with Twin(world) as twin:
        yield twin


def find(twin: Twin, folder: Path, *selects: Select, listed: tuple[str, ...] = ()) -> list[str]:
    selection = Repositories(listed=listed, select=selects)
    settings = twin_settings(twin, folder, "graphql")
    return search(selection, settings, Notes())


def test_the_most_starred_are_selected_once_each(twin: Twin, tmp_path: Path) -> None:
    starred = [SLUICE, "prospector/claim-100", "prospector/claim-101"]
    assert find(twin, tmp_path, Select(language="python", limit=3)) == starred
    others = find(
        twin,
        tmp_path,
        Select(language="Python", limit=1),
        Select(min_stars=150, license="apache-2.0", limit=1),
        listed=(SLUICE.upper(),),
    )
    assert others == ["prospector/claim-100", "prospector/claim-101"]
    assert find(twin, tmp_path, Select(min_stars=300, archived=True)) == ["prospector/Old", SLUICE]


def test_a_selection_goes_over_pages(twin: Twin, tmp_path: Path) -> None:
    names = find(twin, tmp_path, Select(min_stars=100, limit=102))
    assert len(set(names)) == 102
    assert len([request for request in twin.requests if "page=2" in request.path]) == 1


def test_a_search_that_gives_fewer_than_wanted_is_told(
    twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDPAN_API_URL", twin.url)
    monkeypatch.setenv("GITHUB_TOKEN", "token-of-a-test")
    text = PLAN.replace("min_stars = 100", "min_stars = 201").replace("limit = 2", "limit = 4")
    file = load_plan(write_plan(tmp_path, text))
    notes = Notes()
    open_plan(file, open_workspace(file), notes)
    few = 'language:"Python" stars:>=201 archived:false gives 1 of 4'
    assert notes.lines[-2:] == [few, "GitHub's search selects 1 repository"]


def test_a_search_that_is_refused_is_told(twin: Twin, tmp_path: Path) -> None:
    with pytest.raises(MiningError, match=r"search for license:a b .* was not answered"):
        find(twin, tmp_path, Select(license="a b"))


def test_a_plan_keeps_what_was_selected(
    twin: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLDPAN_API_URL", twin.url)
    monkeypatch.setenv("GITHUB_TOKEN", "token-of-a-test")

    def repositories(*, select: bool = False, keep: bool = True) -> tuple[str, ...]:
        file = load_plan(path)
        opened = open_plan(file, open_workspace(file), Notes(), select=select, keep=keep)
        return tuple(opened.repos)

    path = write_plan(tmp_path, PLAN)
    expected = ("prospector/listed", SLUICE, "prospector/claim-100")
    assert repositories(keep=False) == expected
    assert not (tmp_path / "lab").exists()
    assert repositories() == expected
    requests = twin.count
    twin.world.put_repository(replace(twin.world.repositories[5], stars=10_000))
    newest = twin.world.repositories[5].full_name
    assert repositories() == expected
    assert twin.count == requests
    assert repositories(select=True) == ("prospector/listed", newest, SLUICE)
    write_plan(tmp_path, PLAN.replace("limit = 2", "limit = 1"))
    assert repositories() == ("prospector/listed", newest)
    stored = tmp_path / "lab" / "plans" / "plan" / "selection.json"
    stored.write_bytes(stored.read_bytes().replace(b"Python", b"Pythos"))
    with pytest.raises(WorkspaceError, match=r"selection\.json is damaged"):
        repositories()
