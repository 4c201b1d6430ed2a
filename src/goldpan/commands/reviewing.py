"""Commands that have models and people look at what the filters keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from goldpan.commands.filtering import ProfileName, RulesName
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    OwnTasks,
    Repos,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.own_tasks import use_tasks
from goldpan.core.show import show
from goldpan.core.terminal import Terminal, clean, titled
from goldpan.core.workspace import Workspace
from goldpan.filters.basis import Basis, basis_blocks
from goldpan.operations.repositories import known_repositories

if TYPE_CHECKING:  # these take long to import
    from goldpan.annotation.review.calibration import Calibration
    from goldpan.annotation.review.planner import ReviewEstimate
    from goldpan.annotation.review.reviewer import ReviewResult
    from goldpan.annotation.review.settings import ReviewSettings
    from goldpan.core.proportions import Estimate


def review(
    repo: Repos = None,
    profile: ProfileName = "default",
    rules: RulesName = "default",
    model: Annotated[
        list[str] | None, typer.Option(help="A model to ask; may be given several times.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="An OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1."),
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="A TOML file: models, prices, samples and the like.")
    ] = None,
    subjects: Annotated[
        list[str] | None, typer.Option(help="issue or pair. (default: both)")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(help="Review the labels of this dataset of a classification task instead."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="At most this many subjects of each kind per repository.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(help="Stop before spending more than this.")
    ] = None,
    batch: Annotated[
        bool | None, typer.Option("--batch/--no-batch", help="Use the Batch API.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate the cost.")] = False,
    calibrate: Annotated[
        str | None,
        typer.Option(
            help="Compare earlier reviews with people's verdicts: an annotation project's name, "
            "or a Parquet file."
        ),
    ] = None,
    own: OwnTasks = None,
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Ask language models to judge what a profile keeps (FAUN-Eval, section 3.3.3).

    The key comes from OPENAI_API_KEY. Every request and answer is stored, so running again
    repeats no request. Exits with 3 while requests remain.
    """
    from goldpan.annotation.review.run import estimate_review, run_review
    from goldpan.annotation.review.settings import load_review_settings
    from goldpan.filters.basis import find_basis
    from goldpan.filters.stored import find_profile

    flags = {
        "models": model,
        "base_url": base_url,
        "subjects": subjects,
        "limit": limit,
        "max_cost": max_cost,
        "batch": batch,
    }
    if calibrate is not None:
        _calibrate(calibrate, repo, profile, rules, workspace, json)
        return
    review_settings = load_review_settings(settings, flags)
    own_settings = settings_of(workspace=workspace)
    own_settings.trust.require("plugins")
    lab = Workspace(own_settings.workspace, rules)
    use_tasks(lab.root, own)
    if dataset is not None:
        _labels(lab, dataset, review_settings, dry_run, json)
        return
    repos = known_repositories(lab, repo, "tables")
    chosen = find_profile(lab, repos, profile)
    bases = find_basis(lab, repos, chosen.name)
    described = [asdict(basis) for basis in bases]
    with reporting(json) as reporter:
        if dry_run:
            estimate = estimate_review(lab, repos, chosen, review_settings, reporter)
            value = {**asdict(estimate), "basis": described}
            print_result(json, value, lambda: print_estimate(estimate, bases))
            return
        result = run_review(lab, repos, chosen, review_settings, reporter)
    value = {**asdict(result), "basis": described}
    print_result(json, value, lambda: print_reviewed(result, bases))
    raise typer.Exit(0 if result.complete else PARTIAL)


def _labels(
    workspace: Workspace, dataset: Path, settings: ReviewSettings, dry_run: bool, json: bool
) -> None:
    """Review the labels of a dataset, or tell what that would cost."""
    from goldpan.annotation.review.labels import estimate_labels, review_labels

    with reporting(json) as reporter:
        if dry_run:
            estimate = estimate_labels(workspace, dataset, settings)
            print_result(json, asdict(estimate), lambda: print_estimate(estimate))
            return
        result = review_labels(workspace, dataset, settings, reporter)
    print_result(json, asdict(result), lambda: print_reviewed(result))
    raise typer.Exit(0 if result.complete else PARTIAL)


def _calibrate(
    people: str,
    repo: list[str] | None,
    profile: str,
    rules: str,
    workspace: Path | None,
    json: bool,
) -> None:
    """Show how models' verdicts fare beside people's, by language and by signal."""
    from goldpan.annotation.review.calibration import calibrate_reviews
    from goldpan.filters.basis import find_basis
    from goldpan.filters.stored import find_profile

    lab = Workspace(settings_of(workspace=workspace).workspace, rules)
    repos = known_repositories(lab, repo, "tables")
    pulled = lab.root / "annotations" / people / "verdicts.parquet"
    file = pulled if pulled.exists() else Path(people)
    name = find_profile(lab, repos, profile).name
    calibrations = calibrate_reviews(lab, repos, name, file)
    bases = find_basis(lab, repos, name)
    print_result(
        json,
        [asdict(calibration) for calibration in calibrations],
        lambda: print_calibrated(calibrations, bases),
    )


def print_estimate(planned: ReviewEstimate, bases: Sequence[Basis] = ()) -> None:
    """Show what a review would send and cost."""
    console = Terminal()
    for prompt, count in planned.subjects.items():
        console.print(f"{prompt}: {count:,} subjects")
    console.print(
        f"{planned.requests:,} requests to send, about {planned.input_tokens:,} tokens; "
        f"{planned.answered:,} are answered from the archive"
    )
    console.print(clean(f"They go to {planned.host}, with OPENAI_API_KEY if that is set"))
    if planned.cost is None:
        console.print("The cost is unknown: give [prices] in the settings file", markup=False)
    else:
        most = "" if planned.cost_at_most is None else f", at most {planned.cost_at_most:,.2f}"
        console.print(f"Cost: about {planned.cost:,.2f}{most}; {planned.cost_before:,.2f} before")
    show(basis_blocks(bases))


def print_reviewed(result: ReviewResult, bases: Sequence[Basis] = ()) -> None:
    """Show the verdicts of a review, and what they cost."""
    console = Terminal()
    table = Table("prompt", "subjects", "keep", "drop", "people", box=None, header_style="dim")
    for prompt, count in result.subjects.items():
        counts = (result.keep, result.drop, result.people)
        table.add_row(
            prompt, f"{count:,}", *(f"{by_prompt.get(prompt, 0):,}" for by_prompt in counts)
        )
    console.print(table)
    for reason, count in result.reasons.items():
        console.print(f"  {reason}: {count:,}")
    console.print(
        f"{result.sent:,} requests sent, {result.answered:,} answered from the archive, "
        f"{result.usage.input:,} tokens read and {result.usage.output:,} written, cost "
        f"{result.cost:,.2f} ({result.cost_before:,.2f} before), {result.seconds:.1f} s"
    )
    show(basis_blocks(bases))
    if not result.complete:
        console.print("Some requests remain: run the same command again")


def print_calibrated(calibrations: Sequence[Calibration], bases: Sequence[Basis]) -> None:
    """Show how models' verdicts fare beside people's."""
    console = Terminal()
    for calibration in calibrations:
        console.print(titled(calibration.criterion, ""))
        table = Table("subjects of", box=None, header_style="dim")
        for name in ("subjects", "precision of keep", "recall of keep", "kappa"):
            table.add_column(name, justify="right")
        for group in calibration.groups:
            figures = (group.precision, group.recall, group.kappa)
            table.add_row(group.name, f"{group.subjects:,}", *map(_estimate, figures))
        console.print(table)
        whole = calibration.groups[0].confusion
        for model, counts in whole.items():
            people = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            console.print(f"  model {model}: people {people}")
        console.print(
            f"  {len(calibration.disagreements):,} disagree; "
            f"{calibration.only_model:,} only the model judged, "
            f"{calibration.only_people:,} only people"
        )
    show(basis_blocks(bases))


def _estimate(value: Estimate) -> str:
    if value.value is None:
        return "-"
    if value.low is None or value.high is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"
