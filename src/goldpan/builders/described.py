"""What provenance and card tell of how rows came to be: mining, pairing rules, reviews."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import pyarrow.compute as pc

from goldpan.annotation.review.stored import read_reviewers, read_reviews, review_path
from goldpan.annotation.studio.project import open_project, projects
from goldpan.core.archive import Archive
from goldpan.core.parquet import read_table
from goldpan.core.workspace import Workspace
from goldpan.datasets.provenance import Source
from goldpan.filters.stored import inputs_digest
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.pairing import find_rules


def mined_source(workspace: Workspace, repo: str) -> Source:
    """Return what provenance says of a mined repository."""
    archive = Archive(workspace.raw(repo))
    times = sorted(record.meta["at"] for record in archive.records if record.meta.get("at"))
    inputs = {"tables": inputs_digest(workspace, repo)}
    for path in sorted({record.path for record in archive.records}):
        with path.open("rb") as file:
            inputs[f"raw/{path.name}"] = hashlib.file_digest(file, "sha256").hexdigest()
    facts = read_table(workspace.table(repo, "repositories")).to_pylist()
    known = facts[0] if facts else {}
    source = Source(
        repo,
        datetime.fromisoformat(times[0]) if times else None,
        datetime.fromisoformat(times[-1]) if times else None,
        inputs,
        license=known.get("license"),
        license_source=known.get("license_source"),
    )
    if not archive.records:  # tables without replies: what GitHub announced is not known
        return source
    coverage = measure_coverage(workspace, repo)
    return replace(
        source,
        via=coverage.via,
        complete=coverage.complete,
        announced={count.kind: count.announced for count in coverage.counts},
        stored={count.kind: count.stored for count in coverage.counts},
    )


def described_rules(names: Iterable[str | None]) -> dict[str, dict[str, Any]]:
    """Return what pairing rules ask for, by name."""
    rules = (find_rules(name) for name in sorted({name for name in names if name}))
    return {
        rule.name: {**asdict(rule), "signals": list(rule.signals), "texts": list(rule.texts)}
        for rule in rules
    }


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
