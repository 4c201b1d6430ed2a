"""Filtering: verdicts on issues and fix pairs, what they leave, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.result import Results
from goldpan.core.workspace import existing
from goldpan.operations.repositories import known_repositories
from goldpan.operations.values import LOCAL, Execution

if TYPE_CHECKING:
    import pyarrow as pa

    from goldpan.core.workspace import Workspace as Layout
    from goldpan.explain import Explanation
    from goldpan.filters.funnel import Funnels
    from goldpan.filters.pipeline import FilterResult
    from goldpan.filters.profile import Profile
    from goldpan.operations.workspace import Workspace


def filter(
    self: Workspace,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    settings: Mapping[str, Any] | None = None,
    rejects: Path | str | None = None,
    list: bool = False,
    execution: Execution = LOCAL,
) -> Results[FilterResult]:
    """Judge every issue and fix pair by every criterion; each verdict has a reason.

    Nothing is deleted: a profile says which criteria decide, and with which settings. Verdicts
    with other settings lie beside those of the profile, under a name of their own that later
    commands take as `--profile`.

    Args:
        profile (NAME): default, verified, or the path of your own .toml file;
            the name of that, too, once it was used.
        rules (NAME): The rules whose pairs to judge: default, unconfirmed, or a plugin's.
        settings (CRITERION.KEY=VALUE): A setting of a criterion, in place of the profile's; may be
            given several times.
        rejects: Also write what is dropped, to a .parquet, .jsonl or .csv file.
        list: Only list the criteria and which ones decide.
        execution: Where repositories are judged, one a processor.

    """
    from goldpan.filters.funnel import write_rejects
    from goldpan.filters.pipeline import CriterionList, FilterResults, run_filters
    from goldpan.filters.stored import find_profile

    if list:
        known = self.layout.repositories("tables")
        return CriterionList(find_profile(self.layout, known, str(profile), settings))
    self.settings.trust.require("plugins")
    layout, names, chosen = choose_profile(self, repos, profile, rules, settings)
    with self.reporting() as reporter:
        results = run_filters(
            layout,
            names,
            chosen,
            reporter,
            workers=execution.workers or self.settings.processes,
            engine=execution.engine,
            address=execution.address,
        )
    if rejects is None:
        return FilterResults(results)
    path = Path(rejects)
    return FilterResults(results, path, write_rejects(layout, names, chosen, path))


def funnel(
    self: Workspace,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    settings: Mapping[str, Any] | None = None,
    output: Path | str | None = None,
) -> Funnels:
    """Show what each criterion drops, on its own and in sequence.

    Args:
        profile (NAME): The profile whose verdicts to count.
        rules (NAME): The rules whose pairs to count: default, unconfirmed, or a plugin's.
        settings (CRITERION.KEY=VALUE): A setting of a criterion, as given to `goldpan filter`; may
            be given several times.
        output: Also draw the funnel, to a .svg, .png or .html file.

    """
    from goldpan.filters.funnel import read_funnels

    layout, names, chosen = choose_profile(self, repos, profile, rules, settings)
    funnels = read_funnels(layout, names, chosen)
    if output is not None:
        from goldpan.report.plots import plot_funnel

        plot_funnel(list(funnels.shown), Path(output))
    return funnels


def why(self: Workspace, subject: str, *, rules: str = "default") -> Explanation:
    """Explain an issue, pull request or discussion: references, pairs, verdicts, raw replies.

    Args:
        subject (OWNER/NAME#NUMBER): The issue, pull request or discussion, or its address on
            GitHub.
        rules (NAME): The rules whose pairs and verdicts to show: default, unconfirmed, or a
            plugin's.

    """
    from goldpan.explain import explain

    return explain(existing(self.layout).by_rules(rules), subject)


def near_duplicates(
    self: Workspace, profile: str | Path = "default", *, execution: Execution = LOCAL
) -> pa.Table:
    """Find the near duplicates among all issues of the workspace, as `filter` uses them.

    A row each issue that has one (docs/filtering.md). They are found anew when an issue changed.
    """
    from goldpan.filters.clusters import workspace_duplicates
    from goldpan.filters.stored import find_profile

    layout = existing(self.layout)
    chosen = find_profile(layout, layout.repositories("tables"), str(profile))
    with self.reporting() as reporter:
        return workspace_duplicates(
            layout,
            chosen.settings["near-duplicates"],
            reporter,
            workers=execution.workers or self.settings.processes,
            engine=execution.engine,
            address=execution.address,
        )


def choose_profile(
    self: Workspace,
    repos: Sequence[str],
    profile: str | Path,
    rules: str,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Layout, list[str], Profile]:
    """Return the paths by pairing rules, the repositories, and the profile that judges them.

    Raises as `known_repositories` and `find_profile` do.
    """
    from goldpan.filters.stored import find_profile

    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    return layout, names, find_profile(layout, names, str(profile), settings)
