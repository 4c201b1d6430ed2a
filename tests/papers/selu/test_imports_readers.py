"""The readers of what is no table: tagged posts and specifications."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.registry import find_task
from goldpan.papers.selu import readers


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


POSTS = (
    "Question_ID\tO\tQuestion_ID\tO\n:\tO\t:\tO\n7\tO\t7\tO\n\t\n"
    "Question_URL\tO\tQuestion_URL\tO\n:\tO\t:\tO\nu\tO\tu\tO\n\t\n"
    "use\tO\tuse\tO\nlist\tB-Library_Class\tlist\tO\n\t\nnow\tB-Licence\tnow\tO\n\t\n"
    "Answer_to_Question_ID\tO\tA\tO\n:\tO\t:\tO\n7\tO\t7\tO\n\t\n"
    "no\tO\tno\tO\n\t\n"
)


def test_posts_come_with_merged_kinds(tmp_path: Path) -> None:
    path = written(tmp_path / "stackoverflow_dev.txt", POSTS)
    question, answer = readers.read_stackoverflow_ner(find_task("se_entities"), [path])
    assert question["tokens"] == ["use", "list", "now"]
    assert question["tags"] == ["O", "B-Class", "O"]
    assert answer["tokens"] == ["no"]
    places = [(row["document"], row["position"]) for row in (question, answer)]
    assert places == [("7", 0), ("7", 1)]
    assert question["partition"] == "validation"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("stackoverflow_all.txt", POSTS, "none of the splits"),
        ("stackoverflow_dev.txt", "use\tO\n\n", "begins with no Question_ID"),
        (
            "stackoverflow_dev.txt",
            POSTS.replace("B-Licence", "Licence"),
            r"line 12: 'Licence' is not a tag\. Get the file of StackOverflowNER",
        ),
        ("stackoverflow_dev.txt", POSTS + "x\n", "line 20: a word has no tag"),
    ],
)
def test_other_files_of_posts_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises((DatasetError, UsageError), match=message):
        list(readers.read_stackoverflow_ner(find_task("se_entities"), [path]))


def test_verbs_of_specifications_are_masked(tmp_path: Path) -> None:
    def verbs(text: str) -> list[tuple[int, int]]:
        return [(text.index("beep"), text.index("beep") + 4)]

    path = written(tmp_path / "alarm.txt", "It shall beep.\n")
    (row,) = readers.read_requirement_verbs(find_task("requirement_completion"), [path], verbs)
    assert row["masks"] == [{"start": 9, "end": 13}]
    assert (row["id"], row["text"]) == ("requirement_completion:alarm", "It shall beep.\n")
    long = written(tmp_path / "long.txt", "x" * 1_000_001)
    with pytest.raises(UsageError, match="more than 1,000,000 characters"):
        list(readers.read_requirement_verbs(find_task("requirement_completion"), [long], verbs))


def test_a_missing_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(UsageError, match=r"no model 'none_at_all'.*spacy download none_at_all"):
        readers.spacy_verbs("none_at_all")
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    with pytest.raises(UsageError, match=r'needs spacy.*pip install "goldpan-mining\[nlp\]"'):
        readers.spacy_verbs("en_core_web_sm")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_spacy_finds_verbs_with_a_model_on_disk(tmp_path: Path) -> None:
    """A tiny model of our own takes the place of the one that spaCy downloads."""
    spacy = pytest.importorskip("spacy")
    model = spacy.blank("en")
    ruler = model.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"LOWER": "beep"}]], attrs={"POS": "VERB"})
    model.to_disk(tmp_path / "model")
    find = readers.spacy_verbs(str(tmp_path / "model"))
    assert find("It shall beep, then beep.") == [(9, 13), (20, 24)]
