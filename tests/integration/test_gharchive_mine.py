"""Hours come home from folders and servers, whatever goes wrong on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.values import Execution
from goldpan.miners.gharchive.events import ARCHIVE_HOURS, event_types
from goldpan.miners.gharchive.mine import ArchiveRequest, ArchiveResult, mine_archive
from goldpan.miners.gharchive.store import ArchiveStore, file_name, hours_between
from tests.gharchive_hours import Hours, utc, write_day, write_hour
from tests.gharchive_server import Fault, HourServer
from tests.mining import PACE, Notes
from tests.rights import bound_by_modes

DAY = utc(2022, 1, 1)
TEN = tuple(DAY + timedelta(hours=index) for index in range(10))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ten hours."""
    folder = tmp_path_factory.mktemp("source")
    write_day(folder, TEN, 120)
    return folder


def bring(
    home: Path,
    source: Path | str,
    hours: Sequence[datetime] = TEN,
    *,
    retries: int = 4,
    notes: Notes | None = None,
    **wishes: object,
) -> ArchiveResult:
    request = ArchiveRequest(tuple(hours), ("IssuesEvent",), str(source))
    settings = Settings(home, retries=retries, timeout=120.0, concurrency=3)
    return mine_archive(settings, replace(request, **wishes), notes or Notes(), PACE)  # type: ignore[arg-type]


def files(home: Path) -> dict[str, bytes]:
    """Return all that a run left: names with content."""
    root = ArchiveStore.of(WorkspaceLayout(home)).root
    paths = [path for path in root.rglob("*") if path.is_file() and path.name != "lock"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def plain(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what a run over the folder leaves."""
    home = tmp_path_factory.mktemp("plain")
    result = bring(home, source)
    assert (result.states, result.complete, result.reused) == ({"whole": 10}, True, 0)
    assert sum(report.events for report in result.reports) > 10
    return files(home)


def test_a_folder(plain: dict[str, bytes], source: Path) -> None:
    names = {file_name(hour).replace("json.gz", "parquet") for hour in TEN}
    assert set(plain) == names | {"hours.parquet"}
    assert len(list(source.iterdir())) == 10  # read in place
    rows = pq.read_table(pa.BufferReader(plain["hours.parquet"]))
    assert rows.schema == ARCHIVE_HOURS.schema
    assert rows["hour"].to_pylist() == list(TEN)
    assert rows["bytes"].to_pylist() == [(source / file_name(h)).stat().st_size for h in TEN]
    assert set(rows["lines"].to_pylist()) == {120}


@pytest.mark.nightly
def test_processes_change_no_byte(plain: dict[str, bytes], source: Path, tmp_path: Path) -> None:
    bring(tmp_path, source, execution=Execution(workers=2))
    assert files(tmp_path) == plain


def test_a_server(plain: dict[str, bytes], source: Path, tmp_path: Path) -> None:
    with HourServer(source) as server:
        server.pause = 0.1
        result = bring(tmp_path, server.url + "/")
        assert (result.complete, set(server.asked.values())) == (True, {1})
        assert 1 < server.together <= 3
        assert {h["User-Agent"].split("/")[0] for h in server.headers} == {"goldpan"}
        assert not {"Authorization", "Range"} & set(server.headers[0])
        again = bring(tmp_path, server.url)
        assert (again.complete, again.reused) == (True, 10)
        assert set(server.asked.values()) == {1}
    assert files(tmp_path) == plain


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 3),
        Fault("status", 3, 429, "0.01"),
        Fault("status", 1, 500, "Wed, 21 Oct 2015 07:28:00 GMT"),
        Fault("cut", 3),
        Fault("reset", 3),
    ],
    ids=lambda fault: f"{fault.kind}{fault.status}",
)
def test_faults_that_pass(
    fault: Fault, plain: dict[str, bytes], source: Path, tmp_path: Path
) -> None:
    with HourServer(source, {file_name(hour): [fault] for hour in TEN[2:5]}) as server:
        assert bring(tmp_path, server.url).complete
        assert server.asked[file_name(TEN[3])] == fault.times + 1
    assert files(tmp_path) == plain


def test_a_long_wait_is_announced(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goldpan.miners.gharchive.mine._SILENT", 1.0)
    notes = Notes()
    with HourServer(source, {file_name(TEN[0]): [Fault("status", 1, 503, "1.5")]}) as server:
        assert bring(tmp_path, server.url, TEN[:1], notes=notes).complete
    assert "2022-01-01-0.json.gz cannot be fetched now (HTTP 503): waiting 2 s" in notes


def test_a_server_that_moved(plain: dict[str, bytes], source: Path, tmp_path: Path) -> None:
    with HourServer(source, {file_name(TEN[0]): [Fault("moved")]}) as server:
        assert bring(tmp_path, server.url).complete
    assert files(tmp_path) == plain


def test_missing_hours_are_listed_and_asked_for_again(source: Path, tmp_path: Path) -> None:
    gone = {file_name(hour): [Fault("status", 1, 404)] for hour in (TEN[1], TEN[9])}
    with HourServer(source, gone) as server:
        result = bring(tmp_path, server.url)
        assert result.states == {"whole": 8, "missing": 2}
        assert not result.complete
        assert [r.hour for r in result.reports if r.state == "missing"] == [TEN[1], TEN[9]]
        assert server.asked[file_name(TEN[1])] == 1
        assert "2022-01-01-1.parquet" not in files(tmp_path)
        again = bring(tmp_path, server.url)
        assert (again.complete, again.reused) == (True, 8)


@pytest.mark.parametrize("status", [400, 403, 418])
def test_a_refusal_is_not_repeated(status: int, source: Path, tmp_path: Path) -> None:
    with HourServer(source, {file_name(TEN[0]): [Fault("status", 9, status)]}) as server:
        result = bring(tmp_path, server.url, TEN[:2])
        assert (result.reports[0].state, result.reports[0].reason) == ("failed", f"HTTP {status}")
        assert server.asked[file_name(TEN[0])] == 1
        assert result.reports[1].state == "whole"


def test_a_server_that_fails_is_left_alone(source: Path, tmp_path: Path) -> None:
    """After three hours in a row; what was fetched before is kept."""
    faults = {file_name(hour): [Fault("status", 99)] for hour in TEN[2:]}
    with HourServer(source, faults) as server:
        result = bring(tmp_path, server.url, retries=2)
        assert result.states == {"whole": 2, "failed": 8}
        assert 3 <= len(server.asked) - 2 <= 6
        assert result.reports[2].reason == "HTTP 503, 2 times"
        assert result.reports[9].reason == "not asked for: the server failed too often"
    assert sorted(files(tmp_path)) == [
        "2022-01-01-0.parquet",
        "2022-01-01-1.parquet",
        "hours.parquet",
    ]


def test_nobody_listens(tmp_path: Path) -> None:
    result = bring(tmp_path, "http://127.0.0.1:9", TEN[:2], retries=1)
    assert result.states == {"failed": 2}
    assert str(result.reports[0].reason).startswith("ConnectError: ")


def test_a_wrong_size_is_never_taken_for_an_hour(source: Path, tmp_path: Path) -> None:
    faults = {file_name(TEN[0]): [Fault("cut", 99)], file_name(TEN[1]): [Fault("long", 99)]}
    with HourServer(source, faults) as server:
        result = bring(tmp_path, server.url, TEN[:3], retries=2)
        states = [report.state for report in result.reports]
    assert states == ["failed", "whole", "whole"]  # what lies behind the announced end is not read
    assert [name for name in files(tmp_path) if "downloads" in name] == []


def test_without_an_announced_size_the_gzip_tells(source: Path, tmp_path: Path) -> None:
    """And the next run asks again."""
    with HourServer(source, {file_name(TEN[0]): [Fault("short", 1)]}) as server:
        (report,) = bring(tmp_path, server.url, TEN[:1], keep_downloads=True).reports
        assert report.state == "truncated"
        assert 0 < report.lines < 120
        assert report.reason == "the file ends too early"
        assert bring(tmp_path, server.url, TEN[:1], keep_downloads=True).complete


def test_a_page_in_the_place_of_an_hour_is_asked_for_again(source: Path, tmp_path: Path) -> None:
    page = Fault("status", 1, 200)
    with HourServer(source, {file_name(TEN[0]): [page]}) as server:
        assert bring(tmp_path, server.url, TEN[:1]).states == {"unreadable": 1}
        assert bring(tmp_path, server.url, TEN[:1]).complete


def test_kept_downloads_are_read_again_without_the_server(source: Path, tmp_path: Path) -> None:
    with HourServer(source) as server:
        bring(tmp_path, server.url, keep_downloads=True)
        stored = {n: body for n, body in files(tmp_path).items() if n.startswith("files/")}
        assert stored == {f"files/{path.name}": path.read_bytes() for path in source.iterdir()}
        result = bring(tmp_path, server.url, types=("PushEvent",))
        assert (result.complete, result.reused) == (True, 0)
        assert set(server.asked.values()) == {1}
    assert stored.items() <= files(tmp_path).items()


def test_other_events_other_files_and_other_readers_are_read_anew(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in source.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    assert bring(tmp_path, folder).reused == 0
    assert bring(tmp_path, folder).reused == 10
    assert bring(tmp_path, folder, types=("ForkEvent", "IssuesEvent")).reused == 0
    assert bring(tmp_path, folder).reused == 0
    write_hour(folder / file_name(TEN[4]), Hours(9, people=9, repos=9).lines(TEN[4], 5))
    (folder / file_name(TEN[5])).unlink()
    result = bring(tmp_path, folder)
    assert (result.reused, result.complete, result.reports[4].lines) == (9, True, 5)
    monkeypatch.setattr("goldpan.miners.gharchive.mine.READER", 2)
    assert bring(tmp_path, folder).reused == 0


def test_hours_of_several_runs_stand_in_one_table(source: Path, tmp_path: Path) -> None:
    later = [utc(2022, 1, 2, 3)]
    bring(tmp_path, source, TEN[:3])
    bring(tmp_path, source, later)
    path = ArchiveStore.of(WorkspaceLayout(tmp_path)).hours
    rows = pq.read_table(path).to_pylist()
    assert [row["hour"] for row in rows] == [*TEN[:3], *later]
    assert [row["state"] for row in rows] == ["whole"] * 3 + ["missing"]
    assert rows[3]["types"] == ["IssuesEvent"]


def test_events_that_are_there_stay_in_the_table(source: Path, tmp_path: Path) -> None:
    """The hour's file is gone from the source, and other events are wanted: the old ones stay."""
    bring(tmp_path, source, TEN[:1])
    (tmp_path / "empty").mkdir()
    result = bring(tmp_path, tmp_path / "empty", TEN[:1], types=("ForkEvent",))
    assert result.states == {"missing": 1}
    (row,) = pq.read_table(ArchiveStore.of(WorkspaceLayout(tmp_path)).hours).to_pylist()
    assert (row["state"], row["types"]) == ("whole", ["IssuesEvent"])


def test_damaged_files_in_a_folder(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    data = (source / file_name(TEN[0])).read_bytes()
    (folder / file_name(TEN[0])).write_bytes(data[: len(data) // 2])
    (folder / file_name(TEN[1])).write_bytes(data[:5_000] + b"\xff" * 9 + data[5_009:] + data)
    (folder / file_name(TEN[2])).write_bytes(b"nothing of the sort")
    (folder / file_name(TEN[3])).mkdir()
    result = bring(tmp_path, folder, TEN[:5])
    states = [report.state for report in result.reports]
    assert states == ["truncated", "unreadable", "unreadable", "missing", "missing"]
    assert all(report.reason for report in result.reports)
    (folder / file_name(TEN[0])).write_bytes(data)
    again = bring(tmp_path, folder, TEN[:5])
    assert again.reused == 0, "nothing but whole hours counts as done"
    assert again.reports[0].state == "whole"
    assert again.reports[1:] == result.reports[1:]


def test_two_runs_do_not_write_at_once(source: Path, tmp_path: Path) -> None:
    with (
        ArchiveStore.of(WorkspaceLayout(tmp_path)).lock(),
        pytest.raises(WorkspaceError, match="Another goldpan is mining GH Archive"),
    ):
        bring(tmp_path, source)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux, which has /dev/full")
def test_a_full_disk_loses_nothing(source: Path, tmp_path: Path) -> None:
    with HourServer(source) as server:
        bring(tmp_path, server.url, TEN[:2])
        target = ArchiveStore.of(WorkspaceLayout(tmp_path)).download(TEN[2])
        part = target.with_name(f"{target.name}.part")
        part.symlink_to("/dev/full")
        with pytest.raises(WorkspaceError, match=r"cannot be written: No space left .* resumes"):
            bring(tmp_path, server.url)
        part.unlink()
        assert bring(tmp_path, server.url).complete


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("/no/such/folder", "is not a folder"),
        ("ftp://host/x", "is not a web address"),
        ("https://user:secret@host/", "holds credentials or a query"),
        ("http://[::1", "is not a web address"),
        ("http://host:99999/", "is not a web address"),
        ("http:///x", "is not a web address"),
    ],
)
def test_sources_that_are_none(source: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        bring(tmp_path, source)
    assert "secret" not in str(caught.value)


def test_bounds_of_time() -> None:
    nine_months = hours_between("2022-01-01", "2022-09-30")
    assert (len(nine_months), nine_months[-1]) == (273 * 24, utc(2022, 9, 30, 23))
    assert hours_between("2022-01-31-5", "2022-01-31-5") == [utc(2022, 1, 31, 5)]
    names = [file_name(hour) for hour in hours_between("2022-01-31-9", "2022-01-31-10")]
    assert names == ["2022-01-31-9.json.gz", "2022-01-31-10.json.gz"]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("2022-01-02", "2022-01-01"),
        ("2011-02-11", "2011-02-12"),
        ("2022-02-30", "2022-03-01"),
        ("2022-01-01-24", "2022-01-02"),
        ("20220101", "2022-01-02"),
        ("../../etc", "2022-01-02"),
        ("२०२२-०१-०१", "2022-01-02"),
        ("", "2022-01-02"),
        ("2022-01-01", "9999-12-31"),
    ],
)
def test_bounds_that_are_none(first: str, last: str) -> None:
    with pytest.raises(UsageError, match=r"--(from|to) "):
        hours_between(first, last)


def test_names_of_events() -> None:
    named = event_types(["PushEvent", " IssuesEvent ", "PushEvent", ""])
    assert named == ("IssuesEvent", "PushEvent")
    with pytest.raises(UsageError, match="names no type"):
        event_types([""])


def test_a_file_that_may_not_be_read(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    path = write_hour(folder / file_name(TEN[0]), [b"{}"])
    path.chmod(0)
    with bound_by_modes():
        (report,) = bring(tmp_path, folder, TEN[:1]).reports
    assert (report.state, report.reason) == ("unreadable", "Permission denied")
