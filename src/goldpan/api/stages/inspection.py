"""Questions to a workspace: whether it is whole, and what stands behind its entries and rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.api.repositories import existing_layout, known_repositories

if TYPE_CHECKING:
    from goldpan.api.dataset import Dataset
    from goldpan.api.workspace import Workspace
    from goldpan.check import CheckResult
    from goldpan.explain import Explanation
    from goldpan.miners.repair import Repair
    from goldpan.report.page import ReportFacts
    from goldpan.trace import Trace


def why(self: Workspace, subject: str, rules: str | None = None) -> Explanation:
    """Explain one entry, ``OWNER/NAME#NUMBER``: references, pairs, verdicts, raw replies."""
    from goldpan.explain import explain

    return explain(self.layout.by_rules(rules), subject)


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

    return trace(self.layout, example_id, [Path(dataset) for dataset in datasets], verify=verify)


def check(self: Workspace) -> CheckResult:
    """Verify every file of the workspace against its digest."""
    from goldpan.check import check_workspace

    with self.reporting() as reporter:
        return check_workspace(existing_layout(self.layout), reporter)


def repair(self: Workspace, *repos: str) -> dict[str, Repair]:
    """Set damaged raw replies aside and keep the rest, without network access.

    Without repositories, all archives of the workspace that are damaged are mended.
    """
    from goldpan.check import repair_archives
    from goldpan.miners.repair import repair

    if not repos:
        return repair_archives(existing_layout(self.layout))
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
    rules: str | None = None,
    datasets: Sequence[str | Path | Dataset] | None = None,
) -> ReportFacts:
    """Write an HTML page with the funnel, distributions, and examples with their evidence.

    By default it draws examples from all datasets that `build` wrote into the workspace.
    """
    from goldpan.api.dataset import Dataset
    from goldpan.datasets.examples import FAMILIES
    from goldpan.datasets.provenance import finished_datasets, read_provenance
    from goldpan.filters.profile import load_profile
    from goldpan.report.page import write_report

    names = known_repositories(self.layout, repos, "tables")
    if datasets is None:  # imported tasks, which tell of no repository, lie there too
        directories = finished_datasets(self.layout)
        paths = [path for path in directories if read_provenance(path).get("family") in FAMILIES]
    else:
        paths = [
            dataset.path if isinstance(dataset, Dataset) else Path(dataset) for dataset in datasets
        ]
    layout = self.layout.by_rules(rules)
    return write_report(layout, names, load_profile(str(profile)), paths, Path(output))
