"""SELU's sources in the forms of their authors: small files of these shapes, and the real ones."""

from __future__ import annotations

import gzip
import lzma
import struct
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.tasks.importing import find_reader
from goldpan.datasets.tasks.registry import find_task
from goldpan.papers.selu import readers
from tests.places import DATA

OPINIONS: list[list[str | float]] = [
    ["thread", "tid", "sent", "ManualLabel", "codes"],
    [1.0, "1:1", '"It is fast."', "p", "[\"'Performance'\"]"],
    [1.0, "1:2", '"It is fast, and its pages help."', "p", "[\"'Performance'\", \"'Others'\"]"],
    [2.0, "2:1", '"It hangs."', "n", "[u\"'Bug'\"]"],
]
HEADER = "ProjectID,RequirementText,Class,IsFunctional,IsQuality\n"


def xls(rows: Sequence[Sequence[str | float]]) -> bytes:
    """Return a workbook of one sheet in Excel's old form (BIFF8), which xlrd reads bare."""
    cells = b"".join(
        _cell(row, column, value)
        for row, values in enumerate(rows)
        for column, value in enumerate(values)
    )
    name = b"Sheet1"
    start = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0x06))
    sheet = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0x06))
    end = _record(0x000A, b"")

    def bound(offset: int) -> bytes:
        return _record(0x0085, struct.pack("<IBBBB", offset, 0, 0, len(name), 0) + name)

    offset = len(start) + len(bound(0)) + len(end)
    return start + bound(offset) + end + sheet + cells + end


def _cell(row: int, column: int, value: str | float) -> bytes:
    head = struct.pack("<HHH", row, column, 0)
    if isinstance(value, str):  # LABEL, with a text of two bytes a character
        text = value.encode("utf-16-le")
        return _record(0x0204, head + struct.pack("<HB", len(value), 1) + text)
    return _record(0x0203, head + struct.pack("<d", value))


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def rows_of(task: str, *paths: Path) -> list[dict[str, Any]]:
    shipped = find_task(task)
    return list(find_reader(shipped)(shipped, paths))


def labels(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update([row["label"]] if "label" in row else row["labels"])
    return counts


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_civility_stands_in_the_name_of_the_file(tmp_path: Path, index: str) -> None:
    header = f"{index},email_id,quotation,quotation_code\n"
    civil = written(tmp_path / "lkml_civil.csv", header + "0,17,Thank you.,civil\n")
    header = header.replace("email", "comment")
    uncivil = written(tmp_path / "gh_uncivil.csv", header + "0,18,What a mess.,uncivil\n")
    rows = rows_of("incivility", civil, uncivil)
    read = [(row["text"], row["label"]) for row in rows]
    assert read == [("Thank you.", "civil"), ("What a mess.", "uncivil")]
    assert [row["source"] for row in rows] == ["lkml_civil.csv:1 (17)", "gh_uncivil.csv:1 (18)"]
    assert len({row["id"] for row in rows}) == 2


def test_in_the_kits_own_numbers_0_is_uncivil(tmp_path: Path) -> None:
    path = written(tmp_path / "incivility.csv", "id,text,label\n1,What a mess.,0\n2,Thanks.,1\n")
    assert [row["label"] for row in rows_of("incivility", path)] == ["uncivil", "civil"]
    path = written(tmp_path / "tone_bearing.csv", "id,text,label\n1,See line 2.,0\n2,Wow!,1\n")
    read = [row["label"] for row in rows_of("tone_bearing", path)]
    assert read == ["not tone-bearing", "tone-bearing"]


def test_tone_is_what_is_not_technical(tmp_path: Path) -> None:
    header = ",email_id,ahlaam_preprocessed_text,original_text,email_classification\n"
    plain = written(tmp_path / "lkml_technical.csv", header + "0,1,See line 2.,x,technical\n")
    tone = written(tmp_path / "gh_non_technical.csv", header + "0,2,Wow!,x,not_technical\n")
    read = [(row["text"], row["label"]) for row in rows_of("tone_bearing", plain, tone)]
    assert read == [("See line 2.", "not tone-bearing"), ("Wow!", "tone-bearing")]


@pytest.mark.parametrize("packed", [False, True])
def test_aspects_come_from_an_old_workbook(tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("xlrd")
    path = tmp_path / ("opinions.xls.xz" if packed else "opinions.xls")
    content = xls(OPINIONS)
    path.write_bytes(lzma.compress(content) if packed else content)
    rows = rows_of("review_aspect", path)
    assert [row["labels"] for row in rows] == [["Performance"], ["Performance", "Others"], ["Bug"]]
    assert rows[0]["text"] == '"It is fast."'
    assert rows[0]["document"] == "1"


def test_a_code_that_is_no_aspect_is_named(tmp_path: Path) -> None:
    pytest.importorskip("xlrd")
    path = tmp_path / "opinions.xls"
    path.write_bytes(xls([*OPINIONS, [3.0, "3:1", "x", "o", "[\"'Speed'\"]"]]))
    with pytest.raises(DatasetError, match=r"row 4: 'Speed' is not a label of .*giasuddin"):
        rows_of("review_aspect", path)
    path.write_bytes(b"\xd0\xcf\x11\xe0 broken")
    with pytest.raises(DatasetError, match=r"opinions\.xls cannot be read"):
        rows_of("review_aspect", path)


def test_sentiment_has_three_forms(tmp_path: Path) -> None:
    pytest.importorskip("xlrd")
    opinions = tmp_path / "opinions.xls"
    opinions.write_bytes(xls(OPINIONS))
    github = written(
        tmp_path / "github_gold.csv", "ID;Polarity;Text\n1;negative;No, never.\n2;neutral;Line 3\n"
    )
    stack = written(tmp_path / "StackOverflow.csv", "id,text,oracle\n5,Great.,1\n6,It sorts.,0\n")
    folds = written(tmp_path / "github.csv", 'id,dataset,text,oracle\n1,f_0,"Bad, bad.",-1\n')
    rows = rows_of("sentiment", opinions, github, stack, folds)
    found = [row["label"] for row in rows]
    assert found[:3] == ["positive", "positive", "negative"]
    assert found[3:] == ["negative", "neutral", "positive", "neutral", "negative"]
    assert [row["text"] for row in rows[3:5]] == ["No, never.", "Line 3"]
    assert len({row["id"] for row in rows}) == 8


def test_commits_have_numbers_for_classes(tmp_path: Path) -> None:
    header = ",project,revision_hash,committer_date,message,label\n"
    path = tmp_path / "all_changes_gt.csv.gz"
    hashed = "0123456789" * 4
    lines = [
        f'{number},struts,{hashed},2016-02-15 12:28:01,"fix {number}\nmore",{number}\n'
        for number in range(3)
    ]
    path.write_bytes(gzip.compress((header + "".join(lines)).encode()))
    rows = rows_of("commit_intent", path)
    assert [row["label"] for row in rows] == ["other", "perfective", "corrective"]
    assert rows[0]["repo"] == "struts"
    assert rows[0]["text"] == "fix 0\nmore"


def test_titles_and_bodies_are_joined_as_the_kit_does(tmp_path: Path) -> None:
    header = "issuekey,title,description,storypoint\n"
    path = written(
        tmp_path / "mesos.csv", header + 'M-1,Crash,At start,3\nM-2,Null,NULL,1\nM-3,"",Only,2\n'
    )
    rows = rows_of("story_points", path)
    assert [row["text"] for row in rows] == ["Crash.\nAt start", "Null", "Only"]
    for task, columns in {
        "bug_issue": "title,description,label\nCrash,At start,1\n",
        "closed_question": "PostId,PostCreationDate,Title,BodyMarkdown,OpenStatus\n"
        "1,02/15/2012 12:28:01,Crash,At start,open\n",
        "question_quality": "Id,Title,Body,Tags,CreationDate,Y\n"
        "1,Crash,At start,x,2016-01-01 00:21:59,HQ\n",
        "issue_type": ",issue_url,issue_label,issue_created_at,issue_author_association,"
        "repository_url,issue_title,issue_body\n"
        "0,https://api.github.com/repos/a/b/issues/1,bug,2020-01-01T00:00:00Z,NONE,"
        "https://api.github.com/repos/a/b,Crash,At start\n",
    }.items():
        (row,) = rows_of(task, written(tmp_path / f"{task}_train.csv", columns))
        assert row["text"] == "Crash.\nAt start", task


def test_requirements_in_the_form_of_promise(tmp_path: Path) -> None:
    path = written(
        tmp_path / "promise_nfr.csv",
        "\ufeffnumber;ProjectID;RequirementText;class;NFR\n"
        "1;1;It beeps, loudly.;F;0\n2;3;Fast.;PE;1\n",
    )
    rows = rows_of("requirement_type", path)
    assert [(row["text"], row["label"], row["repo"]) for row in rows] == [
        ("It beeps, loudly.", "functional", "project 1"),
        ("Fast.", "non-functional", "project 3"),
    ]


def test_requirements_are_cut_by_their_class(tmp_path: Path) -> None:
    lines = "1,'It shall, at once, beep.',F ,1,0\r\n11,It won't slow down.',PE,1,1\n\n"
    path = written(tmp_path / "promise-reclass.csv", HEADER + lines)
    rows = rows_of("requirement_type", path)
    assert [row["text"] for row in rows] == ["It shall, at once, beep.", "It won't slow down."]
    assert [row["label"] for row in rows] == ["functional", "non-functional"]
    assert [row["repo"] for row in rows] == ["project 1", "project 11"]


def test_story_points_come_project_by_project(tmp_path: Path) -> None:
    header = "issuekey,title,description,storypoint\n"
    paths = [
        written(tmp_path / "mesos.csv", header + "M-1,a,b,3\n"),
        written(tmp_path / "storypoints_usergrid.csv", header + "U-1,c,d,0.5\n"),
    ]
    rows = rows_of("story_points", *paths)
    assert [(row["id"], row["repo"], row["value"]) for row in rows] == [
        ("story_points:mesos:1", "mesos", 3.0),
        ("story_points:usergrid:1", "usergrid", 0.5),
    ]
    with pytest.raises(UsageError, match="second file with rows such as story_points:mesos:1"):
        rows_of("story_points", paths[0], paths[0])


CIVIL, STORY = "quotation,quotation_code\n", "issuekey,title,description,storypoint\n"
OTHERS = [
    ("incivility", "gh_civil.csv", f"{CIVIL}What a mess.,uncivil\n",
     "row 1, is uncivil, and the file's name says civil"),
    ("incivility", "mails.csv", "quotation\nx\n",
     r"mails\.csv does not have the name of .*lkml_civil\.csv"),
    ("incivility", "lkml_civil.csv", "sentence\nx\n", "has no column 'quotation'"),
    ("sentiment", "x.csv", "a,b\n1,2\n", "has no layout that sentiment knows; it has a, b"),
    ("sentiment", "y.csv", "text,oracle\nx,3\n", "'3' is not a label of sentiment"),
    ("commit_intent", "x.csv", "project,revision_hash,message,label\nstruts,01,more,3\n",
     "'3' is not a label of commit_intent"),
    ("requirement_type", "a.csv", "a,b\n1,2\n",
     "no layout that requirement_type knows; it has a, b"),
    ("requirement_type", "a.csv", f"{HEADER}1,x,F\n",
     "line 2: the row does not have the 5 fields"),
    ("requirement_type", "promise-reclass.csv", f"{HEADER}1,'It logs.',f,1,0\n",
     r"row 1: 'f' is not a label of .*PROMISE NFR is published"),
    ("story_points", "other.csv", STORY,
     r"other\.csv does not have the name of .*aptanastudio\.csv"),
    *(("review_aspect", "opinions.tsv", f"thread\tsent\tcodes\n1\tIt hangs.\t{codes}\n",
       r"row 1: .* is not a label of review_aspect")
      for codes in ("Bug Others", "['Bug', Others]", "[\"'Bug and more'\"]")),
]  # fmt: skip
"""Classes and layouts are never guessed."""


@pytest.mark.parametrize(("task", "name", "text", "message"), OTHERS)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, task: str, name: str, text: str, message: str
) -> None:
    with pytest.raises((DatasetError, UsageError), match=message):
        rows_of(task, written(tmp_path / name, text))


def test_blanks_around_a_code_count_for_nothing(tmp_path: Path) -> None:
    lines = "thread\tsent\tcodes\n1\tIt hangs.\t[' Bug ', u'Others']\n2\tIt is.\t[]\n"
    rows = rows_of("review_aspect", written(tmp_path / "opinions.tsv", lines))
    assert [row["labels"] for row in rows] == [["Bug", "Others"], []]


def test_a_packed_workbook_is_read(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    smells = ("Bloated", "Lazy", "Excessive Structured", "Tangled", "Fragmented")
    book.active.append(["Documentation Text", *smells])
    book.active.append(["Gets it.", 0, 1, 0, 0, 1])
    book.save(tmp_path / "smells.xlsx")
    packed = tmp_path / "smells.xlsx.xz"
    packed.write_bytes(lzma.compress((tmp_path / "smells.xlsx").read_bytes()))
    (row,) = rows_of("smell_doc", packed)
    assert row["labels"] == ["Lazy", "Fragmented"]


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
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UsageError, match=r'needs spacy.*pip install .*\[nlp\]"'):
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


REAL = {
    "incivility": "selu/sources/incivility/*civil.csv.xz",
    "tone_bearing": "selu/sources/incivility/*technical.csv.xz",
    "review_aspect": "selu/sources/review_aspect/*.xls.xz",
    "sentiment": "selu/sources/sentiment/github.csv.xz",
    "smell_doc": "selu/sources/smell_doc/*.xlsx.xz",
    "requirement_type": "requirements/promise_nfr.csv",
}
IN_PART = {
    "tone_bearing": {"not tone-bearing": 1327, "tone-bearing": 872},
    "sentiment": {"negative": 2087, "neutral": 3022, "positive": 2013},
}
"""Labels in the files at hand where they are not all that the paper counts."""


@pytest.mark.real_data
@pytest.mark.parametrize("task", REAL)
def test_the_authors_files_have_the_labels_of_the_paper(task: str) -> None:
    paths = sorted(DATA.glob(REAL[task]))
    if not paths:
        pytest.skip(f"{DATA / REAL[task]} is missing; set GOLDPAN_REAL_DATA to the real data")
    pytest.importorskip("xlrd")
    counts = find_task(task).counts.items()
    whole = {name.removeprefix("label:"): count for name, count in counts if name != "total"}
    assert labels(rows_of(task, *paths)) == IN_PART.get(task, whole)


@pytest.mark.real_data
def test_story_points_of_all_projects() -> None:
    paths = sorted(DATA.glob("selu/sources/story_points/*.csv.xz"))
    paths += sorted(DATA.glob("regression/storypoints_*.csv.xz"))
    if len(paths) < 16:
        pytest.skip(f"{DATA} lacks projects; set GOLDPAN_REAL_DATA to the real data's folder")
    rows = rows_of("story_points", *paths)
    counts = find_task("story_points").counts
    assert len(rows) == counts["total"] == 23_313
    repos = Counter(row["repo"] for row in rows)
    assert repos == {name[5:]: count for name, count in counts.items() if name[:5] == "repo:"}
    assert not any(row["text"].endswith(".\nNULL") for row in rows)
