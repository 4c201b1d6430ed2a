"""Whether the rows of a dataset measure anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldpan.operations.repositories import table_path
from goldpan.operations.values import (
    LOCAL,
    SANDBOX,
    Count,
    Execution,
    Positive,
    Sandbox,
    several,
)

if TYPE_CHECKING:
    from goldpan.audit.audit import AuditResult
    from goldpan.operations.dataset import Dataset
    from goldpan.operations.workspace import Workspace


def audit(
    self: Workspace,
    dataset: str | Path | Dataset,
    *,
    finding: str | Sequence[str] = (),
    limit: Count = 5,
    variants: Positive = 20,
    seed: int = 0,
    again: bool = False,
    sandbox: Sandbox = SANDBOX,
    execution: Execution = LOCAL,
) -> AuditResult:
    """Look for what makes the rows of a dataset measure nothing, each finding with its evidence.

    solution-in-issue: the texts give the fix, a link to it or the answer away. place-in-issue: they
    name the files, classes or functions that the fix changes. demanding-tests: the added tests need
    names, literals or signatures of the fix that neither the texts nor the code before tell.
    measures-nothing: stored runs of all models solve a row, or none does, or one that must not be
    able to. weak-tests: variants of the fix pass the tests of a verified row. luck: its verdict
    changes with the order of tests, hash seed, time zone, locale, clock or processors. These two
    run tests, so they are looked for only where --finding names them; a second run continues where
    the first stopped. Findings are kept in WORKSPACE/audits.

    Args:
        dataset (DATASET): A name in the workspace, a directory, one on the Hub, or a table's file
            with the columns of SWE-bench.
        finding (NAME): A finding; may be given several times. (default: all that the rows can have)
        limit: Show at most this many rows with each finding.
        variants: The most variants of a fix that its tests are run with.
        seed: Draws the variants.
        again: Run tests of all rows again.
        sandbox: How tests run.
        execution: Where tests run; without workers, one row after the other.
    """
    from goldpan.audit.audit import audit_dataset
    from goldpan.audit.finding import chosen_findings
    from goldpan.audit.reruns import RerunOptions
    from goldpan.operations.verifying import test_settings

    chosen = chosen_findings(several(finding))
    with self.reporting() as reporter:
        return audit_dataset(
            self.layout,
            table_path(self, dataset),
            reporter,
            findings=chosen,
            most=limit,
            reruns=RerunOptions(
                variants,
                seed,
                again,
                test_settings(sandbox, 1),
                tuple(Path(path) for path in sandbox.recipe),
                execution.workers or 1,
                execution.engine,
                execution.address,
            ),
        )
