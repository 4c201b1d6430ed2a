"""Drops issues that people called duplicates of others."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from goldpan.filters.criterion import Criterion
from goldpan.filters.duplicate_claims import CANDIDATE, Claim, find_claims
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class Settings:
    """Which signs of a duplicate count."""

    events: bool = True
    """Whether GitHub's own marks count: closed as a duplicate, marked as one."""
    labels: tuple[str, ...] = ("duplicate", "is duplicate", "resolution-duplicate", "dupe")
    """Labels that mean duplicate, without a prefix that ends in a colon or slash, in any case."""
    keywords: bool = True
    """Whether other words than `Duplicate of #12` count: `dupe of`, `duplicates`, `same as`,
    `already reported in` before a reference, `closing as a duplicate`, and before another issue
    `closing in favor of`, `superseded by`, `tracked in`, `already answered in`."""
    guesses: bool = False
    """Whether `possibly a duplicate of #12` counts."""
    body: bool = True
    """Whether the title and the body count, too."""
    literal: bool = False
    """Whether `Duplicate of #12` counts wherever a comment contains it: quoted, in code or
    negated; the paper's words."""
    bots: bool = False
    """Whether bots' texts count; the paper removes bots only after this check."""


_LITERAL = "(?i)duplicate of #[1-9]"

_SIGNS = """
SELECT i.number AS issue,
       CASE WHEN state_reason = 'duplicate' THEN 'closed as a duplicate' END AS closed,
       'marked as a duplicate of ' || target AS marked,
       'comment ' || literal || ' contains "Duplicate of #"' AS literal,
       labels
FROM issues i
LEFT JOIN (
  SELECT number, min(target) AS target FROM (
    SELECT number, target_repo || '#' || target_number AS target,
           max("at") FILTER (signal = 'marked_as_duplicate') AS marked,
           max("at") FILTER (signal = 'unmarked_as_duplicate') AS unmarked,
           bool_or(signal = 'unmarked_as_duplicate') AS undone
    FROM refs
    WHERE signal IN ('marked_as_duplicate', 'unmarked_as_duplicate') AND lower(repo) = lower($repo)
    GROUP BY number, target_repo, target_number
  )
  WHERE marked > unmarked OR NOT undone
  GROUP BY number
) USING (number)
LEFT JOIN (
  SELECT number, min(comment_id) AS literal FROM texts
  WHERE $literal AND source = 'comment' AND ($bots OR NOT robot)
    AND regexp_matches(text, $literal_pattern)
  GROUP BY number
) USING (number)
ORDER BY i.number
"""

_CANDIDATES = """
SELECT number, source, comment_id, text FROM texts
WHERE ($bots OR NOT robot) AND (source = 'comment' OR $body) AND regexp_matches(text, $candidate)
ORDER BY number, source, created_at, comment_id
"""

_GROUP = re.compile(r"^.*[:/|]")
_EDGES = re.compile(r"^[^a-z]+|(?<![^a-z])[^a-z]++$")


def _judge(view: RepoView, settings: Settings) -> pa.Table:
    signs = view.sql(
        _SIGNS,
        repo=view.repo,
        literal=settings.literal,
        literal_pattern=_LITERAL,
        bots=settings.bots,
    )
    claims = _claims(view, settings)
    labels = {label.lower() for label in settings.labels}
    columns: dict[str, list[object]] = {"issue": [], "keep": [], "reason": [], "evidence": []}
    for sign in signs.to_pylist():
        claim = claims.get(sign["issue"])
        claim_evidence = (
            ("marker" if claim.marker else "keyword", claim.excerpt) if claim else ("", None)
        )
        label = next(
            (candidate for candidate in sign["labels"] or () if plain_label(candidate) in labels),
            None,
        )
        judged = (
            ("state-reason", sign["closed"] if settings.events else None),
            ("marked", sign["marked"] if settings.events else None),
            ("label", label),
            ("marker", sign["literal"]),
            claim_evidence,
        )
        reason, evidence = next((candidate for candidate in judged if candidate[1]), (None, None))
        for name, value in zip(
            columns, (sign["issue"], reason is None, reason, evidence), strict=True
        ):
            columns[name].append(value)
    kinds = (pa.int64(), pa.bool_(), pa.string(), pa.string())
    return pa.table(
        [pa.array(values, kind) for values, kind in zip(columns.values(), kinds, strict=True)],
        names=list(columns),
    )


def _claims(view: RepoView, settings: Settings) -> dict[int, Claim]:
    """Return the first sentence about each issue that counts."""
    texts = view.sql(_CANDIDATES, bots=settings.bots, body=settings.body, candidate=CANDIDATE)
    pulls = set(view.sql("SELECT number FROM pulls")["number"].to_pylist())
    claims: dict[int, Claim] = {}
    for row in texts.to_pylist():
        number = row["number"]
        if number in claims:
            continue
        for claim in find_claims(row["text"], view.repo, number, title=row["source"] == "title"):
            counts = claim.marker or (settings.keywords and claim.if_issue not in pulls)
            if counts and (settings.guesses or not claim.guess):
                where = row["comment_id"] or row["source"]
                claims[number] = Claim(claim.marker, claim.guess, f"{where}: {claim.excerpt}")
                break
    return claims


def plain_label(label: str) -> str:
    """Return a label without its group, such as "status:", and without marks around it."""
    return _EDGES.sub("", _GROUP.sub("", label.lower()))


CRITERION = Criterion(
    name="redundancy",
    subject="issue",
    definition="Keeps issues that nobody marked or described as a duplicate.",
    source="FAUN-Eval, section 3.3.1, Redundancy",
    settings=Settings,
    judge=_judge,
    uses=("bots",),
)
