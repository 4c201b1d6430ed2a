"""Findings as criteria of a build, and what they read of a history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from goldpan import Dataset, Workspace
from goldpan.audit.audit import audit_dataset
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.result import json_data
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.git.refs import write_refs_record
from tests import filtering
from tests.auditing import find_in
from tests.demo_workspace import make_demo
from tests.filtering import LONG, comment, issue
from tests.git_repositories import Repository
from tests.invoking import invoke

ADVICE = "You need to tighten the bolts, because the seal slips else: `sluice --bolts 4`."
NOT_GIVEN = "not:solution-in-issue"
STORED = "not:measures-nothing"


@pytest.fixture
def questions(tmp_path: Path) -> Workspace:
    """Return three answered issues, the second of which says in its body what solved it."""
    told = f"{LONG}\n\nEdit: solved by tightening the bolts."
    issues = [issue(1), issue(2, told), issue(3)]
    replies = [
        comment(number, ADVICE, "frank", author_association="member") for number in (1, 2, 3)
    ]
    profile = tmp_path / "own.toml"
    profile.write_text('decide = ["bots"]\n[answer]\nchoice = "first"\n', encoding="utf-8")
    lab = Workspace(filtering.build(tmp_path / "lab", issues, replies).root)
    lab.filter(profile=profile)
    return lab


def build(lab: Workspace, *required: str, **options: Any) -> Dataset:
    return lab.build("qa", profile=lab.path.parent / "own.toml", require=required, **options)


def numbers(dataset: Dataset) -> list[int]:
    return [row["issue"] for row in dataset.to_arrow().to_pylist()]


def test_rows_whose_question_holds_the_answer_stay_out_and_are_counted(
    questions: Workspace,
) -> None:
    assert numbers(build(questions)) == [1, 2, 3]
    dataset = build(questions, NOT_GIVEN)
    assert numbers(dataset) == [1, 3]
    assert dataset.built.dropped[NOT_GIVEN] == 1
    assert dataset.built.undecided == {}
    assert dataset.provenance["counts"][NOT_GIVEN] == 1
    assert dataset.provenance["settings"]["reviews"] == []
    required = {"required": [NOT_GIVEN], "audits": {}, "undecided": {}}
    assert dataset.provenance["settings"]["findings"] == required
    assert "goldpan audit finds solution-in-issue" in dataset.card


def test_the_limit_draws_among_the_rows_that_are_left(questions: Workspace) -> None:
    built = build(questions, NOT_GIVEN, limit=1).built
    assert "1 of 3 rows left out: not:solution-in-issue" in str(built)
    assert numbers(build(questions, NOT_GIVEN, limit=2)) == [1, 3]


def test_what_an_audit_alone_can_tell_is_read_from_it_for_rows_that_are_as_they_were(
    questions: Workspace,
) -> None:
    with pytest.raises(WorkspaceError, match="says which rows of qa have measures-nothing"):
        build(questions, STORED)
    build(questions)
    questions.audit("qa")
    dataset = build(questions, STORED)
    assert dataset.built.undecided == {STORED: {"cannot-tell": 3}}
    assert "0 of 3 rows left out: not:measures-nothing" in str(dataset.built)
    assert numbers(dataset) == [1, 2, 3]
    digest = find_in(questions, "qa", "measures-nothing", dataset.to_arrow()["id"][0].as_py())
    dataset = build(questions, STORED)
    assert numbers(dataset) == [2, 3]
    assert dataset.built.dropped[STORED] == 1
    findings = dataset.provenance["settings"]["findings"]
    assert findings["audits"] == {"qa": digest}
    assert findings["undecided"] == {STORED: {"cannot-tell": 2}}
    again = build(questions, STORED)
    assert again.provenance == dataset.provenance, "the audit outlives the rows that it dropped"


def test_rows_that_changed_since_the_audit_are_kept_and_named(questions: Workspace) -> None:
    build(questions)
    questions.audit("qa")
    profile = questions.path.parent / "own.toml"
    profile.write_text('decide = ["bots"]\n[answer]\nchoice = "all"\n', encoding="utf-8")
    questions.filter(profile=profile)
    done = invoke(
        *("build", "qa", "--profile", profile, "--require", STORED),
        *("--workspace", questions.path),
    )
    assert done.exit_code == 0, done.output
    assert (
        f"kept, though {STORED.removeprefix('not:')} is not ruled out: 3 not-audited"
        in " ".join(done.stdout.split())
    )


def test_a_finding_that_rows_cannot_have_is_refused(questions: Workspace) -> None:
    with pytest.raises(UsageError, match="Rows of qa have no fix, which place-in-issue needs"):
        build(questions, "not:place-in-issue")


def test_edits_are_judged_by_the_fix_before_they_become_rows(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "demo"))
    findings = lab.audit("code-edit", finding="place-in-issue").findings[0].verdicts
    dataset = lab.build("code-edit", require="not:place-in-issue")
    assert len(dataset) == findings["not-found"] + findings["cannot-tell"]
    assert dataset.built.dropped["not:place-in-issue"] == findings["found"] > 0
    every = json_data(dataset)
    assert every["built"]["dropped"]["not:place-in-issue"] == findings["found"]
    assert lab.audit("code-edit", finding="place-in-issue").findings[0].verdicts["found"] == 0


SILO = "class Silo:\n    def close(self):\n        self.clear_all()\n"


def added(path: str, line: str) -> str:
    """Return a git diff that adds a line."""
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    return f"{head}@@ -1 +1,2 @@\n x = 1\n+{line}\n"


def test_precedents_come_from_the_history_at_hand(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    clone = workspace.clone("mill/grain")
    clone.parent.mkdir(parents=True)
    repository = Repository.create(clone)
    files = {b"mill/silo.py": SILO.encode(), b"mill/hopper.py": b"x = 1\n"}
    base = repository.commit(files, ref="refs/heads/main")
    other = repository.commit({b"mill/hopper.py": b"x = 1\n"}, base, ref="refs/heads/main")
    write_refs_record(clone)
    row = {
        "repo": "mill/grain",
        "patch": added("mill/hopper.py", "def close(self): ..."),
        "test_patch": added("tests/test_hopper.py", "hopper.close()"),
        "problem_statement": "Hoppers stay open.",
    }
    rows = [
        {**row, "instance_id": f"mill__grain-{number}", "base_commit": commit}
        for number, commit in enumerate((base, other, "0" * 40))
    ]
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    result = audit_dataset(workspace, file, Reporter(quiet=True), findings=("demanding-tests",))
    (count,) = result.findings
    assert count.cases == {"determined": 1, "open": 1}
    assert count.undecided == {
        "not every demand is stated, and the code before the fix is not available. "
        "Run goldpan clone --repo mill/grain": 1
    }
    evidence = read_table(workspace.findings(file))["evidence"][0].as_py()
    (precedent,) = [span for span in evidence if span["kind"] == "precedent"]
    assert precedent["source"] == "mill/silo.py"
    assert SILO[precedent["start"] : precedent["end"]] == precedent["text"] == "close"
