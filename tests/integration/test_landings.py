"""Pull requests that were landed by a push: closed, not merged, their work on the branch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.schemas.mined import COMMITS, ENTRIES, REFERENCES, REPOSITORIES
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.clone import clone
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import PairResult, find_rules, pair, relation
from tests.git_repositories import REPO, Repository, edited
from tests.mining import Notes, rows
from tests.table_rows import put_table

ISSUE, PULL = 3, 4
OPENED = datetime(2024, 1, 2, tzinfo=UTC)
CLOSED = datetime(2024, 1, 5, tzinfo=UTC)
URL = f"https://github.com/{REPO}"
FIX = edited(a="a = 2\n")
SAYS_SO = {"signal": "keyword", "stance": "stated", "keyword": "fixes"}


class Pushed:
    """A repository whose default branch holds the work of a pull request under a message."""

    def __init__(self, root: Path, message: str, **facts: Any) -> None:
        self.origin = Repository.create(root / "origin.git")
        self.base = self.origin.commit(edited(), ref="refs/heads/main")
        self.head = self.origin.commit(FIX, self.base, ref=f"refs/pull/{PULL}/head")
        self.workspace = WorkspaceLayout(root / "lab")
        self.landed = self.land(message)
        put_table(self.workspace, REPO, REPOSITORIES, [{"default_branch": "main"}])
        self.tell(**facts)
        put_table(self.workspace, REPO, COMMITS, [])

    def tell(self, **facts: Any) -> None:
        """Write the issue and the pull request into the tables."""
        issue = {"number": ISSUE, "kind": "issue", "title": "t", "state": "closed"}
        common = {"kind": "pull", "title": "t", "state": "closed", "base_ref": "main"}
        times = {"created_at": OPENED, "closed_at": CLOSED, "updated_at": CLOSED}
        pull = {"number": PULL, "merged": False, "head_sha": self.head, **common, **times, **facts}
        put_table(self.workspace, REPO, ENTRIES, [issue, pull])

    def land(self, message: str, at: datetime = CLOSED - timedelta(minutes=1)) -> str:
        other = self.origin.commit(edited(b="b = 2\n"), self.base, message="Something else")
        both = edited(a="a = 2\n", b="b = 2\n")
        time = int(at.timestamp())
        return self.origin.commit(both, other, ref="refs/heads/main", message=message, time=time)

    def pair(self, *references: dict[str, Any]) -> tuple[PairResult, list[dict[str, Any]]]:
        common = {"target_repo": REPO, "target_number": ISSUE, "observed_on": ISSUE}
        put_table(self.workspace, REPO, REFERENCES, [{**common, **each} for each in references])
        clone(self.workspace, REPO, Notes(), source=str(self.origin.path))
        result = pair(self.workspace, REPO, find_rules("landed"))
        return result, rows(self.workspace.root, "pairs", REPO, "landed")


NAMED = [
    f"src: mend it\n\nPR-URL: {URL}/pull/{PULL}\nFixes: {URL}/issues/{ISSUE}\nReviewed-By: A",
    f"src: mend it\n\nFixes: {URL}/issues/{ISSUE}\nPR-URL: #{PULL}",
    f"Mend it (#{PULL})\n\nSummary:\nFixes #{ISSUE}\n\nReviewed by: b",
    f"Mend it\n\nFixes #{ISSUE}\nPull Request resolved: {URL}/pull/{PULL}\nApproved by: b",
    f"fix(core): mend it\n\nFixes #{ISSUE}\n\nPR Close #{PULL}",
    f"Mend it\n\nFixes #{ISSUE}\n\nThis closes #{PULL}.",
    f"[CORE] Mend it\n\nCloses #{PULL} from someone/mend.\n\nFixes #{ISSUE}.",
    f"Mend it\n\nSee GH-{ISSUE}.\n\nCloses GH-{PULL}\nCloses GH-{ISSUE}",
    f"PR #{PULL}: Mend it\n\nImported from GitHub PR {URL}/pull/{PULL}\n\nFixes #{ISSUE}",
    f"Mend it\n\nFixes #{ISSUE}\n\nMerge-request: {URL}/pull/{PULL}?w=1#discussion",
    f"Mend it\n\nGitHub-Pull: #{PULL}\nFixes #{ISSUE}",
    f"Mend it\r\n\r\nFixes #{ISSUE}\r\nPull-Request: #{PULL}\r\n",
]


@pytest.mark.parametrize("message", NAMED)
def test_a_commit_that_names_a_closed_pull_landed_it(tmp_path: Path, message: str) -> None:
    pushed = Pushed(tmp_path, message)
    result, (row,) = pushed.pair()
    assert (row["issue"], row["pull"], row["signals"]) == (ISSUE, PULL, ["landed"])
    assert (row["merged"], row["base_is_default"]) == (True, True)
    (evidence,) = row["evidence"]
    assert evidence["source_id"] == pushed.landed
    assert evidence["excerpt"] == message.partition("\n")[0].strip()
    assert result.by_signal["landed"] == 1
    assert not result.lacks_history


def test_the_pull_or_the_closing_tells_the_issue(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, f"Mend it\n\nPR-URL: #{PULL}")
    _, found = pushed.pair({**SAYS_SO, "repo": REPO, "number": PULL, "observed_on": PULL})
    assert [row["signals"] for row in found] == [["landed"]]
    _, found = pushed.pair(
        {"signal": "closed_by", "repo": REPO, "commit_sha": pushed.landed, "at": CLOSED}
    )
    assert [row["signals"] for row in found] == [["landed"]]
    _, found = pushed.pair({**SAYS_SO, "repo": REPO, "number": PULL, "stance": "negated"})
    assert found == []


def test_a_rebased_head_has_the_same_patch(tmp_path: Path) -> None:
    """Nothing names the pull request: its commit was picked onto the branch as it is."""
    pushed = Pushed(tmp_path, "Mend it")
    claim = {**SAYS_SO, "repo": REPO, "number": PULL, "observed_on": PULL}
    _, (row,) = pushed.pair(claim)
    assert row["signals"] == ["landed"]
    assert row["evidence"][0]["excerpt"] == "the same patch is on the default branch"
    assert relation(row) == "named as fixed by"
    history = read_history(pushed.workspace, REPO, Notes())
    assert history.states == {"merge_base": 1}


OTHERS = {
    "another number": f"Mend it (#{PULL + 1})\n\nFixes #{ISSUE}",
    "a mention": f"Mend it as in #{PULL}\n\nFixes #{ISSUE}",
    "a remark": f"Mend it\n\nThis replaces the PR: see #{PULL}.\n\nFixes #{ISSUE}",
    "a revert": f'Revert "Mend it (#{PULL})"\n\nFixes #{ISSUE}\nPR-URL: #{PULL}',
    "another repository": f"Mend it\n\nPR-URL: https://github.com/x/y/pull/{PULL}\nFixes #{ISSUE}",
    "no fix": f"Mend it\n\nPR-URL: #{PULL}\nRefs: #{ISSUE}",
    "a denial": f"Mend it\n\nPR-URL: #{PULL}\n\nThis does not fix #{ISSUE}",
}


@pytest.mark.parametrize("message", OTHERS.values(), ids=list(OTHERS))
def test_what_lands_nothing_or_fixes_nothing(tmp_path: Path, message: str) -> None:
    _, found = Pushed(tmp_path, message).pair()
    assert found == []


@pytest.mark.parametrize(
    "facts",
    [
        {"merged": True},
        {"state": "open", "closed_at": None},
        {"base_ref": "1.x"},
        {"created_at": CLOSED},
        {"closed_at": OPENED - timedelta(days=300), "created_at": OPENED - timedelta(days=301)},
    ],
)
def test_only_pulls_closed_unmerged_about_then_are_landed(
    tmp_path: Path, facts: dict[str, Any]
) -> None:
    _, found = Pushed(tmp_path, NAMED[0], **facts).pair()
    assert found == []


def test_a_part_of_a_head_lands_nothing(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, "Mend it")
    further = pushed.origin.commit(edited(a="a = 3\n"), pushed.head)
    pushed.origin.point(f"refs/pull/{PULL}/head", further)
    pushed.tell(head_sha=further)
    assert pushed.pair({**SAYS_SO, "repo": REPO, "number": PULL})[1] == []


def test_other_rules_ask_git_nothing_and_no_clone_is_told(tmp_path: Path) -> None:
    pushed = Pushed(tmp_path, NAMED[0])
    pushed.pair()
    assert pair(pushed.workspace, REPO, find_rules("default")).pairs == 0
    bare = WorkspaceLayout(tmp_path / "bare")
    put_table(bare, REPO, REPOSITORIES, [{"default_branch": "main"}])
    for table in (ENTRIES, COMMITS, REFERENCES):
        put_table(bare, REPO, table, [])
    result = pair(bare, REPO, find_rules("landed"))
    assert result.lacks_history
    assert "goldpan clone" in str(result)
