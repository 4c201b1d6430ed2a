"""Reads what test runners report: one outcome a test, whatever the runner calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal
from xml.parsers import expat

from goldpan.execution.line_reports import read_go, read_jest, read_libtest, read_tap
from goldpan.execution.report_file import Outcome, ReportError

ReportFormat = Literal["junit", "go-json", "jest-json", "libtest", "tap"]
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def read_report(content: bytes, form: ReportFormat) -> dict[str, Outcome]:
    """Return the outcome of each test of a report, by its identifier.

    A test that is reported with different outcomes failed. Identifiers that hold an address of
    memory differ from run to run and are left out. Raises `ReportError`.
    """
    outcomes = _READERS[form](content)
    return {test: outcome for test, outcome in outcomes.items() if not _ADDRESS.search(test)}


def _junit(content: bytes) -> dict[str, Outcome]:
    """Read test cases one by one, for a report may have millions of them."""
    cases = _Cases()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse  # no test runner declares a type, or entities
    parser.StartElementHandler = cases.begin
    parser.EndElementHandler = cases.end
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ReportError(f"the report is not XML: {error}") from None
    return cases.outcomes


def _refuse(*_: object) -> None:
    raise ReportError("the report declares a document type, which no test runner does")


class _Cases:
    """The test cases of a JUnit report, as its elements begin and end."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._depth = 0
        self._case: tuple[int, str, Outcome] | None = None
        """Of the case that is read: its depth, its identifier, and its outcome so far."""

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if name == "testcase":
            self._case = (self._depth, _identifier(attributes), "passed")
        elif self._case is not None and self._depth == self._case[0] + 1:
            depth, test, outcome = self._case
            if name in ("failure", "error"):
                outcome = "failed"
            elif name == "skipped" and outcome == "passed":
                outcome = "skipped"
            self._case = (depth, test, outcome)

    def end(self, _name: str) -> None:
        if self._case is not None and self._depth == self._case[0]:
            _, test, outcome = self._case
            if self.outcomes.get(test, outcome) != outcome:
                outcome = "failed"  # pytest reports an error of the teardown as a second case
            self.outcomes[test] = outcome
            self._case = None
        self._depth -= 1


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


_READERS: Mapping[ReportFormat, Callable[[bytes], dict[str, Outcome]]] = {
    "junit": _junit,
    "go-json": read_go,
    "jest-json": read_jest,
    "libtest": read_libtest,
    "tap": read_tap,
}
