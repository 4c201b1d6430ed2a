"""Profiles of issue-type datasets: the shipped ones, and one's own."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.datasets.tasks.registry import find_task
from goldpan.papers.nlbse.issues.profile import load_profile, shipped_profiles


def own(folder: Path, text: str, name: str = "own") -> str:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_shipped_profiles_make_the_classes_of_their_tasks() -> None:
    assert shipped_profiles() == ["default", "nlbse22", "nlbse23", "nlbse24"]
    for name in shipped_profiles():
        profile = load_profile(name)
        assert profile.description
        assert set(profile.labels) == set(find_task(profile.task).label_names)
        assert all(label == label.lower() for label in profile.synonyms)
        assert pickle.loads(pickle.dumps(profile)) == profile


def test_nlbse23_is_as_its_authors_made_it() -> None:
    profile = load_profile("nlbse23")
    sizes = {name: len(labels) for name, labels in profile.labels.items()}
    assert sizes == {"bug": 16, "feature": 9, "question": 4, "documentation": 12}
    assert (profile.repeated_closings, profile.near_duplicates) == ("keep", "keep")
    assert (profile.language, profile.detector) == ("en", "text")
    assert (profile.split, profile.redact) == ("random:0.9,0.1", False)


def test_groups_and_marks_of_labels_say_nothing() -> None:
    """As large projects write them; NLBSE's authors take labels as they are."""
    bugs = ("C-bug", "type/bug", "kind: bug", "[Type] Bug", "\U0001f41b bug", "Bug-Report", "bug")
    others = ("catbug", "p-bug", "debugging", "bug-free", "type", "", "\U0001f41b")
    default, paper = load_profile("default"), load_profile("nlbse23")
    assert [default.class_of(label) for label in bugs] == ["bug"] * len(bugs)
    assert [default.class_of(label) for label in others] == [None] * len(others)
    assert default.class_of("Type - Feature-Request") == "enhancement"
    assert default.class_of("C-docs") == ""
    assert paper.class_of("C-bug") is None


def test_a_profile_of_one_s_own_adds_to_another(tmp_path: Path) -> None:
    profile = load_profile(
        own(
            tmp_path,
            'extends = "nlbse23"\nsplit = "time:2022-06-01"\nrepeated_closings = "last"\n'
            '[labels]\nbug = ["T-Bug", "bug"]\n',
        )
    )
    assert profile.name == "own"
    assert profile.labels["bug"][-1] == "t-bug"
    assert len(profile.labels["bug"]) == 17
    assert profile.synonyms["t-bug"] == "bug"
    assert profile.labels["feature"] == load_profile("nlbse23").labels["feature"]
    assert (profile.split, profile.repeated_closings) == ("time:2022-06-01", "last")
    assert profile.near_duplicates == "keep"


def test_a_profile_of_one_s_own_alone(tmp_path: Path) -> None:
    text = 'task = "nlbse24_issue_type"\n[labels]\nbug = ["Bug"]\nfeature = ["wish"]'
    profile = load_profile(own(tmp_path, text))
    assert profile.synonyms == {"bug": "bug", "wish": "feature"}
    assert profile.near_duplicates == "together"


TWO = '[labels]\nbug = ["bug"]\nquestion = ["faq"]'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f'extends = "nlbse"\n{TWO}', r"no profile 'nlbse' \(did you mean nlbse24"),
        (
            f'task = "t"\nbalanse = "none"\n{TWO}',
            "line 2: the key balanse is unknown. Did you mean bala",
        ),
        (f'task = "t"\nbalance = "all"\n{TWO}', "not a way to balance"),
        (f'task = "t"\nsplit = "half"\n{TWO}', "not a way to split"),
        (f'task = "t"\nredact = "yes"\n{TWO}', "line 2: redact: .* valid boolean"),
        (f'task = "t"\nother_labels = ["FAQ"]\n{TWO}', "'faq' means question and no class"),
        (TWO, "task is missing"),
        ('task = "t"', "labels is missing"),
        ('task = "t"\n[labels]\nbug = "bug"\nfaq = ["faq"]', "line 3: labels.bug: "),
        ('task = "t"\n[labels]\nbug = ["x"]\nfaq = ["X"]', "'x' means bug and faq"),
    ],
)
def test_what_is_wrong_with_a_profile_is_said(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        load_profile(own(tmp_path, text))


def test_names_of_profiles(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"'nlbse32' \(did you mean nlbse2\d, nlbse2\d or nlbse2\d\?\)"
    ):
        load_profile("nlbse32")
    with pytest.raises(UsageError, match="cannot be read"):
        load_profile(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="has the name of one that ships"):
        load_profile(own(tmp_path, TWO, "default"))
