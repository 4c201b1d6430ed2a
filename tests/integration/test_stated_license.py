"""A license that the user states, and who says what the others are."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from goldpan import Workspace
from goldpan.core.errors import UsageError
from goldpan.core.terminal import Reporter
from goldpan.datasets.provenance import read_provenance
from goldpan.lineage.check import check_workspace
from tests.backups import as_lines, issue, pull
from tests.demo_workspace import make_tables
from tests.drawing import daily
from tests.mining import rows
from tests.places import files_below
from tests.twin import Twin, synthetic_world

REPO = "prospector/sluice"


def license(lab: Workspace, repo: str = REPO) -> tuple[str | None, str | None]:
    (row,) = rows(lab.path, "repositories", repo)
    return row["license"], row["license_source"]


@pytest.fixture
def lab(tmp_path: Path) -> Workspace:
    return make_tables(tmp_path)


def test_what_is_stated_overrides_what_was_mined(lab: Workspace) -> None:
    mined = license(lab)
    assert mined[1] == "GitHub"
    before = lab.layout.table(REPO, "repositories").read_bytes()
    lab.normalize(license="gpl-3.0-or-later")
    assert license(lab) == ("GPL-3.0", "stated by the user")
    lab.normalize()
    assert license(lab) == ("GPL-3.0", "stated by the user")
    assert check_workspace(lab.layout, Reporter(quiet=True)).damaged == ()
    lab.normalize(license="mined")
    assert lab.layout.table(REPO, "repositories").read_bytes() == before


def test_the_provenance_says_who_told_the_license(lab: Workspace) -> None:
    lab.normalize(license="MPL-2.0")
    lab.pair()
    lab.filter()
    data = lab.build("qa")
    (source,) = read_provenance(data.path)["sources"]
    assert (source["license"], source["license_source"]) == ("MPL-2.0", "stated by the user")
    assert set(data.to_pandas()["license"]) == {"MPL-2.0"}


def test_the_filter_goes_by_what_is_stated(lab: Workspace) -> None:
    lab.normalize(license="AGPL-3.0")
    (result,) = lab.filter()
    (step,) = (step for step in result.issues.steps if step.criterion == "license")
    assert step.reasons == {"license-not-allowed": result.issues.rows}


@pytest.mark.parametrize("via", daily(["graphql"], ["rest"]))
def test_mine_takes_the_statement(
    tmp_path: Path, via: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "token-of-a-test")
    with Twin(synthetic_world()) as twin:
        lab = Workspace(tmp_path, api_url=twin.url, via=via)  # type: ignore[arg-type]
        lab.mine(REPO, license="Zlib")
        assert license(lab) == ("Zlib", "stated by the user")
        lab.mine(REPO)
        assert license(lab) == ("Zlib", "stated by the user")


@pytest.mark.parametrize("stated", [True, False])
def test_a_backup_says_it_or_nobody_does(tmp_path: Path, stated: bool) -> None:
    base = {"full_name": "o/r", **({"license": {"spdx_id": "ISC"}} if stated else {})}
    pull = {"number": 1, "title": "Mend", "user": {"login": "a"}, "base": {"repo": base}}
    entry = {"type": "pull", "events": [], "comments": [], "pull": pull}
    backup = tmp_path / "backup.jsonl"
    backup.write_bytes(orjson.dumps(entry) + b"\n")
    lab = Workspace(tmp_path / "lab")
    lab.mine("o/r", from_backup=backup)
    assert license(lab, "o/r") == (("ISC", "backup") if stated else (None, None))
    lab.mine("o/r", from_backup=backup, license="MIT")
    assert license(lab, "o/r") == ("MIT", "stated by the user")


def test_a_license_that_nobody_can_look_up(lab: Workspace) -> None:
    with pytest.raises(UsageError, match=r"did you mean Apache-2.0") as error:
        lab.normalize(license="Apache-2")
    assert "https://spdx.org/licenses" in error.value.remedy
    assert license(lab)[1] == "GitHub"


def test_spelling_and_order_of_the_names_change_no_byte(tmp_path: Path) -> None:
    lab = Workspace(tmp_path / "lab")
    for number, name in enumerate(("octo/gem", "Cave/Ore")):
        told = pull()
        told["pull"]["base"]["repo"]["full_name"] = {"octo/gem": "Octo/Gem"}.get(name, name)
        talk = {**issue()["events"][0], "id": number, "body": f"Hold the valve {number} shut"}
        asked = {**issue(), "events": [talk]}
        lab.mine(name, from_backup=as_lines(tmp_path / str(number), [asked, told]), license="MIT")
    lab.pair()
    own = tmp_path / "own.toml"
    own.write_text('decide = ["bots"]\n[answer]\nchoice = "first"\n')
    lab.filter(profile=own)
    named = [(), ("octo/gem", "cave/ore", "OCTO/gem"), ("Cave/Ore", "Octo/Gem")]
    built = [
        lab.build("qa", *names, profile="own", output=tmp_path / f"qa{place}")
        for place, names in enumerate(named)
    ]
    assert len(built[0]) == 2
    first, *others = (files_below(data.path) for data in built)
    assert others == [first, first]
    for repo in ("Octo/Gem", "Cave/Ore"):
        assert f"| {repo} | MIT, stated by the user | 1 |".encode() in first["README.md"]
        assert f"| {repo} | backup | 20".encode() in first["README.md"]
    assert [status.repo for status in lab.status()] == ["Cave/Ore", "Octo/Gem"]
