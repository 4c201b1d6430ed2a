"""Review of what a profile keeps, by language models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.operations.repositories import known_repositories

if TYPE_CHECKING:
    from goldpan.annotation.review.planner import ReviewEstimate
    from goldpan.annotation.review.reviewer import ReviewResult
    from goldpan.annotation.review.settings import ReviewSettings
    from goldpan.operations.workspace import Workspace


def review(
    self: Workspace,
    *repos: str,
    models: Sequence[str] = (),
    profile: str | Path = "default",
    rules: str = "default",
    settings: str | Path | None = None,
    **options: Any,
) -> ReviewResult:
    """Ask language models to judge what a profile keeps; no request is sent twice.

    `options` are settings of ``docs/review.md``, such as `base_url` and `max_cost`; a file
    with all of them is `settings`.
    """
    from goldpan.annotation.review.run import run_review
    from goldpan.filters.stored import find_profile

    review_settings = _review_settings(models, settings, options)
    self.settings.trust.require("plugins")
    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    chosen = find_profile(layout, names, str(profile))
    with self.reporting() as reporter:
        return run_review(layout, names, chosen, review_settings, reporter)


def predict_review(
    self: Workspace,
    *repos: str,
    models: Sequence[str] = (),
    profile: str | Path = "default",
    rules: str = "default",
    settings: str | Path | None = None,
    **options: Any,
) -> ReviewEstimate:
    """Return what `review` would send and cost; nothing is sent and nothing is written."""
    from goldpan.annotation.review.run import estimate_review
    from goldpan.filters.stored import find_profile

    review_settings = _review_settings(models, settings, options)
    names = known_repositories(self.layout, repos, "tables")
    layout = self.layout.by_rules(rules)
    chosen = find_profile(layout, names, str(profile))
    with self.reporting() as reporter:
        return estimate_review(layout, names, chosen, review_settings, reporter)


def _review_settings(
    models: Sequence[str], settings: str | Path | None, options: Mapping[str, Any]
) -> ReviewSettings:
    from goldpan.annotation.review.settings import load_review_settings

    flags = {**options, "models": list(models) or None}
    return load_review_settings(None if settings is None else Path(settings), flags)
