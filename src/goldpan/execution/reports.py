"""Reads what test runners report: one outcome a test, whatever the runner calls it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET  # expat bounds entity expansion since 2.4.1

import orjson

Outcome = Literal["passed", "failed", "skipped"]
ReportFormat = Literal["junit", "go-json"]
_MOST_BYTES = 256 << 20
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


class ReportError(ValueError):
    """A report that cannot be read."""


def read_reports(paths: Iterable[Path], form: ReportFormat) -> dict[str, Outcome]:
    """Return the outcome of each test of some reports, by its identifier.

    A test that is reported several times passed only where it passed each time. Identifiers that
    hold an address of memory differ from run to run and are left out. Raises `ReportError`.
    """
    outcomes: dict[str, Outcome] = {}
    for path in paths:
        if path.is_symlink() or path.stat().st_size > _MOST_BYTES:
            raise ReportError(f"{path.name} is too large, or a link")
        content = path.read_bytes()
        read = _junit(content) if form == "junit" else _go(content)
        for test, outcome in read.items():
            if _ADDRESS.search(test):
                continue
            earlier = outcomes.get(test)
            outcomes[test] = outcome if earlier in (None, "passed", outcome) else _worse(earlier)
    return outcomes


def _worse(earlier: Outcome | None) -> Outcome:
    return "failed" if earlier == "failed" else "skipped"


def _junit(content: bytes) -> dict[str, Outcome]:
    if b"<!DOCTYPE" in content[:4096] or b"<!ENTITY" in content:
        raise ReportError("the report declares entities, which no test runner does")
    try:
        root = ET.fromstring(content)  # noqa: S314 - no entities, see above
    except ET.ParseError as error:
        raise ReportError(f"the report is no XML: {error}") from None
    outcomes: dict[str, Outcome] = {}
    for case in root.iter("testcase"):
        test = _identifier(case.attrib)
        outcome = _outcome(case)
        if outcomes.get(test, outcome) != outcome:
            outcome = "failed"  # pytest reports an error of the teardown as a second case
        outcomes[test] = outcome
    return outcomes


def _outcome(case: ET.Element) -> Outcome:
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


def _identifier(case: Mapping[str, str]) -> str:
    """Return pytest's node identifier where the file is known, else class and name."""
    classname, name, file = (case.get(key, "") for key in ("classname", "name", "file"))
    if not file.endswith(".py"):
        return f"{classname}.{name}" if classname else name
    module = file.removesuffix(".py").replace("/", ".")
    if classname == module or not classname.startswith(f"{module}."):
        return f"{file}::{name}"
    classes = classname.removeprefix(f"{module}.").replace(".", "::")
    return f"{file}::{classes}::{name}"


def _go(content: bytes) -> dict[str, Outcome]:
    """Read the events of ``go test -json``."""
    ended: dict[str, Outcome] = {}
    known: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    for line in content.splitlines():
        if not line.startswith(b"{"):
            continue  # what the compiler prints
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ReportError(f"the report has a line that is no JSON: {error}") from None
        if "Test" in event and event.get("Action") in known:
            ended[f"{event.get('Package', '')}.{event['Test']}"] = known[event["Action"]]
    return ended
