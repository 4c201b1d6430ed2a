"""Issue-type datasets by time, by project and balanced."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import DatasetError, UsageError
from goldpan.papers.nlbse.issues.profile import Balance
from tests.issue_hours import START, closing, write_hours
from tests.papers.nlbse.test_issue_type_build import build, rows


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Return a workspace with three projects of 30, 12 and 3 issues, two thirds of them bugs."""
    events = [
        closing(number, repo=repo, labels=["bug"] if number % 3 else ["question"])
        for repo, numbers in (
            ("a/large", range(30)),
            ("b/Small", range(30, 42)),
            ("c/tiny", range(42, 45)),
        )
        for number in numbers
    ]
    write_hours(tmp_path, {0: events[::2], 7: events[1::2]})
    return tmp_path


def test_at_most_so_many_of_a_project(projects: Path) -> None:
    built = build(projects, balance="project:10")
    counts = Counter(row["repo"] for row in rows(built))
    assert counts == {"a/large": 10, "b/Small": 10, "c/tiny": 3}
    assert built.dropped == {"balance": 22}
    assert built.written.rows == 23
    drawn = [
        {row["id"] for row in rows(build(projects, balance="project:10", seed=seed))}
        for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_so_many_of_each_label_in_each_project(projects: Path) -> None:
    """The smallest has too few questions, and no project has documentation."""
    own = projects / "own.toml"
    own.write_text(
        'task = "nlbse23_issue_type"\nnear_duplicates = "keep"\n'
        '[labels]\nbug = ["bug"]\nquestion = ["question"]',
        encoding="utf-8",
    )
    built = build(projects, str(own), balance="project-label:4")
    assert Counter((row["repo"], row["label"]) for row in rows(built)) == {
        (repo, label): 4 for repo in ("a/large", "b/Small") for label in ("bug", "question")
    }
    with pytest.raises(DatasetError, match="45 as its project gives enough rows, or too few"):
        build(projects, "nlbse23", balance="project-label:4")


@pytest.mark.parametrize(
    "text", ["", "project", "project:0", "project:-1", "label:3", "project:1e9"]
)
def test_balances_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="not a way to balance"):
        Balance.parse(text)


def test_by_time(projects: Path) -> None:
    """Issues are opened a minute after another, from thirty days before the first hour."""
    cut = rows(build(projects))[0]["created_at"].replace(hour=0, minute=20)
    built = build(projects, split=f"time:{cut.isoformat()}")
    for row in rows(built):
        assert row["split"] == ("train" if row["number"] < 20 else "test")
    sizes = {split.name: split.rows for split in built.written.splits}
    assert sizes == {"train": 20, "test": 25}
    assert cut < START


def test_one_project_is_for_testing(projects: Path) -> None:
    built = build(projects, split="project:B/small")
    sides = {(row["repo"], row["split"]) for row in rows(built)}
    assert sides == {("a/large", "train"), ("b/Small", "test"), ("c/tiny", "train")}
    with pytest.raises(UsageError, match="The project b/large has no rows"):
        build(projects, split="project:b/large")


def test_near_duplicates_in_other_projects_are_left_out(projects: Path) -> None:
    """What the project for testing shares with another is on the side of the earlier issue."""
    copies = [
        closing(
            200 + at,
            repo="d/copy",
            title=f"The window {at} does not open",
            body=closing(at)["body"],
        )
        for at in range(5)
    ]
    write_hours(projects, {9: copies})
    built = build(projects, "default", split="project:d/copy", repos=("a/large", "d/copy"))
    assert built.written.report.dropped == 5
    assert {row["repo"] for row in rows(built)} == {"a/large"}


@given(st.sampled_from(["none", "project", "project-label"]), st.integers(1, 10**9 - 1))
def test_balances_are_read_as_they_are_written(kind: str, most: int) -> None:
    text = "none" if kind == "none" else f"{kind}:{most}"
    assert str(Balance.parse(text)) == text
