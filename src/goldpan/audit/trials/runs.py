"""Runs the tests of verified rows again for the findings that need it, and keeps the results.

WORKSPACE/verification/OWNER/NAME/ISSUE-PULL/reruns/
├── reruns.json      the findings with their settings and runs, and the digests of the other files
├── build.log        the output of building the environment
└── after-1.log ...  the output of the tests with the fix, and where luck changed their results
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from goldpan.audit.finding import Finding, FindingName, finding_of
from goldpan.audit.rows import Row
from goldpan.audit.trials import luck, variants, weak_tests
from goldpan.audit.trials.trial import RerunTrial, UndecidedError
from goldpan.core.errors import GoldpanError, UsageError
from goldpan.core.storage.sealed import file_digest
from goldpan.core.storage.workspace import WorkspaceLayout, make_directory
from goldpan.core.terminal import Reporter
from goldpan.core.values import ONE_PROCESS, Execution
from goldpan.execution.isolation import find_isolation
from goldpan.execution.recipe import load_recipes
from goldpan.execution.records import (
    EndedError,
    FixInstance,
    TrialJob,
    TrialRecord,
    TrialSettings,
    instance_of,
    keep_record,
    kept_record,
    read_record,
    record_directory,
    run_digest,
    run_trials,
)
from goldpan.execution.trial import open_trial

RERUNS = "reruns.json"
RERUN_NAMES: tuple[FindingName, ...] = (weak_tests.NAME, luck.NAME)
"""The findings that run tests."""
_COLUMNS = ("id", "repo", "issue", "pull", "base_commit", "patch", "test_patch", "test_files")
Findings = Mapping[FindingName, Finding]


@dataclass(frozen=True, slots=True)
class RerunOptions:
    """The options for running tests again."""

    variants: int = 20
    """The most variants of a fix."""
    seed: int = 0
    """The seed that draws variants."""
    again: bool = False
    """True where rows are run although their results are stored."""
    settings: TrialSettings = field(default_factory=lambda: TrialSettings(repeats=1))
    recipes: tuple[Path, ...] = ()
    execution: Execution = ONE_PROCESS

    def key(self, name: FindingName) -> list[int]:
        """Return the values on which a finding depends beside the row and its tests' settings."""
        if name == weak_tests.NAME:
            return [weak_tests.VERSION, variants.VERSION, self.variants, self.seed]
        return [luck.VERSION]


@dataclass(frozen=True, slots=True)
class Reruns:
    """The findings from running the tests of rows again."""

    by_row: Mapping[str, Findings]
    """By the row's id."""
    inputs: Mapping[str, str]
    """The digests of the records that were read or made."""
    names: frozenset[FindingName]
    """The findings that were asked for, or that any row has."""
    dataset: str

    def find(self, name: FindingName, row: Row) -> Finding:
        """Return a finding on a row."""
        finding = self.by_row.get(row.id, {}).get(name)
        remedy = f"Run goldpan audit {self.dataset} --finding {name}"
        return finding or _cannot_tell(
            name, UndecidedError("its tests were not run for it", remedy)
        )


@dataclass(frozen=True, slots=True)
class _Unit:
    """A row whose tests are run again; it travels to other processes and machines."""

    job: TrialJob
    record: TrialRecord
    names: tuple[FindingName, ...]
    options: RerunOptions

    @property
    def directory(self) -> Path:
        """Where the findings and logs lie."""
        return _directory(self.job.workspace, self.job.instance)

    @property
    def seconds(self) -> float | None:
        """The estimated time, None where `verify` did not record its own."""
        took = self.record.seconds
        if not took:
            return None
        per_run = took["tests"] / (1 + 2 * int(self.record.environment.get("repeats", 1)))
        runs = sum(
            self.options.variants if name == weak_tests.NAME else luck.RUNS for name in self.names
        )
        return took["build"] + per_run * (1 + runs)

    def __str__(self) -> str:
        return self.job.instance.id


def rerun_rows(
    workspace: WorkspaceLayout,
    dataset: Path,
    rows: Iterable[Row],
    names: Sequence[FindingName],
    options: RerunOptions,
    reporter: Reporter,
) -> Reruns:
    """Run the tests of rows for the findings of these names, and return all known findings.

    Rows that were run with the same options are not run again. Results of earlier runs for other
    findings are returned as well. Raises `IsolationError` where nothing isolates foreign code.
    """
    workspace = replace(workspace, root=workspace.root.absolute())
    found: dict[str, dict[FindingName, Finding]] = {}
    units: list[_Unit] = []
    instances: list[tuple[str, FixInstance]] = []
    for row in rows:
        findings = found.setdefault(row.id, {})
        try:
            instance, record = _verified(workspace, dataset, row)
        except (UndecidedError, UsageError) as undecided:
            findings.update((name, _cannot_tell(name, undecided)) for name in names)
            continue
        instances.append((row.id, instance))
        findings |= _stored(workspace, record, None)
        known = {} if options.again else _stored(workspace, record, options)
        missing = tuple(name for name in names if name not in known)
        for name in missing:
            findings.pop(name, None)
        if missing:
            job = TrialJob(workspace, instance, options.settings, options.recipes, options.again)
            units.append(_Unit(job, record, missing, options))
    if units:
        _run_all(workspace, units, found, options, reporter)
    inputs: dict[str, str] = {}
    for row_id, instance in instances:
        if (path := _directory(workspace, instance) / RERUNS).exists():
            inputs[f"reruns {row_id}"] = file_digest(path)
    return Reruns(found, inputs, frozenset(names).union(*found.values()), str(dataset))


def _run_all(
    workspace: WorkspaceLayout,
    units: Sequence[_Unit],
    found: Mapping[str, dict[FindingName, Finding]],
    options: RerunOptions,
    reporter: Reporter,
) -> None:
    find_isolation(options.settings.isolation, options.settings.image)
    load_recipes(options.recipes)
    for unit in units:
        expected = f"about {unit.seconds:,.0f} s" if unit.seconds else "not known, as for verify"
        took = sum(unit.record.seconds.values())
        verified = f"; verify took {took:,.0f} s" if took else ""
        reporter.note(f"{unit}: {expected}{verified}")
    done = run_trials(workspace, rerun, units, options.execution, reporter)
    for unit, findings in zip(units, done, strict=True):
        found[str(unit)].update(findings)
        for finding in findings.values():
            reporter.note(f"{unit}: {finding.name}: {finding.verdict}: {finding.why}")


def _verified(
    workspace: WorkspaceLayout, dataset: Path, row: Row
) -> tuple[FixInstance, TrialRecord]:
    if not all(row.columns.get(name) is not None for name in _COLUMNS):
        raise UndecidedError(
            "it is no row of the family issue-resolution, whose tests goldpan verify runs",
            "Run goldpan build issue-resolution --profile verified",
        )
    instance = instance_of(row.columns)
    record = read_record(record_directory(workspace, instance), instance)
    if record is None:
        raise UndecidedError(
            "it is not verified in this workspace", f"Run goldpan verify {dataset}"
        )
    if record.proof.verdict != "verified":
        raise UndecidedError(
            f"its verdict is {record.proof.verdict}", "Build with --require verified"
        )
    if not workspace.clone(instance.repo).is_dir():
        raise UndecidedError(
            "the history of its repository is not at hand",
            f"Run goldpan clone --repo {instance.repo}",
        )
    return instance, record


def rerun(unit: _Unit) -> Findings:
    """Run the tests of one row again, and keep the findings."""
    with unit.job.workspace.scratch() as logs:
        try:
            findings, details = _examine(unit, logs)
        except (EndedError, UndecidedError) as ended:
            undecided = ended if isinstance(ended, UndecidedError) else _ended(ended)
            return {name: _cannot_tell(name, undecided) for name in unit.names}
        settings = _settings(unit.options)
        kept = _stored_whole(unit.job.workspace, unit.record)
        for name, finding in findings.items():
            kept[name] = {
                "key": unit.options.key(name),
                "settings": settings,
                "finding": finding.columns(),
                "runs": details.get(name, []),
            }
        shutil.rmtree(unit.directory, ignore_errors=True)
        make_directory(unit.directory)
        for path in logs.iterdir():
            if not path.name.startswith("variant-"):  # many, and their results are kept
                shutil.copyfile(path, unit.directory / path.name)
    plain = {"id": unit.job.instance.id, "record": unit.record.digest, "findings": kept}
    keep_record(unit.directory / RERUNS, plain)
    return findings


def _examine(unit: _Unit, logs: Path) -> tuple[dict[FindingName, Finding], dict[str, Any]]:
    """Return the findings on a row, and the runs that they rest on.

    Raises `EndedError` and `UndecidedError` where the fix itself cannot be run.
    """
    findings: dict[FindingName, Finding] = {}
    details: dict[str, Any] = {}
    with open_trial(unit.job, logs, unit.record) as trial:
        started = time.monotonic()
        trial.prepare()
        again = RerunTrial(trial, unit.record)
        failed = again.failed(again.run_fix("after-1"))
        unsteady = luck.check_again(again, failed) if failed else ()
        for name in unit.names:
            try:
                if name == luck.NAME:
                    cases = (*unsteady, *luck.run_cases(again))
                    details[name] = list(map(asdict, cases))
                    findings[name] = luck.find_luck(cases, time.monotonic() - started)
                elif unsteady:
                    raise UndecidedError(
                        "its tests pass only sometimes", "Audit it with --finding luck"
                    )
                else:
                    runs = weak_tests.run_variants(again, unit.options.variants, unit.options.seed)
                    details[name] = list(map(asdict, runs))
                    took = time.monotonic() - started
                    findings[name] = weak_tests.find_weak_tests(runs, len(again.tests), took)
            except UndecidedError as undecided:
                findings[name] = _cannot_tell(name, undecided, time.monotonic() - started)
            started = time.monotonic()
    return findings, details


def _ended(ended: EndedError) -> UndecidedError:
    if ended.verdict == "limit-exceeded":
        return UndecidedError(
            f"its tests exceeded a limit ({ended.detail})", "Give a longer --timeout"
        )
    return UndecidedError(
        f"its environment cannot be built again ({ended.verdict})",
        "Run goldpan verify with --again, whose logs say why",
    )


def _cannot_tell(
    name: FindingName, undecided: GoldpanError, seconds: float | None = None
) -> Finding:
    return Finding(name, "cannot-tell", undecided.problem, remedy=undecided.remedy, seconds=seconds)


def _directory(workspace: WorkspaceLayout, instance: FixInstance) -> Path:
    return record_directory(workspace, instance) / "reruns"


def _settings(options: RerunOptions) -> str:
    return run_digest(options.settings, options.recipes)


def _stored(
    workspace: WorkspaceLayout, record: TrialRecord, options: RerunOptions | None
) -> dict[FindingName, Finding]:
    """Return the findings of earlier runs with the same `options`, or with any for None."""
    stored = _stored_whole(workspace, record)
    return {
        name: finding_of(stored[name]["finding"])
        for name in RERUN_NAMES
        if name in stored
        and (
            options is None
            or (stored[name]["key"], stored[name]["settings"])
            == (options.key(name), _settings(options))
        )
    }


def _stored_whole(workspace: WorkspaceLayout, record: TrialRecord) -> dict[str, Any]:
    path = _directory(workspace, record.instance) / RERUNS
    return dict(kept_record(path, {"record": record.digest}).get("findings", {}))
