"""Reads reports that are lines or JSON: of go test, Rust's libtest, TAP, and Jest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from goldpan.execution.report_file import Outcome, ReportError

_LIBTEST = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
_LIBTEST_BINARY = re.compile(r"^\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
_TAP = re.compile(
    r"^( *)(not )?ok\b\s*(\d+)?\s*(?:-\s*)?([^#\n]*?)\s*(?:#\s*(skip|todo)\b.*)?$", re.I
)
_TAP_SUBTEST = re.compile(r"^( *)# Subtest: (.*)$")
_GO: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_JEST: dict[str, Outcome] = {
    "passed": "passed",
    "failed": "failed",
    "pending": "skipped",
    "skipped": "skipped",
    "todo": "skipped",
    "disabled": "skipped",
}
_LIBTEST_OUTCOMES: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def read_go(content: bytes) -> dict[str, Outcome]:
    """Read the events of ``go test -json``."""
    outcomes: dict[str, Outcome] = {}
    for line in content.splitlines():
        if not line.startswith(b"{"):
            continue  # what the compiler prints
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ReportError(f"the report has a line that is not JSON: {error}") from None
        action = event.get("Action")
        if "Test" in event and isinstance(action, str) and action in _GO:
            outcomes[f"{event.get('Package', '')}.{event['Test']}"] = _GO[action]
    return outcomes


def read_libtest(content: bytes) -> dict[str, Outcome]:
    """Read what ``cargo test`` prints; tests are named after the file of their binary."""
    outcomes: dict[str, Outcome] = {}
    binary = ""
    for line in content.decode("utf-8", "replace").splitlines():
        if match := _LIBTEST_BINARY.match(line):
            binary = match[1] or f"doc {match[2]}"
        elif match := _LIBTEST.match(line):
            test = f"{binary}::{match[1]}" if binary else match[1]
            _add(outcomes, test, _LIBTEST_OUTCOMES[match[2]])
    return outcomes


def read_tap(content: bytes) -> dict[str, Outcome]:
    """Read the Test Anything Protocol, subtests below their names."""
    outcomes: dict[str, Outcome] = {}
    groups: dict[int, str] = {}
    for line in content.decode("utf-8", "replace").splitlines():
        if match := _TAP_SUBTEST.match(line):
            depth = len(match[1])
            groups = {level: name for level, name in groups.items() if level < depth}
            groups[depth] = match[2].strip()
        elif match := _TAP.match(line):
            depth, name = len(match[1]), match[4].strip() or f"test {match[3] or ''}".strip()
            within = [groups[level] for level in sorted(groups) if level < depth]
            directive = (match[5] or "").lower()
            outcome: Outcome = "skipped" if directive else "failed" if match[2] else "passed"
            _add(outcomes, " > ".join((*within, name)), outcome)
    return outcomes


def read_jest(content: bytes) -> dict[str, Outcome]:
    """Read the JSON of Jest, which Vitest writes as well."""
    try:
        report = orjson.loads(content)
        outcomes: dict[str, Outcome] = {}
        for test, status in _jest_cases(report):
            if status in _JEST:
                _add(outcomes, test, _JEST[status])
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"the report is not the JSON of Jest: {error}") from None
    return outcomes


def _jest_cases(report: Any) -> Iterator[tuple[str, str]]:
    for file in report["testResults"]:
        path = str(file["name"]).removeprefix("/testbed/")
        for case in file["assertionResults"]:
            titles = (*case.get("ancestorTitles", ()), case["title"])
            yield f"{path} > {' > '.join(map(str, titles))}", case["status"]


def _add(outcomes: dict[str, Outcome], test: str, outcome: Outcome) -> None:
    """Note an outcome; a test that is reported with different ones failed."""
    outcomes[test] = outcome if outcomes.get(test, outcome) == outcome else "failed"
