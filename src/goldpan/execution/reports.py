r"""Reads what a run of tests left: an outcome for each test, by its name.

Lines end at `\n` alone, since names of tests hold the other signs at which Python splits. What
cannot be told from what a test printed, or counts other than it announces, is not believed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import orjson

from goldpan.execution.junit import read_junit
from goldpan.execution.libtest import read_libtest
from goldpan.execution.outcomes import Case, Outcome, ReportError, worst
from goldpan.execution.tap import read_tap

ReportFormat = Literal["junit", "go-json", "jest-json", "libtest", "tap"]
_MOST_BYTES = 256 << 20
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b|(?<=[\w$;])@(?=[a-f]*\d)[0-9a-f]{6,8}(?![\w.-])")
"""Also as Java writes an object without a text: `Cart@1b6d3586`."""
_TESTBED = re.compile(r"(?<![\w./-])/(?:[^/\s]{1,255}/){0,40}?testbed/")
_HOOK = re.compile(r'[. ]"(?:before|after) (?:all|each)" hook\b.*', re.S)
_LINE = re.compile(r" ?\(line (\d+)\)|\[line:(\d+)\]|\bline:(\d+),column:\d+")


def report_content(path: Path) -> bytes | None:
    """Return the bytes of a report that foreign code wrote, None where there is no file.

    Raises `ReportError` for a link, a pipe or the like, and for what is too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReportError(f"the report cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ReportError("the report is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ReportError(f"the report has more than {_MOST_BYTES:,} bytes")
    return content


def read_report(content: bytes, form: ReportFormat) -> dict[str, Outcome]:
    """Return the outcome of each test of a report, by its name.

    Names have no line numbers and no path of the checkout, and what fails in a hook of Mocha is its
    suite; names that hold an address of memory differ from run to run and are left out. A name that
    stands several times comes as `NAME`, `NAME #2` and so on, in the order of lines or, where
    nothing tells which of them is which in another run, all with the worst of their outcomes.
    Raises `ReportError`.
    """
    cases: list[Case] = []
    try:
        cases.extend(case for case in _READERS[form](content) if not _ADDRESS.search(case[0]))
    except ReportError as error:
        raise ReportError(str(error), _counted(cases)) from None
    return _counted(cases)


def _counted(cases: Iterable[Case]) -> dict[str, Outcome]:
    found: dict[str, list[tuple[int, Outcome]]] = {}
    for test, outcome in cases:
        line = _LINE.search(test)
        name = _HOOK.sub("", _LINE.sub("", _TESTBED.sub("", test)))
        at = int(next(filter(None, line.groups()))[:9]) if line else 0
        found.setdefault(name, []).append((at, outcome))
    outcomes: dict[str, Outcome] = {}
    for name, several in found.items():
        several.sort(key=lambda each: each[0])
        is_ordered = len({at for at, _ in several}) == len(several)
        for number, (_, outcome) in enumerate(several, 1):
            if not is_ordered:
                outcome = worst(*(each for _, each in several))
            outcomes[f"{name} #{number}" if number > 1 else name] = outcome
    return outcomes


_GO: Mapping[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_GO_PRINTED = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(")
_GO_EVENT = re.compile(rb'\{"(?:Time|Action|ImportPath)"')
_GO_LONGEST = 1_000
_GO_NOT_BUILT = re.compile(rb"FAIL\s+(\S+) \[(?:build|setup) failed\]")


def _go(content: bytes) -> Iterator[Case]:
    """Read the events of ``go test -json``; a test without an end failed if its package did.

    Benchmarks have none. A package that failed though none of its tests did, as where goroutines
    leak, stands for itself, and all its tests failed.
    """
    outcomes: dict[str, Outcome] = {}
    begun: dict[str, Outcome] = {}
    parts: dict[str, str] = {}
    packages: list[str] = []
    for line in content.split(b"\n"):
        if not line.startswith(b"{"):  # what the compiler prints
            if built := _GO_NOT_BUILT.match(line):
                packages.append(built[1].decode("utf-8", "replace"))
            continue
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if not _GO_EVENT.match(line):  # what a program logs
                continue
            raise ReportError(f"the report has a line that is not JSON: {error}") from None
        action, package, name = (event.get(key) for key in ("Action", "Package", "Test"))
        test = f"{package or ''}.{name}"
        if name is None and action == "pass":
            unended = (test for test, was in begun.items() if was == "failed")
            begun |= {test: "passed" for test in unended if test.startswith(f"{package}.")}
        elif name is None:
            packages += [str(package)] if action == "fail" and package else []
        elif action == "run":
            begun[test] = "failed"
        elif isinstance(action, str) and action in _GO:
            outcome = _GO[action]  # as often as `-count` says
            outcomes[test] = worst(outcome, outcomes.get(test, outcome))
        else:  # behind what it printed; long lines come in parts
            printed = parts.pop(test, "") + str(event.get("Output", ""))
            if not printed.endswith("\n"):
                parts[test] = printed[-_GO_LONGEST:]
            elif match := _GO_PRINTED.search(printed):
                begun[f"{package or ''}.{match[2]}"] = _GO[match[1].lower()]
    outcomes = {**begun, **outcomes}
    for package in dict.fromkeys(packages):
        tests = [test for test in outcomes if test.startswith(f"{package}.")]
        if all(outcomes[test] != "failed" for test in tests):
            outcomes |= dict.fromkeys((*tests, package), "failed")
    yield from outcomes.items()


def _jest(content: bytes) -> Iterator[Case]:
    """Read the JSON of Jest, which Vitest writes as well.

    A file that failed though none of its tests did, as where it cannot be loaded or `afterAll`
    throws, stands for itself, and all its tests failed.
    """
    try:
        report = orjson.loads(content)
        count = 0
        for file in report["testResults"]:
            path, cases = str(file["name"]), [*map(_jest_case, file["assertionResults"])]
            failed = file.get("status") == "failed" and all(to != "failed" for _, to in cases)
            yield from ((f"{path} > {titles}", "failed" if failed else to) for titles, to in cases)
            if failed:
                yield path, "failed"
            count += len(cases)
        announced = report.get("numTotalTests", count)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"the report is not the JSON of Jest: {error}") from None
    if announced != count:
        raise ReportError(f"the report announces {announced} tests and has {count:,}")


def _jest_case(case: Any) -> Case:
    titles = (*case.get("ancestorTitles", ()), case["title"])
    status = case["status"]
    outcome: Outcome = status if status in ("passed", "failed") else "skipped"
    return " > ".join(map(str, titles)), outcome


_READERS: Mapping[ReportFormat, Callable[[bytes], Iterator[Case]]] = {
    "junit": read_junit,
    "go-json": _go,
    "jest-json": _jest,
    "libtest": read_libtest,
    "tap": read_tap,
}
