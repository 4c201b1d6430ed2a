"""Context of builders: the kept subjects of one repository, its fix pairs, and earlier texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa

from goldpan.builders.request import BEFORE_FIX, BuildRequest
from goldpan.filters.criterion import Subject
from goldpan.filters.profile import Profile
from goldpan.filters.repo_view import RepoView
from goldpan.git.trees import CommitPair, patches
from goldpan.miners.versions import TextHistory, Work, open_versions
from goldpan.text.redaction import redact

NOT_KNOWN = "earlier-text"
LATER = "written-later"
REASONS = {
    NOT_KNOWN: "the earlier text is withheld, or its edits were not mined",
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
            return LATER if found else NOT_KNOWN
        title, body = (version.text if version else None for version in versions)
        if title is None or body is None or any(text.lacks for text in found):
            return NOT_KNOWN
        return title, body

    def comment(self, number: int, comment: int, moment: datetime) -> str | None:
        """Return a comment as it stood before a moment; None where that is not known."""
        for text in self.written.get(number, ()):
            if text.source == "comment" and text.comment_id == comment:
                version = text.before(moment)
                return version.text if version and not text.lacks else None
        return None


@dataclass(frozen=True, slots=True)
class BuildContext:
    """The kept subjects of one repository, in the table `kept`: issue, pull_repo, pull."""

    view: RepoView
    request: BuildRequest
    subject: Subject
    """What rows are made of: issues, pairs or discussions."""
    raw: Mapping[int, tuple[str, ...]]
    """The archived replies by entry number."""
    dropped: Counter[str]
    """Subjects that passed the filters and have no row, by reason."""
    redacted: Counter[str]
    """Redactions in texts, by kind."""
    named: Mapping[int, int | None] | None = None
    """The reply that a required review names as the answer, by issue."""

    @property
    def profile(self) -> Profile:
        """The profile that kept the subjects, with the choice of answers that is asked for."""
        return self.request.chosen

    def keep(self, verdicts: pa.Table, required: Sequence[str]) -> None:
        """Make the table `kept` out of verdicts: subjects that every deciding criterion keeps.

        Those that a `required` criterion does not keep are counted as dropped by it.
        """
        before = self.view.keep(verdicts, self.subject, ())
        for position, criterion in enumerate(required, 1):
            after = self.view.keep(verdicts, self.subject, required[:position])
            if after < before:
                self.dropped[criterion] += before - after
            before = after

    def earlier(self) -> EarlierTexts | None:
        """Return the earlier texts of what is kept, where rows are made of those."""
        if self.request.texts != BEFORE_FIX:
            return None
        kept = self.view.sql("SELECT DISTINCT issue, pull FROM kept").to_pydict()
        pulls = {pull for pull in kept["pull"] if pull is not None}
        with open_versions(self.view.workspace, self.view.repo) as versions:
            return EarlierTexts(versions.of(set(kept["issue"])), versions.work(pulls))

    def drop_all(self, reason: str) -> None:
        """Count all kept subjects as dropped."""
        count = self.view.connection.execute("SELECT count(*) FROM kept").fetchall()[0][0]
        self.dropped[reason] += count

    def rows(self, query: str, **values: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query, a batch in memory at a time."""
        return self.view.rows(query, **values)

    def repository(self) -> dict[str, Any]:
        """Return the columns that all examples of the repository share."""
        facts = self.view.sql("SELECT language, license FROM repositories").to_pylist()
        owner, _, name = self.view.repo.partition("/")
        return {
            "repo": self.view.repo,
            "owner": owner,
            "name": name,
            "language": facts[0]["language"] if facts else None,
            "license": facts[0]["license"] if facts else None,
        }

    def text(self, text: str | None) -> str:
        """Return a text as it may be published, with what is private made unreadable."""
        redacted = redact(text or "")
        self.redacted.update(redacted.counts)
        return redacted.text


_AS_STORED = ("issue", "pull", "created_at", "updated_at", "closed_at", "merged_at", "signals")
_AT_ONCE = 64
"""Pairs whose patches git is asked for at once."""
PAIR_REASONS = {
    "no-history": "the history of the code was not cloned, or lies in another repository",
    "no-state": "the states before and after the pull request are lost",
    "several-files": "the pull request changes more than one file, or none",
    **REASONS,
}
"""Why a kept pair may give no example, by reason."""
_PAIRS = """
WITH single AS (
  SELECT number, count(*) AS files, any_value(COLUMNS(* EXCLUDE (repo, number)))
  FROM changes GROUP BY number
)
SELECT k.issue, k.pull, i.title, i.body, i.created_at, i.updated_at, i.closed_at, i.labels,
       p.title AS pull_title, p.body AS pull_body, p.created_at AS pull_created_at,
       p.merged_at, pairs.signals,
       r.before_sha, r.after_sha, r.merge_base, single.*,
       CASE WHEN r.state IS NULL THEN 'no-history' WHEN r.state = 'none' THEN 'no-state'
            WHEN single.files IS DISTINCT FROM 1 AND NOT $several_files THEN 'several-files'
       END AS obstacle
FROM kept k
JOIN pairs USING (issue, pull_repo, pull)
JOIN issues i ON i.number = k.issue
LEFT JOIN pulls p ON p.number = k.pull AND k.pull_repo = $repo
LEFT JOIN revisions r ON r.number = p.number
LEFT JOIN single ON single.number = p.number
ORDER BY k.issue, k.pull_repo, k.pull
"""


def fix_pairs(
    context: BuildContext, family: str, *, several_files: bool = False
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each kept pair that can be built, and the columns that its examples share.

    The others are counted in `context.dropped` with the reason. Unless `several_files` are wanted,
    a pair has the columns of the one file that it changes.
    """
    repository = context.repository()
    repo, earlier = repository["repo"], context.earlier()
    for pair in context.rows(_PAIRS, repo=repo, several_files=several_files):
        if pair["obstacle"]:
            context.dropped[pair["obstacle"]] += 1
            continue
        if earlier:
            work = earlier.work.get(pair["pull"])
            texts = earlier.question(pair["issue"], work.begun) if work else NOT_KNOWN
            if isinstance(texts, str):
                context.dropped[texts] += 1
                continue
            pair["title"], pair["body"] = texts
        raw = (*context.raw.get(pair["issue"], ()), *context.raw.get(pair["pull"], ()))
        yield (
            pair,
            {
                **repository,
                **{name: pair[name] for name in _AS_STORED},
                "id": f"{family}:{repo}#{pair['issue']}+{pair['pull']}",
                "title": context.text(pair["title"]),
                "body": context.text(pair["body"]),
                "labels": [context.text(label) for label in pair["labels"] or ()],
                "raw": tuple(dict.fromkeys(raw)),
            },
        )


PatchedPairs = tuple[
    list[dict[str, Any]], Iterator[tuple[dict[str, Any], dict[str, Any], str | None]]
]
"""Some pairs, then each with the columns that its examples share, and its patch."""


def patched_pairs(
    context: BuildContext, family: str, *, several_files: bool = False
) -> Iterator[PatchedPairs]:
    """Yield some of the pairs of `fix_pairs` at a time, then each with its columns and patch."""
    clone = context.view.workspace.clone(context.view.repo)
    waiting = fix_pairs(context, family, several_files=several_files)
    while batch := list(islice(waiting, _AT_ONCE)):
        pairs = [pair for pair, _ in batch]
        texts = patches(
            clone, [CommitPair(pair["merge_base"], pair["after_sha"]) for pair in pairs]
        )
        yield pairs, ((*both, patch) for both, patch in zip(batch, texts, strict=True))
