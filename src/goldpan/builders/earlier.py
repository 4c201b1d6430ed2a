"""Texts as they stood at a moment, for rows that are to be free of what came later."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from goldpan.core.workspace import Workspace
from goldpan.miners.versions import TextHistory, Work, open_versions

UNTOLD = "earlier-text"
LATER = "written-later"
REASONS = {
    UNTOLD: "how the text stood earlier is withheld, or its edits were not mined",
    LATER: "the issue was written after its fix was begun, or its answer given",
}
"""Why a subject has no row with earlier texts, by reason."""


@dataclass(frozen=True, slots=True)
class EarlierTexts:
    """The versions of one repository's texts, and the work on its pull requests."""

    written: Mapping[int, tuple[TextHistory, ...]]
    work: Mapping[int, Work]

    def question(self, number: int, moment: datetime) -> tuple[str, str] | str:
        """Return title and body as they stood before a moment, or why they cannot be had."""
        found = [text for text in self.written.get(number, ()) if text.source != "comment"]
        versions = [text.before(moment) for text in found]
        if not found or any(version is None for version in versions):
            return LATER if found else UNTOLD
        title, body = (version.text if version else None for version in versions)
        if title is None or body is None or any(text.lacks for text in found):
            return UNTOLD
        return title, body

    def comment(self, number: int, comment: int, moment: datetime) -> str | None:
        """Return a comment as it stood before a moment; None where that is not known."""
        for text in self.written.get(number, ()):
            if text.source == "comment" and text.comment_id == comment:
                version = text.before(moment)
                return version.text if version and not text.lacks else None
        return None


def read_earlier(
    workspace: Workspace, repo: str, issues: Collection[int], pulls: Collection[int]
) -> EarlierTexts:
    """Return the earlier texts of issues or discussions."""
    with open_versions(workspace, repo) as versions:
        return EarlierTexts(versions.of(issues), versions.work(pulls))
