"""The page of what a workspace holds, for whoever opens it in a browser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from goldpan.core.errors import GoldpanError
from goldpan.core.storage.parquet import count_rows, read_tables
from goldpan.core.storage.workspace import DEFAULT_RULES, WorkspaceLayout, size_of
from goldpan.datasets.provenance import finished_datasets, read_provenance
from goldpan.filters.basis import filtered_by
from goldpan.filters.funnel import count_kept
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.report.document import Cell, Content, Report, ReportTable, Section, cut, listed
from goldpan.report.html import document_page, write_page

_COLUMNS = {"repositories": ("language", "license"), "entries": ("kind", "updated_at")}
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class ProfileCounts:
    """Numbers of issues and pairs that a profile keeps of a repository."""

    rules: str
    profile: str
    issues: int
    pairs: int


@dataclass(frozen=True, slots=True)
class RepositoryCounts:
    """A repository in a workspace: its facts, its entries and its size."""

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


@dataclass(frozen=True, slots=True)
class Addition:
    """A further section of the page, such as how far a plan is."""

    section: Section
    sentence: str
    warnings: tuple[str, ...] = ()


def write_workspace_page(
    workspace: WorkspaceLayout,
    output: Path,
    coverages: Sequence[Coverage] = (),
    addition: Addition | None = None,
) -> None:
    """Write the page; `coverages` need not be measured again.

    Raises `WorkspaceError` where a table is damaged or the file cannot be written.
    """
    by_repo = {coverage.repo: coverage for coverage in coverages}
    held = [
        _repository_counts(workspace, repo, by_repo.get(repo))
        for repo in workspace.repositories("tables")
    ]
    page = document_page(
        _report(workspace, held, addition),
        kicker="Workspace overview",
        made="from the tables, verdicts and datasets of the workspace.",
    )
    write_page(page, output)


def _repository_counts(
    workspace: WorkspaceLayout, repo: str, coverage: Coverage | None
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


def _missing(workspace: WorkspaceLayout, repo: str, coverage: Coverage | None) -> str:
    try:
        coverage = coverage or measure_coverage(workspace, repo)
    except GoldpanError as error:
        return error.problem
    if not coverage.finished:
        return "the last run did not finish"
    return f"{len(coverage.gaps):,} missing" if coverage.gaps else ""


def _profile_counts(
    workspace: WorkspaceLayout, repo: str, rules: Sequence[str]
) -> Iterator[ProfileCounts]:
    for name in rules:
        layout = workspace.by_rules(name)
        for profile in filtered_by(layout, repo):
            counts = count_kept(layout, repo, profile)
            yield ProfileCounts(name, profile, counts["issue"], counts["pair"])


def _report(
    workspace: WorkspaceLayout, held: list[RepositoryCounts], addition: Addition | None
) -> Report:
    sections = [
        Section("repositories", "Repositories", (_repositories(held),)),
        Section("kept", "What filters keep", (_kept_table(held),)),
        Section("datasets", "Datasets", (_datasets(workspace),)),
    ]
    incomplete = [item.repo for item in held if item.missing]
    warnings = [
        f"{len(incomplete):,} of {len(held):,} repositories are incomplete: {listed(incomplete)}."
    ] * bool(incomplete)
    sentences = [*_sentences(held)]
    if addition is not None:
        sections.append(addition.section)
        warnings += addition.warnings
        sentences.append(addition.sentence)
    return Report(
        f"Workspace {workspace.root.absolute().name}",
        "What was mined, what the filters keep, and which datasets were built from it.",
        (
            (f"{len(held):,}", "repositories"),
            (f"{sum(item.issues for item in held):,}", "issues"),
            (f"{sum(item.pulls for item in held):,}", "pull requests"),
            (f"{sum(item.pairs for item in held):,}", "fix pairs by default rules"),
        ),
        tuple(sentences),
        tuple(warnings),
        tuple(sections),
    )


def _sentences(held: list[RepositoryCounts]) -> Iterator[str]:
    entries = sum(item.issues + item.pulls for item in held)
    languages = sorted({item.language for item in held if item.language})
    yield f"{entries:,} entries of {len(held):,} repositories in {len(languages):,} languages."
    if held:
        size = _megabytes(sum(item.bytes for item in held))
        yield f"They take {size:,} MB with the code's history."


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


def _datasets(workspace: WorkspaceLayout) -> Content:
    rows: list[tuple[Cell, ...]] = []
    for path in finished_datasets(workspace):
        provenance = read_provenance(path)
        sources = provenance.get("sources", ())
        rows.append((path.name, provenance["family"], provenance.get("examples"), len(sources)))
    columns = ("dataset", "family", "examples", "repositories")
    return ReportTable("", columns, tuple(rows), "" if rows else "No dataset was built.")


def _megabytes(size: int) -> float:
    return round(size / 1e6, 1)
