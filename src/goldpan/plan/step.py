"""The step of a stage that is an operation: its section's values in, its files' digests kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from goldpan.core.result import Line, Result, Title
from goldpan.core.workspace import make_directory
from goldpan.operations.command import typed_values
from goldpan.operations.group import owner_of
from goldpan.operations.signature import Operation
from goldpan.plan.context import Context
from goldpan.plan.record import Record
from goldpan.plan.section import StageSection
from goldpan.plan.unit import Outcome, Step, Unit


@dataclass(frozen=True, slots=True)
class Files:
    """What a stage reads and writes: what makes its units due."""

    inputs: Callable[[OperationStep], Mapping[str, str]]
    """Returns the digests of the files that it reads."""
    outputs: Callable[[OperationStep, Sequence[Any]], Iterable[Path]] = lambda *_: ()
    """Returns what it wrote, of what the calls returned."""
    kept: Callable[[OperationStep], Iterable[Path]] = lambda _: ()
    """Returns what counts for the size beside the outputs."""
    settings: Callable[[OperationStep], Mapping[str, Any]] = lambda _: {}
    """Returns what the names in a section stand for, such as pairing rules."""
    stays: Callable[[OperationStep], bool] = lambda _: False
    """Tells whether a unit needs what only this machine has, such as a token."""
    line: Callable[[Any, Mapping[str, Any]], str] = lambda result, _: headline(result)
    """Returns the result of a call with some values in one line."""


@dataclass(frozen=True, kw_only=True)
class OperationStep(Step):
    """Calls an operation with the values of a section."""

    unit: Unit
    context: Context
    operation: Operation
    section: StageSection
    files: Files
    repos: tuple[str, ...] = ()
    """Repositories that it works on, by the names that the plan gives them."""
    fixed: Mapping[str, Any]
    """What the plan gives beside the section."""
    each: tuple[str, ...] = ()
    """The parameters of which there are several values: each has a call of its own."""

    @property
    def repo(self) -> str:
        """The repository of a unit that has one, by the name under which it is kept."""
        return self.context.repository(self.unit.subject)

    @property
    def stays(self) -> bool:
        """Whether it runs where the plan is."""
        return self.files.stays(self)

    def settings(self) -> Mapping[str, Any]:
        """Return the values of the section, and what they stand for."""
        return {**self.section.values(), **self.files.settings(self)}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the files that it reads."""
        return self.files.inputs(self)

    def prepare(self, record: Record | None) -> None:
        """Make the directory of what it writes where the plan says."""
        if (output := self.fixed.get("output")) is not None:
            make_directory(Path(output).parent)

    def values(self) -> dict[str, Any]:
        """Return what the operation is called with, by name."""
        values = {**self.context.file.given(self.section), **self.fixed}
        if self.repos:
            values["repos"] = tuple(map(self.context.repository, self.repos))
        if any(parameter.name == "execution" for parameter in self.operation.parameters):
            values["execution"] = self.context.execution
        return values

    def calls(self) -> Iterator[dict[str, Any]]:
        """Yield the values of each call."""
        values = self.values()
        for combination in product(*(values[name] for name in self.each)):
            yield {**values, **dict(zip(self.each, combination, strict=True))}

    def call(self, values: Mapping[str, Any]) -> Any:
        """Call the operation and return its result."""
        owner = owner_of(self.operation, self.context.lab)
        return self.operation.call(owner, typed_values(self.operation, values))

    def run(self) -> Outcome:
        """Call it as often as there are values; raises what a result says that failed."""
        results, lines = [], []
        for values in self.calls():
            result = self.call(values)
            for error in result.errors:
                raise error
            results.append(result)
            lines.append(self.files.line(result, values))
        return self.outcome(results, lines)

    def outcome(self, results: Sequence[Any], lines: Sequence[str]) -> Outcome:
        """Return what is kept and reported of results, each of which has a line."""
        lacks = [line for line, result in zip(lines, results, strict=True) if result.exit_code]
        return Outcome(
            "; ".join(lines),
            tuple(self.files.outputs(self, results)),
            tuple(self.files.kept(self)),
            lacks=tuple(lacks),
            results=tuple(results),
        )


def headline(result: Result) -> str:
    """Return a result in one line: the first that people see of it."""
    for block in result.blocks():
        if isinstance(block, Title):
            return block.rest.removeprefix(": ") or block.name
        if isinstance(block, Line):
            return block.text
    return ""
