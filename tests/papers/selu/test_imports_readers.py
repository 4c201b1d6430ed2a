"""The readers of single sources: requirements, story points, tagged posts, specifications."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.registry import find_task
from goldpan.papers.selu import (
    requirement_verbs,
    requirements,
    stackoverflow_ner,
    story_points,
)

HEADER = "ProjectID,RequirementText,Class,IsFunctional,IsQuality\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_requirements_are_cut_by_their_class(tmp_path: Path) -> None:
    path = written(
        tmp_path / "promise-reclass.csv",
        HEADER + "1,'It shall, at once, beep.',F,1,0\n11,It won't slow down.',PE,1,1\n\n",
    )
    rows = list(requirements.read(find_task("requirement_type"), [path]))
    assert [(row["text"], row["label"]) for row in rows] == [
        ("It shall, at once, beep.", "functional"),
        ("It won't slow down.", "non-functional"),
    ]
    assert [row["repo"] for row in rows] == ["project 1", "project 11"]


def test_another_file_is_no_file_of_requirements(tmp_path: Path) -> None:
    task = find_task("requirement_type")
    with pytest.raises(DatasetError, match=r"begins with 'a,b', not with 'ProjectID"):
        list(requirements.read(task, [written(tmp_path / "a.csv", "a,b\n")]))
    with pytest.raises(DatasetError, match="requirement 1: the row does not have five fields"):
        list(requirements.read(task, [written(tmp_path / "a.csv", HEADER + "1,x,F\n")]))


def test_story_points_come_project_by_project(tmp_path: Path) -> None:
    task = find_task("story_points")
    header = "issuekey,title,description,storypoint\n"
    paths = [
        written(tmp_path / "mesos.csv", header + "M-1,a,b,3\n"),
        written(tmp_path / "storypoints_usergrid.csv", header + "U-1,c,d,0.5\n"),
    ]
    rows = list(story_points.read(task, paths))
    assert [(row["id"], row["repo"], row["value"]) for row in rows] == [
        ("story_points:mesos:1", "mesos", 3.0),
        ("story_points:usergrid:1", "usergrid", 0.5),
    ]
    with pytest.raises(UsageError, match="second file of mesos"):
        list(story_points.read(task, [paths[0], paths[0]]))
    with pytest.raises(UsageError, match=r"none of the projects\. They are appceleratorstudio"):
        list(story_points.read(task, [written(tmp_path / "other.csv", header)]))


POSTS = (
    "Question_ID\tO\tQuestion_ID\tO\n:\tO\t:\tO\n7\tO\t7\tO\n\t\n"
    "Question_URL\tO\tQuestion_URL\tO\n:\tO\t:\tO\nu\tO\tu\tO\n\t\n"
    "use\tO\tuse\tO\nlist\tB-Library_Class\tlist\tO\n\t\nnow\tB-Licence\tnow\tO\n\t\n"
    "Answer_to_Question_ID\tO\tA\tO\n:\tO\t:\tO\n7\tO\t7\tO\n\t\n"
    "no\tO\tno\tO\n\t\n"
)


def test_posts_come_with_merged_kinds(tmp_path: Path) -> None:
    path = written(tmp_path / "stackoverflow_dev.txt", POSTS)
    question, answer = stackoverflow_ner.read(find_task("se_entities"), [path])
    assert question["tokens"] == ["use", "list", "now"]
    assert question["tags"] == ["O", "B-Class", "O"]
    assert answer["tokens"] == ["no"]
    assert [(row["document"], row["position"]) for row in (question, answer)] == [
        ("7", 0),
        ("7", 1),
    ]
    assert question["partition"] == "validation"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("stackoverflow_all.txt", POSTS, "none of the splits"),
        ("stackoverflow_dev.txt", "use\tO\n\n", "begins with no Question_ID"),
        ("stackoverflow_dev.txt", POSTS.replace("B-Licence", "Licence"), "'Licence' is not a tag"),
        ("stackoverflow_dev.txt", POSTS + "x\n", "line 20: a word has no tag"),
    ],
)
def test_other_files_of_posts_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises((DatasetError, UsageError), match=message):
        list(stackoverflow_ner.read(find_task("se_entities"), [path]))


def test_verbs_of_specifications_are_masked(tmp_path: Path) -> None:
    def verbs(text: str) -> list[tuple[int, int]]:
        return [(text.index("beep"), text.index("beep") + 4)]

    path = written(tmp_path / "alarm.txt", "It shall beep.\n")
    (row,) = requirement_verbs.read(find_task("requirement_completion"), [path], verbs)
    assert row["masks"] == [{"start": 9, "end": 13}]
    assert (row["id"], row["text"]) == ("requirement_completion:alarm", "It shall beep.\n")
    long = written(tmp_path / "long.txt", "x" * 1_000_001)
    with pytest.raises(UsageError, match="more than 1,000,000 characters"):
        list(requirement_verbs.read(find_task("requirement_completion"), [long], verbs))


def test_a_missing_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(UsageError, match=r"no model 'none_at_all'.*spacy download none_at_all"):
        requirement_verbs.spacy_verbs("none_at_all")
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    with pytest.raises(UsageError, match=r'needs spacy.*pip install "goldpan-mining\[nlp\]"'):
        requirement_verbs.spacy_verbs("en_core_web_sm")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_spacy_finds_verbs_with_a_model_on_disk(tmp_path: Path) -> None:
    """A tiny model of our own takes the place of the one that spaCy downloads."""
    spacy = pytest.importorskip("spacy")
    model = spacy.blank("en")
    ruler = model.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"LOWER": "beep"}]], attrs={"POS": "VERB"})
    model.to_disk(tmp_path / "model")
    find = requirement_verbs.spacy_verbs(str(tmp_path / "model"))
    assert find("It shall beep, then beep.") == [(9, 13), (20, 24)]
