"""Filtering in a workspace: verdicts on issues and pairs, and what they leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.api.repositories import known_repositories
from goldpan.core.workspace import existing

if TYPE_CHECKING:
    import pyarrow as pa

    from goldpan.api.workspace import Workspace
    from goldpan.core.engine import EngineName
    from goldpan.filters.basis import Basis
    from goldpan.filters.funnel import Funnel
    from goldpan.filters.pipeline import FilterResult


def basis(
    self: Workspace, *repos: str, profile: str | Path | None = None, rules: str | None = None
) -> list[Basis]:
    """Return which rules and which profile stand behind what the methods below take."""
    from goldpan.filters.basis import find_basis
    from goldpan.filters.profile import load_profile

    names = known_repositories(self.layout, repos, "tables")
    chosen = None if profile is None else load_profile(str(profile)).name
    return find_basis(self.layout.by_rules(rules), names, chosen)


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
    from goldpan.filters.profile import load_profile

    settings = load_profile(str(profile)).settings["near-duplicates"]
    with self.reporting() as reporter:
        return workspace_duplicates(
            existing(self.layout),
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
    rules: str | None = None,
    engine: EngineName = "local",
    address: str = "",
) -> list[FilterResult]:
    """Judge every issue and fix pair by every criterion; each verdict has a reason.

    `profile` is ``default``, ``faun-eval``, or the path of a ``.toml`` of your own. The engine
    ``ray`` does a repository a processor of the cluster at `address` (docs/clusters.md).
    """
    from goldpan.filters.pipeline import run_filters
    from goldpan.filters.profile import load_profile

    chosen = load_profile(str(profile))
    names = known_repositories(self.layout, repos, "tables")
    with self.reporting() as reporter:
        return run_filters(
            self.layout.by_rules(rules),
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
    rules: str | None = None,
) -> int:
    """Write what a profile drops as .parquet, .jsonl or .csv; return the number of subjects."""
    from goldpan.filters.profile import load_profile
    from goldpan.filters.rejects import write_rejects

    names = known_repositories(self.layout, repos, "tables")
    return write_rejects(
        self.layout.by_rules(rules), names, load_profile(str(profile)).name, Path(output)
    )


def funnel(
    self: Workspace, *repos: str, profile: str | Path = "default", rules: str | None = None
) -> tuple[Funnel, Funnel]:
    """Count the issues and the fix pairs that each criterion drops."""
    from goldpan.filters.funnel import read_funnels
    from goldpan.filters.profile import load_profile

    chosen = load_profile(str(profile))
    names = known_repositories(self.layout, repos, "tables")
    return read_funnels(self.layout.by_rules(rules), names, chosen)
