"""Criteria on the pull request of a pair: merged, its own work, of the same repository."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, NoSettings, query_judge

_IN_BODY = r"(?im)^[\s>*_-]{0,9}(?:this )?reverts:? (?:pr |pull request )?(?:https?://[^\s/]+/)?"
_IN_BODY += r"([\w.-]+/[\w.-]+)?(?:#|/pull/)(\d{1,9})\b"
_IN_TITLE = (
    r"(?i)^\W{0,9}revert(?:s|ed|ing)?:?\s(?:.*(?:\(|merge pull request )|pr |pull request )?"
)
_IN_TITLE += r"#(\d{1,9})(?:(?: from |:).*|\W*)$"
REVERTED = rf"""
hints AS (
  SELECT number, base_ref, unnest(list_concat(
    [regexp_extract(title, '{_IN_TITLE}', 1),
     CASE WHEN lower(said.place) IN ('', lower(repo)) THEN said.undone END],
    regexp_extract_all(lower(body), 'this reverts commit ([0-9a-f]{{7,40}})\b', 1))) AS hint
  FROM (SELECT *, regexp_extract(body, '{_IN_BODY}', ['place', 'undone']) AS said FROM pulls)
  WHERE merged
), reverts AS (
  SELECT h.number, u.number AS undone FROM hints h JOIN pulls u
    ON h.hint = CAST(u.number AS VARCHAR) AND u.base_ref IS NOT DISTINCT FROM h.base_ref
  UNION
  SELECT h.number, u.number FROM hints h JOIN pulls u
    ON left(h.hint, 7) = left(u.merge_sha, 7) AND starts_with(u.merge_sha, h.hint)
    AND u.base_ref IS NOT DISTINCT FROM h.base_ref
), chain AS (
  SELECT undone AS first, number, 1 AS n FROM reverts
  UNION ALL SELECT first, r.number, n + 1 FROM chain JOIN reverts r ON r.undone = chain.number
  WHERE n < 9
), reverted AS (
  SELECT first AS number, arg_max(number, n * 10_000_000_000 - number) AS by_pull FROM chain
  GROUP BY first HAVING max(n) % 2 = 1
)
"""  # noqa: S608 - all parts are our own
"""The query's part that gives each pull request that another reverted on the same branch, unless
that was reverted too; in the words of GitHub's button or of git, by number or commit."""

_MERGED = f"""
WITH RECURSIVE {REVERTED}
SELECT p.issue, p.pull_repo, p.pull, p.merged AND r.number IS NULL AS keep,
       CASE WHEN p.merged IS NULL THEN 'pull-not-mined' WHEN NOT p.merged THEN 'not-merged'
            WHEN r.number IS NOT NULL THEN 'reverted' END AS reason,
       'reverted by #' || r.by_pull AS evidence
FROM pairs p LEFT JOIN reverted r
  ON NOT $reverted AND p.merged AND r.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
"""  # noqa: S608 - both parts are our own


@dataclass(frozen=True, slots=True)
class MergedSettings:
    """What may have happened after the merge."""

    reverted: bool = False
    """True where pull requests count that another reverted, as in the paper."""


MERGED = Criterion(
    name="merged",
    subject="pair",
    definition="Keeps pairs whose pull request was merged, and not reverted by another.",
    source="FAUN-Eval, section 3.3.2, Merged Check",
    settings=MergedSettings,
    judge=query_judge(_MERGED),
    version=3,
)


TAKEN_IN = """
branch_merges AS (
  SELECT *, lag(merged_at) OVER (PARTITION BY head_ref, base_ref ORDER BY merged_at, number) AS last
  FROM pulls WHERE merged AND lower(head_repo) = lower(repo)
), taken_in AS (
  SELECT m.number, any_value(m.head_ref) AS branch, count(*) AS n,
         string_agg('#' || p.number, ', ' ORDER BY p.number) AS others
  FROM branch_merges m JOIN pulls p ON p.base_ref = m.head_ref AND p.number <> m.number
  WHERE p.merged AND p.merged_at <= m.merged_at AND (m.last IS NULL OR p.merged_at > m.last)
  GROUP BY m.number
)
"""
"""The query's part that gives each pull request that merges a branch of the repository, with those
that were merged into that branch since it was last merged."""

_OWN = f"""
WITH {TAKEN_IN}
SELECT p.issue, p.pull_repo, p.pull, t.n IS NULL AS keep,
       CASE WHEN t.n > 0 THEN 'integration-branch' END AS reason, t.n AS value,
       left(t.branch || ' had taken in ' || t.others, 200) AS evidence
FROM pairs p LEFT JOIN taken_in t ON t.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
"""  # noqa: S608 - both parts are our own


OWN_WORK = Criterion(
    name="own-work",
    subject="pair",
    definition="Keeps pairs whose pull request merges no branch into which others were merged.",
    source="Goldpan: a release merges what others fixed, with all that their commits say",
    settings=NoSettings,
    judge=query_judge(_OWN),
)


_SAME = """
SELECT issue, pull_repo, pull, lower(pull_repo) = lower(repo) AS keep,
       CASE WHEN lower(pull_repo) <> lower(repo) THEN 'elsewhere' END AS reason,
       CASE WHEN lower(pull_repo) <> lower(repo) THEN 'the fix is in ' || pull_repo END AS evidence
FROM pairs
"""


SAME_REPOSITORY = Criterion(
    name="same-repository",
    subject="pair",
    definition="Keeps pairs whose pull request is in the repository of the issue.",
    source="FAUN-Eval, section 3.2.2: pairs are those of one repository",
    settings=NoSettings,
    judge=query_judge(_SAME),
)


@dataclass(frozen=True, slots=True)
class RevisionAgreesSettings:
    """The required certainty of the change."""

    agrees: bool = True
    """True where files and lines must be as GitHub announced; else any known state will do."""


_REVISION = """
SELECT p.issue, p.pull_repo, p.pull,
       CASE WHEN r.number IS NULL THEN NULL
            ELSE r.state <> 'none' AND (NOT $agrees OR coalesce(r.agrees, true)) END AS keep,
       CASE WHEN r.number IS NULL THEN 'no-history' WHEN r.state = 'none' THEN 'no-state'
            WHEN $agrees AND NOT r.agrees THEN 'differs' END AS reason,
       CASE WHEN r.number IS NULL THEN 'run goldpan clone' WHEN r.state = 'none' THEN r.problem
            ELSE concat_ws(', ', 'read by ' || r.state, nullif(array_to_string(r.notes, ', '), ''))
       END AS evidence
FROM pairs p LEFT JOIN revisions r ON r.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
"""


REVISION_AGREES = Criterion(
    name="revision-agrees",
    subject="pair",
    definition="Keeps pairs whose files and line counts in git match those that GitHub announced.",
    source="Goldpan: files and patches come from git, which can have lost what was merged",
    settings=RevisionAgreesSettings,
    judge=query_judge(_REVISION),
)


@dataclass(frozen=True, slots=True)
class SingleFileSettings:
    """The allowed number of files."""

    maximum: int = 1
    """The most changed files; the paper's value."""


# Git tells what was merged; without it, GitHub's own count stands for it.
_FILES = """
WITH counts AS (
  SELECT p.number,
         CASE WHEN coalesce(r.state, 'none') <> 'none' THEN coalesce(c.files, 0)
              ELSE p.changed_files END AS files,
         coalesce(r.state, 'none') <> 'none' AS by_git
  FROM pulls p LEFT JOIN revisions r USING (number)
  LEFT JOIN (SELECT number, count(*) AS files FROM changes GROUP BY number) c USING (number)
)
SELECT p.issue, p.pull_repo, p.pull, files BETWEEN 1 AND $maximum AS keep,
       CASE WHEN n.number IS NULL THEN 'pull-not-mined' WHEN files IS NULL THEN 'files-unknown'
            WHEN files = 0 THEN 'no-files' WHEN files > $maximum THEN 'many-files' END AS reason,
       files AS value,
       CASE WHEN files IS NULL THEN NULL WHEN by_git THEN 'as git tells' ELSE 'as GitHub tells' END
         AS evidence
FROM pairs p LEFT JOIN counts n ON n.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
"""


SINGLE_FILE = Criterion(
    name="single-file",
    subject="pair",
    definition="Keeps pairs whose pull request changes exactly one file.",
    source="FAUN-Eval, section 3.3.2, File-Changed Count",
    settings=SingleFileSettings,
    judge=query_judge(_FILES),
)
