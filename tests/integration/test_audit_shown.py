"""What a stored audit says stands in the card, in exports, in columns and in the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from goldpan import Workspace
from goldpan.audit.stored_audit import STAGE
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.storage.sealed import read_lineage, write_lineage
from goldpan.core.storage.workspace import write_whole
from goldpan.core.terminal import Reporter
from goldpan.datasets import card
from goldpan.datasets.hub.check import check_dataset
from goldpan.lineage.check import check_workspace
from tests.auditing import find_in
from tests.demo_workspace import attempt, make_demo
from tests.invoking import invoke

EDIT = "code-edit:prospector/sluice#63+64"
LEAKED = "code-edit:prospector/sluice#67+68"
AUDITED = ("README.md", "findings.md", "provenance.json")


@pytest.fixture
def lab(tmp_path: Path) -> Workspace:
    lab = Workspace(make_demo(tmp_path / "demo"))
    shutil.rmtree(lab.path / "audits", ignore_errors=True)
    return lab


def make_stale(lab: Workspace, dataset: str) -> None:
    """Say of an audit that it is of other rows."""
    directory = lab.path / "audits" / dataset
    inputs = read_lineage(directory, STAGE)["inputs"]
    others = {name: "0" * 64 for name in inputs if "/" not in name}
    write_lineage(directory, STAGE, {**inputs, **others}, [directory / "findings.parquet"])


def exported(lab: Workspace, dataset: str, to: Any, folder: Path) -> list[dict[str, Any]]:
    lab.dataset(dataset).export(to=to, output=folder / to, unverified=to == "swe-bench")
    return rows_of(folder / to)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of an export."""
    return [
        json.loads(row)
        for path in folder.glob("*.jsonl")
        for row in path.read_text("utf-8").splitlines()
    ]


def test_the_card_states_an_audit_of_exactly_the_rows_that_it_is_of(lab: Workspace) -> None:
    before = lab.build.qa()
    files = before.provenance["files"]
    assert "free of all findings" not in before.card
    lab.audit("qa", finding="solution-in-issue")
    audited = lab.dataset("qa")
    first_screen = audited.card.partition("## Use")[0]
    assert "Of 78 rows, 78 are free of all findings (solution-in-issue); 0 ca" in first_screen
    recorded = audited.provenance["files"]
    assert {name for name in recorded if recorded[name] != files.get(name)} == {*AUDITED[:2]}
    assert "[Each finding with its evidence](findings.md)" in first_screen
    assert not check_dataset(audited.path)
    written = [(audited.path / name).read_bytes() for name in AUDITED]
    lab.build.qa()
    assert [(audited.path / name).read_bytes() for name in AUDITED] == written
    lab.audit("qa", finding="solution-in-issue")
    assert [(audited.path / name).read_bytes() for name in AUDITED] == written
    assert "free of all findings" not in lab.build("qa", limit=3).card
    assert not (audited.path / "findings.md").exists()


def test_a_page_beside_the_card_tells_rows_with_findings_from_the_evidence(lab: Workspace) -> None:
    lab.audit("code-edit", finding=["solution-in-issue", "place-in-issue"])
    page = (lab.path / "datasets" / "code-edit" / "findings.md").read_text("utf-8")
    row, _, evidence = page.partition("\n## ")[2].partition("\n")
    assert row == LEAKED.replace("#", r"\#") and page.count("\n## ") == 1
    assert "- solution-in-issue: **found** (edited-in). a block of code holds" in evidence
    assert "- place-in-issue: **found**. partly: 0 of 1 files" in evidence
    assert "block in body, 2023-01-22" in evidence
    assert 'return "-+-".join("-" * width for width in widths)' in evidence
    assert "solution-in-issue cannot judge 2: the fix adds no distinctive line" in page


def test_evidence_on_the_page_commands_nothing_and_tells_no_secret(lab: Workspace) -> None:
    """A survivor's diff is code of the repository, which no builder redacted."""
    lab.audit("code-edit", finding="solution-in-issue")
    secret = "ghp_" + "Xq7Rt2Lm9Zs4Vb6Nc8Kd1Pw3Hj5Fg0Ty2Ua4"
    text = f"```\n<script>alert(1)</script>\n# {secret}, asker@mines.org\n"
    find_in(lab, "code-edit", "solution-in-issue", EDIT, text)
    lab.build.code_edit()
    page = (lab.path / "datasets" / "code-edit" / "findings.md").read_text("utf-8")
    (block,) = (part for part in page.split("```") if "<script>" in part)
    assert block.startswith("text\n") and block.endswith("\n")
    assert secret not in page and "mines.org" not in page
    assert not check_dataset(lab.path / "datasets" / "code-edit")


def test_a_place_that_is_named_is_no_defect(lab: Workspace) -> None:
    result = lab.audit("code-edit", finding=["solution-in-issue", "place-in-issue"])
    assert result.findings[1].verdicts["found"] == 25
    assert (result.counts.flagged, result.counts.free, result.counts.undecided) == (1, 26, 2)
    sentence = "Of 29 rows, 26 are free of all findings (solution-in-issue); 2 cannot be judged"
    assert sentence in lab.dataset("code-edit").card
    result = lab.audit("code-edit", finding="place-in-issue")
    assert "free of all" not in str(result)
    assert "free of all" not in lab.dataset("code-edit").card


def test_a_card_that_was_changed_by_hand_is_left_alone(lab: Workspace) -> None:
    path = lab.path / "datasets" / "qa" / "README.md"
    path.write_text(f"{path.read_text('utf-8')}\nMine.\n", encoding="utf-8")
    changed = path.read_bytes()
    lab.audit("qa", finding="solution-in-issue")
    assert path.read_bytes() == changed


@pytest.mark.parametrize("written", [0, 1, 2])
def test_an_audit_that_is_killed_while_it_writes_the_card_leaves_a_sound_dataset(
    written: int, lab: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [written]

    def write_until_killed(path: Path, content: bytes) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write_whole(path, content)

    directory = lab.path / "datasets" / "qa"
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(card, "write_whole", write_until_killed)
        lab.audit("qa", finding="solution-in-issue")
    assert not check_workspace(lab.layout, Reporter(quiet=True)).damaged
    assert not check_dataset(directory)
    lab.audit("qa", finding="solution-in-issue")
    files = [(directory / name).read_bytes() for name in AUDITED]
    assert b"free of all findings" in files[0]
    lab.build.qa()
    assert [(directory / name).read_bytes() for name in AUDITED] == files


def test_exports_carry_findings_so_that_both_figures_can_be_reported(
    lab: Workspace, tmp_path: Path
) -> None:
    lab.audit("code-edit")
    find_in(lab, "code-edit", "solution-in-issue", EDIT)
    samples, docs = (
        {row["id"]: row for row in exported(lab, "code-edit", to, tmp_path)}
        for to in ("inspect", "lm-eval")
    )
    told = samples[EDIT]["metadata"]["findings"]
    assert told["solution-in-issue"] == {"verdict": "found", "case": ""}
    assert told["place-in-issue"]["case"] in ("fully", "partly", "not-named")
    assert docs[EDIT]["findings"] == told
    assert all("findings" not in row for row in exported(lab, "code-edit", "chat", tmp_path))
    lab.audit("issue-resolution", finding=["solution-in-issue", "place-in-issue"])
    for row in exported(lab, "issue-resolution", "swe-bench", tmp_path):
        assert orjson.loads(row["findings"]).keys() == {"solution-in-issue", "place-in-issue"}


def test_findings_are_columns_where_they_are_asked_for(lab: Workspace) -> None:
    lab.audit("qa")
    dataset = lab.dataset("qa")
    table = dataset.to_arrow(findings=True)
    assert table.column_names == [*dataset.columns, "solution-in-issue", "measures-nothing"]
    assert set(table["solution-in-issue"].to_pylist()[0]) == {"verdict", "case"}
    assert dataset.to_arrow().column_names == dataset.columns


def test_without_an_audit_of_these_rows_nothing_is_told_and_the_remedy_is_named(
    lab: Workspace, tmp_path: Path
) -> None:
    def check(cause: str) -> None:
        done = invoke(
            *("export", "qa", "--to", "inspect", "--output", tmp_path / "inspect"),
            *("--workspace", lab.path),
        )
        assert done.exit_code == 0
        said, command = " ".join(done.stdout.split()), f"goldpan --workspace {lab.path}"
        assert f"Rows include no audit findings: {cause}. Run {command} audit qa." in said
        assert "findings" not in rows_of(tmp_path / "inspect")[0]["metadata"]
        with pytest.raises(DatasetError, match=cause):
            lab.dataset("qa").to_arrow(findings=True)
        page = tmp_path / "report.html"
        lab.report(dataset="qa", output=page)
        assert f"{cause}. Run goldpan audit qa" in page.read_text("utf-8")

    check("qa was not audited")
    lab.audit("qa")
    make_stale(lab, "qa")
    check("The audit of qa is of other rows")


def test_the_report_shows_health_and_a_page_says_why_a_row_is_good(
    lab: Workspace, tmp_path: Path
) -> None:
    lab.audit("code-edit")
    find_in(lab, "code-edit", "solution-in-issue", EDIT)
    whole = tmp_path / "report.html"
    lab.report(dataset="code-edit", output=whole)
    text = whole.read_text("utf-8")
    assert "free of all findings (solution-in-issue); " in text
    assert "none could be judged for measures-nothing" in text
    assert "<mark>" in text.partition('class="passage"')[2]
    assert "no stored run of a model that reads the row has answered it" in text
    page = tmp_path / "row.html"
    done = invoke(
        *("report", "--row", EDIT, "--dataset", "code-edit", "--output", page),
        *("--workspace", lab.path),
    )
    assert done.exit_code == 0, done.output
    assert f"{EDIT} of code-edit\n" in done.stdout
    row = page.read_text("utf-8")
    assert "Why is this row good?" in row and EDIT in row
    assert "What the label rests on" in row and "<b>solution-in-issue</b>" in row
    assert "Verdicts: " in row
    lab.report(dataset="code-edit", row=EDIT)
    own = lab.path / "row-code-edit-prospector-sluice-63+64.html"
    assert own.read_text("utf-8") == row
    with pytest.raises(UsageError, match="No row 'code-edit:nobody#1' is in code-edit"):
        lab.report(dataset="code-edit", row="code-edit:nobody#1", output=page)
    with pytest.raises(UsageError, match="--runs reports on all stored runs"):
        lab.report(runs=True, row=EDIT, output=page)


PLAN = """
workspace = "demo"
[repositories]
listed = ["prospector/sluice"]
[mine]
enabled = false
[clone]
enabled = false
[[dataset]]
name = "edits"
family = "code-edit"
[[dataset]]
name = "strict"
family = "code-edit"
require = ["not:place-in-issue", "not:measures-nothing"]
[[audit]]
dataset = "edits"
[[export]]
name = "edits-inspect"
dataset = "edits"
to = "inspect"
"""


def test_a_plan_audits_before_it_exports_and_before_what_requires_findings(
    lab: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    planned = json.loads(attempt("run", "plan.toml", "--dry-run", "--json", cwd=tmp_path).out)
    names = [unit["unit"] for unit in planned]
    assert names.index("dataset/edits") < names.index("audit/edits")
    assert names.index("audit/edits") < names.index("export/edits-inspect")
    assert names.index("audit/edits") < names.index("dataset/strict")
    done = attempt("run", "plan.toml", "--json", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    first_screen = lab.dataset("edits").card.partition("## Use")[0]
    assert "Of 9 rows, 7 are free of all findings (solution-in-issue); 1 cannot" in first_screen
    assert "findings" in rows_of(lab.path / "exports" / "edits-inspect")[0]["metadata"]
    assert len(lab.dataset("strict")) < len(lab.dataset("edits"))
    again = json.loads(attempt("run", "plan.toml", "--json", cwd=tmp_path).out)["units"]
    assert [unit["unit"] for unit in again if unit["ran"]] == []
    (lab.path / "audits" / "edits" / "findings.parquet").unlink()
    due = json.loads(attempt("run", "plan.toml", "--dry-run", "--json", cwd=tmp_path).out)
    assert {unit["unit"] for unit in due if unit["state"] == "due"} >= {"audit/edits"}
    wrong = PLAN.replace('[[audit]]\ndataset = "edits"', '[[audit]]\ndataset = "edit"')
    (tmp_path / "plan.toml").write_text(wrong, encoding="utf-8")
    refused = attempt("run", "plan.toml", "--dry-run", cwd=tmp_path)
    assert refused.code == 2
    assert "audit[0].dataset: the plan builds no 'edit'" in " ".join(refused.err.split())
