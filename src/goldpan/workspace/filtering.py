"""Filtering and review: verdicts on issues and fix pairs, what they leave, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.core.result import Results, count
from goldpan.core.storage.workspace import existing
from goldpan.core.values import LOCAL, Count, Execution, several
from goldpan.workspace.opening import OpenWorkspace
from goldpan.workspace.options import Changes, Profile, Rules, flat
from goldpan.workspace.repositories import known_repositories, paired_layout

if TYPE_CHECKING:
    from goldpan.annotation.review.calibration import Calibration
    from goldpan.annotation.review.run import ReviewResult
    from goldpan.core.storage.workspace import WorkspaceLayout
    from goldpan.filters.funnel import Funnels
    from goldpan.filters.pipeline import FilterResult
    from goldpan.filters.profile import Profile as FilterProfile
    from goldpan.lineage.explain import Explanation


@flat
def filter(
    self: OpenWorkspace,
    *repos: str,
    profile: Profile = "default",
    rules: Rules = "default",
    settings: Changes | None = None,
    rejects: Path | str | None = None,
    list: bool = False,
    execution: Execution = LOCAL,
) -> Results[FilterResult]:
    """Judge every issue and fix pair by every criterion; each verdict has a reason.

    Nothing is deleted: a profile says which criteria decide, and with which settings. Verdicts
    with other settings lie beside those of the profile, under a name of their own that later
    commands take as `--profile`.

    Example: goldpan filter --profile verified

    Args:
        settings (CRITERION.KEY=VALUE): A setting of a criterion, in place of the profile's.
        rejects: Also write what is dropped, to a .parquet, .jsonl or .csv file.
        list: Only list the criteria and which ones decide.
    """
    from goldpan.datasets.table_files import check_form, write_rows
    from goldpan.filters.funnel import rejects as dropped_subjects
    from goldpan.filters.pipeline import CriterionList, run_filters
    from goldpan.filters.stored import find_profile

    if list:
        known = self.layout.repositories("tables")
        return CriterionList(find_profile(self.layout, known, str(profile), settings))
    if rejects is not None:
        check_form(Path(rejects))
    self.settings.trust.require("plugins")
    layout, names, chosen = choose_profile(self, repos, profile, rules, settings)
    results = run_filters(
        layout, names, chosen, self.reporter, execution.with_workers(self.settings.processes)
    )
    if rejects is None:
        return Results(results)
    dropped = dropped_subjects(layout, names, chosen)
    write_rows(dropped.to_reader(), Path(rejects))
    return Results(results, [f"{rejects} has {count(len(dropped), 'dropped subject')}"])


def funnel(
    self: OpenWorkspace,
    *repos: str,
    profile: Profile = "default",
    rules: Rules = "default",
    settings: Changes | None = None,
    output: Path | str | None = None,
) -> Funnels:
    """Show what each criterion drops, on its own and in sequence.

    Example: goldpan funnel --profile verified --output funnel.svg

    Args:
        settings (CRITERION.KEY=VALUE): A setting of a criterion, as given to `goldpan filter`.
        output: Also draw the funnel, to a .svg, .png or .html file.
    """
    from goldpan.filters.funnel import read_funnels

    layout, names, chosen = choose_profile(self, repos, profile, rules, settings)
    funnels = read_funnels(layout, names, chosen)
    if output is not None:
        from goldpan.report.plots import plot_funnel

        plot_funnel(list(funnels.shown), Path(output))
    return funnels


def why(self: OpenWorkspace, subject: str, *, rules: Rules = "default") -> Explanation:
    """Explain an issue, pull request or discussion: references, pairs, verdicts, raw replies.

    Example: goldpan why numpy/numpy#12345

    Args:
        subject (OWNER/NAME#NUMBER): The issue, pull request or discussion, or its address on
            GitHub.
    """
    from goldpan.lineage.explain import explain

    layout = existing(self.layout)
    return explain(paired_layout(layout, layout.repositories("tables"), rules), subject)


def choose_profile(
    self: OpenWorkspace,
    repos: Sequence[str],
    profile: str | Path,
    rules: str,
    settings: Changes | None = None,
) -> tuple[WorkspaceLayout, list[str], FilterProfile]:
    """Return the paths by pairing rules, the repositories, and the profile that judges them.

    Raises as `known_repositories` and `find_profile` do.
    """
    from goldpan.filters.stored import find_profile

    names = known_repositories(self.layout, repos, "tables")
    layout = paired_layout(self.layout, names, rules)
    return layout, names, find_profile(layout, names, str(profile), settings)


def review(
    self: OpenWorkspace,
    *repos: str,
    profile: Profile = "default",
    rules: Rules = "default",
    model: str | Sequence[str] = (),
    base_url: str | None = None,
    settings_file: Path | str | None = None,
    settings: Changes | None = None,
    subject: str | Sequence[str] = (),
    limit: Count | None = None,
    max_cost: float | None = None,
    batch: bool = False,
    dry_run: bool = False,
    calibrate: str | Path | None = None,
) -> ReviewResult | Results[Calibration]:
    """Ask language models to judge what a profile keeps (FAUN-Eval, section 3.3.3).

    The key comes from OPENAI_API_KEY. Every request and answer is stored, so running again
    repeats no request. Exits with 3 while requests remain.

    Example: goldpan review --model gpt-4o --dry-run

    Args:
        model (NAME): A model to ask.
        base_url (URL): An OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1.
        settings_file: A TOML file: models, prices and the like (docs/filtering.md).
        settings: A setting over those of the file, such as agreement=0.6.
        subject (NAME): What to review, issue or pair. (default: both)
        limit: At most this many subjects of each kind per repository.
        max_cost (MONEY): Stop before spending more than this.
        batch: Use the Batch API.
        dry_run: Only estimate the cost; nothing is sent.
        calibrate (PROJECT): Compare earlier reviews with people's verdicts: an annotation
            project's name, or a Parquet file.
    """
    from goldpan.annotation.review.calibration import calibrate_reviews
    from goldpan.annotation.review.request import load_review_settings
    from goldpan.annotation.review.run import run_review

    layout, names, chosen = choose_profile(self, repos, profile, rules)
    if calibrate is not None:
        pulled = layout.root / "annotations" / str(calibrate) / "verdicts.parquet"
        people = pulled if pulled.exists() else Path(calibrate)
        return calibrate_reviews(layout, names, chosen.name, people)
    options = {
        "models": several(model) or None,
        "base_url": base_url,
        "subjects": several(subject) or None,
        "limit": limit,
        "max_cost": max_cost,
        "batch": batch or None,
    }
    stated = {name: value for name, value in options.items() if value is not None}
    file = None if settings_file is None else Path(settings_file)
    reviewing = load_review_settings(file, {**(settings or {}), **stated})
    self.settings.trust.require("plugins")
    return run_review(layout, names, chosen, reviewing, self.reporter, dry_run=dry_run)
