"""Questions to a workspace: whether it is whole, and what stands behind its entries and rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.workspace import existing
from goldpan.operations.repositories import known_repositories

if TYPE_CHECKING:
    from goldpan.check import CheckResult
    from goldpan.explain import Explanation
    from goldpan.miners.repair import Repair
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace
    from goldpan.report.page import ReportFacts
    from goldpan.trace import Trace


def why(self: Workspace, subject: str, rules: str = "default") -> Explanation:
    """Explain one entry, ``OWNER/NAME#NUMBER``: references, pairs, verdicts, raw replies."""
    from goldpan.explain import explain

    return explain(existing(self.layout).by_rules(rules), subject)


def trace(
    self: Workspace,
    example_id: str,
    datasets: Sequence[str | Path] = (),
    *,
    verify: bool = False,
) -> Trace:
    """Trace an example, such as ``qa:OWNER/NAME#NUMBER``, to replies and git objects.

    With `verify`, `chain` tells of each stage between them whether it gives the same again.
    """
    from goldpan.trace import trace

    paths = [Path(dataset) for dataset in datasets]
    return trace(existing(self.layout), example_id, paths, verify=verify)


def check(self: Workspace) -> CheckResult:
    """Verify every file of the workspace against its digest."""
    from goldpan.check import check_workspace

    with self.reporting() as reporter:
        return check_workspace(existing(self.layout), reporter)


def repair(self: Workspace, *repos: str) -> dict[str, Repair]:
    """Set damaged raw replies aside and keep the rest, without network access.

    Without repositories, all archives of the workspace that are damaged are mended.
    """
    from goldpan.check import repair_archives
    from goldpan.miners.repair import repair

    if not repos:
        return repair_archives(existing(self.layout))
    repairs = {}
    for name in repos:
        with self.layout.lock(name):
            repairs[name] = repair(self.layout.raw(name))
    return repairs


def report(
    self: Workspace,
    output: str | Path,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    datasets: Sequence[str | Path | Dataset] | None = None,
) -> ReportFacts:
    """Write an HTML page with the funnel, distributions, and examples with their evidence.

    By default it counts all datasets of the workspace, and draws examples of those of its
    issues and fix pairs.
    """
    from goldpan.datasets.provenance import finished_datasets
    from goldpan.filters.stored import find_profile
    from goldpan.operations.dataset import Dataset
    from goldpan.report.page import write_report

    names = known_repositories(self.layout, repos, "tables")
    if datasets is None:
        paths = finished_datasets(self.layout)
    else:
        paths = [
            dataset.path if isinstance(dataset, Dataset) else Path(dataset) for dataset in datasets
        ]
    layout = self.layout.by_rules(rules)
    chosen = find_profile(layout, names, str(profile))
    return write_report(layout, names, chosen, paths, Path(output))
