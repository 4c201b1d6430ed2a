"""Subjects that models review: issues with an answer, fix pairs (FAUN-Eval, section 3.3.3).

Their texts are redacted before they leave the machine.
"""

from __future__ import annotations

import hashlib
import html
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import msgspec
import orjson
import pyarrow as pa

from goldpan.core.resources import named
from goldpan.core.sanitize import for_prompt, line, without_tokens
from goldpan.core.schemas.stages import DUPLICATES, VERDICTS
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.filters.criterion import KEYS, Subject
from goldpan.filters.profile import Profile
from goldpan.filters.repo_view import RepoView, open_repo_view
from goldpan.filters.stored import current_verdicts
from goldpan.git.trees import CommitPair, patches
from goldpan.llm.parts import PromptPart
from goldpan.text.markers import nfkc
from goldpan.text.redaction import redact

ReviewSubject = Literal["issue", "pair"]


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A subject as a model sees it."""

    repo: str
    subject: ReviewSubject
    issue: int | None = None
    pull_repo: str | None = None
    pull: int | None = None
    parts: tuple[PromptPart, ...] = ()
    obstacle: str | None = None
    """Why it is not sent to models: the texts to judge by are missing."""
    suspicions: tuple[str, ...] = ()
    """Possible attempts to steer the model, one in each line."""
    comment_ids: tuple[int, ...] = ()
    """The ids of all replies, in the order of their numbers, by which models name them."""


@dataclass(frozen=True, slots=True)
class SubjectKind:
    """A kind of subject that models can review."""

    subject: ReviewSubject
    prompt: str
    """The name of its prompt, which is the criterion's name in the verdicts."""
    required: tuple[str, ...]
    """Criteria that a subject has to pass, whether or not the profile lets them decide."""
    read: Callable[[RepoView], Iterator[ReviewItem]]
    """Yields a case for each row of the view `kept`: issue, pull_repo, pull."""


_FIRST, _LAST = 40, 24
"""Replies that are shown of a long discussion, from its beginning and its end."""
_ROLES = frozenset(("owner", "member", "collaborator", "contributor", "first_time_contributor"))
_DISCUSSIONS = """
SELECT i.number, i.title, i.body, i.author AS asker, t.comment_id, t.author,
       t.author_association AS role, t.text
FROM kept k JOIN issues i ON i.number = k.issue
LEFT JOIN texts t ON t.number = i.number AND t.source = 'comment' AND NOT t.robot
ORDER BY i.number, t.created_at, t.comment_id
"""
_ISSUES_AT_ONCE = 256


def _read_issues(view: RepoView) -> Iterator[ReviewItem]:
    """Yield each kept issue with its discussion, in which people are named by role alone."""
    rows = (
        row
        for batch in view.connection.sql(_DISCUSSIONS).to_arrow_reader(_ISSUES_AT_ONCE)
        for row in batch.to_pylist()
    )
    for number, group in groupby(rows, itemgetter("number")):
        comments = list(group)
        replies = [row for row in comments if row["comment_id"] is not None]
        yield ReviewItem(
            view.repo,
            "issue",
            number,
            None,
            None,
            (*_question(comments[0]), *_reply_parts(replies, comments[0]["asker"])),
            comment_ids=tuple(row["comment_id"] for row in replies),
        )


def _question(issue: dict[str, Any]) -> tuple[PromptPart, PromptPart]:
    title, body = issue["title"] or "", issue["body"] or ""
    return PromptPart("issue title", title), PromptPart("issue body", body)


def _reply_parts(replies: list[dict[str, Any]], asker: str | None) -> list[PromptPart]:
    parts = []
    for number, reply in enumerate(replies, 1):
        if _FIRST < number <= len(replies) - _LAST:
            continue
        who = reply["role"] if reply["role"] in _ROLES else "somebody else"
        if reply["author"] is not None and reply["author"] == asker:
            who = "the asker"
        parts.append(PromptPart(f"reply {number} of {len(replies)} by {who}", reply["text"]))
    return parts


_ISSUE = SubjectKind("issue", "question-answer", ("answered",), _read_issues)


_PAIRS_AT_ONCE = 64
_FILES = 30
"""Changed files that are shown."""
_LONGEST = 200_000
"""The most characters of one file's diff; unlike other texts, a diff has no limit."""
_FILE = re.compile(r"^(?=diff --git )", re.M)
_PAIRS = """
SELECT k.issue, k.pull_repo, k.pull, i.title, i.body, p.title AS pull_title, p.body AS pull_body,
       r.merge_base, r.after_sha
FROM kept k JOIN issues i ON i.number = k.issue
LEFT JOIN pulls p ON p.number = k.pull AND lower(k.pull_repo) = lower($repo)
LEFT JOIN revisions r ON r.number = p.number
ORDER BY k.issue, k.pull_repo, k.pull
"""


def _read_pairs(view: RepoView) -> Iterator[ReviewItem]:
    """Yield each kept pair with its diff, without which it cannot be judged."""
    relation = view.connection.sql(_PAIRS, params={"repo": view.repo})
    clone = view.workspace.clone(view.repo)
    cloned = clone.exists()
    for batch in relation.to_arrow_reader(_PAIRS_AT_ONCE):
        rows = batch.to_pylist()
        cloned_rows = [row for row in rows if cloned and row["merge_base"] and row["after_sha"]]
        pairs = [CommitPair(row["merge_base"], row["after_sha"]) for row in cloned_rows]
        diffs = patches(clone, pairs)
        for row in rows:
            yield _case(view.repo, row, next(diffs) if row in cloned_rows else None)


def _case(repo: str, row: dict[str, Any], patch: str | None) -> ReviewItem:
    case = ReviewItem(repo, "pair", row["issue"], row["pull_repo"], row["pull"])
    if not patch:
        return replace(case, obstacle="no-diff")
    changes = [file for file in _FILE.split(patch) if file.strip()]
    return replace(
        case,
        parts=(
            *_question(row),
            PromptPart("pull request title", row["pull_title"] or ""),
            PromptPart("pull request body", row["pull_body"] or ""),
            *(
                PromptPart(f"change {number} of {len(changes)}", file[:_LONGEST], "code")
                for number, file in enumerate(changes[:_FILES], 1)
            ),
        ),
    )


_PAIR = SubjectKind("pair", "problem-solution", (), _read_pairs)

KINDS: dict[Subject, SubjectKind] = {kind.subject: kind for kind in (_ISSUE, _PAIR)}


# Texts that try to steer the model that reads them.
#
# Patterns find known attacks: a text in which nothing is found may still be hostile, which is why
# texts are fenced as well. Subjects with such texts go to people.

_DECLARED = tomllib.loads(
    (files("goldpan.annotation.review") / "injection.toml").read_text("utf-8")
)
_PART = re.compile("<([A-Z]+)>")


def _finder(alternatives: list[str]) -> re.Pattern[str]:
    parts = _DECLARED["parts"]
    whole = _PART.sub(lambda match: parts[match[1]], "|".join(alternatives))
    return re.compile(whole, re.I | re.M)


_FINDERS = {kind: _finder(written) for kind, written in _DECLARED["patterns"].items()}
_TAGS = re.compile("(?<!\U0001f3f4)(?<![\U000e0020-\U000e007f])[\U000e0020-\U000e007f]+")
_REORDERED = re.compile("[\u202d\u202e]")
_ZEROS = re.compile("&#0++(?=[0-9])")
_NO_CHARACTER = re.compile("&#[0-9]{8,}+;?")


def find_injection(text: str) -> list[str]:
    """Return possible attempts to steer a model: kind and words, a line for each kind.

    Words are searched as a model may read them: without invisible characters, with hidden tags
    spelled out, compatibility forms folded and HTML entities resolved.
    """
    suspicions = [f"hidden: {spelled}" for spelled in _hidden(text)][:1]
    tags = "\n".join(_spelled(match[0]) for match in _TAGS.finditer(text))
    plain = nfkc(_resolved(for_prompt(text) + "\n" + tags))
    for kind, finder in _FINDERS.items():
        if match := finder.search(plain):
            suspicions.append(f"{kind}: {line(match[0], 120)}")
    return suspicions


def _hidden(text: str) -> Iterator[str]:
    for match in _TAGS.finditer(text):
        yield line(_spelled(match[0]), 120) or "tag characters"
    if _REORDERED.search(text):
        yield "characters that reverse the direction of writing"


def _resolved(text: str) -> str:
    """Return a text without HTML entities; Python refuses numbers of thousands of digits."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", _ZEROS.sub("&#", text)))


def _spelled(tags: str) -> str:
    return "".join(chr(ord(tag) - 0xE0000) for tag in tags if ord(tag) < 0xE007F)


def read_cases(
    workspace: WorkspaceLayout,
    repo: str,
    profile: Profile,
    kind: SubjectKind,
    limit: int | None = None,
) -> Iterator[ReviewItem]:
    """Yield the subjects of a kind that a profile keeps, with `limit` so many drawn by hash.

    Texts are redacted, and plain. Raises `WorkspaceError` where the repository is not filtered by
    the profile as it stands.
    """
    verdicts = current_verdicts(workspace, repo, profile)
    bots = profile.settings["bots"]
    none = DUPLICATES.schema.empty_table()
    with open_repo_view(workspace, repo, bots, none, 1) as view:
        view.keep(verdicts, kind.subject, kind.required)
        if limit is not None:
            _draw_subjects(view, limit)
        for case in kind.read(view):
            yield prepare(case)


def prepare(case: ReviewItem) -> ReviewItem:
    """Return a case with its suspicions, and its texts plain and redacted."""
    parts = []
    suspicions: Counter[str] = Counter()
    for part in case.parts:
        suspicions.update(f"{part.name}: {suspicion}" for suspicion in find_injection(part.text))
        text = without_tokens(for_prompt(redact(for_prompt(part.text)).text))
        parts.append(replace(part, text=text))
    return replace(case, parts=tuple(parts), suspicions=tuple(suspicions))


def _draw_subjects(view: RepoView, limit: int) -> None:
    """Leave `limit` subjects in `kept`, always the same ones; a higher limit only adds some."""
    rows = view.sql("SELECT issue, pull_repo, pull FROM kept").to_pylist()
    rows.sort(key=lambda row: hashlib.sha256(orjson.dumps([view.repo, *row.values()])).digest())
    schema = pa.schema([VERDICTS.schema.field(name) for name in KEYS["pair"]])
    sample = pa.Table.from_pylist(rows[:limit], schema=schema)
    view.connection.register("drawn", sample)
    view.connection.execute("CREATE OR REPLACE TEMP TABLE kept AS FROM drawn")


_CASES = msgspec.json.Decoder(ReviewItem)


def store_cases(path: Path, cases: Iterable[ReviewItem]) -> None:
    """Write cases, whose texts are redacted, to a file from which they are read several times."""
    with named(path), path.open("wb") as file:
        file.writelines(orjson.dumps(case) + b"\n" for case in cases)


def stored_cases(*paths: Path) -> Iterator[ReviewItem]:
    """Yield the cases in files."""
    for path in paths:
        with path.open("rb") as file:
            yield from map(_CASES.decode, file)
