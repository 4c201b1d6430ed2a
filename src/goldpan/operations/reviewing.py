"""Review of what a profile keeps, by language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.operations.filtering import choose_profile
from goldpan.operations.repositories import dataset_directory
from goldpan.operations.values import Count, several

if TYPE_CHECKING:
    from goldpan.annotation.review.calibration import Calibrations
    from goldpan.annotation.review.request import ReviewSettings
    from goldpan.annotation.review.run import ReviewResult
    from goldpan.annotation.review.votes import ReviewEstimate
    from goldpan.operations.workspace import Workspace


def review(
    self: Workspace,
    *repos: str,
    profile: str | Path = "default",
    rules: str = "default",
    model: str | Sequence[str] = (),
    base_url: str | None = None,
    settings_file: Path | str | None = None,
    settings: Mapping[str, Any] | None = None,
    subject: str | Sequence[str] = (),
    dataset: str | Path | None = None,
    limit: Count | None = None,
    max_cost: float | None = None,
    batch: bool = False,
    dry_run: bool = False,
    calibrate: str | Path | None = None,
) -> ReviewResult | ReviewEstimate | Calibrations:
    """Ask language models to judge what a profile keeps (FAUN-Eval, section 3.3.3).

    The key comes from OPENAI_API_KEY. Every request and answer is stored, so running again
    repeats no request. Exits with 3 while requests remain.

    Args:
        profile (NAME): The profile whose verdicts say what is kept.
        rules (NAME): The rules whose pairs to review: default, unconfirmed, or a plugin's.
        model (NAME): A model to ask; may be given several times.
        base_url (URL): An OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1.
        settings_file: A TOML file: models, prices, samples and the like (docs/filtering.md).
        settings: A setting over those of the file, such as samples=3; may be given several times.
        subject (NAME): What to review, issue or pair; may be given several times. (default: both)
        dataset (DATASET): Review the labels of this dataset of a classification task instead: its
            name in the workspace, or its directory.
        limit: At most this many subjects of each kind per repository.
        max_cost (MONEY): Stop before spending more than this.
        batch: Use the Batch API.
        dry_run: Only estimate the cost; nothing is sent.
        calibrate (PROJECT): Compare earlier reviews with people's verdicts: an annotation
            project's name, or a Parquet file.

    """
    from goldpan.annotation.review.run import (
        estimate_labels,
        estimate_review,
        review_labels,
        run_review,
    )

    if calibrate is not None:
        return _calibrations(self, repos, profile, rules, str(calibrate))
    options = {
        "models": several(model) or None,
        "base_url": base_url,
        "subjects": several(subject) or None,
        "limit": limit,
        "max_cost": max_cost,
        "batch": batch or None,
    }
    stated = {name: value for name, value in options.items() if value is not None}
    reviewing = _settings(settings_file, {**(settings or {}), **stated})
    self.settings.trust.require("plugins")
    with self.reporting() as reporter:
        if dataset is not None:
            directory = dataset_directory(self.layout, dataset)
            if dry_run:
                return estimate_labels(self.layout, directory, reviewing)
            return review_labels(self.layout, directory, reviewing, reporter)
        layout, names, chosen = choose_profile(self, repos, profile, rules)
        work = estimate_review if dry_run else run_review
        return work(layout, names, chosen, reviewing, reporter)


def _settings(path: Path | str | None, options: Mapping[str, Any]) -> ReviewSettings:
    from goldpan.annotation.review.request import load_review_settings

    return load_review_settings(None if path is None else Path(path), options)


def _calibrations(
    self: Workspace, repos: Sequence[str], profile: str | Path, rules: str, people: str
) -> Calibrations:
    """Return how models' verdicts fare beside people's, by language and by signal."""
    from goldpan.annotation.review.calibration import calibrate_reviews

    layout, names, chosen = choose_profile(self, repos, profile, rules)
    pulled = layout.root / "annotations" / people / "verdicts.parquet"
    file = pulled if pulled.exists() else Path(people)
    return calibrate_reviews(layout, names, chosen.name, file)
