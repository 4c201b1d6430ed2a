"""Keeps pairs whose changed files are code, and no tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

import pyarrow as pa

from goldpan.code.languages import CODE_SUFFIXES
from goldpan.filters.criterion import KEYS, Criterion, answer_table
from goldpan.filters.repo_view import RepoView

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
    version=2,
)
