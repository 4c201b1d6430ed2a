"""Commands that have models and people look at what the filters keep."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldpan.api.repositories import known_repositories
from goldpan.commands.filtering import ProfileName
from goldpan.commands.shared import (
    PARTIAL,
    Directory,
    Json,
    Repos,
    print_result,
    reporting,
    settings_of,
)
from goldpan.core.workspace import Workspace
from goldpan.show import reviewing as show

if TYPE_CHECKING:  # it takes long to import
    from goldpan.annotation.review.settings import ReviewSettings


def review(
    repo: Repos = None,
    profile: ProfileName = "default",
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
    workspace: Directory = None,
    json: Json = False,
) -> None:
    """Ask language models to judge what a profile keeps (FAUN-Eval, section 3.3.3).

    The key comes from OPENAI_API_KEY. Every request and answer is stored, so running again
    repeats no request. Exits with 3 while requests remain.
    """
    from goldpan.annotation.review.run import estimate_review, run_review
    from goldpan.annotation.review.settings import load_review_settings
    from goldpan.filters.profile import load_profile

    flags = {
        "models": model,
        "base_url": base_url,
        "subjects": subjects,
        "limit": limit,
        "max_cost": max_cost,
        "batch": batch,
    }
    if calibrate is not None:
        _calibrate(calibrate, repo, profile, workspace, json)
        return
    wanted = load_review_settings(settings, flags)
    place = Workspace(settings_of(workspace=workspace).workspace)
    if dataset is not None:
        _labels(place, dataset, wanted, dry_run, json)
        return
    chosen = load_profile(profile)
    repos = known_repositories(place, repo, "tables")
    with reporting(json) as reporter:
        if dry_run:
            estimate = estimate_review(place, repos, chosen, wanted, reporter)
            print_result(json, asdict(estimate), lambda: show.estimate(estimate))
            return
        found = run_review(place, repos, chosen, wanted, reporter)
    print_result(json, asdict(found), lambda: show.reviewed(found))
    raise typer.Exit(0 if found.complete else PARTIAL)


def _labels(
    place: Workspace, dataset: Path, wanted: ReviewSettings, dry_run: bool, json: bool
) -> None:
    """Review the labels of a dataset, or tell what that would cost."""
    from goldpan.annotation.review.labels import estimate_labels, review_labels

    with reporting(json) as reporter:
        if dry_run:
            estimate = estimate_labels(place, dataset, wanted)
            print_result(json, asdict(estimate), lambda: show.estimate(estimate))
            return
        found = review_labels(place, dataset, wanted, reporter)
    print_result(json, asdict(found), lambda: show.reviewed(found))
    raise typer.Exit(0 if found.complete else PARTIAL)


def _calibrate(
    people: str, repo: list[str] | None, profile: str, workspace: Path | None, json: bool
) -> None:
    """Show how models' verdicts fare beside people's, by language and by signal."""
    from goldpan.annotation.review.calibration import calibrate_reviews
    from goldpan.filters.profile import load_profile

    place = Workspace(settings_of(workspace=workspace).workspace)
    repos = known_repositories(place, repo, "tables")
    pulled = place.root / "annotations" / people / "verdicts.parquet"
    file = pulled if pulled.exists() else Path(people)
    found = calibrate_reviews(place, repos, load_profile(profile).name, file)
    print_result(json, [asdict(one) for one in found], lambda: show.calibrated(found))
