"""The HTML page about a workspace: its repositories, kept entries and datasets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.compute as pc

from goldpan.core.errors import GoldpanError
from goldpan.core.result import count
from goldpan.core.storage.parquet import count_rows, read_tables
from goldpan.core.storage.workspace import DEFAULT_RULES, WorkspaceLayout, size_of
from goldpan.datasets.card import CARD
from goldpan.datasets.provenance import finished_datasets, read_provenance
from goldpan.filters.basis import filtered_by
from goldpan.filters.funnel import count_kept
from goldpan.miners.coverage import Coverage, measure_coverage
from goldpan.report.document import Cell, Content, Report, ReportTable, Section, cut, listed
from goldpan.report.html import document_page, write_page

_COLUMNS = {"repositories": ("repo", "language", "license"), "entries": ("kind", "updated_at")}
_MOST = 5_000
_PAIRS = "fix pairs by default rules"
_REPOSITORY = (
    *("repository", "language", "license", "issues", "pull requests", _PAIRS),
    *("last change", "MB", "missing"),
)
_NOTHING = "nothing"


def write_workspace_page(
    workspace: WorkspaceLayout, output: Path, coverages: Sequence[Coverage] = ()
) -> None:
    """Write the page; `coverages` need not be measured again.

    Raises `WorkspaceError` where a table is damaged or the file cannot be written.
    """
    by_repo = {coverage.repo.lower(): coverage for coverage in coverages}
    repos = workspace.repositories("tables")
    rows = [_repository(workspace, repo, by_repo.get(repo)) for repo in repos]
    page = document_page(
        _report(workspace, rows, output.absolute().parent),
        kicker="Workspace overview",
        made="from the tables, verdicts and datasets of the workspace.",
    )
    write_page(page, output)


def _repository(workspace: WorkspaceLayout, repo: str, coverage: Coverage | None) -> dict[str, Any]:
    """Return a row of the table of repositories, whose size is in bytes."""
    tables = read_tables(workspace, repo, _COLUMNS)
    entries = tables["entries"]
    kinds = {row["values"]: row["counts"] for row in pc.value_counts(entries["kind"]).to_pylist()}
    last = pc.max(entries["updated_at"]).as_py()
    facts: dict[str, str | None] = next(iter(tables["repositories"].to_pylist()), {})
    pairs = workspace.pairs(repo, DEFAULT_RULES)
    return {
        "repository": facts.get("repo") or repo,
        "language": facts.get("language") or "",
        "license": facts.get("license") or "",
        "issues": kinds.get("issue", 0),
        "pull requests": kinds.get("pull", 0),
        _PAIRS: count_rows(pairs) if DEFAULT_RULES in workspace.paired_by(repo) else 0,
        "last change": "" if last is None else f"{last:%Y-%m-%d}",
        "MB": size_of([workspace.raw(repo), workspace.tables(repo), workspace.clone(repo)]),
        "missing": _missing(workspace, repo, coverage),
    }


def _missing(workspace: WorkspaceLayout, repo: str, coverage: Coverage | None) -> str:
    """Return how much is missing of what GitHub announced."""
    try:
        coverage = coverage or measure_coverage(workspace, repo)
    except GoldpanError as error:
        return error.problem
    if not coverage.finished:
        return "the last run did not finish"
    return f"{len(coverage.gaps):,} missing" if coverage.gaps else _NOTHING


def _report(workspace: WorkspaceLayout, rows: list[dict[str, Any]], folder: Path) -> Report:
    sections = [
        Section("repositories", "Repositories", (_repositories(rows),)),
        Section("kept", "What filters keep", (_kept_table(workspace, rows),)),
        Section("datasets", "Datasets", (_datasets(workspace, folder),)),
    ]
    warnings: list[str] = []
    if incomplete := [row["repository"] for row in rows if row["missing"] != _NOTHING]:
        of_all = count(len(rows), "repository")
        warnings.append(f"{len(incomplete):,} of {of_all} incomplete: {listed(incomplete)}.")
    sums = {name: sum(row[name] for row in rows) for name in ("issues", "pull requests", _PAIRS)}
    languages = {row["language"] for row in rows} - {""}
    entries = sums["issues"] + sums["pull requests"]
    sentences = [
        f"{count(entries, 'issue or pull request')} of {count(len(rows), 'repository')} in "
        f"{count(len(languages), 'language')}."
    ]
    if rows:
        size = _megabytes(sum(row["MB"] for row in rows))
        sentences.append(f"They take {size:,} MB with the code's history.")
    return Report(
        f"Workspace {workspace.root.absolute().name}",
        tuple(sentences),
        tuple(warnings),
        tuple(sections),
        lead="What was mined, what the filters keep, and which datasets were built from it.",
        facts=((f"{len(rows):,}", "repositories"), *((f"{sums[name]:,}", name) for name in sums)),
    )


def _repositories(rows: list[dict[str, Any]]) -> Content:
    ordered = sorted(
        rows, key=lambda row: (-row["issues"] - row["pull requests"], row["repository"])
    )
    cells = tuple(tuple({**row, "MB": _megabytes(row["MB"])}.values()) for row in ordered)
    return cut(ReportTable("", _REPOSITORY, cells), _MOST)


def _kept_table(workspace: WorkspaceLayout, repositories: list[dict[str, Any]]) -> Content:
    rows: list[tuple[Cell, ...]] = []
    for repo in (row["repository"] for row in repositories):
        for rules in workspace.paired_by(repo):
            layout = workspace.by_rules(rules)
            for profile in filtered_by(layout, repo):
                kept = count_kept(layout, repo, profile)
                rows.append((repo, rules, profile, kept["issue"], kept["pair"]))
    columns = ("repository", "pairing rules", "profile", "issues kept", "fix pairs kept")
    note = "" if rows else "No repository was filtered."
    return cut(ReportTable("", columns, tuple(rows), note), _MOST)


def _datasets(workspace: WorkspaceLayout, folder: Path) -> Content:
    """Return the datasets, each with a link from a page in the folder to its card."""
    rows: list[tuple[Cell, ...]] = []
    links = []
    for path in finished_datasets(workspace):
        provenance = read_provenance(path)
        sources = provenance.get("sources", ())
        rows.append((path.name, provenance["family"], provenance.get("examples"), len(sources)))
        links.append(quote(os.path.relpath(path.absolute() / CARD, folder)))
    columns = ("dataset", "family", "examples", "repositories")
    note = "" if rows else "No dataset was built."
    return ReportTable("", columns, tuple(rows), note, links=tuple(links))


def _megabytes(size: int) -> float:
    return round(size / 1e6, 1)
