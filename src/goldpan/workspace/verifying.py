"""Tests of a dataset's rows, and whether the rows measure anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldpan.core.errors import UsageError
from goldpan.core.storage.workspace import existing
from goldpan.core.values import LOCAL, SANDBOX, Count, Execution, Positive, Sandbox, several
from goldpan.workspace.opening import Group, OpenWorkspace
from goldpan.workspace.options import DatasetName, flat
from goldpan.workspace.repositories import find_dataset, table_path

if TYPE_CHECKING:
    from goldpan.audit.audit import AuditResult
    from goldpan.evaluation.resolved import ResolvedResult
    from goldpan.execution.records import TrialSettings
    from goldpan.execution.verify import Verification
    from goldpan.workspace.dataset import Dataset


@flat
def verify(
    self: OpenWorkspace,
    dataset: DatasetName,
    *,
    repeats: Positive = 3,
    again: bool = False,
    sandbox: Sandbox = SANDBOX,
    execution: Execution = LOCAL,
) -> Verification:
    """Prove fixes by running their tests, in isolation, before and after each fix.

    A row is `verified` if tests fail with the test patch alone and pass with the fix, each time.
    Records and logs are kept in WORKSPACE/verification; a second run continues where the first
    stopped. Build with `--require verified` afterwards.

    Example: goldpan verify issue-resolution --workers 2

    Args:
        dataset (DATASET): A dataset of the family issue-resolution, by its name or directory.
        repeats: How often tests run in each state, to detect flaky ones.
        again: Run all rows again.
    """
    from goldpan.datasets.provenance import build_options
    from goldpan.execution.records import instance_of
    from goldpan.execution.verify import verify_all

    _check_uv(sandbox)
    opened = find_dataset(self, dataset)
    proved = verify_all(
        existing(self.layout),
        [instance_of(row) for row in _rows(opened)],
        test_settings(sandbox, repeats),
        self.reporter,
        recipes=[Path(path) for path in sandbox.recipe],
        execution=execution.with_workers(1),
        again=again,
        token=next(iter(self.github.tokens), None),
        host=self.settings.git_host,
    )
    return replace(proved, dataset=str(opened.path), choice=build_options(opened.path))


@flat
def resolved(
    self: Group,
    dataset: DatasetName,
    *,
    predictions: Path | str,
    sandbox: Sandbox = SANDBOX,
    execution: Execution = LOCAL,
) -> ResolvedResult:
    """Score a model's patches by running tests: an issue is resolved if all of them pass.

    Patches are git diffs or SEARCH/REPLACE blocks; their changes to the fix's tests are undone. The
    result gives the share of issues resolved, and how similar the patches are to the merged fix.

    Example: goldpan evaluate resolved proved --predictions patches.jsonl

    Args:
        dataset (DATASET): A dataset built with --require verified, by its name or directory.
        predictions: JSON Lines with instance_id and model_patch, or a run's predictions; a row
            without one scores 0.
    """
    from goldpan.evaluation.resolved import patches_of, read_patches, summarize, write_resolved
    from goldpan.execution.records import instance_of
    from goldpan.execution.resolve import resolve_all

    _check_uv(sandbox)
    file, rows = Path(predictions), _rows(find_dataset(self.lab, dataset))
    patches = patches_of(rows, read_patches(file))
    resolutions = resolve_all(
        existing(self.lab.layout),
        [instance_of(row) for row in rows],
        patches,
        test_settings(sandbox, 1),
        self.lab.reporter,
        recipes=[Path(path) for path in sandbox.recipe],
        execution=execution.with_workers(1),
    )
    result = summarize(resolutions, patches)
    write_resolved(file, result)
    return result


def test_settings(sandbox: Sandbox, repeats: int) -> TrialSettings:
    """Return how tests run, each of them so often in each state."""
    from goldpan.execution.records import TrialSettings

    return TrialSettings(
        repeats=repeats,
        seconds=sandbox.timeout,
        memory=sandbox.memory << 30,
        disk=sandbox.disk << 30,
        isolation=sandbox.isolation,
        image=sandbox.image,
        network=sandbox.network,
    )


def _check_uv(sandbox: Sandbox) -> None:
    """Stop before anything is read where uv is missing, unless recipes of one's own may do."""
    from goldpan.execution.python_env import find_uv

    if not sandbox.recipe:
        find_uv()


def _rows(dataset: Dataset) -> list[Mapping[str, Any]]:
    from goldpan.datasets.examples import ISSUE_RESOLUTION

    if dataset.family != ISSUE_RESOLUTION.name:
        raise UsageError(
            f"{dataset.path} is of the family {dataset.family}, whose rows have no tests",
            f"Run goldpan build {ISSUE_RESOLUTION.name} --profile verified",
        )
    rows: list[Mapping[str, Any]] = dataset.to_arrow().to_pylist()
    return rows


@flat
def audit(
    self: OpenWorkspace,
    dataset: DatasetName,
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

    The findings are solution-in-issue, place-in-issue, demanding-tests, measures-nothing, and,
    where --finding names them, as they run tests, weak-tests and luck (docs/audit.md). Findings are
    kept in WORKSPACE/audits; a second run continues where the first stopped.

    Example: goldpan audit qa --finding solution-in-issue

    Args:
        dataset (DATASET): As everywhere, or a table's file with the columns of SWE-bench.
        finding (NAME): A finding. (default: all that the rows can have)
        limit: Show at most this many rows with each finding.
        variants: The most variants of a fix that its tests are run with.
        seed: Draws the variants.
        again: Run tests of all rows again.
    """
    from goldpan.audit.audit import audit_dataset
    from goldpan.audit.finding import chosen_findings
    from goldpan.audit.trials.runs import RerunOptions
    from goldpan.report.health import state_in_dataset

    chosen = chosen_findings(several(finding))
    path = table_path(self, dataset)
    result = audit_dataset(
        self.layout,
        path,
        self.reporter,
        findings=chosen,
        most=limit,
        reruns=RerunOptions(
            variants,
            seed,
            again,
            test_settings(sandbox, 1),
            tuple(Path(path) for path in sandbox.recipe),
            execution.with_workers(1),
        ),
    )
    state_in_dataset(self.layout, path)
    return result
