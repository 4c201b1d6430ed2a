"""The report on filtered repositories, and the page about one row of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from goldpan.audit.stored_audit import find_audit
from goldpan.core.errors import UsageError
from goldpan.core.resources import check_folder
from goldpan.core.result import Result, count
from goldpan.core.sanitize import line
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.basis import Basis
from goldpan.filters.funnel import Funnels, read_funnels
from goldpan.filters.profile import Profile, criteria
from goldpan.miners.journal import git_host
from goldpan.report.distributions import measure
from goldpan.report.examples import draw_examples
from goldpan.report.html import render, write_page
from goldpan.report.tables import draw_dropped, open_repositories, overview, total

SEED = 0
_MOST_EXAMPLES = 12
_MOST_A_DATASET = 4
_MOST_REPOSITORIES = 200
_MOST_FUNNELS = 24


@dataclass(frozen=True, slots=True)
class ReportFacts(Result):
    """The written report, and how much it shows."""

    output: Path
    size: int
    """Bytes."""
    repos: tuple[str, ...]
    datasets: tuple[str, ...]
    examples: int
    """Rows of datasets that the report shows."""
    dropped: int
    """Dropped subjects that it shows."""
    basis: tuple[Basis, ...]
    """The pairing rules and the profile behind each repository."""


@dataclass(frozen=True, slots=True)
class RowFacts(Result):
    """The written page about a row of a dataset."""

    output: Path
    size: int
    """Bytes."""
    id: str
    dataset: str


def write_report(
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    profile: Profile,
    datasets: Sequence[Path],
    output: Path,
    *,
    seed: int = SEED,
) -> ReportFacts:
    """Write the report on filtered repositories, with examples of datasets, as one HTML file.

    Raises `WorkspaceError` where a repository was not filtered by the profile or the file cannot
    be written, `UsageError` where a path is missing, `DatasetError` where a directory holds no
    dataset.
    """
    check_folder(output)
    funnels = [read_funnels(workspace, [repo], profile) for repo in repos]
    every = read_funnels(workspace, repos, profile)
    with open_repositories(workspace, repos, profile.name) as connection:
        repositories = overview(connection)
        measured = measure(connection)
        dropped = draw_dropped(connection, seed)
        most = max(1, min(_MOST_A_DATASET, _MOST_EXAMPLES // max(1, len(datasets))))
        samples = [
            draw_examples(connection, path, seed, most, find_audit(workspace, path))
            for path in datasets
        ]
    names = tuple(repository["repo"] for repository in repositories)
    page = render(
        "report.html.jinja",
        hosts={repo.lower(): git_host(workspace, repo) for repo in repos},
        title=f"Goldpan report: {_heading(names)}",
        heading=_heading(names),
        seed=seed,
        profile=profile,
        rules=sorted({item.rules for item in every.basis if item.rules is not None}),
        total=total(repositories),
        repositories=repositories,
        most_repositories=_MOST_REPOSITORIES,
        funnels=every.shown,
        by_repository=_largest(funnels) if len(funnels) > 1 else [],
        charts=measured,
        datasets=samples,
        criteria=criteria(),
        dropped=dropped,
        setting=_setting,
    )
    write_page(page, output)
    return ReportFacts(
        output,
        len(page.encode()),
        names,
        tuple(dataset.name for dataset in samples),
        sum(len(dataset.examples) for dataset in samples),
        sum(len(droppeds) for droppeds in dropped.values()),
        every.basis,
    )


def write_row_page(
    workspace: WorkspaceLayout,
    repos: Sequence[str],
    profile: Profile,
    datasets: Sequence[Path],
    row: str,
    output: Path,
) -> RowFacts:
    """Write all facts about a row as one HTML file: text, label, verdicts and findings.

    Raises `UsageError` where no dataset of issues or fix pairs holds it, else as `write_report`.
    """
    check_folder(output)
    for repo in repos:
        read_funnels(workspace, [repo], profile)  # refuses one that was not filtered
    with open_repositories(workspace, repos, profile.name) as connection:
        for path in datasets:
            dataset = draw_examples(connection, path, SEED, 1, find_audit(workspace, path), row)
            if dataset.examples:
                break
        else:
            names = " or ".join(path.name for path in datasets) or "any dataset"
            raise UsageError(f"No row {row!r} is in {names}", "Give the id as in the dataset")
    (example,) = dataset.examples
    page = render(
        "row.html.jinja",
        hosts={repo.lower(): git_host(workspace, repo) for repo in repos},
        title=line(row, 160),
        dataset=dataset,
        example=example,
    )
    write_page(page, output)
    return RowFacts(output, len(page.encode()), row, dataset.name)


def _heading(names: Sequence[str]) -> str:
    if len(names) <= 3:
        return ", ".join(names) or "No repository"
    return f"{names[0]} and {count(len(names) - 1, 'more repository')}"


def _largest(funnels: Sequence[Funnels]) -> list[Funnels]:
    """Return the funnels of the repositories with the most issues."""
    ordered = sorted(funnels, key=lambda own: (-own.issues.rows, own.basis[0].repo))
    return ordered[:_MOST_FUNNELS]


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) if len(value) <= 8 else f"{len(value):,} entries"
    return str(value).lower() if isinstance(value, bool) else str(value)
