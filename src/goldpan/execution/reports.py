"""Reads what a run of tests left: an outcome for each test, and the files that it imported."""

from __future__ import annotations

import csv
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from xml.parsers import expat

import orjson

Outcome = Literal["passed", "failed", "skipped"]
_MOST_BYTES = 256 << 20


class ReportError(Exception):
    """A report that cannot be read."""


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
        raise ReportError("the report is no ordinary file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ReportError(f"the report has more than {_MOST_BYTES:,} bytes")
    return content


_LIBTEST = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
_LIBTEST_BINARY = re.compile(r"^\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
_TAP = re.compile(r"( *+)(not )?ok\b\s*+(\d++)?\s*+(?:-\s*+)?(.*)", re.I)
_TAP_DIRECTIVE = re.compile(r"(?:^|\s)#\s*+(skip\w*|todo|time)\b", re.I)
"""A sign that follows no space is part of the name; Node's runner writes a backslash before it."""
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
            _add(outcomes, f"{event.get('Package', '')}.{event['Test']}", _GO[action])
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
            depth, text = len(match[1]), match[4]
            outcome: Outcome = "failed" if match[2] else "passed"
            if directive := _TAP_DIRECTIVE.search(text):
                text = text[: directive.start()]
                outcome = outcome if directive[1].lower() == "time" else "skipped"
            name = text.strip() or f"test {match[3] or ''}".strip()
            within = [groups[level] for level in sorted(groups) if level < depth]
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
    except (expat.ExpatError, LookupError, ValueError) as error:  # as well of encodings
        raise ReportError(f"the report is not XML: {error}") from None
    return cases.outcomes


def _refuse(*_: object) -> None:
    raise ReportError("the report declares a document type, which no test runner does")


class _Cases:
    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._depth = 0
        self._case: tuple[int, str, Outcome] | None = None
        """The depth, identifier and outcome so far of the case that is read."""

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
            # pytest reports an error of the teardown as a second case.
            _add(self.outcomes, self._case[1], self._case[2])
            self._case = None
        self._depth -= 1


def _identifier(case: Mapping[str, str]) -> str:
    """Return pytest's node identifier where the file is known, else class and name."""
    classname, name, file = (case.get(key, "") for key in ("classname", "name", "file"))
    if not file.endswith(".py"):
        return f"{classname}.{name}" if classname else name
    module = file.removesuffix(".py").replace("/", ".")
    if classname in (module, ""):
        return f"{file}::{name}"
    if not classname.startswith(f"{module}."):  # inherited or made by this file
        return f"{file}::{classname}::{name}"
    classes = classname.removeprefix(f"{module}.").replace(".", "::")
    return f"{file}::{classes}::{name}"


_READERS: Mapping[ReportFormat, Callable[[bytes], dict[str, Outcome]]] = {
    "junit": _junit,
    "go-json": read_go,
    "jest-json": read_jest,
    "libtest": read_libtest,
    "tap": read_tap,
}


# Which files a run of Python tests imported, and whether they are those under test.
#
# An environment may hold another copy of the project: as it was built, or as it was published.
# Tests of that copy say nothing of a fix, so a run that imports it is not believed.

PROBE = Path(__file__).parent / "probe"
"""The folder of what Python imports at its start to report what it imports."""
VARIABLE = "GOLDPAN_IMPORTS"
_USUAL_ROOTS = (".", "src", "lib")
_INSTALLED = ("site-packages", "dist-packages")
_MOST_LISTED = 16 << 20


@dataclass(frozen=True, slots=True)
class Imports:
    """The files of the project that a run imported."""

    inside: tuple[str, ...]
    """Below the checkout, relative to it, sorted."""
    outside: tuple[str, ...]
    """Elsewhere, though the checkout has them: a copy was tested."""


def own_modules(environment: Path) -> frozenset[str]:
    """Return the Python files that a project brought into an environment as a copy of its own.

    They are relative to the folder of installed packages.
    """
    files: set[str] = set()
    for origin in environment.glob("lib/python*/site-packages/*.dist-info/direct_url.json"):
        record = origin.with_name("RECORD")
        if record.is_symlink() or not record.is_file() or record.stat().st_size > _MOST_LISTED:
            continue
        with (
            record.open(encoding="utf-8", errors="replace", newline="") as lines,
            suppress(csv.Error),  # foreign code may have written it
        ):
            names = [row[0] for row in csv.reader(lines) if row]
            files |= {name for name in names if name.endswith(".py") and ".." not in name}
    return frozenset(files)


def python_files(checkout: Path) -> frozenset[str]:
    """Return the Python files of a checkout, relative to it; call it before anything is built."""
    files: set[str] = set()
    for folder, folders, names in os.walk(checkout):
        folders[:] = [name for name in folders if not name.startswith(".")]
        base = Path(folder).relative_to(checkout)
        files |= {(base / name).as_posix() for name in names if name.endswith(".py")}
    return frozenset(files)


def import_roots(files: frozenset[str], copied: Iterable[str]) -> tuple[str, ...]:
    """Return the folders from which Python imports these files, ``.`` for the checkout itself.

    `copied` are the files of a copy of the project, whose places give the first root.
    """
    folders = {parent.as_posix() for name in files for parent in PurePosixPath(name).parents}
    packaged = sorted(copied, key=lambda name: (name.count("/"), name))[:20]
    found = [
        folder
        for folder in sorted(folders, key=lambda name: (name.count("/"), name))
        if packaged and all(os.path.normpath(f"{folder}/{name}") in files for name in packaged)
    ]
    return tuple(dict.fromkeys([*found[:1], *(root for root in _USUAL_ROOTS if root in folders)]))


def read_imports(
    folder: Path, checkout: str, files: frozenset[str], copied: frozenset[str], roots: Iterable[str]
) -> Imports:
    """Return what the probe of a run wrote into a folder.

    `checkout` is where the run saw it; `files` are its Python files as they were before anything
    was built, since building leaves copies in the checkout, too. The run may have written anything.
    """
    inside: set[str] = set()
    outside: set[str] = set()
    for name, path in _written(folder):
        own = _file_of(name, files, roots)
        if path.is_relative_to(checkout):
            file = path.relative_to(checkout).as_posix()
            (outside if own and file != own and file not in files else inside).add(file)
            continue
        package = next((part for part in _INSTALLED if part in path.parts), "")
        if package and path.suffix == ".py":
            installed = str(path).rpartition(f"/{package}/")[2]
            if installed in copied or (own and own.endswith(installed)):
                outside.add(installed)
    return Imports(tuple(sorted(inside)), tuple(sorted(outside)))


def _file_of(module: str, files: frozenset[str], roots: Iterable[str]) -> str:
    """Return the file of the checkout that a module is, empty where it has none."""
    base = module.replace(".", "/")
    candidates = (
        os.path.normpath(f"{root}/{path}")
        for root in roots
        for path in (f"{base}/__init__.py", f"{base}.py")
    )
    return next((path for path in candidates if path in files), "")


def _written(folder: Path) -> Iterator[tuple[str, PurePosixPath]]:
    for file in sorted(folder.glob("imports-*")):
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_LISTED:
            continue
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, path = line.partition("\t")
            if path.startswith("/"):
                yield name, PurePosixPath(os.path.normpath(path))
