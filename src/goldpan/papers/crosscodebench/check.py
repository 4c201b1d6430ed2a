"""Checks task files against the schema: all that is wrong, with file, field and instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from goldpan.papers.crosscodebench.instances import (
    INSTANCES,
    Problem,
    RowReader,
    instance_of,
    problem_of,
    read_values,
)
from goldpan.papers.crosscodebench.meta import (
    DATA,
    META,
    Meta,
    count_problem,
    examine_meta,
    list_metas,
    meta_warnings,
)
from goldpan.plugins.data import Block, FieldError, Line, Reporter, Result

_MOST = 20
"""Problems of one file that are listed; further ones are counted."""


@dataclass(frozen=True, slots=True)
class Checked(Result):
    """The result of checking task files."""

    tasks: int
    instances: int
    problems: tuple[Problem, ...]
    """By file, warnings among them."""
    unlisted: int
    """Problems beside those, in files with more than 20."""

    @property
    def passed(self) -> bool:
        """Say whether nothing but warnings was found."""
        return not self.unlisted and all(problem.kind == "warning" for problem in self.problems)

    @property
    def exit_code(self) -> int:
        """1 where something is wrong, else 0."""
        return 0 if self.passed else 1

    def plain(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        return {**asdict(self), "passed": self.passed}

    def blocks(self) -> Iterator[Block]:
        """Yield what is wrong with the files."""
        for problem in self.problems:
            yield Line(f"{problem.kind}: {problem}")
        if self.unlisted:
            yield Line(f"and {self.unlisted:,} more")
        state = ""
        if self.passed:
            state = " No errors, but see the warnings" if self.problems else " All is well"
        yield Line(f"{self.tasks:,} tasks, {self.instances:,} instances.{state}")


def check_task_files(directory: Path, reporter: Reporter) -> Checked:
    """Check all tasks of a directory; raises `DatasetError` where there are none.

    Both files have to be there and hold what the schema wants, in as many instances as
    announced; a task that Goldpan wrote must also come back as rows. No two tasks may share a
    number or, of Goldpan's, a name.
    """
    paths = list_metas(directory)
    problems: list[Problem] = []
    metas: list[Meta] = []
    counts: Counter[str] = Counter()
    with reporter.task("tasks", len(paths)) as progress:
        for path in paths:
            meta = examine_meta(path)
            found: Iterable[Problem]
            if isinstance(meta, Meta):
                metas.append(meta)
                problems += meta_warnings(meta)
                found = _data_problems(meta, path.with_name(f"{meta.stem}{DATA}"), counts)
            else:
                found = meta
            for number, problem in enumerate(found):
                if number < _MOST:
                    problems.append(problem)
                else:
                    counts["unlisted"] += 1
            progress.advance()
    problems += [*_data_without_meta(directory), *_twins(metas)]
    return Checked(len(paths), counts["instances"], tuple(problems), counts["unlisted"])


def _data_problems(meta: Meta, path: Path, totals: Counter[str]) -> Iterator[Problem]:
    """Yield what is wrong, an instance after the other; `totals` gains the instances."""
    reader = RowReader(meta.task) if meta.task else None
    counts: Counter[str] = Counter()
    index = -1
    try:
        for index, value in enumerate(read_values(path)):
            totals["instances"] += 1
            try:
                instance = instance_of(value, index)
                counts[instance.split] += 1
                if reader:
                    reader.row(instance, index)
            except FieldError as error:
                yield problem_of(error, path.name)
    except FieldError as error:
        yield problem_of(error, path.name)
        return
    except OSError as error:
        yield Problem(path.name, "", f"cannot be read: {error.strerror}")
        return
    if index < 0:
        yield Problem(path.name, INSTANCES, "is empty")
    problem = count_problem(meta, counts)
    if problem and sum(counts.values()) == index + 1:
        yield problem


def _data_without_meta(directory: Path) -> Iterator[Problem]:
    """Yield the data files that no meta file describes."""
    for path in sorted(directory.glob(f"task_*{DATA}")):
        if not path.with_name(path.name.removesuffix(DATA) + META).exists():
            yield Problem(path.name, "", f"has no {META} file next to it")


def _twins(metas: list[Meta]) -> Iterator[Problem]:
    """Yield the tasks whose number or name another one bears."""
    numbers = Counter(meta.number for meta in metas)
    names = Counter(meta.name for meta in metas)
    for meta in metas:
        if numbers[meta.number] > 1:
            yield Problem(f"{meta.stem}{META}", "", f"another task has the number {meta.number}")
        elif names[meta.name] > 1:
            yield Problem(f"{meta.stem}{META}", "", f"another task is called {meta.name} too")
