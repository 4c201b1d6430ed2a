"""Criteria on what binds a pair: the pull request says that it fixes the issue, and does alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pyarrow as pa

from goldpan.filters.criterion import Criterion, query_judge
from goldpan.filters.pairs.pull_request import REVERTED, TAKEN_IN
from goldpan.filters.repo_view import RepoView


@dataclass(frozen=True, slots=True)
class SaysFixesSettings:
    """The claims that count."""

    hedged: bool = False
    """True where a guess or question ("might close #1", "does this fix #1?") counts even if the
    issue was not closed by the merge, as GitHub says or within a minute of it."""
    comments: bool = True
    """True where a keyword in a comment or review alone counts even if the issue was neither closed
    within `minutes` of the merge nor linked to the pull request by GitHub. Each of the nine gold
    pairs that this alone would drop is a fix."""
    minutes: int = 60
    """How soon after the merge an issue was closed because of it."""


_CLAIMS = """
keywords AS (
  SELECT issue, pull_repo, pull,
         bool_and(e.where IN ('comment', 'review', 'review_comment')) AS remarked,
         first(e.excerpt ORDER BY e.where = 'body' DESC, e.excerpt) AS excerpt
  FROM (SELECT issue, pull_repo, pull, unnest(evidence) AS e FROM pairs)
  WHERE e.signal = 'keyword'
  GROUP BY ALL
), claims AS (
  SELECT p.issue, p.pull_repo, p.pull, p.stance, k.remarked, k.excerpt,
         list_has_any(p.signals, ['closed_by_pull', 'closed_by_commit'])
           OR coalesce(date_diff('second', q.merged_at, i.closed_at) BETWEEN 0 AND 60, false)
           AS closed,
         list_has_any(p.signals, ['closed_by_pull', 'closed_by_commit', 'closing_reference',
                                  'connected']) AS linked,
         date_diff('minute', q.merged_at, i.closed_at) BETWEEN 0 AND $minutes AS soon
  FROM pairs p LEFT JOIN keywords k USING (issue, pull_repo, pull)
  LEFT JOIN issues i ON i.number = p.issue
  LEFT JOIN pulls q ON q.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
), judged AS (
  SELECT *,
         CASE WHEN stance IN ('negated', 'partial') THEN stance
              WHEN stance IN ('supposed', 'asked') AND NOT $hedged AND NOT closed THEN stance
              WHEN remarked AND NOT linked AND NOT $comments AND soon IS NOT TRUE
              THEN 'only-in-comment' END AS reason
  FROM claims
)
"""
"""The query's part that gives each pair in `judged` the reason why its claim does not count."""

_SAYS = f"""
WITH {_CLAIMS}
SELECT issue, pull_repo, pull, reason IS NULL AS keep, reason,
       CASE WHEN reason IS NOT NULL THEN excerpt END AS evidence
FROM judged
"""  # noqa: S608 - both parts are our own


SAYS_FIXES = Criterion(
    name="says-fixes",
    subject="pair",
    definition="Keeps pairs whose pull request says plainly that it fixes the whole issue.",
    source='Goldpan: "does not fix #1" and "might fix #1" hold a closing keyword too',
    settings=SaysFixesSettings,
    judge=query_judge(_SAYS),
)


@dataclass(frozen=True, slots=True)
class OneToOneSettings:
    """The other pairs that count."""

    merged: bool = True
    """True where only pairs with a merged pull request count, as the paper drops the rest before;
    those of pull requests in repositories that were not mined always do."""
    doubted: bool = False
    """True where pairs count that `says-fixes`, with its defaults, or `own-work` drops, or whose
    pull request was reverted: neither a release nor "does not fix #1" nor a failed attempt says
    anything against the pull request that does."""
    backports: bool = False
    """True where a backport counts as another fix: a pull request to a branch other than the
    default one whose issue is fixed on that, or one that says that it brings a fix of the issue to
    another branch."""


_COPIES = r"(?im)\bback-?port|\bcherry[- ]?pick|^mergify/bp/"
_PARTNERS = f"""
WITH RECURSIVE {_CLAIMS}, {TAKEN_IN}, {REVERTED}, copies AS (
  SELECT number FROM pulls
  WHERE regexp_matches(concat_ws(chr(10), title, body, head_ref), '{_COPIES}')
  UNION SELECT number FROM commits WHERE message LIKE '%(cherry picked from commit %'
), claimed AS (
  SELECT p.*, lower(p.pull_repo) AS place, q.base_ref, c.number IS NOT NULL AS copies,
         (NOT $merged OR p.merged IS NOT FALSE)
           AND ($doubted OR j.reason IS NULL AND t.number IS NULL AND r.number IS NULL) AS counts,
         CASE WHEN q.number IS NULL THEN p.pull_repo ELSE '' END || '#' || p.pull AS name
  FROM pairs p JOIN (SELECT issue, pull_repo, pull, reason FROM judged) j
    USING (issue, pull_repo, pull)
  LEFT JOIN pulls q ON q.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
  LEFT JOIN taken_in t ON t.number = q.number
  LEFT JOIN reverted r ON r.number = q.number
  LEFT JOIN copies c ON c.number = q.number
), originals AS (
  SELECT p.issue, p.place, p.pull, min_by(o.name, o.pull) AS original
  FROM claimed p JOIN claimed o ON o.issue = p.issue AND o.place = p.place AND o.pull <> p.pull
  WHERE NOT $backports AND o.counts AND p.base_ref <> o.base_ref
    AND p.base_is_default IS NOT TRUE
    AND (p.base_is_default = false AND o.base_is_default OR p.copies AND NOT o.copies)
  GROUP BY ALL
), named AS (
  SELECT * REPLACE (counts AND original IS NULL AS counts)
  FROM claimed LEFT JOIN originals USING (issue, place, pull)
), fixes AS (
  SELECT p.issue, p.place, p.pull, count(*) AS n,
         'the issue is also paired with ' || string_agg(o.name, ', ' ORDER BY o.name) AS partners
  FROM named p JOIN named o ON o.issue = p.issue AND o.name <> p.name AND o.counts
  GROUP BY ALL
), fixed AS (
  SELECT p.issue, p.place, p.pull, count(*) AS n,
         'the pull is also paired with '
           || string_agg('#' || o.issue, ', ' ORDER BY o.issue) AS partners
  FROM named p JOIN named o ON o.place = p.place AND o.pull = p.pull AND o.issue <> p.issue
                            AND o.counts
  GROUP BY ALL
)
SELECT issue, pull_repo, pull, a.n IS NULL AND b.n IS NULL AND original IS NULL AS keep,
       CASE WHEN original IS NOT NULL THEN 'backport'
            WHEN a.n > 0 AND b.n > 0 THEN 'many-to-many' WHEN a.n > 0 THEN 'many-pulls'
            WHEN b.n > 0 THEN 'many-issues' END AS reason,
       coalesce(a.n, 0) + coalesce(b.n, 0) AS value,
       CASE WHEN original IS NOT NULL THEN 'the issue is fixed by ' || original
            ELSE left(nullif(concat_ws('; ', a.partners, b.partners), ''), 200) END AS evidence
FROM named LEFT JOIN fixes a USING (issue, place, pull) LEFT JOIN fixed b USING (issue, place, pull)
"""  # noqa: S608 - both parts are our own


def _judge(view: RepoView, settings: OneToOneSettings) -> pa.Table:
    claims = asdict(SaysFixesSettings())
    return view.sql(_PARTNERS, **asdict(settings), **claims)


ONE_TO_ONE = Criterion(
    name="one-to-one",
    subject="pair",
    definition="Keeps pairs whose issue has no other fix and whose pull fixes no other issue.",
    source="FAUN-Eval, section 3.3.2, One-to-One Fix Check",
    settings=OneToOneSettings,
    judge=_judge,
    version=5,
)
