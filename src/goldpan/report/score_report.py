"""The report on scores, counts or predictions from elsewhere: S7, S8 and S10 of ECSER."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.evaluation.comparison.files import FileComparison
from goldpan.evaluation.statistics.comparison import Comparison
from goldpan.report.comparison.measures import (
    degradation_cells,
    drift_tables,
    overfitting_cells,
)
from goldpan.report.comparison.ranking import asked, decided, pairs_table
from goldpan.report.comparison.summary import answer, first_place, meaning, rank_range
from goldpan.report.document import Cell, Content, Remark, Report, ReportTable, Section, cut
from goldpan.report.evaluation import EvaluationFiles, WrittenFile, write_files


def file_sentences(compared: FileComparison) -> tuple[str, ...]:
    """Return what a stranger should take away."""
    comparison = compared.comparison
    best = comparison.models[0]
    texts = [f"{first_place(comparison, 'data set')}. {answer(comparison, best)}"]
    tests = [comparison.test]
    if compared.new_tasks is not None:
        texts.append(answer(compared.new_tasks, best))
        tests.append(compared.new_tasks.test)
    texts += filter(None, map(meaning, tests))
    texts += [f"Left out: {reason}." for reason in compared.matrix.left_out[:12]]
    return tuple(texts)


def file_report(compared: FileComparison) -> Report:
    """Return the whole report; the same file and question give the same one."""
    comparison = compared.comparison
    tested: list[Content] = list(_question(comparison))
    if compared.new_tasks is not None:
        tested += _question(compared.new_tasks)
    drift = _drift_tables(compared)
    return Report(
        title=f"{len(comparison.models)} models from {compared.file.path.name}",
        lead="Which models differ, which cannot be told apart, and what that rests on.",
        facts=(
            (f"{len(comparison.models):,}", "models"),
            (f"{len(comparison.tasks):,}", "data sets"),
            (f"{len(compared.file.keys):,}", f"sets of {compared.file.layout}"),
        ),
        summary=file_sentences(compared),
        warnings=(
            f"These {compared.file.layout} come from {compared.file.path.name}: Goldpan ran none of"
            " the models, and knows nothing of leaks between training and test.",
        ),
        sections=(
            Section("ranking", "Ranking", (_ranking(comparison),)),
            Section("s7", "Report metrics", (cut(_scores(compared)),), step=7),
            Section(
                "s8",
                "Analyze overfitting and degradation",
                drift,
                step=8,
                skipped=""
                if drift
                else "The file has no rows of the parts train or validation beside test.",
            ),
            Section(
                "s10", "Apply statistical significance tests", tuple(tested), step=10, optional=True
            ),
        ),
    )


def write_file_report(compared: FileComparison, files: EvaluationFiles) -> tuple[WrittenFile, ...]:
    """Write the files that are wanted."""
    return write_files(files, lambda: file_report(compared), lambda: _paper_tables(compared))


def _paper_tables(compared: FileComparison) -> Iterator[ReportTable]:
    yield _ranking(compared.comparison)
    yield _scores(compared)
    for comparison in (compared.comparison, compared.new_tasks):
        if comparison is not None and comparison.test.name != "none":
            yield pairs_table(comparison)


def _question(comparison: Comparison) -> Iterator[Content]:
    yield Remark(asked(comparison))
    if comparison.test.name != "none":
        yield from decided(comparison)
    yield from (Remark(f"{note}.") for note in comparison.notes)


def _ranking(comparison: Comparison) -> ReportTable:
    rows = tuple(
        (
            rank_range(standing),
            standing.model,
            standing.mean,
            standing.sd,
            standing.seed_sd,
            standing.mean_rank,
            standing.tier,
        )
        for standing in comparison.standings
    )
    columns = ("place", "model", "mean", "sd over data sets", "sd over seeds", "mean rank", "tier")
    note = "A place such as 2–4 is a tie: the decisions of S10 leave these places open."
    return ReportTable(f"Ranking by {comparison.metric}", columns, rows, note)


def _scores(compared: FileComparison) -> ReportTable:
    return ReportTable(
        "Scores on test",
        ("data set", "model", "metric", "mean over seeds and folds"),
        compared.scores,
    )


def _drift_tables(compared: FileComparison) -> tuple[Content, ...]:
    over: list[tuple[Cell, ...]] = []
    down: list[tuple[Cell, ...]] = []
    for drift in compared.drift:
        start = (drift.task, drift.model, drift.metric)
        if drift.overfitting is not None:
            over.append((*start, *overfitting_cells(drift.overfitting)))
        if drift.degradation is not None:
            down.append((*start, *degradation_cells(drift.degradation)))
    return tuple(drift_tables(("task", "model", "metric"), over, down))
