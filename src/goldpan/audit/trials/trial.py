"""A verified row whose environment is built again, to run its tests in other ways than `verify`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goldpan.audit.trials.variants import FixedFile, changed_blocks
from goldpan.code.patch import split_patch
from goldpan.core.errors import GoldpanError
from goldpan.execution.checkout import leaves
from goldpan.execution.proof import Run
from goldpan.execution.records import Conditions, TrialRecord
from goldpan.execution.trial import Trial, apply_or_end

_SECONDS, _TIMES = 5.0, 5.0
"""The time limit of a run: so many seconds, and so many times the time of the run with the fix."""


class UndecidedError(GoldpanError):
    """A finding cannot be told of a row."""


@dataclass(slots=True)
class RerunTrial:
    """A prepared trial with the record of its row."""

    trial: Trial
    record: TrialRecord
    fixed: tuple[FixedFile, ...] = ()
    """The files of the fix, once it was applied."""
    imported: tuple[str, ...] = ()
    """The project's files that the run with the fix imported, of Python alone."""
    seconds: float = 0.0
    """The duration of the run with the fix."""
    until_failure: Mapping[str, str] = field(default_factory=dict)
    """Variables with which tests stop at the first that fails; none where some fail anyway."""

    @property
    def is_python(self) -> bool:
        """True where pytest runs the tests."""
        return self.trial.recipe.is_python

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that have to pass with the fix."""
        return (*self.record.proof.fail_to_pass, *self.record.proof.pass_to_pass)

    def failed(self, run: Run) -> tuple[str, ...]:
        """Return the tests that have to pass with the fix and do not."""
        return tuple(test for test in self.tests if run.get(test) != "passed")

    def run_fix(self, name: str) -> Run:
        """Run the tests with the fix as it was merged, as `verify` did."""

        def change(testbed: Path) -> None:
            self.apply_fix(testbed)
            self.fixed = tuple(_fixed_files(testbed, self.record.instance.patch))

        started = time.monotonic()
        run = self.trial.run(name, change)
        self.seconds, self.imported = time.monotonic() - started, self.trial.imports.inside
        if self.is_python and "failed" not in run.values():
            self.until_failure = {"PYTEST_ADDOPTS": "--exitfirst"}
        return run

    def apply_tests(self, testbed: Path) -> None:
        """Bring files to the state before the fix, with its tests."""
        apply_or_end(testbed, self.record.instance.test_patch)

    def apply_fix(self, testbed: Path) -> None:
        """Bring files to the state after the fix, with its tests."""
        self.apply_tests(testbed)
        apply_or_end(testbed, self.record.instance.patch)

    def limited(
        self, variables: Mapping[str, str] = {}, prefix: tuple[str, ...] = (), repeats: int = 1
    ) -> Conditions:
        """Return conditions whose time limit follows from the run with the fix.

        `repeats` is how often the run sets up everything that the run with the fix sets up once.
        """
        return Conditions(variables, prefix, _SECONDS + _TIMES * self.seconds * repeats)


def _fixed_files(testbed: Path, patch: str) -> Iterator[FixedFile]:
    for part in split_patch(patch):
        path = testbed / part.path
        is_inside = not leaves(testbed, part.path) and path.is_file() and not path.is_symlink()
        if is_inside and not part.is_binary:
            yield FixedFile(part.path, path.read_bytes(), changed_blocks(part))
