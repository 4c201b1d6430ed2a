"""The votes of stored reviews on the rows of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldpan.annotation.review.stored import read_reviews
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.datasets.provenance import read_provenance, rules_and_profile
from goldpan.filters.answers import named_comment


class ModelVotes:
    """The votes of stored reviews on the rows of a dataset.

    Raises `WorkspaceError` where a repository was not reviewed.
    """

    def __init__(self, workspace: WorkspaceLayout, directory: Path) -> None:
        provenance = read_provenance(directory)
        rules, profile = rules_and_profile(provenance)
        layout = workspace.by_rules(rules[0]) if rules else workspace
        subject = "issue" if provenance["family"] == "qa" else "pair"
        self._found: dict[tuple[object, ...], tuple[str, int | None]] = {}
        for origin in provenance["repositories"]:
            verdicts = read_reviews(layout, str(origin["repo"]), profile or "default")
            for row in verdicts.to_pylist():
                if row["subject"] == subject:
                    name = {True: "keep", False: "drop", None: "undecided"}[row["keep"]]
                    key = (row["repo"].lower(), row["issue"], row["pull"])
                    self._found[key] = name, named_comment(row["evidence"])

    def on(self, row: Mapping[str, Any]) -> str:
        """Return the vote on a row; on an answer it counts where it names this one."""
        key = (row["repo"].lower(), row["issue"], row.get("pull"))
        name, reply = self._found.get(key, ("none", None))
        other = reply is not None and reply != row.get("answer_comment_id")
        return "another reply" if other else name
