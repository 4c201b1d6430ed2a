"""Backups as people have them: lists, encodings, copies, former names; each read or named."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
import zstandard

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.pairing import find_rules, pair
from tests.backups import (
    GEM,
    as_lines,
    issue,
    numbered,
    pull,
    read,
    save_texts,
    tables,
    take,
    take_entries,
)
from tests.mining import Notes, Row


def listed(kind: str, number: int, **more: object) -> Row:
    """Return an entry as `gh api repos/octo/gem/issues --paginate` lists it."""
    own = (issue() if kind == "issue" else pull())[kind]
    left_out = ("base", "head", "merged_at", "merge_commit_sha")
    entry = {key: value for key, value in own.items() if key not in left_out}
    entry |= {"number": number, "comments": 0}
    if kind == "pull":
        entry["pull_request"] = {"url": "x", "merged_at": own["merged_at"]}
    return {**entry, **more}


LISTED = [listed("issue", 1), listed("pull", 2)]
TWO_LISTS = json.dumps(LISTED[:1]) + json.dumps(LISTED[1:])
PRETTY = "\n".join(json.dumps(entry, indent=2) for entry in LISTED)
LINES = "\r\n".join(map(json.dumps, LISTED))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", json.dumps(LISTED).encode()),
        ("pretty.json", json.dumps(LISTED, indent=2).encode()),
        ("lists.json", TWO_LISTS.encode()),
        ("slurped.json", json.dumps([LISTED[:1], [], LISTED[1:]]).encode()),
        ("objects.json", PRETTY.encode()),
        ("objects.jsonl", PRETTY.replace("\n", "\r\n").encode()),
        ("lines.json", LINES.encode()),
        ("lists.jsonl", "\n".join(json.dumps([entry]) for entry in LISTED).encode()),
        ("bom.jsonl", b"\xef\xbb\xbf" + LINES.encode()),
        ("powershell.jsonl", LINES.encode("utf-16")),
        ("powershell.json", json.dumps(LISTED, indent=1).encode("utf-16")),
        ("little.json", json.dumps(LISTED).encode("utf-16-le")),
        ("big.jsonl", LINES.encode("utf-16-be")),
        ("without-a-suffix", gzip.compress(TWO_LISTS.encode())),
        ("list.json.bz2", bz2.compress(json.dumps(LISTED).encode())),
        ("lines.jsonl.zst", zstandard.compress(LINES.encode())),
        ("text.txt", gzip.compress(json.dumps(LISTED).encode("utf-16"))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_lists_encodings_and_objects_in_a_row_are_read(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    assert take(tmp_path, tmp_path / name).complete
    first, second = read(tmp_path, "entries")
    assert (first["kind"], first["title"]) == ("issue", "Crash \x00 and 🪙")
    assert (second["kind"], second["merged"], second["base_ref"]) == ("pull", True, None)
    before = tables(tmp_path)
    take(tmp_path, tmp_path / name)
    assert tables(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ([{"number": 1, "title": "x", "createdAt": "2024-01-01T10:00:00Z"}], "gh issue list"),
        ([{"number": 1, "title": "x", "state": "OPEN", "url": "x"}], "gh issue list"),
        ({"data": {"repository": {"issues": {"nodes": []}}}}, "a reply of GraphQL"),
        ({"message": "Not Found", "documentation_url": "x", "status": "404"}, "Not Found"),
        ({"total_count": 1, "items": []}, "GitHub's search"),
        (
            {"backend_name": "GitHub", "category": "repository", "data": {"forks": 1}},
            "Perceval's c",
        ),
        ([{"type": "IssuesEvent", "actor": {}, "payload": {}}], "gharchive"),
        ([{"type": "issue", "url": "https://github.com/o/n/issues/1"}], "migration archive"),
        ([{"id": 1, "body": "x", "issue_url": "x"}], "a comment"),
        ({"action": "opened", "issue": {}}, "a webhook"),
        ({"status": 200, "data": [listed("issue", 1)]}, r"save that list alone \(jq \.data\)"),
        ({"issues": [listed("issue", 1)]}, r"save that list alone \(jq \.issues\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_shapes_are_named_with_the_command_that_gives_the_right_one(
    tmp_path: Path, content: object, what: str
) -> None:
    source = tmp_path / "dump.json"
    source.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UsageError, match=what) as caught:
        take(tmp_path, source)
    assert "gh api 'repos/octo/gem/issues?state=all&per_page=100' --paginate" in str(caught.value)


def test_what_is_null_or_a_plain_text_is_read(tmp_path: Path) -> None:
    empty = {"url": None, "html_url": None, "diff_url": None}
    reply = {"id": 7, "user": None, "body": "yes", "created_at": "2024-05-01T10:00:00Z"}
    labels = ["bug", {"name": "api"}]
    entries = [
        listed(
            "issue", 1, pull_request=None, labels=labels, comments=1, comment_data=[None, reply]
        ),
        listed("issue", 2, pull_request=empty),
    ]
    assert take(tmp_path, as_lines(tmp_path, entries)).complete
    first, second = read(tmp_path, "entries")
    assert (first["kind"], second["kind"], first["labels"]) == ("issue", "issue", ["api", "bug"])
    assert [row["comment_id"] for row in read(tmp_path, "comments")] == [7]


def test_what_perceval_writes_is_read(tmp_path: Path) -> None:
    comment = {"id": 7, "user": None, "body": "Fixes #1", "created_at": "2024-05-01T10:00:00Z"}
    review = {"id": 8, "user": None, "state": "APPROVED", "submitted_at": "2024-05-02T10:00:00Z"}
    whole = {"number": 2, "comments": 1, **pull()["pull"]}
    parts = {"review_comments_data": [comment], "reviews_data": [{**review, "body": "Good"}]}
    data = [
        {**listed("issue", 1, comments=1), "comments_data": [comment], "reactions_data": []},
        {**whole, **parts, "commits_data": ["a" * 40]},
    ]
    items = [{"backend_name": "GitHub", "category": "any", "data": item} for item in data]
    source = tmp_path / "perceval.json"
    source.write_text("\n".join(json.dumps(item, indent=4) for item in items), encoding="utf-8")
    take(tmp_path, source)
    assert [row["kind"] for row in read(tmp_path, "entries")] == ["issue", "pull"]
    found = [(row["number"], row["kind"], row["comment_id"]) for row in read(tmp_path, "comments")]
    assert found == [(1, "comment", 7), (2, "review_comment", 7), (2, "review", 8)]


def test_an_archive_of_files_is_named(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(as_lines(tmp_path, [issue()]), "entries.jsonl")
    (tmp_path / "backup.tar.gz").write_bytes(packed.getvalue())
    with pytest.raises(UsageError, match="is an archive of files: unpack it and name the folder"):
        take(tmp_path, tmp_path / "backup.tar.gz")


def test_what_stands_before_a_cut_of_a_list_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(json.dumps(LISTED)[:-20])
    (gap,) = take(tmp_path, tmp_path / "cut.json").gaps
    assert gap.reason.startswith("1 entry cannot be read: cut.json, entry 2 is not JSON")
    assert [row["number"] for row in read(tmp_path, "entries")] == [1]


def test_an_error_behind_a_list_is_no_complete_backup(tmp_path: Path) -> None:
    """`gh api --paginate` prints what GitHub answered where it fails in the middle."""
    error = json.dumps({"message": "Server Error", "documentation_url": "x"})
    (tmp_path / "failed.json").write_text(json.dumps(LISTED) + error)
    (gap,) = take(tmp_path, tmp_path / "failed.json").gaps
    assert "failed.json, entry 3 is GitHub's answer to a request that failed" in gap.reason
    assert len(read(tmp_path, "entries")) == 2


def test_pull_requests_among_issues_are_paired_and_told_what_they_lack(tmp_path: Path) -> None:
    notes = Notes()
    entries = [*LISTED, listed("pull", 3, pull_request={}, state="open", body="")]
    assert take(tmp_path, as_lines(tmp_path, entries), notes).complete
    assert "Of 2 pull requests only what lists of issues tell is there: no base" in notes
    assert "gh api 'repos/octo/gem/pulls?state=all" in notes
    assert [row["merged"] for row in read(tmp_path, "entries")] == [None, True, False]
    workspace = WorkspaceLayout(tmp_path / "workspace")
    assert pair(workspace, GEM, find_rules("unconfirmed")).pairs == 1
    # What the list of pull requests tells completes them, whichever came first.
    assert take_entries(tmp_path, pull()).complete
    (_, second, _) = read(tmp_path, "entries")
    assert (second["base_ref"], second["merged"]) == ("trunk", True)


def test_a_newer_list_of_issues_changes_the_state_and_costs_no_branches(tmp_path: Path) -> None:
    open_pull = pull()
    open_pull["pull"] |= {"merged_at": None, "state": "open", "merge_commit_sha": None}
    newer = listed("pull", 2, updated_at="2025-01-01T00:00:00Z", title="Merged now")
    for name, order in (("first", [newer, open_pull]), ("last", [open_pull, newer])):
        take_entries(tmp_path / name, issue(), *order)
        (_, row) = read(tmp_path / name, "entries")
        assert (row["title"], row["merged"], row["base_ref"]) == ("Merged now", True, "trunk")
        kinds = [comment["kind"] for comment in read(tmp_path / name, "comments")]
        assert kinds == ["comment", "review", "review_comment"]


@pytest.mark.parametrize("older_first", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
def test_of_two_copies_the_newest_counts(tmp_path: Path, older_first: bool, at_once: bool) -> None:
    newer = issue()
    newer["issue"] |= {"title": "Newer", "updated_at": "2025-01-01T00:00:00Z", "comments": 0}
    newer["events"] = newer["events"][1:]
    copies = [issue(), newer] if older_first else [newer, issue()]
    for batch in [copies] if at_once else [[copy] for copy in copies]:
        take_entries(tmp_path, *batch, pull())
    first, _ = read(tmp_path, "entries")
    assert (first["title"], first["timeline_items"]) == ("Newer", 2)
    assert [row["number"] for row in read(tmp_path, "comments")] == [2, 2]


@pytest.mark.parametrize("count", ["sub_issues_summary", "issue_dependencies_summary"])
def test_lists_that_no_backup_holds_are_not_missing(tmp_path: Path, count: str) -> None:
    told = {"total": 3, "completed": 1, "total_blocked_by": 1, "total_blocking": 2}
    entry = issue()
    entry["issue"][count] = told
    child = numbered(7)
    child["issue"]["parent_issue_url"] = f"https://api.github.com/repos/{GEM}/issues/1"
    assert take_entries(tmp_path, entry, child, pull()).complete
    links = [row for row in read(tmp_path, "references") if row["signal"] == "sub_issue"]
    assert [(row["number"], row["target_number"]) for row in links] == [(1, 7)]


def _named(name: str, identity: int | None, *entries: Row) -> list[Row]:
    for entry in entries:
        kind, number = entry["type"], entry[entry["type"]]["number"]
        page = "pull" if kind == "pull" else "issues"
        entry[kind]["html_url"] = f"https://github.com/{name}/{page}/{number}"
        if kind == "pull":
            entry[kind]["base"]["repo"] |= {"full_name": name, "id": identity}
            entry[kind]["body"] = f"Fixes {name}#1"
    return [*entries]


def test_former_names_that_entries_show_are_the_repository_s_own(tmp_path: Path) -> None:
    notes = Notes()
    take(tmp_path, as_lines(tmp_path, _named("old/gem", 5, issue(), pull())), notes)
    assert "Took the entries of old/gem as those of octo/gem" in notes
    (repository,) = read(tmp_path, "repositories")
    assert (repository["repo"], repository["default_branch"]) == ("octo/gem", "trunk")
    assert repository["former_names"] == ["old/gem"]
    targets = {row["target_repo"] for row in read(tmp_path, "references")}
    assert targets == {"octo/gem"}


def test_entries_of_another_repository_are_passed_over(tmp_path: Path) -> None:
    notes = Notes()
    own = _named("octo/gem", 5, issue(), pull())
    others = _named("octo/pebble", 6, numbered(9), pull())
    others[1]["pull"]["number"] = 10
    assert take(tmp_path, as_lines(tmp_path, [*own, *others]), notes).complete
    assert [row["number"] for row in read(tmp_path, "entries")] == [1, 2]
    assert "Passed over the entries of other repositories: octo/pebble" in notes


def test_the_folder_of_one_repository_is_chosen_among_several(tmp_path: Path) -> None:
    root = tmp_path / "all"
    for name, entry in (("gem", issue()), ("pebble", numbered(9))):
        save_texts(root / "repositories" / name, {"issues/1.json": json.dumps(entry["issue"])})
    take(tmp_path, root)
    assert [row["number"] for row in read(tmp_path, "entries")] == [1]
    (root / "repositories" / "gem").rename(root / "repositories" / "other")
    with pytest.raises(UsageError, match="holds 2 repositories, and none is called as octo/gem"):
        take(tmp_path, root)
