"""Filtering in a workspace: verdicts on issues and pairs, and what they leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.workspace import existing
from goldpan.operations.repositories import known_repositories

if TYPE_CHECKING:
    import pyarrow as pa

    from goldpan.core.engine import EngineName
    from goldpan.filters.basis import Basis
    from goldpan.filters.funnel import Funnel
    from goldpan.filters.pipeline import FilterResult
    from goldpan.operations.workspace import Workspace


def basis(
    self: Workspace, *repos: str, profile: str | Path | None = None, rules: str = "default"
) -> list[Basis]:
    """Return which rules and which profile stand behind what the methods below take."""
    from goldpan.filters.basis import find_basis
    from goldpan.filters.stored import find_profile

    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    chosen = None if profile is None else find_profile(layout, names, str(profile)).name
    return find_basis(layout, names, chosen)


def near_duplicates(
    self: Workspace,
    profile: str | Path = "default",
    *,
    engine: EngineName = "local",
    address: str = "",
) -> pa.Table:
    """Find the near duplicates among all issues of the workspace, as `filter` uses them.

    A row each issue that has one (docs/filtering.md). They are found anew when an issue
    changed. The engine ``ray`` searches on the cluster at `address` (docs/clusters.md).
    """
    from goldpan.filters.clusters import workspace_duplicates
    from goldpan.filters.stored import find_profile

    layout = existing(self.layout)
    chosen = find_profile(layout, layout.repositories("tables"), str(profile))
    settings = chosen.settings["near-duplicates"]
    with self.reporting() as reporter:
        return workspace_duplicates(
            layout,
            settings,
            reporter,
            workers=self.settings.processes,
            engine=engine,
            address=address,
        )


def filter(
    self: Workspace,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    engine: EngineName = "local",
    address: str = "",
) -> list[FilterResult]:
    """Judge every issue and fix pair by every criterion; each verdict has a reason.

    `profile` is ``default``, ``faun-eval``, or the path of a ``.toml`` of your own. The engine
    ``ray`` does a repository a processor of the cluster at `address` (docs/clusters.md).
    """
    from goldpan.filters.pipeline import run_filters
    from goldpan.filters.stored import find_profile

    self.settings.trust.require("plugins")
    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    chosen = find_profile(layout, names, str(profile))
    with self.reporting() as reporter:
        return run_filters(
            layout,
            names,
            chosen,
            reporter,
            workers=self.settings.processes,
            engine=engine,
            address=address,
        )


def rejects(
    self: Workspace,
    output: str | Path,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
) -> int:
    """Write what a profile drops as .parquet, .jsonl or .csv; return the number of subjects."""
    from goldpan.filters.rejects import write_rejects
    from goldpan.filters.stored import find_profile

    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    return write_rejects(layout, names, find_profile(layout, names, str(profile)), Path(output))


def funnel(
    self: Workspace, *repos: str, profile: str | Path = "default", rules: str = "default"
) -> tuple[Funnel, Funnel]:
    """Count the issues and the fix pairs that each criterion drops."""
    from goldpan.filters.funnel import read_funnels
    from goldpan.filters.stored import find_profile

    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    return read_funnels(layout, names, find_profile(layout, names, str(profile)))
