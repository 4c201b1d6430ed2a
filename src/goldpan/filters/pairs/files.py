"""Criteria on what a pair changes: code and no tests, tests and code, or documentation alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, Literal

import pyarrow as pa

from goldpan.code.languages import CODE_SUFFIXES
from goldpan.code.paths import is_test_change
from goldpan.filters.criterion import KEYS, Criterion, answer_table
from goldpan.filters.repo_view import RepoView
from goldpan.git.objects import Objects

# "Test" as a word in camel case, or "test" at the start of a word in lower or upper case, so that
# "latest", "contest" and "attestation" are none; and compounds that end in "test".
_TEST_WORD = re.compile(
    r"Test|(?:^|[^A-Za-z])(?:test|TEST)"
    r"|(?i:(?:^|[^a-z])(?:unit|conf|doc|self|py|g|load|smoke|perf|run|my|auto|sys)tests?(?![a-z]))"
)
_NO_TEST_WORD = re.compile(r"testa(?:ment|tor|te)|testif(?:y|ie)|testimon|testosterone", re.I)
_SPEC_FOLDER = re.compile(r"(?:^|/)spec/")
_UNKNOWN = "it may change tests alone; run goldpan clone"
_SPEC_FILE = re.compile(r"_spec\.rb$|[._-]spec\.[cm]?[jt]sx?$")


@dataclass(frozen=True, slots=True)
class SuffixSettings:
    """The suffixes of code, and the signs of a test."""

    more: tuple[str, ...] = ()
    """Suffixes that count as well, such as `.sql`."""
    fewer: tuple[str, ...] = ()
    """Suffixes that do not count, such as `.sh`."""
    tests: Literal["words", "contains", "kept"] = "words"
    """words: `test` as a word of the path, and spec files. contains: the letters anywhere.
    kept: tests count as code."""


# Git tells what was merged; without it, GitHub's own list stands for it.
_QUERY = """
SELECT p.issue, p.pull_repo, p.pull,
       CASE WHEN coalesce(r.state, 'none') <> 'none' THEN c.paths ELSE f.paths END AS paths,
       CASE WHEN q.number IS NULL THEN 'pull-not-mined'
            WHEN coalesce(r.state, 'none') <> 'none' OR q.changed_files = 0 THEN 'no-files'
            ELSE 'files-unknown' END AS obstacle
FROM pairs p
LEFT JOIN pulls q ON q.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
LEFT JOIN revisions r ON r.number = q.number
LEFT JOIN (SELECT number, list(path ORDER BY path) AS paths FROM changes GROUP BY number) c
  ON c.number = q.number
LEFT JOIN (SELECT number, list(path ORDER BY path) AS paths
           FROM files GROUP BY number) f
  ON f.number = q.number
ORDER BY p.issue, p.pull_repo, p.pull
"""


def is_test_by_words(path: str) -> bool:
    """Return whether a path has a word for tests: `test_x.py`, not `latest.py` or `contest/`."""
    return (
        _TEST_WORD.search(_NO_TEST_WORD.sub("", path)) is not None
        or _SPEC_FILE.search(path) is not None
        or (path.endswith(".rb") and _SPEC_FOLDER.search(path) is not None)
    )


def is_test_by_letters(path: str) -> bool:
    """Return whether a path contains the letters "test", the paper's rule."""
    return "test" in path.lower()


_TESTS: dict[str, Callable[[str], bool]] = {
    "words": is_test_by_words,
    "contains": is_test_by_letters,
    "kept": lambda path: False,
}


def _judge(view: RepoView, settings: SuffixSettings) -> pa.Table:
    suffixes = (CODE_SUFFIXES | set(settings.more)) - set(settings.fewer)
    is_test = _TESTS[settings.tests]

    def fault(path: str) -> str | None:
        if PurePosixPath(path).suffix.lower() not in suffixes:
            return "no-code"
        return "test" if is_test(path) else None

    return answer_table(
        [_verdict(pair, fault) for pair in view.sql(_QUERY).to_pylist()], *KEYS["pair"]
    )


def _verdict(pair: dict[str, Any], fault: Callable[[str], str | None]) -> dict[str, object]:
    """Return the verdict on a pair; `fault` returns what is wrong with a path."""
    key = {name: pair[name] for name in KEYS["pair"]}
    if not pair["paths"]:
        unknown = _UNKNOWN if pair["obstacle"] == "files-unknown" else None
        return {**key, "reason": pair["obstacle"], "evidence": unknown}
    bad = [(path, problem) for path in pair["paths"] if (problem := fault(path))]
    path, reason = bad[0] if bad else (None, None)
    evidence = path[:200] if path else None
    return {**key, "keep": not bad, "reason": reason, "value": len(bad), "evidence": evidence}


SUFFIX = Criterion(
    name="suffix",
    subject="pair",
    definition="Keeps pairs that change only files with a code suffix, none of them a test.",
    source="FAUN-Eval, section 3.3.2, Suffix Detection",
    settings=SuffixSettings,
    judge=_judge,
    version=3,
)


@dataclass(frozen=True, slots=True)
class DocumentationSettings:
    """Words for documentation; one that ends in `*` stands for all that begin so."""

    exact: tuple[str, ...] = ("DOC", "DOCS")
    """Words whose case counts."""
    words: tuple[str, ...] = ("docs", "documentation", "documentations", "docstring*", "readm*")
    """Words in any case."""
    prefixes: tuple[str, ...] = ("doc", "docs")
    """Words in any case that count at the beginning: `doc: x`, `[doc] x`, `doc(api): x`."""


_NOTHING = r"[^\x00-\x{10FFFF}]"

_TITLES = """
SELECT p.issue, p.pull_repo, p.pull, found IS NULL AS keep,
       CASE WHEN found IS NOT NULL THEN 'documentation' END AS reason,
       CASE WHEN found IS NOT NULL THEN place || ' title: ' || left(found, 150) END AS evidence
FROM pairs p
LEFT JOIN issues i ON i.number = p.issue
LEFT JOIN pulls q ON q.number = p.pull AND lower(p.pull_repo) = lower(p.repo),
LATERAL (
  SELECT regexp_matches(coalesce(i.title, ''), $pattern) AS by_issue,
         regexp_matches(coalesce(q.title, ''), $pattern) AS by_pull
),
LATERAL (
  SELECT CASE WHEN by_pull THEN 'pull' WHEN by_issue THEN 'issue' END AS place,
         CASE WHEN by_pull THEN q.title WHEN by_issue THEN i.title END AS found
)
"""


def _judge_titles(view: RepoView, settings: DocumentationSettings) -> pa.Table:
    return view.sql(_TITLES, pattern=_pattern(settings))


def _pattern(settings: DocumentationSettings) -> str:
    """Return an expression, in RE2's syntax, for a title that has one of the words."""
    parts = [
        *(rf"(?:^|[^A-Za-z0-9_]){_word(word)}" for word in settings.exact),
        *(rf"(?i:(?:^|[^A-Za-z0-9_]){_word(word)})" for word in settings.words),
        *(rf"(?i:^[\s\[(]*{re.escape(word)}\s*[:\])(])" for word in settings.prefixes),
    ]
    return "|".join(parts) or _NOTHING


def _word(word: str) -> str:
    whole = word.removesuffix("*")
    return re.escape(whole) + ("" if whole != word else r"(?:[^A-Za-z0-9_]|$)")


DOCUMENTATION = Criterion(
    name="documentation",
    subject="pair",
    definition="Keeps pairs without a word for documentation in either title.",
    source="FAUN-Eval, section 3.3.2, Doc Change Detection",
    settings=DocumentationSettings,
    judge=_judge_titles,
)


@dataclass(frozen=True, slots=True)
class TestsAndCodeSettings:
    """The largest change."""

    most_files: int = 50
    """The most changed files, tests among them."""


_CHANGED = """
SELECT number, path, kind, blob_before, blob_after FROM changes
WHERE number IN (SELECT pull FROM pairs WHERE lower(pull_repo) = lower(repo))
ORDER BY number, path
"""
_TESTED = """
SELECT p.issue, p.pull_repo, p.pull, c.keep,
       CASE WHEN r.number IS NULL THEN 'no-history' WHEN r.state = 'none' THEN 'no-state'
            WHEN c.number IS NULL THEN 'no-files' ELSE c.reason END AS reason,
       c.value,
       CASE WHEN r.number IS NULL THEN 'run goldpan clone' ELSE c.evidence END AS evidence
FROM pairs p
LEFT JOIN revisions r ON r.number = p.pull AND lower(p.pull_repo) = lower(p.repo)
LEFT JOIN tests_and_code c ON c.number = r.number AND r.state <> 'none'
"""


def _judge_tests(view: RepoView, settings: TestsAndCodeSettings) -> pa.Table:
    judged: list[dict[str, Any]] = []
    with view.objects() as objects:
        if objects:
            for number, files in groupby(view.rows(_CHANGED), key=lambda row: row["number"]):
                judged.append({"number": number, **_sum_up(list(files), objects, settings)})
    return view.sql_over("tests_and_code", answer_table(judged, "number"), _TESTED)


def _sum_up(
    files: list[dict[str, Any]], objects: Objects, settings: TestsAndCodeSettings
) -> dict[str, bool | str | float | None]:
    """Return the verdict on one pull request's files."""
    if len(files) > settings.most_files:
        return _tested("many-files", len(files), files[0]["path"])
    if binary := [row["path"] for row in files if row["kind"] != "text"]:
        return _tested("binary-file", len(files), binary[0])
    tests = [row["path"] for row in files if is_test_change(row, objects.blob)]
    code = [
        row["path"]
        for row in files
        if row["path"] not in tests and PurePosixPath(row["path"]).suffix.lower() in CODE_SUFFIXES
    ]
    if not tests:
        return _tested("no-tests", len(files), files[0]["path"])
    if not code:
        return _tested("no-code", len(files), tests[0])
    return _tested(None, len(files), tests[0])


def _tested(reason: str | None, files: int, path: str) -> dict[str, bool | str | float | None]:
    return {"keep": reason is None, "reason": reason, "value": files, "evidence": path[:200]}


TESTS_AND_CODE = Criterion(
    name="tests-and-code",
    subject="pair",
    definition="Keeps pairs whose pull request changes tests and code, all of it text.",
    source="Goldpan: a fix is proved by tests that fail before it and pass after it (SWE-bench)",
    settings=TestsAndCodeSettings,
    judge=_judge_tests,
    version=4,
)
