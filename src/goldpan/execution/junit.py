"""Reads JUnit XML, in the variants that runners of tests write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from io import BytesIO

from lxml import etree

from goldpan.execution.outcomes import Case, Outcome, ReportError, worst

_TAKEN = frozenset(
    (
        *("ERR_INVALID_CHAR", "ERR_INVALID_ENCODING", "ERR_CDATA_NOT_FINISHED"),
        *("ERR_MISPLACED_CDATA_END", "ERR_UNDECLARED_ENTITY", "ERR_ENTITYREF_SEMICOL_MISSING"),
        *("ERR_NAME_REQUIRED", "ERR_LT_IN_ATTRIBUTE", "ERR_HYPHEN_IN_COMMENT"),
    )
)
"""Errors of XML after which all of a report is there: what tests printed was not escaped."""
_DECLARATION = re.compile(rb"<\?xml\s[^<>]*\?>")
_AGAIN = ("flakyFailure", "flakyError", "rerunFailure", "rerunError")
"""A test that failed and passed when it was run again failed."""
_FAILED = ("failure", "error", *_AGAIN)
_NOT_RUN = ("skipped", "skip", "ignored", "disabled", "pending", "notrun", "warning")
_STATUS: Mapping[str, Outcome] = {
    **dict.fromkeys(("", "run", "completed", "passed", "pass", "success", "ok"), "passed"),
    **dict.fromkeys(("fail", "failed", "failure", "error", "broken"), "failed"),
}  # GoogleTest, CTest and others; whatever else they write, the test was not run


def read_junit(content: bytes) -> Iterator[Case]:
    """Read test cases one by one, for a report may have millions of them.

    Several reports may stand one behind the other.
    """
    if _DECLARATION.search(content, 1):
        content = b"<testsuites>%b</testsuites>" % _DECLARATION.sub(b"", content)
    cases = _Cases()
    parser = etree.XMLParser(
        target=cases, recover=True, huge_tree=True, resolve_entities=False, no_network=True
    )
    try:
        etree.parse(BytesIO(content), parser)
    except etree.XMLSyntaxError as error:
        raise ReportError(f"the report is not XML: {error}") from None
    yield from cases.found
    for problem in parser.error_log:
        if problem.level >= etree.ErrorLevels.FATAL and problem.type_name not in _TAKEN:
            raise ReportError(f"the report is not XML: {problem.message}")
    if not cases.is_whole or cases.depth:
        raise ReportError("the report has other tests or failures than it announces")


class _Cases:
    """What a parser of XML calls."""

    def __init__(self) -> None:
        self.found: list[Case] = []
        self.is_whole = True
        self._failed = self._errors = 0
        self._skipped = self._again = 0
        self._suites: list[tuple[int, ...]] = []
        """What each open suite announces: tests, failures and skipped ones; and what stood before
        it."""
        self.depth = 0
        self._case: tuple[int, str, Outcome] | None = None
        """The depth, identifier and outcome so far of the case that is read."""
        self._has_error = False

    def doctype(self, *_: object) -> None:
        raise ReportError("the report declares a document type, which no test runner does")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.depth += 1
        name = etree.QName(tag).localname
        if name == "testcase":
            stated = (attributes.get(key, "").lower() for key in ("status", "result"))
            outcome = worst(*(_STATUS.get(value, "skipped") for value in stated))
            self._case, self._has_error = (self.depth, _identifier(attributes), outcome), False
        elif name in ("testsuite", "testsuites"):
            # Catch2 and doctest count assertions, and not tests.
            of_tests = attributes.get("hostname") != "tbd" and "doctest_version" not in attributes
            tests, failures, errors, skipped = (
                _count(attributes, key) * of_tests
                for key in ("tests", "failures", "errors", "skipped")
            )
            if failures != errors:  # Web Test Runner counts each failure as an error, too
                failures += errors
            if attributes.get("name") == "pytest":  # it counts subtests that pass, and lists none
                tests = 0
            before = (len(self.found), self._failed, self._errors, self._skipped, self._again)
            self._suites.append((tests, failures, skipped, *before))
        elif self._case is not None and self.depth == self._case[0] + 1:
            depth, test, outcome = self._case
            more: Outcome = (
                "failed" if name in _FAILED else "skipped" if name in _NOT_RUN else "passed"
            )
            self._has_error |= name == "error"
            # Some count each failure of a test that was run again.
            self._failed += name in ("failure", "error") and outcome == "failed"
            self._skipped += name in _NOT_RUN  # subtests of pytest have several in one case
            self._again += name in _AGAIN
            self._case = (depth, test, worst(outcome, more))

    def end(self, tag: str) -> None:
        if self._case is not None and self.depth == self._case[0]:
            _, test, outcome = self._case
            if self._has_error and self.found and self.found[-1][0] == test:
                self.found.pop()  # pytest reports the error of a teardown as a second case
            self.found.append((test, outcome))
            self._failed += outcome == "failed"
            self._errors += self._has_error
            self._skipped += outcome == "skipped"
            self._case = None
        elif etree.QName(tag).localname in ("testsuite", "testsuites"):
            tests, failures, skipped, found, failed, errors, unrun, again = self._suites.pop()
            # Such a second case may be counted as a test, and Surefire counts each run as one.
            more = self._again - again
            self.is_whole &= tests <= len(self.found) - found + self._errors - errors + more
            self.is_whole &= failures <= self._failed - failed + more
            self.is_whole &= skipped <= self._skipped - unrun + self._failed - failed
        self.depth -= 1

    def close(self) -> None:
        pass


def _count(attributes: Mapping[str, str], key: str) -> int:
    value = attributes.get(key, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0


def _identifier(case: Mapping[str, str]) -> str:
    """Return pytest's node identifier where the file is known, else class and name.

    A file that cannot be collected has its path: no test is named after it.
    """
    classname, name, file = (case.get(key, "") for key in ("classname", "name", "file"))
    if classname == "unittest.loader._FailedTest":
        return f"{name.replace('.', '/')}.py"
    if not file.endswith(".py"):
        return ".".join(filter(None, (classname, name)))
    module = file.removesuffix(".py").replace("/", ".")
    if not classname and name == module:
        return file
    if classname in (module, ""):
        return f"{file}::{name}"
    if not classname.startswith(f"{module}."):  # inherited or made by this file
        return f"{file}::{classname}::{name}"
    classes = classname.removeprefix(f"{module}.").replace(".", "::")
    return f"{file}::{classes}::{name}"
