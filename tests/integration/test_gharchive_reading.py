"""An hour's file becomes rows: every shape of event, and every damage that hours have had."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow.parquet as pq
import pytest

from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.miners.gharchive.events import ARCHIVE_EVENTS
from goldpan.miners.gharchive.reading import HourUnit, read_hour
from goldpan.miners.gharchive.store import ArchiveStore, HourReport, read_footer
from tests.gharchive_hours import Hours, utc, write_hour
from tests.twin.rest_views import Json

HOUR = utc(2022, 3, 4, 5)
ISSUES = ("IssuesEvent",)


@pytest.fixture
def world() -> Hours:
    return Hours(7, people=10, repos=5)


class Read:
    """An hour that was read from the given lines."""

    def __init__(
        self,
        folder: Path,
        lines: list[bytes | Json],
        types: tuple[str, ...] = ISSUES,
        hour: datetime = HOUR,
    ) -> None:
        self.store = ArchiveStore.of(WorkspaceLayout(folder))
        path = write_hour(folder / "source" / "hour.json.gz", lines, 1)
        self.report: HourReport = read_hour(HourUnit(hour, folder, types, path))
        self.path = self.store.events(hour)
        self.rows: list[dict[str, Any]] = pq.read_table(self.path).to_pylist()

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.report.lines, self.report.events, self.report.corrupt


def test_an_issue_that_was_closed(world: Hours, tmp_path: Path) -> None:
    event = world.event("IssuesEvent", HOUR)
    issue = event["payload"]["issue"]
    issue["labels"] = [{"name": "zeta"}, {"name": "Bug"}]
    issue["user"]["type"] = "Bot"
    read = Read(tmp_path, [world.event("PushEvent", HOUR), event])
    (row,) = read.rows
    assert row == {
        "hour": HOUR,
        "line": 2,
        "event_id": event["id"],
        "type": "IssuesEvent",
        "action": "closed",
        "at": HOUR,
        "repo": event["repo"]["name"],
        "repo_id": event["repo"]["id"],
        "number": issue["number"],
        "issue_id": issue["id"],
        "kind": "issue",
        "title": issue["title"],
        "body": issue["body"],
        "state": "closed",
        "labels": ["Bug", "zeta"],
        "author": issue["user"]["login"] + "[bot]",
        "author_type": "bot",
        "author_association": "contributor",
        "actor": event["actor"]["login"],
        "created_at": utc(2022, 3, 2, 5),
        "updated_at": HOUR,
        "closed_at": HOUR,
        "comment_id": None,
        "comment_body": None,
    }
    assert pq.read_schema(read.path).remove_metadata() == ARCHIVE_EVENTS.schema
    assert (read.report.state, read.counts) == ("whole", (2, 1, 0))
    assert read_footer(read.path) == read.report


def test_comments_pulls_and_other_events(world: Hours, tmp_path: Path) -> None:
    comment = world.event("IssueCommentEvent", HOUR)
    comment["payload"]["issue"]["pull_request"] = {
        "url": "https://api.github.com/repos/a/b/pulls/1"
    }
    pull, late = world.event("PullRequestEvent", HOUR), world.trimmed(HOUR)
    push = world.event("PushEvent", HOUR)
    types = ("IssueCommentEvent", "PullRequestEvent", "PushEvent")
    rows = Read(tmp_path, [comment, pull, late, push], types).rows
    assert [row["kind"] for row in rows] == ["pull", "pull", "pull", None]
    assert rows[0]["comment_body"] == comment["payload"]["comment"]["body"]
    assert rows[0]["comment_id"] == comment["payload"]["comment"]["id"]
    assert rows[0]["title"] == comment["payload"]["issue"]["title"]
    pull_request = pull["payload"]["pull_request"]
    assert (rows[1]["title"], rows[1]["body"]) == (pull_request["title"], pull_request["body"])
    assert (rows[1]["issue_id"], rows[1]["action"]) == (pull_request["id"], "opened")
    assert rows[2]["number"] == late["payload"]["number"]
    assert (rows[2]["title"], rows[2]["body"], rows[2]["author"]) == (None, None, None)
    head = ("hour", "line", "event_id", "type", "at", "repo", "repo_id", "actor")
    assert [name for name, value in rows[3].items() if value is not None] == list(head)


def test_shapes_of_2011_to_2014(world: Hours, tmp_path: Path) -> None:
    hour = utc(2013, 9, 20, 9)
    issue = world.timeline("IssuesEvent", hour)
    comment = world.timeline("IssueCommentEvent", hour)
    pull = world.timeline("PullRequestEvent", hour)
    early = world.early("IssuesEvent", hour, "closed")
    types = ("IssueCommentEvent", "IssuesEvent", "PullRequestEvent")
    rows = Read(tmp_path, [issue, comment, pull, early], types, hour).rows
    names = [f"{e['repository']['owner']}/{e['repository']['name']}" for e in (issue, comment)]
    assert [row["repo"] for row in rows[:2]] == names
    assert [row["actor"] for row in rows[:2]] == [issue["actor"], comment["actor"]]
    assert (rows[0]["issue_id"], rows[0]["number"]) == (
        issue["payload"]["issue"],
        issue["payload"]["number"],
    )
    assert (rows[0]["at"], rows[0]["hour"]) == (utc(2013, 9, 20, 16), hour)  # 9 h at -07:00
    assert (rows[0]["title"], rows[0]["labels"], rows[0]["event_id"]) == (None, None, None)
    assert rows[1]["comment_id"] == comment["payload"]["comment_id"]
    assert rows[1]["number"] == int(comment["url"].split("/")[-1].split("#")[0])
    assert rows[2]["body"] == pull["payload"]["pull_request"]["body"]
    assert rows[3]["at"] == utc(2013, 9, 20, 17)
    assert (rows[3]["repo"], rows[3]["event_id"]) == (early["repo"]["name"], early["id"])


def test_an_early_plain_issue_bears_an_empty_pull_request(world: Hours, tmp_path: Path) -> None:
    event = world.event("IssuesEvent", HOUR)
    event["payload"]["issue"]["pull_request"] = {"html_url": None, "diff_url": None}
    assert Read(tmp_path, [event]).rows[0]["kind"] == "issue"


def test_a_repository_without_a_name_is_found_in_the_issue(world: Hours, tmp_path: Path) -> None:
    """In 2016 some events had empty actors and repositories."""
    event = world.event("IssuesEvent", HOUR)
    name = event["repo"]["name"]
    event |= {"actor": {}, "repo": {}}
    (row,) = Read(tmp_path, [event]).rows
    assert (row["repo"], row["repo_id"], row["actor"]) == (name, None, None)


@pytest.mark.parametrize("value", [None, 5, "text", [], {}, [1, "x", None], True, 2**70, -1, 1.5])
def test_fields_of_any_type_do_no_harm(value: object, world: Hours, tmp_path: Path) -> None:
    events = []
    for path in ("actor", "repo", "payload", "created_at", "id", "payload.issue", "payload.action"):
        event = world.event("IssuesEvent", HOUR)
        *parents, last = path.split(".")
        at = event
        for name in parents:
            at = at[name]
        at[last] = value
        events.append(event)
    for field in world.event("IssuesEvent", HOUR)["payload"]["issue"]:
        event = world.event("IssuesEvent", HOUR)
        event["payload"]["issue"][field] = value
        events.append(event)
    lines = [json.dumps(event).encode() for event in events]
    assert Read(tmp_path, [*lines]).counts == (len(lines), len(lines), 0)


def test_objects_joined_on_a_line_are_read_one_by_one(world: Hours, tmp_path: Path) -> None:
    """2011 and 2012: some files have no line end at all; a text may hold the same bytes."""
    events = [world.timeline("IssuesEvent", HOUR) for _ in range(3)]
    texts = world.event("IssuesEvent", HOUR)
    texts["payload"]["issue"]["body"] = 'a }{"id":1}{ and }{'
    joined = b"".join(orjson.dumps(event) for event in (*events, texts))
    read = Read(tmp_path, [joined, world.event("PushEvent", HOUR)])
    assert read.counts == (5, 4, 0)
    assert [row["line"] for row in read.rows] == [1, 2, 3, 4]
    assert read.rows[3]["body"] == texts["payload"]["issue"]["body"]


def test_an_event_cut_off_by_the_next(world: Hours, tmp_path: Path) -> None:
    """2017 and 2021: the rest of a line is another event, which is kept."""
    first, second = (orjson.dumps(world.event("IssuesEvent", HOUR)) for _ in range(2))
    push = orjson.dumps(world.event("PushEvent", HOUR))
    read = Read(tmp_path, [first[:300] + second, push[:200] + push, first])
    assert read.counts == (5, 2, 2)
    assert [row["line"] for row in read.rows] == [2, 5]


def test_runs_of_nul_bytes(world: Hours, tmp_path: Path) -> None:
    """2018 and 2023: zeros behind an event, sometimes with the next one behind them."""
    first, second, third = (orjson.dumps(world.event("IssuesEvent", HOUR)) for _ in range(3))
    read = Read(tmp_path, [first + b"\0" * 9_000 + second, b"\0" * 30_000_000 + third, b"\0" * 50])
    assert read.counts == (4, 3, 1)


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"type":"IssuesEvent"',
        b'{"type":5}',
        b"{}",
        b"[]",
        b"null",
        b'"IssuesEvent"',
        b'{"type":"IssuesEvent","payload":"\xff\xfe"}',
        b'{"type":"IssuesEvent","payload":"a\tb"}',
        b"[" * 100_000,
        b'{"type":"PushEvent","payload":{"size":1}',
    ],
)
def test_corrupt_lines_are_counted(line: bytes, world: Hours, tmp_path: Path) -> None:
    good = world.event("IssuesEvent", HOUR)
    read = Read(tmp_path, [good, line, good])
    assert read.counts == (3, 2, 1)
    assert [row["line"] for row in read.rows] == [1, 3]
    assert read.report.state == "whole"


def test_empty_lines_are_none(world: Hours, tmp_path: Path) -> None:
    event = orjson.dumps(world.event("IssuesEvent", HOUR))
    read = Read(tmp_path, [b"", event + b"\r", b"  ", b""])
    assert read.counts == (1, 1, 0)


def test_texts_that_parquet_could_choke_on(world: Hours, tmp_path: Path) -> None:
    """Lone surrogates become U+FFFD; NUL is text like any other."""
    event = world.event("IssuesEvent", HOUR)
    event["payload"]["issue"] |= {"title": "@@", "body": "##"}
    line = (
        orjson.dumps(event)
        .replace(b"@@", rb"a\ud800b")
        .replace(b"##", rb"nul\u0000 \udc00 \ud83d\ude00")
    )
    other = orjson.dumps(world.event("PushEvent", HOUR) | {"payload": "@@"})
    read = Read(tmp_path, [line, other.replace(b"@@", rb"\udfff"), b"\xef\xbb\xbf" + line])
    assert read.counts == (3, 2, 0)
    assert (read.rows[0]["title"], read.rows[0]["body"]) == ("a\ufffdb", "nul\0 \ufffd \U0001f600")
    query = "SELECT title, body FROM read_parquet($path)"
    values = duckdb.execute(query, {"path": str(read.path)}).fetchall()
    assert values == [(row["title"], row["body"]) for row in read.rows]


def test_a_wanted_name_in_a_text_is_no_event(world: Hours, tmp_path: Path) -> None:
    push = world.event("PushEvent", HOUR, ref="IssuesEvent", type="IssuesEvent")
    push["payload"]["commits"][0]["message"] = '"type":"IssuesEvent"'
    assert Read(tmp_path, [push]).counts == (1, 0, 0)


_MEASURE = """
import re, sys
from datetime import UTC, datetime
from pathlib import Path
from goldpan.miners.gharchive.reading import HourUnit, read_hour
hour, home, path = datetime(2022, 3, 4, 5, tzinfo=UTC), Path(sys.argv[1]), Path(sys.argv[2])
report = read_hour(HourUnit(hour, home, ("IssuesEvent",), path))
# Not getrusage: its peak counts what the parent held before this program began.
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(report.lines, report.events, report.corrupt, peak)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("filling", [b"[", b'{"a":[],'])
def test_a_line_of_120_mb_takes_no_memory(filling: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hour.json.gz"
    good = orjson.dumps(Hours(3, people=9, repos=9).event("IssuesEvent", HOUR))
    with gzip.open(path, "wb", 1) as file:
        file.write(good + b'\n{"type":"IssuesEvent","payload":"')
        for _ in range(30):
            file.write(filling * (4_000_000 // len(filling)))
        file.write(b"\n" + good + b"\n")
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path), str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines, events, corrupt, kilobytes = map(int, done.stdout.split())
    assert (lines, events, corrupt) == (3, 2, 1)
    assert kilobytes < 400_000


def test_events_that_carry_another_hour_stay_in_their_file(world: Hours, tmp_path: Path) -> None:
    (row,) = Read(tmp_path, [world.event("IssuesEvent", utc(2022, 3, 4, 6))]).rows
    assert (row["hour"], row["at"]) == (HOUR, datetime(2022, 3, 4, 6, tzinfo=UTC))


@pytest.mark.nightly
def test_a_whole_hour_without_line_ends(tmp_path: Path) -> None:
    """20 MB on one line, which is more than a line may be."""
    world = Hours(1, people=10, repos=5)
    event = orjson.dumps(world.timeline("IssuesEvent", HOUR))
    count = 20_000_000 // len(event)
    assert Read(tmp_path, [event * count]).counts == (count, count, 0)
