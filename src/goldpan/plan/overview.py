"""An HTML page on a workspace: all its repositories, what filters keep of them, its datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from goldpan.core.errors import GoldpanError
from goldpan.core.parquet import count_rows
from goldpan.core.query import read_tables
from goldpan.core.workspace import DEFAULT_RULES, Workspace
from goldpan.datasets.provenance import finished_datasets, read_provenance
from goldpan.filters.basis import filtered_by
from goldpan.filters.funnel import count_kept
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.plan.assess import Assessment
from goldpan.plan.record import named_changes, size_of
from goldpan.plan.unit import STAGES
from goldpan.report.document import Cell, Content, Report, ReportTable, Section, cut, folded, listed
from goldpan.report.evaluation import document_page
from goldpan.report.page import write_page

_COLUMNS = {"repositories": ("language", "license"), "entries": ("kind", "updated_at")}
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class ProfileCounts:
    """What a profile keeps of a repository."""

    rules: str
    profile: str
    issues: int
    pairs: int


@dataclass(frozen=True, slots=True)
class RepositoryCounts:
    """What a workspace holds of a repository."""

    repo: str
    language: str
    license: str
    issues: int
    pulls: int
    pairs: int
    last: str
    """The day of the last change that was mined."""
    missing: str
    """Empty where all that GitHub announced is there."""
    bytes: int
    kept: tuple[ProfileCounts, ...]


def write_workspace_overview(
    workspace: Workspace,
    output: Path,
    judged: Sequence[Assessment] = (),
    coverages: Sequence[Coverage] = (),
) -> None:
    """Write the page; `judged` are the units of a plan, where one is told of, too.

    `coverages` need not be measured again. Raises `WorkspaceError` where a table is damaged or the
    file cannot be written.
    """
    by_repo = {coverage.repo: coverage for coverage in coverages}
    held = [
        _repository_counts(workspace, repo, by_repo.get(repo))
        for repo in workspace.repositories("tables")
    ]
    page = document_page(
        _report(workspace, held, judged),
        kind="Workspace overview",
        made="from the tables, verdicts and datasets of the workspace.",
    )
    write_page(page, output)


def _repository_counts(
    workspace: Workspace, repo: str, coverage: Coverage | None
) -> RepositoryCounts:
    tables = read_tables(workspace, repo, _COLUMNS)
    entries = tables["entries"]
    kinds = {row["values"]: row["counts"] for row in pc.value_counts(entries["kind"]).to_pylist()}
    last = pc.max(entries["updated_at"]).as_py()
    facts: dict[str, str | None] = next(iter(tables["repositories"].to_pylist()), {})
    rules = workspace.paired_by(repo)
    return RepositoryCounts(
        repo,
        facts.get("language") or "",
        facts.get("license") or "",
        kinds.get("issue", 0),
        kinds.get("pull", 0),
        count_rows(workspace.pairs(repo, DEFAULT_RULES)) if DEFAULT_RULES in rules else 0,
        "" if last is None else f"{last:%Y-%m-%d}",
        _missing(workspace, repo, coverage),
        size_of([workspace.raw(repo), workspace.tables(repo), workspace.clone(repo)]),
        tuple(_profile_counts(workspace, repo, rules)),
    )


def _missing(workspace: Workspace, repo: str, coverage: Coverage | None) -> str:
    try:
        coverage = coverage or measure_coverage(workspace, repo)
    except GoldpanError as error:
        return error.problem
    if not coverage.finished:
        return "the last run did not finish"
    return f"{len(coverage.gaps):,} missing" if coverage.gaps else ""


def _profile_counts(
    workspace: Workspace, repo: str, rules: Sequence[str]
) -> Iterator[ProfileCounts]:
    for name in rules:
        layout = workspace.by_rules(name)
        for profile in filtered_by(layout, repo):
            counts = count_kept(layout, repo, profile)
            yield ProfileCounts(name, profile, counts["issue"], counts["pair"])


def _report(
    workspace: Workspace, held: list[RepositoryCounts], judged: Sequence[Assessment]
) -> Report:
    sections = [
        Section("repositories", "Repositories", (_repositories(held),)),
        Section("kept", "What filters keep", (_kept_table(held),)),
        Section("datasets", "Datasets", (_datasets(workspace),)),
    ]
    if judged:
        sections.append(Section("plan", "Plan", tuple(_plan(judged))))
    incomplete = [item.repo for item in held if item.missing]
    failed = [item.unit.name for item in judged if item.state == "failed"]
    warnings = [
        f"{len(incomplete):,} of {len(held):,} repositories are incomplete: {listed(incomplete)}."
    ] * bool(incomplete)
    warnings += [f"{len(failed):,} units of the plan failed: {listed(failed)}."] * bool(failed)
    entries = sum(item.issues + item.pulls for item in held)
    return Report(
        f"Workspace {workspace.root.absolute().name}",
        "What was mined, what the filters keep, and which datasets were built from it.",
        (
            (f"{len(held):,}", "repositories"),
            (f"{sum(item.issues for item in held):,}", "issues"),
            (f"{sum(item.pulls for item in held):,}", "pull requests"),
            (f"{sum(item.pairs for item in held):,}", "fix pairs by default rules"),
        ),
        tuple(_sentences(held, entries, judged)),
        tuple(warnings),
        tuple(sections),
    )


def _sentences(
    held: list[RepositoryCounts], entries: int, judged: Sequence[Assessment]
) -> Iterator[str]:
    languages = sorted({item.language for item in held if item.language})
    yield f"{entries:,} entries of {len(held):,} repositories in {len(languages):,} languages."
    if held:
        size = _megabytes(sum(item.bytes for item in held))
        yield f"They take {size:,} MB with the code's history."
    if judged:
        fresh = sum(item.state == "fresh" for item in judged)
        yield f"{fresh:,} of the {len(judged):,} units of the plan are up to date."


def _repositories(held: list[RepositoryCounts]) -> Content:
    columns = (
        "repository",
        "language",
        "license",
        "issues",
        "pull requests",
        "fix pairs by default rules",
        "last change",
        "MB",
        "missing",
    )
    rows: list[tuple[Cell, ...]] = [
        (
            item.repo,
            item.language,
            item.license,
            item.issues,
            item.pulls,
            item.pairs,
            item.last,
            _megabytes(item.bytes),
            item.missing or "nothing",
        )
        for item in sorted(held, key=lambda item: (-item.issues - item.pulls, item.repo))
    ]
    return cut(ReportTable("", columns, tuple(rows)), _MOST)


def _kept_table(held: list[RepositoryCounts]) -> Content:
    rows: list[tuple[Cell, ...]] = [
        (item.repo, profile.rules, profile.profile, profile.issues, profile.pairs)
        for item in held
        for profile in item.kept
    ]
    columns = ("repository", "pairing rules", "profile", "issues kept", "fix pairs kept")
    note = "" if rows else "No repository was filtered."
    return cut(ReportTable("", columns, tuple(rows), note), _MOST)


def _datasets(workspace: Workspace) -> Content:
    rows: list[tuple[Cell, ...]] = []
    for path in finished_datasets(workspace):
        provenance = read_provenance(path)
        sources = provenance.get("sources", ())
        rows.append((path.name, provenance["family"], provenance.get("examples"), len(sources)))
    columns = ("dataset", "family", "examples", "repositories")
    return ReportTable("", columns, tuple(rows), "" if rows else "No dataset was built.")


def _plan(judged: Sequence[Assessment]) -> Iterator[Content]:
    states = ("fresh", "partial", "due", "after", "stopped", "failed")
    counts: list[tuple[Cell, ...]] = []
    for stage in STAGES:
        of_stage = [assessment.state for assessment in judged if assessment.unit.stage == stage]
        if of_stage:
            counts.append((stage, *(of_stage.count(state) for state in states)))
    yield ReportTable("", ("stage", *states), tuple(counts))
    rows: list[tuple[Cell, ...]] = [
        (
            assessment.unit.name,
            assessment.state,
            _reason(assessment),
            assessment.record.at if assessment.record else "",
        )
        for assessment in judged
        if assessment.state != "fresh"
    ]
    if rows:
        columns = ("unit", "state", "why", "last run")
        yield folded(ReportTable("Units that are not up to date", columns, tuple(rows)), 40)


def _reason(assessment: Assessment) -> str:
    if assessment.why:
        return named_changes(assessment.why)
    if assessment.after:
        return f"perhaps, after {listed(assessment.after, 3)}"
    return "; ".join(assessment.record.lacks) if assessment.record else ""


def _megabytes(size: int) -> float:
    return round(size / 1e6, 1)
