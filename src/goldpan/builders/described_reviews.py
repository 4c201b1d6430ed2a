"""What provenance and card tell of reviews by models and people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from goldpan.annotation.review.stored import read_reviewers, read_reviews, review_path
from goldpan.annotation.studio.project import open_project, projects
from goldpan.core.parquet import read_table
from goldpan.core.workspace import Workspace


def described_reviews(
    workspace: Workspace, repos: Sequence[str], profile: str, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return who did the required reviews, by review.

    Of models their names, prompt and samples, and how many subjects they kept; of people, by
    project, how many annotators there were and how their decisions came about.
    """
    reviews: dict[str, dict[str, Any]] = {name: {} for name in names}
    for repo in repos:
        if names and review_path(workspace, repo, profile).exists():
            verdicts = read_reviews(workspace, repo, profile)
            for name, who in read_reviewers(workspace, repo, profile).items():
                if name in reviews:
                    keeps = verdicts.filter(pc.equal(verdicts["criterion"], name))["keep"]
                    models = reviews[name].setdefault("models", {**who, "subjects": 0, "kept": 0})
                    models["subjects"] += len(keeps)
                    models["kept"] += pc.sum(keeps).as_py() or 0
    for title in projects(workspace) if names else ():
        project = open_project(workspace, title)
        path = project.path("decisions.parquet")
        if project.facts.form in reviews and path.exists():
            table = read_table(path, columns=["how", "annotators"])
            people = {login for logins in table["annotators"].to_pylist() for login in logins}
            reviews[project.facts.form].setdefault("people", {})[project.name] = {
                "annotators": len(people),
                "subjects": len(table),
                **dict(sorted(Counter(table["how"].to_pylist()).items())),
            }
    return reviews
