"""The report on a comparison: what it says, that it is the same each time, and what is hostile."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldpan.core.storage.sealed import read_json, sealed_json
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import TaskData
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.evaluation.compare.compare import compare_runs
from goldpan.evaluation.compare.question import ComparisonQuestion, ComparisonResult
from goldpan.evaluation.record import read_runs
from goldpan.evaluation.resolved import PatchScore, ResolvedResult, read_resolved, write_resolved
from goldpan.evaluation.score import ranking_score
from goldpan.execution.records import FixInstance
from goldpan.execution.resolve import Outcome, Resolution
from goldpan.report.compared import (
    latex_tables,
    latex_text,
    make_report,
    paper_tables,
    report_comparison,
)
from goldpan.report.document import (
    Content,
    Fold,
    Picture,
    Remark,
    Report,
    ReportTable,
    Section,
    cut,
    formatted,
    listed,
)
from goldpan.report.html import evaluation_page
from tests.comparing import (
    add_run,
    add_runs,
    compared,
    reported,
    six_tasks,
    split_rows,
    two_labels,
    write_rows,
)
from tests.integration.test_report import Reader
from tests.reporting import HOSTILE

pytest.importorskip("scipy")


def parts(content: tuple[Content, ...]) -> list[Content]:
    """Return all parts, those in folds and groups as well."""
    contents: list[Content] = []
    for part in content:
        contents.append(part)
        if isinstance(part, Fold):
            contents += parts(part.content)
    return contents


def section(report: Report, key: str) -> Section:
    return next(part for part in report.sections if part.key == key)


def tables(report: Report, key: str) -> dict[str, ReportTable]:
    contents = parts(section(report, key).content)
    return {table.title: table for table in contents if isinstance(table, ReportTable)}


def texts(report: Report, key: str) -> str:
    return " ".join(
        block.text for block in parts(section(report, key).content) if isinstance(block, Remark)
    )


def ran(root: Path, data: TaskData, *names: str, share: float, **options: Any) -> WorkspaceLayout:
    """Return a workspace in which models with these names answered this share rightly."""
    workspace = WorkspaceLayout(root)
    add_runs(workspace, data, dict.fromkeys(names, share), **options)
    return workspace


def one_or_other(text: str, count: int, train: int) -> TaskData:
    """Return rows of two labels in turn; a number ends each text."""
    task = find_task("bug_issue")
    pairs = [(f"{text} {n}", task.label_names[n % 2]) for n in range(count)]
    return split_rows(task, pairs, train)


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    """Six tasks, of which one lies in the workspace with its rows."""
    workspace = WorkspaceLayout(tmp_path_factory.mktemp("six"))
    six_tasks(workspace)
    write_rows(workspace, two_labels("bug_issue"))
    return workspace


@pytest.fixture(scope="module")
def report(six: WorkspaceLayout) -> Report:
    return reported(six)


def test_a_report_begins_with_a_picture_and_three_sentences(report: Report) -> None:
    assert report.picture is not None
    for text in ("good", "near", "bad", "better than bad"):
        assert text in report.picture.svg
    first, second, third = report.summary
    assert "has the highest mean macro_f1 over 6 tasks" in first
    assert "better than bad" in first
    assert re.search(r"cannot be told apart from (good|near) \(the difference may lie", first)
    assert second.startswith("On new tasks, ")
    assert "6 tasks with 360 test examples" in third
    assert "better means significant at 5%, corrected for all pairs" in third
    assert any("scored 18 times" in warning for warning in report.warnings)
    keys = ["ranking", "pairs", "ecser", "groups", "errors", "distance", "cost", "conditions"]
    assert [part.key for part in report.sections] == keys


def test_the_steps_of_ecser_say_what_they_lack(report: Report) -> None:
    content = parts(section(report, "ecser").content)
    steps, counts, *_ = (block for block in content if isinstance(block, ReportTable))
    assert [row[0] for row in steps.rows] == [f"S{number}" for number in range(1, 11)]
    skipped = [row[0] for row in steps.rows if str(row[2]).startswith("skipped")]
    assert skipped == ["S3", "S4"]
    assert ("TP" in counts.columns, len(counts.rows)) == (True, 42)
    curves = next(block for block in content if isinstance(block, Picture))
    assert curves.title.startswith("ROC and precision-recall of bug, bug_issue")


def test_intervals_of_means_are_narrower_than_those_of_tasks(six: WorkspaceLayout) -> None:
    comparison = compared(six).comparison
    assert not isinstance(comparison, str)
    for standing in comparison.standings:
        assert standing.low is not None and standing.high is not None
        assert standing.low < standing.mean < standing.high
        above = [
            score.interval.high - score.value
            for run in read_runs(six, models=[standing.model])
            if (score := ranking_score(run.scores)).interval is not None and score.value is not None
        ]
        # Two of the tasks are of one data set, so their widths add up.
        assert math.hypot(*above) < 6 * (standing.high - standing.mean) < math.fsum(above)


def test_ranks_scores_and_pairs_are_tables(report: Report) -> None:
    ranking = tables(report, "ranking")
    ranked = ranking["Ranking by macro_f1"].rows
    assert {row[1]: row[0] for row in ranked} == {"good": "1–2", "near": "1–2", "bad": "3"}
    scored = ranking["macro_f1 on each task"]
    assert len(scored.rows) == 7
    assert {row for row, _ in scored.strong} == set(range(6)), "the best is marked"
    interval = r"0\.\d+ \[0\.\d+, [01]\.\d+\]"
    assert re.fullmatch(interval, str(ranked[0][2]))
    assert re.fullmatch(interval, str(scored.rows[0][1]))
    columns = ("model", "macro_f1", "accuracy", "f1", "mcc")
    assert ranking["Metrics of bug_issue"].columns == columns
    pairs = tables(report, "pairs")
    assert "declares equal models different in" in pairs["Every pair, new rows"].note
    assert "Every pair, new tasks" in pairs


def test_the_worst_errors_come_with_their_texts(report: Report) -> None:
    content = section(report, "errors").content
    found = [block for block in parts(content) if isinstance(block, ReportTable)]
    best = report.summary[0].partition(" ")[0]
    assert found[0].title == f"bug_issue: {best}"
    rows = [dict(zip(found[0].columns, row, strict=True)) for row in found[0].rows]
    assert 0 < len(rows) <= 3
    for row in rows:
        assert row["text"]
        assert row["answered"] != row["right"]
        assert re.fullmatch(r"[123] of 3", str(row["models that answered so"]))
    margins = [float(re.findall(r"[-+][\d.]+", str(row["why"]))[0]) for row in rows]
    assert margins == sorted(margins, reverse=True)
    assert "not in the workspace, so only ids are shown" in texts(report, "errors")


def drift(report: Report) -> ReportTable:
    (table,) = [
        block
        for block in parts(section(report, "ecser").content)
        if isinstance(block, ReportTable) and "test - train" in block.columns
    ]
    return table


def test_seeds_are_no_further_data_sets(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    for seed in (1, 2):
        add_run(workspace, two_labels(train=400), "a", 0.8, seed=seed, depth=1)
    assert len(drift(reported(workspace)).rows) == 1


def test_one_model_that_has_no_labels_is_still_reported(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    pairs = [(f"Question {n}", f"Answer {n % 3}") for n in range(60)]
    add_run(workspace, split_rows(find_task("qa"), pairs, 20), "alone", 1.0)
    report = reported(workspace)
    assert report.picture is None
    assert report.summary[0].startswith("Only alone was scored")
    assert "ecser" not in {part.key for part in report.sections}


def test_overfitting_and_degradation_are_told(tmp_path: Path) -> None:
    workspace = ran(tmp_path, two_labels(train=400), "a", "b", share=0.8, depth=1)
    report = reported(workspace)
    row = drift(report).rows[0]
    (run,) = [run for run in read_runs(workspace) if run.model == row[0]]
    assert run.value is not None
    assert run.validation_scores.examples == run.learned_from.validation == 40
    learned, validated = (
        scores.value("macro_f1") or 0 for scores in (run.train_scores, run.validation_scores)
    )
    assert row[2:5] == (learned, validated, run.value)
    assert row[5:] == pytest.approx((run.value - learned, run.value - validated))
    runs = tables(report, "conditions")["Runs"]
    assert runs.rows[0][runs.columns.index("chosen on")] == "a part of train"


def test_answers_that_are_not_valid_are_counted(tmp_path: Path) -> None:
    workspace = ran(tmp_path, two_labels(), "mumbler", share=0.9, silent=0.5)
    add_run(workspace, two_labels(), "speaker", 0.9)
    report = reported(workspace)
    assert any("of the answers of mumbler are not valid" in warning for warning in report.warnings)


def test_honest_distances_score_what_train_has_not_seen(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    task = find_task("bug_issue")
    pairs = [(f"Text {n % 80}", task.label_names[n % 2]) for n in range(180)]
    data = split_rows(task, pairs, 60)
    write_rows(workspace, data)
    add_run(workspace, data, "reader", 0.9, neighbors=True, context="wide")
    add_run(workspace, data, "reader", 0.7, context="none")
    report = reported(workspace)
    text = texts(report, "distance")
    # Of rows 60 to 179 those whose text is also one of 0 to 59: 80 to 139, 160 to 179.
    assert "Of 120 test rows in 1 task, 80 (66.7%) are rows whose text is also in train" in text
    assert "120 (100.0%) are rows of a document that has other rows in train" in text
    apart = tables(report, "distance")["Texts that are not in train"]
    assert [row[0] for row in apart.rows] == ["reader (context=wide)", "reader (context=none)"]
    assert "scored on the rows that are left" in apart.note
    assert "reader (context=wide)" in text and "may read the texts around a row" in text


@pytest.mark.parametrize(
    "rows",
    [one_or_other("Other text", 120, 60), one_or_other("Text", 90, 60)],
    ids=["other texts", "another version"],
)
def test_rows_that_were_not_tested_are_not_shown(tmp_path: Path, rows: TaskData) -> None:
    workspace = ran(tmp_path, one_or_other("Text", 120, 60), "a", "b", share=0.7)
    write_rows(workspace, rows)
    told = texts(reported(workspace), "errors")
    assert "are not those that were tested, so only ids are shown" in told


def test_defects_of_protocols_are_told(tmp_path: Path) -> None:
    options = {"protocol": "selu-paper", "depth": 1}
    report = reported(ran(tmp_path, two_labels(), "a", "b", share=0.9, **options))
    assert "were chosen on the test set" in report.warnings[0]
    assert any("Early stopping" in warning for warning in report.warnings)


@pytest.mark.nightly
def test_the_same_runs_give_the_same_bytes(six: WorkspaceLayout, tmp_path: Path) -> None:
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        page, latex = tmp_path / name / "r.html", tmp_path / name / "r.tex"
        written = report_comparison(six, compared(six), load_tasks(), page, latex).files
        made.append([file.read_bytes() for file in written])
    assert made[0] == made[1]


def test_hostile_texts_are_text_and_nothing_else(tmp_path: Path) -> None:
    pages = {}
    for name, text in (("plain", "A plain text."), ("hostile", HOSTILE)):
        data = one_or_other(text, 80, 20)
        workspace = ran(tmp_path / name, data, "one", "two", share=0.7, note=text)
        write_rows(workspace, data)
        pages[name] = evaluation_page(reported(workspace))
    plain, hostile = (Reader(page) for page in pages.values())
    assert set(hostile.tags) == set(plain.tags)
    assert {name for name, _ in hostile.attributes} == {name for name, _ in plain.attributes}
    assert all(link.startswith("#") for link in hostile.links)
    assert "<script>" in hostile.text
    assert not set("\u202e\u200b\x1b\x07\U000e0041") & set(pages["hostile"])


def test_secrets_in_texts_are_made_unreadable(tmp_path: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"[:36]
    data = one_or_other(f"{token} me@river.org Leak", 60, 20)
    workspace = ran(tmp_path, data, "one", "two", share=0.6)
    write_rows(workspace, data)
    page = evaluation_page(reported(workspace))
    assert "Leak 3" in page
    assert token not in page
    assert "me@river.org" not in page


def test_long_tables_are_cut_and_say_so() -> None:
    rows = tuple((n,) for n in range(500))
    shown = cut(ReportTable("t", ("n",), rows, strong=frozenset({(3, 0), (450, 0)})))
    assert (len(shown.rows), shown.left_out, shown.strong) == (400, 100, frozenset({(3, 0)}))
    assert cut(shown) is shown


def test_values_are_told_for_people() -> None:
    values = (None, "x", 1234, 0.12345, 0.00004, 0.0, 1234.56)
    told = ["–", "x", "1,234", "0.123", "4.0e-05", "0.000", "1,234.6"]
    assert [formatted(value) for value in values] == told
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"


def test_many_models_and_tasks_fit_a_page(tmp_path: Path) -> None:
    workspace = WorkspaceLayout(tmp_path)
    first = add_run(workspace, two_labels(train=20, test=20), "model-000", 0.8).directory
    text = json.dumps(read_json(first / "result.json"))
    for number in range(1, 45):
        copy = workspace.root / "runs" / "requirement_type" / f"model-{number:03d}" / "seed-0-x"
        shutil.copytree(first, copy)
        changed = text.replace('"model-000"', f'"model-{number:03d}"')
        (copy / "result.json").write_bytes(sealed_json(json.loads(changed)))
    runs = read_runs(workspace)
    assert len(runs) == 45
    report = make_report(workspace, compare_runs(runs, runs, {}, ComparisonQuestion()), {})
    page = evaluation_page(report)
    assert len(page) < 1_500_000
    assert "model-044" in page


def test_runs_whose_patches_were_tested_have_resolved_beside_similarity(tmp_path: Path) -> None:
    workspace = ran(tmp_path, two_labels(), "a", share=0.9)
    add_run(workspace, two_labels(), "b", 0.5)
    assert "resolved" not in {part.key for part in reported(workspace).sections}
    predictions = read_runs(workspace, models=["a"])[0].directory / "predictions.parquet"
    instance = FixInstance("issue-resolution:o/n#1+2", "o/n", 1, 2, "a" * 40, "", "")
    outcomes: tuple[Outcome, ...] = ("resolved", "resolved", "tests-fail", "no-answer")
    patches = (
        PatchScore("1", "resolved", 1.0, True),
        PatchScore("2", "resolved", 0.4, False),
        PatchScore("3", "tests-fail", 0.6, False),
    )
    resolutions = tuple(Resolution(instance, outcome) for outcome in outcomes)
    write_resolved(predictions, ResolvedResult(4, patches, resolutions))
    (table,) = section(reported(workspace), "resolved").content
    assert isinstance(table, ReportTable)
    (row,) = table.rows
    cells = dict(zip(table.columns, row, strict=True))
    assert (cells["model"], cells["issues"], cells["resolved"]) == ("a", 4, 0.5)
    assert (cells["exact match"], cells["separation"]) == (0.25, 0.5)
    predictions.write_bytes(b"others")
    assert read_resolved(predictions.parent) is None


EVIL = r"a_b|c & d% $x$ #1 {y} ~z ^w \input{/etc/passwd} <script> [l](javascript:x) `c` @you"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    lab = WorkspaceLayout(tmp_path_factory.mktemp("tables"))
    six_tasks(lab, 3)
    for depth in ("1", EVIL):
        add_run(lab, two_labels("bug_issue"), "tree", 0.8, depth=depth)
    return lab


@pytest.fixture(scope="module")
def result(workspace: WorkspaceLayout) -> ComparisonResult:
    return compared(workspace)


def test_latex_has_whole_tables(result: ComparisonResult) -> None:
    text = latex_tables(paper_tables(result))
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") >= 4
    assert r"\bottomrule" in text
    assert len(set(re.findall(r"\\label\{([^}]*)\}", text))) == text.count(r"\label")
    for head, body in re.findall(
        r"\\begin\{longtable\}\{(\w+)\}.*?\\endlastfoot(.*?)\\end\{longtable\}", text, re.S
    ):
        for row in body.split(r"\\")[:-1]:
            assert len(re.findall(r"(?<!\\)&", row)) == len(head) - 1
    assert r"1--2 & " in text
    assert re.search(r"\\textbf\{0\.\d{3}", text)


def test_latex_prints_hostile_names_as_they_are() -> None:
    escaped = latex_text(EVIL)
    assert r"a\_b\textbar{}c \& d\% \$x\$ \#1 \{y\}" in escaped
    assert r"\textbackslash{}input\{/etc" in escaped
    assert latex_text("[x]") == "{[}x]"
    assert latex_text("\u202e") == "$\\langle$U+202E$\\rangle$"


def test_latex_of_real_names_closes_what_it_opens(result: ComparisonResult) -> None:
    text = re.sub(r"\\[\\{}]", "", latex_tables(paper_tables(result)))
    assert text.count("{") == text.count("}")
    assert r"\input" not in text
