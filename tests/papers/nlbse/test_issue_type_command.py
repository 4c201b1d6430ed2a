"""`goldpan build issue-type` as people and programs meet it."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import pytest

from goldpan.core.settings.config import Settings
from goldpan.core.terminal import Reporter
from goldpan.miners.gharchive.mine import ArchiveRequest, mine_archive
from goldpan.miners.gharchive.store import hours_between
from tests.console import run, sentence
from tests.gharchive_hours import Hours, hour_name, utc, write_hour
from tests.issue_hours import made_up_hours, write_hours


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a workspace of three hours."""
    write_hours(tmp_path / "goldpan-workspace", made_up_hours(3, 40))
    return tmp_path


def test_people_see_what_became_of_the_closings(folder: Path) -> None:
    done = run("build", "issue-type", folder=folder)
    assert done.code == 0, done.err
    assert "closings of issues in" in done.out
    assert "without an example: no label means one of the classes" in done.out
    assert "issue_type:" in done.out
    for split in ("train", "validation", "test"):
        assert split in done.out
    assert (folder / "goldpan-workspace/datasets/issue_type/provenance.json").exists()


@pytest.mark.nightly
def test_every_setting_is_recorded(folder: Path) -> None:
    own = folder / "mine.toml"
    own.write_text('extends = "default"\n[labels]\nbug = ["p1"]', encoding="utf-8")
    done = run(
        *("build", "issue-type", "--profile", own, "--balance", "project:2", "--seed", "3"),
        *("--split", "time:2021-12-02T01:00:00", "--workers", "2", "--output", folder / "out"),
        folder=folder,
    )
    assert done.code == 0, done.err
    provenance = json.loads((folder / "out" / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["settings"] == {
        "family": "issue_type",
        "from": "gharchive",
        "repositories": [],
        "split": "time:2021-12-02T01:00:00+00:00",
        "seed": 3,
        "balance": "project:2",
    }
    assert provenance["profile"]["name"] == "mine"
    assert provenance["profile"]["labels"]["bug"][-1] == "p1"
    (source,) = provenance["sources"]
    assert source["repo"] == "GH Archive"
    assert source["mined_from"].startswith("2022-01-01T00")
    assert source["mined_until"].startswith("2022-01-01T03")
    assert list(source["inputs"]) == [f"2022-01-01-{hour}.parquet" for hour in range(3)]
    assert provenance["counts"]["balance"] > 0


def test_what_is_wrong_is_said_in_one_line(folder: Path) -> None:
    sentence(run("build", "issue-type", "--profile", "nlbse25", folder=folder), 2, "nlbse24")
    sentence(run("build", "issue-type", "--split", "half", folder=folder), 2, "project:OWNER/NAME")
    sentence(run("build", "issue-type", "--balance", "half", folder=folder), 2, "project:300")
    sentence(run("build", "issue-type", "--workers", "-1", folder=folder), 2, "--workers")
    sentence(run("build", "issue-type", "--address", "auto", folder=folder), 2, "--engine ray")
    sentence(run("build", "issue-type", "--repo", "numpy", folder=folder), 2, "OWNER/NAME")
    (folder / "none").mkdir()
    sentence(
        run("build", "issue-type", "--workspace", folder / "none", folder=folder),
        1,
        " mine gharchive, or build from mined repositories",
    )


def test_from_the_archive_s_files_to_a_dataset(tmp_path: Path) -> None:
    hours = [utc(2022, 3, 1, hour) for hour in (0, 1, 3)]
    for index, hour in enumerate(hours):
        world = Hours(index, people=20, repos=10)
        events = [world.event("IssuesEvent", hour) for _ in range(30)]
        for event, label in zip(events, cycle(["Bug", "question", "wontfix"])):
            event["payload"]["issue"]["labels"] = [{"name": label}]
        write_hour(tmp_path / f"hours/{hour_name(hour)}.json.gz", events)
    request = ArchiveRequest(
        tuple(hours_between("2022-03-01-0", "2022-03-01-3")),
        ("IssuesEvent",),
        str(tmp_path / "hours"),
    )
    mine_archive(Settings(workspace=tmp_path / "goldpan-workspace"), request, Reporter(quiet=True))
    done = run("build", "issue-type", "--profile", "nlbse22", "--json", folder=tmp_path)
    assert done.code == 0, done.err
    output = json.loads(done.out)["built"]
    assert (output["units"], output["gaps"], output["closings"]) == (3, {"missing": 1}, 90)
    assert output["labels"] == {"bug": 30, "question": 30}
    assert output["dropped"] == {"no-class": 30}
    card = tmp_path / "goldpan-workspace/datasets/nlbse22_issue_type/README.md"
    assert "1 of the hours that were asked for are missing" in card.read_text("utf-8")
