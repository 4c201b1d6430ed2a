"""The rankings of the competitions: who took part, and what reports and JSON say of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from goldpan.core.result import json_data
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.registry import find_task, load_tasks
from goldpan.evaluation.compare.question import ComparisonResult, systems_of
from goldpan.evaluation.protocol import find_protocol
from goldpan.evaluation.record import read_runs
from goldpan.evaluation.run import run
from goldpan.papers.nlbse.nlbse23 import BASELINE, ORGANIZERS, comment_ranking
from goldpan.papers.nlbse.nlbse24 import REPOSITORIES, issue_ranking
from goldpan.report.compared import report_comparison
from goldpan.report.comparison.make import make_report, paper_tables
from tests.comparing import QUIET, add_run, compared, split_rows, two_labels
from tests.integration.test_evaluation_groups import Remembers

pytest.importorskip("scipy")


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceLayout:
    return WorkspaceLayout(tmp_path)


@pytest.fixture(scope="module")
def competing(tmp_path_factory: pytest.TempPathFactory) -> WorkspaceLayout:
    """Return runs of two models on every category, and of one on a single one."""
    workspace = WorkspaceLayout(tmp_path_factory.mktemp("competing"))
    for name in BASELINE:
        data = official(name)
        add_run(workspace, data, "all", 1.0)
        add_run(workspace, data, "half", 0.6)
    add_run(workspace, official("nlbse23_java_usage"), "some", 1.0)
    return workspace


@pytest.fixture(scope="module")
def result(competing: WorkspaceLayout) -> ComparisonResult:
    return compared(competing)


def test_the_competition_ranks_who_ran_every_category(result: ComparisonResult) -> None:
    standing = comment_ranking(result.systems)
    assert standing is not None
    places = [(entry.name, entry.place) for entry in standing.entries]
    assert places == [("all", 1), ("half", 2), (ORGANIZERS, 3)]
    first, _, second = standing.entries
    assert (first.score.score, first.precision, first.recall) == (1.0, 1.0, 1.0)
    assert first.score.outperformed == 19
    assert second.score.mean_f1 == pytest.approx(0.309, abs=0.0005)
    assert standing.incomplete == ("some ran 1 of 19 categories",)
    assert comment_ranking(()) is None


def test_scores_on_other_rows_are_not_set_against_the_competition(
    workspace: WorkspaceLayout,
) -> None:
    for name in list(BASELINE)[:2]:
        add_run(workspace, two_labels(name, train=10, test=20), "mine", 1.0)
    competition = comment_ranking(systems_of(read_runs(workspace)))
    assert competition is not None
    assert [entry.name for entry in competition.entries] == [ORGANIZERS]
    assert competition.incomplete == (
        "mine ran 2 of 19 categories on other rows than the official test",
    )


def official(name: str) -> TaskData:
    """Rows with as many positives and negatives as the official test."""
    task, base = find_task(name), BASELINE[name]
    first, second = task.label_names
    test = [first] * (base.tp + base.fn) + [second] * (base.fp + base.tn)
    labels = [*([first, second] * 5), *test]
    return split_rows(task, [(f"text {at}", label) for at, label in enumerate(labels)], 10)


def test_the_competition_of_2024_ranks_by_the_mean_over_its_repositories(tmp_path: Path) -> None:
    task = load_tasks()["nlbse24_issue_type"]
    names = task.label_names
    pairs = [(f"word{at % 3} of issue {at}", names[at % 3]) for at in range(3_000)]
    data = split_rows(task, pairs, 1_500)

    def of_five(table: pa.Table) -> pa.Table:
        repos = [REPOSITORIES[at // 3 % 5] for at in range(len(table))]
        return table.set_column(table.schema.get_field_index("repo"), "repo", pa.array(repos))

    splits = {name: of_five(table) for name, table in data.splits.items()}
    data = task_data(task, splits)
    spy = Remembers()
    record = run(WorkspaceLayout(tmp_path), data, spy.model(), find_protocol("nlbse24"), 0, QUIET)
    assert [len(repos) for repos in spy.repos] == [1] * 5
    assert record.learned_from.train > 1_000
    ranking = issue_ranking(systems_of(read_runs(WorkspaceLayout(tmp_path))))
    assert ranking is not None
    own = next(entry for entry in ranking.entries if not entry.published)
    assert own.mean == pytest.approx(record.scores_by["repo"].mean)
    first = ranking.entries[0]
    assert (first.name, round(first.mean, 4)) == ("SetFit (organizers)", 0.8270)


def test_a_competition_has_its_section_sentence_tables_and_json(
    competing: WorkspaceLayout, result: ComparisonResult
) -> None:
    title = "The rule of the NLBSE'23 competition"
    report = make_report(competing, result, load_tasks())
    (section,) = (section for section in report.sections if section.key == "nlbse23")
    (table,) = (table for table in paper_tables(result) if table.title == title)
    assert section.content[0] == table
    assert [row[:2] for row in table.rows] == [("1", "all"), ("2", "half"), ("3", ORGANIZERS)]
    sentence = "By the rule of the NLBSE'23 competition all reaches 1.000: mean F1 1.000, 19 of 19"
    assert [text for text in report.summary if text.startswith(sentence)]
    written = report_comparison(competing, result, load_tasks())
    plain = json_data(written)["facts"]
    assert [entry["name"] for entry in plain["nlbse23"]["entries"]] == ["all", "half", ORGANIZERS]
    assert "nlbse24" not in [*plain, *(section.key for section in report.sections)]
