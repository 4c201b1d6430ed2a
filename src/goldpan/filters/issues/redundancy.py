"""Drops issues that people called duplicates, or whose text is nearly that of another.

GitHub marks an issue when a comment says ``Duplicate of #12``. Older issues, and those that
nobody with the right to do so marked, only say it in other words. Quotes and code do not count.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from goldpan.filters.criterion import Criterion, answer_table, query_judge
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.repo_view import RepoView
from goldpan.text.keywords import ADDRESS, Mention, find_mentions, leading_mention
from goldpan.text.markdown import OBJECT, MarkdownBlock, blocks, paragraphs

CANDIDATE = (
    r"(?is)\b(?:dup(?:e|licate)?[sd]?\b|(?:same|identical) (?:[a-z]+ )?(?:as|to)\b"
    r"|already (?:been )?(?:reported|tracked|filed|covered|raised|answered|explained|asked)\b"
    r"|\b(?:superseded|subsumed|tracked|continued|moved) (?:by|in|under|at|to)\b|\bin favou?r of\b)"
    r".{0,100}(?:#[1-9]|/(?:issues|pulls?)/[1-9]|gh-[1-9])"
    r"|\b(?:clos|mark)(?:ed?|ing)\b.{0,60}\bas (?:an? )?(?:exact )?dup|^\s*[\[(]\s*dup"
)
"""Pattern, in RE2's syntax, of the texts to parse: parsing is a hundred times slower."""

# "duplicated by #12" says the reverse: no reference follows the word.
_KEYWORD = re.compile(
    r"\b(?:dup(?:e|licate)?[sd]?(?: of| to)?"
    r"|(?:same|identical) (?:(?:issue|bug|problem|thing|error|report) )?(?:as|to)"
    r"|already (?:been )?(?:reported|tracked|filed|covered|raised)"
    r"(?: (?:in|by|as|at|under|here))?)\b",
    re.I,
)
# Each says so of another issue only: what supersedes or covers it may be a pull request that fixes.
_MOVED = re.compile(
    r"(?:(?:\A|(?<=[.!?] )|\b(?:this|it|that|which|issue|bug|thread)"
    r"(?: (?:is|was|has|been|being|will|be|now|already|also))* )"
    r"(?:superseded|subsumed|tracked|continued|moved) (?:by|in|under|at|to)"
    r"|\balready (?:been )?(?:answered|explained|asked)(?: (?:in|by|under|at|here))?"
    r"|\bclos(?:e|ed|ing)(?: [a-z]+){0,3} in favou?r of)\b",
    re.I,
)
_BETWEEN = re.compile(r"(?:[\s:(\[\"'*_]|\b(?:the|issue|bug|ticket|pr|pull|request)\b)*", re.I)
_CLOSED_AS = re.compile(
    r"\b(?:clos|mark)(?:ed?|ing)\b[^.!?\n]{0,40}\bas (?:an? )?(?:exact )?dup\w*+(?! (?:of|to)\b)",
    re.I,
)
_TITLE = re.compile(r"\s*[\[(]\s*dup(?:e|licate)?\s*[\])]", re.I)

_CLAUSE_END = re.compile(r"[.!?;\n](?=\s|\Z)|\b(?:but|because|since|so)\b|\bno[,:]", re.I)
_NEGATION = re.compile(r"\b(?:not|no|never|nor|neither|without|isnt|wasnt)\b|n['’]t\b", re.I)
_GUESS = re.compile(
    r"\b(?:may(?:be)?|might|could|would|can|possibl[ey]|perhaps|probab(?:ly|le)|potential(?:ly)?"
    r"|likely|seems?|looks?|appears?|suspect|guess|think|believe|assume|if|whether|similar|almost|nearly"
    r"|partial(?:ly)?|unsure|unclear)\b",
    re.I,
)
# What stands between another issue and the word where that issue is the subject:
# "#15 is a duplicate of #12", "closing #15 as a duplicate of #12".
_LINKS_SUBJECT = re.compile(
    r"(?:\s*(?:is|was|are|were|as|being|which|also|just|clearly|an?|the|exact|[,()'’\"]))*\s*", re.I
)
_NEAR = 160
_BEFORE = 40
_EXCERPT = 120


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence; `marker` where a paragraph begins with ``Duplicate of #12``."""

    marker: bool
    guess: bool
    excerpt: str
    if_issue: int | None = None
    """The number in the same repository that must be an issue's for the claim to hold."""


def find_claims(text: str, repo: str, number: int, *, title: bool = False) -> Iterator[Claim]:
    """Yield the claims in a text that issue `number` of `repo` is a duplicate."""
    if title and _TITLE.match(text):
        yield Claim(False, False, _excerpt(text, 0))
    for block in paragraphs(text) if title else blocks(text):
        yield from _claims(block, repo, number)


def _claims(block: MarkdownBlock, repo: str, number: int) -> Iterator[Claim]:
    text = block.text
    mentions = find_mentions(text)
    starts = [mention.start for mention in mentions]

    def others(start: int, end: int) -> list[Mention]:
        """Return the other issues that are named between two offsets."""
        near = mentions[bisect_left(starts, start) : bisect_left(starts, end)]
        return [mention for mention in near if not _is_own(mention, repo, number)]

    for word in (*_KEYWORD.finditer(text), *_MOVED.finditer(text)):
        target = _target(block, _end_of_filler(text, word.end()), others)
        if target is None or _is_own(target, repo, number):
            continue
        clause = _clause_before(text, word.start())
        subjects = others(word.start() - _NEAR, word.start())
        if _NEGATION.search(clause) or any(
            _LINKS_SUBJECT.fullmatch(text, subject.end, word.start()) for subject in subjects
        ):
            continue
        is_question = text[target.end : target.end + 1] == "?"
        marker = word.start() == 0 and word[0].lower() == "duplicate of"
        guess = is_question or _GUESS.search(clause) is not None
        at_home = (target.repo or repo).lower() == repo.lower()
        if_issue = target.number if word.re is _MOVED and at_home else None
        yield Claim(marker, guess, _excerpt(text, word.start()), if_issue)
    for word in _CLOSED_AS.finditer(text):
        clause = _clause_before(text, word.start())
        if not others(*word.span()) and not _NEGATION.search(clause):
            yield Claim(False, _GUESS.search(clause) is not None, _excerpt(text, word.start()))


def _end_of_filler(text: str, start: int) -> int:
    filler = _BETWEEN.match(text, start)
    return filler.end() if filler else start


def _target(
    block: MarkdownBlock, offset: int, others: Callable[[int, int], list[Mention]]
) -> Mention | None:
    """Return the reference or link to another issue at an offset."""
    for mention in others(offset, offset + 1):
        return mention
    node = block.node_at(min(offset, len(block.text) - 1))
    address = leading_mention(node.href) if node.href and offset < node.end else None
    if address is None:
        return None
    return replace(address, start=node.start, end=node.end)


def _is_own(mention: Mention, repo: str, number: int) -> bool:
    return mention.number == number and (mention.repo or repo).lower() == repo.lower()


def _clause_before(text: str, start: int) -> str:
    return _CLAUSE_END.split(ADDRESS.sub("", text[max(0, start - _NEAR) : start]))[-1]


def _excerpt(text: str, start: int) -> str:
    """Return the words around an offset; pictures and code stand in it as dots."""
    before, space, word = text[max(0, start - _BEFORE) : start].rpartition("\n")[2].partition(" ")
    lead = before + space + word if start <= _BEFORE else word
    return " ".join((lead + text[start : start + _EXCERPT]).replace(OBJECT, "...").split())


@dataclass(frozen=True, slots=True)
class RedundancySettings:
    """The signs of a duplicate that count."""

    events: bool = True
    """True where GitHub's own marks count: closed as a duplicate, marked as one."""
    labels: tuple[str, ...] = ("duplicate", "is duplicate", "resolution-duplicate", "dupe")
    """Labels that mean duplicate, without a prefix that ends in a colon or slash, in any case."""
    keywords: bool = True
    """True where words other than `Duplicate of #12` count: `dupe of`, `duplicates`, `same as`,
    `already reported in` before a reference, `closing as a duplicate`, and before another issue
    `closing in favor of`, `superseded by`, `tracked in`, `already answered in`."""
    guesses: bool = False
    """True where `possibly a duplicate of #12` counts."""
    body: bool = True
    """True where the title and the body count, too."""
    literal: bool = False
    """True where any `Duplicate of #12` in a comment counts, even one that is quoted, in code or
    negated; the paper's wording."""
    bots: bool = False
    """True where bots' texts count; the paper removes bots only after this check."""


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


def _judge(view: RepoView, settings: RedundancySettings) -> pa.Table:
    signs = view.sql(
        _SIGNS,
        repo=view.repo,
        literal=settings.literal,
        literal_pattern=_LITERAL,
        bots=settings.bots,
    )
    claims = _counted_claims(view, settings)
    labels = {label.lower() for label in settings.labels}
    rows = []
    for sign in signs.to_pylist():
        claim = claims.get(sign["issue"])
        duplicate_labels = (name for name in sign["labels"] or () if plain_label(name) in labels)
        candidates = (
            ("state-reason", sign["closed"] if settings.events else None),
            ("marked", sign["marked"] if settings.events else None),
            ("label", next(duplicate_labels, None)),
            ("marker", sign["literal"]),
            ("marker" if claim and claim.marker else "keyword", claim.excerpt if claim else None),
        )
        reason, evidence = next((each for each in candidates if each[1]), (None, None))
        rows.append(
            {"issue": sign["issue"], "keep": reason is None, "reason": reason, "evidence": evidence}
        )
    return answer_table(rows, "issue")


def _counted_claims(view: RepoView, settings: RedundancySettings) -> dict[int, Claim]:
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


REDUNDANCY = Criterion(
    name="redundancy",
    subject="issue",
    definition="Keeps issues that nobody marked or described as a duplicate.",
    source="FAUN-Eval, section 3.3.1, Redundancy",
    settings=RedundancySettings,
    judge=_judge,
    uses=("bots",),
    version=2,
)


# GitHub makes discussions of issues, which stay behind as copies: of a cluster whose first text is
# of the other kind, the first of this kind is kept.
_COPIES = """
WITH copies AS (
  SELECT d.*, relation = 'sibling' OR lower(d.representative_repo) = lower($repo)
           AND d.representative_number NOT IN (SELECT number FROM issues)
           AND i.number = min_by(i.number, (i.created_at, i.number)) OVER (PARTITION BY d.cluster)
         AS stays
  FROM issues i JOIN duplicates d ON d.number = i.number AND lower(d.repo) = lower($repo)
  WHERE d.relation <> 'representative'
)
SELECT i.number AS issue, coalesce(stays, true) AS keep,
       CASE WHEN stays THEN NULL
            WHEN relation = 'exact' THEN 'exact-duplicate'
            WHEN relation = 'near' THEN 'near-duplicate' END AS reason,
       similarity AS value,
       'duplicate of ' || representative_repo || '#' || representative_number AS evidence
FROM issues i LEFT JOIN copies USING (number)
"""


NEAR_DUPLICATES = Criterion(
    name="near-duplicates",
    subject="issue",
    definition="Keeps the earliest of issues that say nearly the same, and tasks of one template.",
    source="Goldpan: copies weigh double and leak from training into test data",
    settings=DuplicateSettings,
    judge=query_judge(_COPIES),
    discussions=True,
    version=2,
    reusable=False,
)
