"""The archive knows the host that a repository is on: histories and links lead there."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldpan.core.errors import UsageError
from goldpan.core.settings.config import Settings
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.pipeline import run_filters
from goldpan.filters.profile import load_profile
from goldpan.miners.backup import mine_backup
from goldpan.miners.history.revisions import at_home
from goldpan.miners.pairing import find_rules, pair
from goldpan.report.page import write_report
from tests.backups import GEM, as_lines, issue, pull, read
from tests.mining import Notes, Row

HOST = "ghe.example.org"
TOKEN = "ghp_of_github_alone"


def shown(entry: Row, host: str = HOST) -> Row:
    """Return an entry with its address on a host, whose texts name issues by it, too."""
    kind, number = entry["type"], entry[entry["type"]]["number"]
    page = "pull" if kind == "pull" else "issues"
    about = {"html_url": f"https://{host}/{GEM}/{page}/{number}"}
    about |= {"body": f"Fixes https://{host}/{GEM}/issues/1"} if kind == "pull" else {}
    return {**entry, kind: {**entry[kind], **about}}


def take(root: Path, *entries: Row, **settings: str) -> None:
    chosen = Settings(workspace=root / "workspace", workers=1, **settings)  # type: ignore[arg-type]
    mine_backup(chosen, as_lines(root, [*entries]), GEM, Notes())


def test_a_backup_shows_its_host(tmp_path: Path) -> None:
    take(tmp_path, shown(issue()), shown(pull()))
    links = {(row["signal"], row["target_repo"]) for row in read(tmp_path, "references")}
    assert ("keyword", "Octo/Gem") in links
    assert pair(WorkspaceLayout(tmp_path / "workspace"), GEM, find_rules("unconfirmed")).pairs == 1


def test_the_history_comes_from_the_host_without_a_token_for_another(tmp_path: Path) -> None:
    take(tmp_path, shown(issue()), shown(pull()))
    layout = WorkspaceLayout(tmp_path / "workspace")
    settings = Settings(workspace=layout.root, tokens=(TOKEN,))
    home = at_home(settings, layout, GEM)
    assert (home.git_host, home.tokens) == (HOST, ())
    own = Settings(layout.root, api_url=f"https://{HOST}/api/v3", tokens=("of_the_host",))
    assert at_home(own, layout, GEM) is own
    with pytest.raises(UsageError, match=f"was mined from {HOST}, and the settings name other"):
        at_home(Settings(layout.root, api_url="https://other.example/api/v3"), layout, GEM)


def test_links_of_the_report_lead_to_the_host(tmp_path: Path) -> None:
    take(tmp_path, shown(issue()), shown(pull()))
    layout, output = WorkspaceLayout(tmp_path / "workspace"), tmp_path / "report.html"
    pair(layout, GEM, find_rules("default"))
    profile = load_profile("default")
    run_filters(layout, [GEM], profile, Notes())
    write_report(layout, [GEM], profile, (), output)
    page = output.read_text(encoding="utf-8")
    assert f"https://{HOST}/Octo/Gem/issues/1" in page
    assert "https://github.com/Octo/Gem" not in page


def test_two_hosts_under_one_name_are_refused(tmp_path: Path) -> None:
    take(tmp_path, shown(issue()), shown(pull()))
    with pytest.raises(UsageError, match=f"holds octo/gem of {HOST}, not of github.com"):
        take(tmp_path, shown(issue(), "github.com"))
    with pytest.raises(UsageError, match=r"is of github\.com, and the entries before it of ghe"):
        take(tmp_path, shown(issue()), shown(pull(), "github.com"))
    with pytest.raises(UsageError, match=f"is of {HOST}, and --api-url names other.example"):
        take(tmp_path, shown(issue()), api_url="https://other.example/api/v3")


@pytest.mark.parametrize("url", ["https://api.github.com", f"https://{HOST}/api/v3"])
def test_entries_without_addresses_are_of_the_server_that_is_named(
    tmp_path: Path, url: str
) -> None:
    take(tmp_path, issue(), pull(), api_url=url)
    home = at_home(Settings(tmp_path / "workspace"), WorkspaceLayout(tmp_path / "workspace"), GEM)
    assert home.git_host == Settings(tmp_path, api_url=url).git_host
