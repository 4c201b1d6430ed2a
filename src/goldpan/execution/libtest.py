"""Reads what `cargo test` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from goldpan.execution.outcomes import Case, Outcome, ReportError, lines_of

_BINARY = re.compile(r" {5}Running (?:unittests ?)?(\S*?)(?: ?\((.+)\))?|   Doc-tests (\S+)")
_CRATE = re.compile(r"(?:.*[/\\])?(.*?)(?:-[0-9a-f]{16})?(?:\.exe)?")
_GROUP = re.compile(r"running (\d+) tests?")
_ENDED = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured")
_BEGUN = re.compile(r"test ((?:(?! \.\.\. ).)+?)(?: - should panic)? \.\.\. ?(.*)")
_WITHIN = re.compile(r".*test (\S+)(?: - should panic)? \.\.\. ((?:ok|FAILED|ignored)\b.*)")
_TOKEN = re.compile(r".*?(ok|FAILED|ignored)(?:, .*| <[\d.]+s>)?|bench: .*")
_LIBTEST: Mapping[str | None, Outcome] = {
    "ok": "passed", "FAILED": "failed", "ignored": "skipped", None: "passed",
}  # fmt: skip


@dataclass(slots=True)
class _Group:
    """Tests that libtest ran together."""

    file: str = ""
    """The file of their binary."""
    crate: str = ""
    announced: int | None = None
    cases: list[tuple[str, Outcome]] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    """The tests in the list of those that failed."""
    counts: tuple[int, ...] = ()
    """How many passed, failed, were ignored and were measured."""

    def outcomes(self) -> list[Case]:
        return [(test, "failed" if test in self.listed else found) for test, found in self.cases]

    @property
    def is_whole(self) -> bool:
        found = [outcome for _, outcome in self.outcomes()]
        passed, failed, ignored, measured = self.counts or (0, 0, 0, 0)
        counted = [found.count(outcome) for outcome in ("passed", "failed", "skipped")]
        agrees = not self.counts or counted == [passed + measured, failed, ignored]
        return agrees and self.announced in (None, len(found))


def read_libtest(content: bytes) -> Iterator[Case]:
    """Read what ``cargo test`` prints; tests are named after the file of their binary.

    The crate stands behind a file of which several crates of a workspace have one. Tests print
    into the lines that name them, so the list of failures and the counts decide.
    """
    groups = _libtest_groups(lines_of(content))
    crates = {(group.file, group.crate) for group in groups}
    shared = {file for file, _ in crates if sum(file == other for other, _ in crates) > 1}
    for group in groups:
        binary = f"{group.file} ({group.crate})" if group.file in shared else group.file
        yield from ((f"{binary}::{test}".removeprefix("::"), to) for test, to in group.outcomes())
    for group in groups:
        if not group.is_whole:
            raise ReportError(f"the report has other tests of {group.file} than it announces")


def _libtest_groups(lines: Iterable[str]) -> list[_Group]:
    groups = [_Group()]
    part: Literal["tests", "prints", "list"] = "tests"
    is_clean = True
    for line in lines:
        group = groups[-1]
        if part == "tests" and (match := _BINARY.fullmatch(line)):
            found = _CRATE.fullmatch(match[3] or match[2] or match[1] or "")
            crate = found[1] if found else ""
            # Cargo has named the file since 1.50, but the binary before it.
            file = (match[1] if match[2] else "") or crate
            groups.append(_Group(f"doc {crate}" if match[3] else file, crate))
        elif part == "tests" and (match := _GROUP.fullmatch(line)):
            if group.announced is not None:  # documentation tests run in two groups
                groups.append(group := _Group(group.file, group.crate))
            group.announced = int(match[1])
        elif part != "prints" and (match := _ENDED.match(line)):
            group.counts, part = tuple(map(int, match.groups())), "tests"
        elif line == "failures:":  # first what they printed, then their names
            part = "prints" if part == "tests" else "list"
            group.listed.clear()
        elif part != "tests":
            group.listed.add(line.strip())
        elif match := _BEGUN.fullmatch(line) or _WITHIN.fullmatch(line):
            token = _TOKEN.fullmatch(match[2])
            is_clean = token is not None and match[2].startswith(token[1] or "bench: ")
            group.cases.append((match[1], _LIBTEST[token[1]] if token else "failed"))
        elif group.cases and (token := _TOKEN.fullmatch(line)) and token[1]:
            test, outcome = group.cases[-1]  # which may have printed before its outcome
            is_outcome = not is_clean or line == token[1]
            group.cases[-1] = test, _LIBTEST[token[1]] if is_outcome else outcome
    if part != "tests":
        groups[-1].announced = -1  # it broke off
    return groups
