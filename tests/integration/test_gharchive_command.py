"""`goldpan mine gharchive` as people and programs meet it, killed and interrupted too."""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goldpan.core.schemas.table import TableSchema
from goldpan.miners.gharchive.events import ARCHIVE_EVENTS, ARCHIVE_HOURS
from goldpan.miners.gharchive.store import file_name
from tests.drawing import daily
from tests.gharchive_hours import utc, write_day, write_hour
from tests.gharchive_server import Fault, HourServer
from tests.places import ROOT
from tests.program import MINE, Done, Running, start

HOURS = tuple(utc(2022, 1, 1) + timedelta(hours=index) for index in range(24))
DAY = ("--from", "2022-01-01", "--to", "2022-01-01")


def begin(home: Path, *arguments: str) -> AbstractContextManager[Running]:
    """Start `goldpan mine` with these arguments."""
    environment = {**os.environ, "COLUMNS": "200", "TMPDIR": str(home), "GITHUB_TOKEN": "token"}
    return start(*arguments, folder=home, environment=environment, program=MINE)


def run(home: Path, *arguments: str) -> Done:
    """Run `goldpan mine` to its end; a defect of ours never passes."""
    with begin(home, *arguments) as running:
        done = running.wait()
    assert "Traceback" not in done.out + done.err
    assert "Goldpan itself failed" not in done.err
    return done


def shards(home: Path) -> dict[str, bytes]:
    root = home / "goldpan-workspace" / "gharchive"
    return {path.name: path.read_bytes() for path in root.glob("*.parquet")}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    write_day(folder, HOURS, 60)
    return folder


@pytest.fixture(scope="module")
def plain(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of an undisturbed run."""
    home = tmp_path_factory.mktemp("plain")
    done = run(home, "gharchive", *DAY, "--source", str(source), "--workers", "1")
    assert done.code == 0, done.err
    assert "GH Archive: 24 hours, 0 already downloaded" in done.out
    assert re.search(r"lines +1,440 *\n", done.out)
    assert re.search(r"events kept \(IssuesEvent\) +\d+ *\n", done.out)
    assert "Every hour is complete." in done.out
    return shards(home)


def test_json(tmp_path: Path) -> None:
    write_hour(tmp_path / "copy" / file_name(HOURS[0]), [b"{}", b'{"type":"PushEvent"}'])
    (tmp_path / "copy" / file_name(HOURS[1])).write_bytes(b"\x1b[31m")
    bounds = ("--from", "2022-01-01-0", "--to", "2022-01-01-3", "--source", "copy", "--json")
    done = run(tmp_path, "gharchive", *bounds, "--event", "PushEvent", "--event", "IssuesEvent")
    output = json.loads(done.out)
    assert (done.code, done.err) == (3, "")
    lacking = [(hour["file"], hour["state"], hour["reason"]) for hour in output["not_whole"]]
    gone = ("missing", "no such file in the source")
    assert lacking == [
        ("2022-01-01-1.json.gz", "unreadable", "it cannot be unpacked near byte 5 (no gzip data)"),
        *(("2022-01-01-2.json.gz", *gone), ("2022-01-01-3.json.gz", *gone)),
    ]
    assert output["types"] == ["IssuesEvent", "PushEvent"]
    assert output["states"] == {"missing": 2, "unreadable": 1, "whole": 1}
    size = (tmp_path / "copy" / file_name(HOURS[0])).stat().st_size + 5
    counts = {"hours": 4, "bytes": size, "lines": 2, "events": 1, "corrupt": 1}
    assert (output["source"], output["reused"], output["totals"]) == ("copy", 0, counts)


def test_people_see_what_is_missing_as_ranges(source: Path, tmp_path: Path) -> None:
    faults = {file_name(HOURS[index]): [Fault("status", 9, 404)] for index in (3, 4, 5, 9)}
    with HourServer(source, faults) as server:
        done = run(tmp_path, "gharchive", *DAY, "--source", server.url)
    assert done.code == 3
    assert "hours missing" in done.out
    assert "  2022-01-01-3 to 2022-01-01-5 missing: HTTP 404\n" in done.out
    assert "  2022-01-01-9 missing: HTTP 404\n" in done.out
    assert "Every hour is complete" not in done.out


@pytest.mark.parametrize("processes", daily(["2"], ["1"]))
def test_killed_and_run_again(
    processes: str, source: Path, plain: dict[str, bytes], tmp_path: Path
) -> None:
    """kill -9 with some hours done: they are not asked for again, and the rest is the same."""
    arguments = ("gharchive", *DAY, "--workers", processes, "--concurrency", "1", "--json")
    with HourServer(source) as server:
        server.pause = 0.05
        killed = 0
        for count in (4, 9):
            with begin(tmp_path, *arguments, "--source", server.url) as running:
                running.until(lambda: len(shards(tmp_path)) >= count)  # noqa: B023
                running.signal_all(signal.SIGKILL)
                killed += running.wait().code == -signal.SIGKILL
        assert killed == 2
        stored = shards(tmp_path)
        server.pause = 0.0
        counts = dict(server.asked)
        done = run(tmp_path, *arguments, "--source", server.url)
        output = json.loads(done.out)
        assert (done.code, output["states"]) == (0, {"whole": 24})
        assert output["reused"] == len(stored) >= 9
        for name in stored:
            hour = name.replace(".parquet", ".json.gz")
            assert server.asked[hour] == counts[hour]
    assert shards(tmp_path) == plain
    left = sorted(path.name for path in (tmp_path / "goldpan-workspace" / "gharchive").iterdir())
    assert left == sorted([*plain, "downloads", "lock"])
    assert list((tmp_path / "goldpan-workspace" / "gharchive" / "downloads").iterdir()) == []


def test_ctrl_c_says_how_to_go_on(source: Path, tmp_path: Path) -> None:
    arguments = ("gharchive", *DAY, "--workers", "2", "--concurrency", "1")
    with HourServer(source) as server:
        server.pause = 0.1
        with begin(tmp_path, *arguments, "--source", server.url) as running:
            running.until(lambda: len(shards(tmp_path)) >= 3)
            running.signal_all(signal.SIGINT)
            stopped = running.wait()
        assert stopped.code == 130
        assert stopped.err.splitlines()[-1] == "Stopped. Run the same command again to resume."
        rows = pq.read_table(
            tmp_path / "goldpan-workspace" / "gharchive" / "hours.parquet"
        ).to_pylist()
        assert {row["state"] for row in rows} <= {"whole"}  # none may be noted yet
        assert len(rows) < 24


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gharchive", "--from", "2022-01-01"), "--to"),
        (("gharchive", "--from", "then", "--to", "now"), "--from then is not a day"),
        (("gharchive", *DAY, "--event", "IssueEvent"), "did you mean IssuesEvent"),
        (("gharchive", *DAY, "--engine", "spark"), "spark"),
        (("gharchive", *DAY, "--source", ".", "--workers", "-1"), "--workers"),
        (("gharchive", *DAY, "--concurrency", "0"), "concurrency"),
        (("--dry-run", "gharchive", *DAY), "--from"),
        (("--repo", "a/b", "gharchive", *DAY), "--from"),
        ((), "No repository was named"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = run(tmp_path, *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


@pytest.mark.parametrize("table", [ARCHIVE_EVENTS, ARCHIVE_HOURS], ids=lambda table: table.name)
def test_every_column_is_documented(table: TableSchema) -> None:
    text = (ROOT / "docs" / "issue-types.md").read_text(encoding="utf-8")
    assert [name for name in table.schema.names if f"`{name}`" not in text] == []
