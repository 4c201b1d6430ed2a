"""Issue-type datasets: which closings become rows, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import DatasetError, UsageError, WorkspaceError
from goldpan.core.parallel.engine import open_engine
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.core.values import Execution
from goldpan.papers.nlbse.issues.build import IssueTypeResult, build_issue_types, make_request
from goldpan.papers.nlbse.issues.closings import EventSource, Origin
from goldpan.papers.nlbse.issues.profile import load_profile
from tests.drawing import daily
from tests.issue_hours import closing, made_up_hours, text, write_hours, write_mined
from tests.places import files_below

Rows = list[dict[str, Any]]


def build(
    root: Path,
    profile: str = "nlbse23",
    *,
    repos: tuple[str, ...] = (),
    origin: Origin = "gharchive",
    processes: int = 1,
    **options: Any,
) -> IssueTypeResult:
    source = EventSource(WorkspaceLayout(root), origin, repos)
    request = make_request(source, load_profile(profile), **options)
    with open_engine(Execution(workers=processes)) as engine:
        return build_issue_types(request, engine, Reporter(quiet=True))


def rows(built: IssueTypeResult) -> Rows:
    files = sorted((built.written.directory / "data").glob("*.parquet"))
    examples = [
        {**row, "split": file.name.split("-")[0]}
        for file in files
        for row in pq.read_table(file).to_pylist()
    ]
    return sorted(examples, key=lambda row: str(row["id"]))


def dropped(root: Path, profile: str, **changes: Any) -> Mapping[str, int]:
    """Return why one closing among good ones is dropped."""
    write_hours(root, {0: [closing(1), closing(2, **changes)]})
    built = build(root, profile)
    assert built.closings == 2
    assert sum(built.labels.values()) + sum(built.dropped.values()) == 2
    return built.dropped


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("incomplete", {"repo": None}),
        ("incomplete", {"number": None}),
        ("incomplete", {"title": None}),
        ("no-body", {"body": None}),
        ("no-class", {"labels": None}),
        ("no-class", {"labels": ["wontfix"]}),
        ("no-class", {"labels": ["bugs"]}),
        ("several-classes", {"labels": ["bug", "Enhancement"]}),
        ("other-language", {"title": "Das Fenster", "body": "Das Fenster geht nicht auf. " * 5}),
    ],
)
@pytest.mark.parametrize("profile", daily(["nlbse23"], ["default"]))
def test_every_drop_is_counted_by_its_reason(
    tmp_path: Path, profile: str, reason: str, changes: dict[str, Any]
) -> None:
    assert dropped(tmp_path, profile, **changes) == {reason: 1}


def test_what_is_no_closing_of_an_issue_is_not_considered(tmp_path: Path) -> None:
    others = [
        closing(2, action="opened"),
        closing(3, kind="pull"),
        closing(4, type="IssueCommentEvent", comment_body="closed"),
        closing(5, type=None),
    ]
    write_hours(tmp_path, {0: [closing(1), *others]})
    built = build(tmp_path)
    assert (built.closings, built.dropped, built.labels) == (1, {}, {"bug": 1})


def test_a_row_says_what_the_event_said(tmp_path: Path) -> None:
    event = closing(7, title="The\0 pan", body="It\0 leaks", labels=["TYPE: Bug", "p1", "docs?"])
    write_hours(tmp_path, {5: [closing(1), event]})
    row = rows(build(tmp_path))[1]
    assert row["id"] == "nlbse23_issue_type:sluice/sieve#7@10000000007"
    assert (row["title"], row["body"]) == ("The pan", "It leaks")
    assert row["text"] == "The pan\n\nIt leaks"
    assert (row["label"], row["labels"]) == ("bug", ["TYPE: Bug", "p1", "docs?"])
    assert row["source"] == "gharchive/2022-01-01-5.json.gz:2"
    assert (row["repo"], row["number"], row["issue_id"]) == ("sluice/sieve", 7, 1_000_007)
    assert row["event"] == "10000000007"
    assert row["author_association"] == "NONE"
    assert row["created_at"] < row["closed_at"]


def test_synonyms_of_one_class_are_one_class(tmp_path: Path) -> None:
    write_hours(tmp_path, {0: [closing(1, labels=["bug", "Crash", "FIXED", "kind/bug"])]})
    assert build(tmp_path).labels == {"bug": 1}


def test_other_labels_make_an_issue_ambiguous(tmp_path: Path) -> None:
    assert dropped(tmp_path, "default", labels=["bug", "docs"]) == {"several-classes": 1}
    assert dropped(tmp_path, "default", labels=["docs"]) == {"no-class": 1}


def test_labels_are_those_of_the_closing(tmp_path: Path) -> None:
    """An issue that is closed as a bug, opened, labeled anew and closed again is no bug."""
    again = closing(1, event_id="20", labels=["enhancement"])
    write_hours(tmp_path, {0: [closing(1), closing(2)], 3: [again]})
    built = build(tmp_path, "default")
    assert [row["label"] for row in rows(built)] == ["enhancement", "bug"]
    assert built.dropped == {"repeated-closing": 1}
    as_before = build(tmp_path, "nlbse23")
    assert as_before.labels == {"bug": 2, "feature": 1}
    assert as_before.dropped == {}


def test_an_issue_is_one_under_its_new_name(tmp_path: Path) -> None:
    moved = closing(9, issue_id=1_000_001, repo="river/sieve", event_id="20")
    write_hours(tmp_path, {0: [closing(1)], 1: [moved]})
    assert [row["repo"] for row in rows(build(tmp_path, "default"))] == ["river/sieve"]


def test_an_event_that_the_archive_holds_twice_is_one(tmp_path: Path) -> None:
    write_hours(tmp_path, {0: [closing(1)], 1: [closing(1), closing(2)]})
    built = build(tmp_path)
    places = [row["source"].removeprefix("gharchive/2022-01-01-") for row in rows(built)]
    assert places == ["0.json.gz:1", "1.json.gz:2"]
    assert built.dropped == {"repeated-event": 1}


def test_old_events_without_an_id(tmp_path: Path) -> None:
    write_hours(tmp_path, {0: [closing(number, event_id=None) for number in (1, 2)]})
    assert [row["event"] for row in rows(build(tmp_path))] == ["2022-01-01-0:1", "2022-01-01-0:2"]


def test_near_duplicates_are_on_one_side_or_not(tmp_path: Path) -> None:
    """Sixty pairs, an hour between the two, in other projects and with other numbers."""
    first = [closing(number) for number in range(60)]
    second = [
        closing(
            100 + event["number"],
            repo=f"other/project{event['number'] % 7}",
            title=event["title"],
            body=event["body"] + " Thanks!",
        )
        for event in first
    ]
    write_hours(tmp_path, {0: first, 1: second})

    def parted(profile: str) -> int:
        sides: dict[int, set[str]] = {}
        for row in rows(build(tmp_path, profile, split="random:0.5,0.5")):
            sides.setdefault(row["number"] % 100, set()).add(row["split"])
        assert len(sides) == 60
        return sum(len(group) > 1 for group in sides.values())

    assert parted("default") == 0
    assert parted("nlbse23") > 10
    own = tmp_path / "first.toml"
    own.write_text('extends = "default"\nnear_duplicates = "first"', encoding="utf-8")
    built = build(tmp_path, str(own))
    assert {row["number"] for row in rows(built)} == set(range(60))
    assert built.dropped == {"near-duplicate": 60}


def test_private_data_is_made_unreadable_by_default(tmp_path: Path) -> None:
    write_hours(tmp_path, {0: [closing(1, body=text(1) + " Write to gold@diggers.net")]})
    built = build(tmp_path, "default")
    assert rows(built)[0]["body"].endswith(" Write to <EMAIL>")
    assert "digger" not in rows(built)[0]["text"]
    assert built.redacted == {"email": 1}
    assert "digger" in rows(build(tmp_path, "nlbse23"))[0]["body"]


def test_only_wanted_repositories(tmp_path: Path) -> None:
    write_hours(tmp_path, {0: [closing(1), closing(2, repo="Other/Pan"), closing(3, repo="x/y")]})
    built = build(tmp_path, repos=("other/pan", "X/Y"))
    assert [row["repo"] for row in rows(built)] == ["Other/Pan", "x/y"]
    assert built.closings == 2


def test_hostile_texts(tmp_path: Path) -> None:
    body = "](" * 8_000 + "<!--" * 4_000 + "a@" * 8_000 + "\u202e\x1b[31m\0"
    title = "\0 = 1+1 </script> the window does not open"
    write_hours(tmp_path, {0: [closing(1), closing(2, body=body + text(3, 900), title=title)]})
    for profile in ("default", "nlbse23", "nlbse22"):
        built = build(tmp_path, profile)
        assert sum(built.labels.values()) + built.dropped.get("other-language", 0) == 2
    (hostile,) = (row for row in rows(built) if row["number"] == 2)
    assert "\0" not in hostile["text"]
    assert hostile["text"].startswith(" = 1+1 </script> the window")


@pytest.mark.nightly
def test_the_bytes_depend_on_the_hours_alone(tmp_path: Path) -> None:
    write_hours(tmp_path, made_up_hours(5, 60))
    directory = tmp_path / "datasets" / "issue_type"
    contents = []
    for processes in (1, 2, 1):
        build(tmp_path, "default", balance="project:20", processes=processes)
        contents.append(files_below(directory))
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) == 6
    assert not list((tmp_path / "tmp").iterdir())
    build(tmp_path, "default", balance="project:20", seed=1)
    assert files_below(directory) != contents[0]


def test_the_card_tells_how_it_was_made(tmp_path: Path) -> None:
    write_hours(tmp_path, {0: [closing(1), closing(2, body=None)]})
    default = (build(tmp_path, "default").written.directory / "README.md").read_text("utf-8")
    assert "made it of 2 closings of issues in 1 hour of GH Archive." in default
    assert "| the issue has no body | 1 |" in default
    assert "Near duplicates are never on two sides" in default
    paper = (build(tmp_path, "nlbse23").written.directory / "README.md").read_text("utf-8")
    assert "Near duplicates may lie on two sides" in paper
    assert "Nothing in the texts was redacted." in paper


def test_mined_repositories(tmp_path: Path) -> None:
    issue = {"kind": "issue", "state": "closed", "labels": ["Bug"], "author_association": "MEMBER"}
    entries = [
        {**issue, "number": 1, "title": "The pan leaks", "body": text(1)},
        {**issue, "number": 2, "title": "Open", "body": text(2), "state": "open"},
        {**issue, "number": 3, "title": "A pull request", "body": text(3), "kind": "pull"},
        {**issue, "number": 4, "title": "Both", "body": text(4), "labels": ["bug", "faq"]},
    ]
    write_mined(tmp_path, "Sluice/Pan", "MIT", entries)
    built = build(tmp_path, "default", origin="mined", repos=("Sluice/Pan",), split="none")
    (row,) = rows(built)
    assert row["id"] == "issue_type:Sluice/Pan#1"
    assert (row["license"], row["event"], row["source"]) == ("MIT", None, "mined/Sluice/Pan")
    assert (built.closings, built.dropped) == (2, {"several-classes": 1})
    assert built.written.origins[0].license == "MIT"


def test_nothing_is_left(tmp_path: Path) -> None:
    write_hours(tmp_path, {0: [closing(1, labels=[])], 1: []})
    with pytest.raises(DatasetError, match=r"None of 1 closings .* \(1 as no label means one"):
        build(tmp_path)
    assert not (tmp_path / "datasets").exists()
    write_mined(tmp_path, "Sluice/Pan", "MIT", [{"kind": "issue", "state": "closed", "number": 1}])
    with pytest.raises(DatasetError) as error:
        build(tmp_path, origin="mined", repos=("Sluice/Pan",))
    assert error.value.remedy == "Take more repositories, or another profile"


@pytest.mark.parametrize("processes", [1, 2])
def test_a_damaged_hour_is_named(tmp_path: Path, processes: int) -> None:
    write_hours(tmp_path, {0: [closing(1)], 1: [closing(2)]})
    shard = tmp_path / "gharchive" / "2022-01-01-1.parquet"
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(WorkspaceError, match=r"^2022-01-01-1: .* cannot be read .* again\.$"):
        build(tmp_path, processes=processes)


def test_a_class_that_the_task_does_not_know(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('extends = "default"\n[labels]\nchore = ["chore"]', encoding="utf-8")
    with pytest.raises(UsageError, match="the class 'chore', which the task issue_type does not"):
        build(tmp_path, str(own))
