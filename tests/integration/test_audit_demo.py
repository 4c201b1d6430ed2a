"""Audits of the demo's datasets, and of what their stored runs solve."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from goldpan import Workspace, load
from goldpan.core.errors import UsageError
from goldpan.core.storage.parquet import read_table
from goldpan.evaluation.record import RunRecord, read_runs
from goldpan.evaluation.resolved import PatchScore, ResolvedResult, write_resolved
from tests.demo_workspace import TASK, make_demo
from tests.invoking import invoke
from tests.verifying import ISOLATIONS, runs_foreign_code


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(make_demo(tmp_path_factory.mktemp("audit") / "demo"))


def verdicts(lab: Workspace, dataset: str, finding: str) -> dict[str, str]:
    """Return the verdicts on rows by the numbers of issue and pull request."""
    result = lab.audit(dataset, finding=finding)
    rows = read_table(Path(result.file), ["id", "verdict", "case"]).to_pylist()
    return {row["id"].partition("#")[2]: row["case"] or row["verdict"] for row in rows}


def test_the_change_comes_from_the_history_where_the_row_has_none(lab: Workspace) -> None:
    edits = verdicts(lab, "code-edit", "solution-in-issue")
    places = verdicts(lab, "fault-localization", "solution-in-issue")
    assert places == {row: edits[row] for row in places}
    assert "not-found" in places.values()
    lab.audit("fault-localization")
    about = (lab.path / "audits" / "fault-localization" / "audit.json").read_text()
    assert "git prospector/sluice" in about


def found(lab: Workspace, dataset: str) -> dict[str, list[str]]:
    """Return the rows with each finding of a stored audit, by the numbers of issue and pull."""
    rows = read_table(lab.path / "audits" / dataset / "findings.parquet").to_pylist()
    having: dict[str, list[str]] = {row["finding"]: [] for row in rows}
    for row in rows:
        if row["verdict"] == "found":
            having[row["finding"]].append(row["id"].partition("#")[2])
    return having


@runs_foreign_code
def test_what_is_planted_in_the_demo_is_found_by_its_plan_and_shown(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "demo"))
    edits, fixes = found(lab, "code-edit"), found(lab, "issue-resolution")
    assert edits["solution-in-issue"] == ["67+68"]  # edited in after it was merged
    assert fixes["solution-in-issue"] == []
    assert fixes["demanding-tests"] == ["7+8"]
    weak = ["151+152", "93+94", "17+18", "9+10"]
    assert fixes["weak-tests"] == (weak if "bubblewrap" in ISOLATIONS else [])
    assert (len(edits["place-in-issue"]), len(fixes["place-in-issue"])) == (25, 19)
    answers = found(lab, "qa")
    assert answers["solution-in-issue"] == []
    assert answers["measures-nothing"] == []
    page = (lab.path / "report.html").read_text(encoding="utf-8")
    for name, rows in (*edits.items(), *fixes.items()):
        assert not rows or f"{name}: " in page
    assert "<mark>saw_many</mark>" in page


def test_an_open_dataset_and_the_command_say_the_same(lab: Workspace) -> None:
    by_method = lab.audit(lab.dataset("qa"), finding="solution-in-issue")
    assert by_method == lab.audit("qa", finding="solution-in-issue")
    done = invoke("audit", "qa", "--finding", "solution-in-issue", "--workspace", lab.path)
    assert done.exit_code == 0
    said = " ".join(done.stdout.split())
    assert "Of 78 rows, 78 are free of all findings (solution-in-issue); 0 cannot be judged" in said
    with pytest.raises(UsageError, match="solution-in-issues"):
        lab.audit(load(lab.path / "datasets" / "qa"), finding="solution-in-issues")


def test_rows_that_four_models_agree_on_measure_nothing(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "demo"))
    few = lab.audit(TASK)
    assert few.findings[0].verdicts["found"] == 0
    assert any("4 would have to agree" in why for why in few.findings[0].undecided)
    lab.evaluate.run(task=TASK, model=["tfidf-svm", "tfidf-lr"])
    (count,) = lab.audit(TASK).findings
    assert count.verdicts["found"] == count.cases.get("all", 0) + count.cases.get("none", 0)
    assert count.verdicts["found"] > 0
    inputs = (lab.path / "audits" / TASK / "audit.json").read_text()
    assert inputs.count("predictions.parquet") == 4


def test_what_running_tests_proved_counts_before_texts(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "demo"))
    runs = read_runs(lab.layout, tasks=[TASK])
    names = runs[0].predictions()["id"].to_pylist()
    for run in runs:
        patches = tuple(PatchScore(name, "resolved", 1.0, exact=True) for name in names)
        result = ResolvedResult(0, patches, ())
        write_resolved(run.directory / "predictions.parquet", result)
    cases = lab.audit(TASK).findings[0].cases
    assert cases == {"all": len(names)}


def test_a_row_that_a_blind_run_solves_measures_nothing(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "demo"))
    lab.evaluate.run(task="qa", model="longest-comment")
    lab.evaluate.run(task="qa", model="copy-ins-input", ablate=("title", "body"))
    (count,) = lab.audit("qa", finding="measures-nothing").findings
    # The longest comment was chosen among replies of which the answer is one.
    assert count.verdicts["cannot-tell"] == 78
    assert "--ablate title --ablate body" in str(count.undecided)
    lab.evaluate.run(task="code_edit", model="copy-ins-input", ablate="file_before")
    run = read_runs(lab.layout, tasks=["code_edit"])[-1]
    assert run.settings["ablate"] == "file_before"
    assert run.scores.value("patch_applied") == 0
    first = run.predictions()["id"][0].as_py()
    patches = (PatchScore(first, "resolved", 1.0, exact=True),)
    write_resolved(run.directory / "predictions.parquet", ResolvedResult(0, patches, ()))
    (example,) = lab.audit("code-edit", finding="measures-nothing").examples
    assert (example.id, example.finding.case) == (first, "solved-without")
    assert "copy-ins-input without file_before" in example.finding.why


def test_scores_are_told_by_what_the_issue_names(tmp_path: Path) -> None:
    lab = Workspace(make_demo(tmp_path / "demo"))
    shutil.rmtree(lab.path / "audits")
    (before,) = lab.evaluate.run(task="code_edit", model="copy-ins-input")
    assert isinstance(before, RunRecord)
    assert "place-in-issue" not in before.scores_by
    cases = verdicts(lab, "code-edit", "place-in-issue")
    (run,) = lab.evaluate.run(task="code_edit", model="copy-ins-input")
    assert isinstance(run, RunRecord)
    parts = run.scores_by["place-in-issue"].parts
    assert {part.value: part.examples for part in parts} == Counter(cases.values())
