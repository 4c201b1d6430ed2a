"""Audits a dataset: each row by each finding, kept in `audits/` with the digests of all inputs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pyarrow as pa

from goldpan.audit.demands import find_demands
from goldpan.audit.finding import (
    NAMES,
    VERDICTS,
    Finding,
    FindingName,
    RowCounts,
    Verdict,
    count_rows,
)
from goldpan.audit.fixes import Fix, Fixes
from goldpan.audit.place import find_place
from goldpan.audit.rows import Histories, Row, read_rows
from goldpan.audit.solution import find_solution
from goldpan.audit.stored_audit import STAGE, row_digests
from goldpan.audit.stored_runs import Outcomes, find_measure, read_outcomes
from goldpan.audit.trials.runs import RERUN_NAMES, RerunOptions, Reruns, rerun_rows
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.proportions import Estimate, wilson
from goldpan.core.result import Result
from goldpan.core.schemas.stages import FINDINGS
from goldpan.core.storage.parquet import replace_table
from goldpan.core.storage.sealed import write_lineage
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.datasets.provenance import PROVENANCE, read_provenance

RERUN_OPTIONS = RerunOptions()
_BATCH = 64
_LACKING: Mapping[FindingName, str] = {
    "solution-in-issue": "neither a fix nor an answer",
    "place-in-issue": "no fix",
    "demanding-tests": "no test patch",
}


@dataclass(frozen=True, slots=True)
class FindingCount:
    """One finding's verdicts on the rows, counted."""

    name: FindingName
    verdicts: Mapping[Verdict, int]
    cases: Mapping[str, int]
    share: Estimate
    """Share of rows with the finding among those decided, with its 95% interval (Wilson)."""
    undecided: Mapping[str, int]
    """Number of undecided rows, by reason and remedy."""


@dataclass(frozen=True, slots=True)
class Example:
    """A row with a finding."""

    id: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class AuditResult(Result):
    """The findings on a dataset's rows, counted, with examples."""

    schema = 2

    dataset: str
    counts: RowCounts
    """How many have any finding that speaks against a row."""
    findings: tuple[FindingCount, ...]
    examples: tuple[Example, ...]
    notes: tuple[str, ...]
    file: str
    """The table of all findings."""
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class _RowFinding:
    """A finding on a row, without the row."""

    id: str
    repo: str
    digest: str
    finding: Finding


def audit_dataset(
    workspace: WorkspaceLayout,
    dataset: Path,
    reporter: Reporter,
    *,
    findings: Sequence[FindingName] = (),
    most: int = 5,
    reruns: RerunOptions = RERUN_OPTIONS,
) -> AuditResult:
    """Look for findings in each row of a dataset, or of a table's file, and keep them.

    The first `most` rows with each finding are examples. Tests run, as `reruns` says, only for
    findings that are named and need it; otherwise the results of earlier runs count. Raises
    `UsageError` where rows cannot have one of the `findings`, and `DatasetError` for a dataset that
    is empty or cannot be read.
    """
    started = time.monotonic()
    keys, columns, has_fix = _survey(dataset)
    outcomes = read_outcomes(workspace, frozenset(keys), _family(dataset))
    run = [name for name in RERUN_NAMES if name in findings and has_fix]
    rerun = rerun_rows(workspace, dataset, read_rows(dataset), run, reruns, reporter)
    finders = _finders(columns, outcomes, rerun, has_fix=has_fix)
    names = [name for name in NAMES if name in finders and (not findings or name in findings)]
    if lacking := [name for name in findings if name not in finders]:
        raise UsageError(
            f"The rows of {dataset} have {_LACKING[lacking[0]]}, which {lacking[0]} needs",
            f"Choose {', '.join(finders)}",
        )
    found: list[_RowFinding] = []
    rows = read_rows(dataset)
    with (
        Fixes(workspace) as fixes,
        Histories(workspace) as texts,
        reporter.task("Auditing rows", len(keys)) as task,
    ):
        while batch := texts.add_to(list(islice(rows, _BATCH))):
            for row, fix in zip(batch, fixes.of(batch), strict=True):
                key = (row.id, row.repo, row.digest)
                found += (_RowFinding(*key, finders[name](row, fix)) for name in names)
                task.advance()
        histories = {**fixes.read(), **texts.read()}
    notes = texts.notes() if "solution-in-issue" in names else ()
    inputs = {**row_digests(dataset), **outcomes.inputs, **histories, **rerun.inputs}
    path = _write(workspace, dataset, found, inputs)
    seconds = time.monotonic() - started
    return _result(dataset, names, found, most, notes, path, seconds)


def _survey(dataset: Path) -> tuple[list[str], set[str], bool]:
    """Return the keys of rows, the columns of tests and answer that any has, and if any has a fix.

    Rows are not kept: one may hold whole files.
    """
    keys, columns, has_fix = list[str](), set[str](), False
    for row in read_rows(dataset):
        keys.append(row.key)
        has_fix = has_fix or row.has_fix
        columns.update(name for name in ("test_patch", "answer") if row.column(name))
    if not keys:
        raise DatasetError(f"{dataset} holds no rows", "Give a file or a dataset that has some")
    return keys, columns, has_fix


def _finders(
    columns: Collection[str], outcomes: Outcomes, reruns: Reruns, *, has_fix: bool
) -> dict[FindingName, Callable[[Row, Fix | None], Finding]]:
    """Return the functions that look for the findings that these rows can have."""
    finders: dict[FindingName, Callable[[Row, Fix | None], Finding]] = {}
    if has_fix or "answer" in columns:
        finders["solution-in-issue"] = find_solution
    if has_fix:
        finders["place-in-issue"] = find_place
    if "test_patch" in columns:
        finders["demanding-tests"] = find_demands
    for name in reruns.names:
        finders[name] = lambda row, _, name=name: reruns.find(name, row)  # type: ignore[misc]
    finders["measures-nothing"] = lambda row, _: find_measure(row, outcomes)
    return finders


def _family(dataset: Path) -> str:
    if (dataset / PROVENANCE).is_file():
        return str(read_provenance(dataset).get("family", ""))
    return ""


def _write(
    workspace: WorkspaceLayout,
    dataset: Path,
    found: Sequence[_RowFinding],
    inputs: Mapping[str, str],
) -> Path:
    target = workspace.findings(dataset)
    plain = [
        {"id": row.id, "repo": row.repo or None, "digest": row.digest, **row.finding.columns()}
        for row in found
    ]
    table = pa.Table.from_pylist(plain, schema=FINDINGS.schema)
    replace_table(target, FINDINGS, FINDINGS.ordered(table))
    write_lineage(target.parent, STAGE, inputs, [target])
    return target


def _result(
    dataset: Path,
    names: Sequence[FindingName],
    found: Sequence[_RowFinding],
    most: int,
    notes: tuple[str, ...],
    path: Path,
    seconds: float,
) -> AuditResult:
    counts: list[FindingCount] = []
    examples: list[Example] = []
    for name in names:
        of_name = [row for row in found if row.finding.name == name]
        counts.append(_count(name, [row.finding for row in of_name]))
        flagged = (row for row in of_name if row.finding.verdict == "found")
        examples += (Example(row.id, row.finding) for row in islice(flagged, most))
    verdicts = [
        {row.finding.name: row.finding.verdict for row in found[start : start + len(names)]}
        for start in range(0, len(found), len(names))
    ]
    rows = count_rows(verdicts)
    return AuditResult(
        str(dataset), rows, tuple(counts), tuple(examples), notes, str(path), seconds
    )


def _count(name: FindingName, findings: Sequence[Finding]) -> FindingCount:
    verdicts = Counter(finding.verdict for finding in findings)
    reasons = Counter(
        f"{finding.why}. {finding.remedy}"
        for finding in findings
        if finding.verdict == "cannot-tell"
    )
    cases = Counter(finding.case for finding in findings if finding.case)
    return FindingCount(
        name,
        {verdict: verdicts[verdict] for verdict in VERDICTS},
        dict(sorted(cases.items())),
        wilson(verdicts["found"], verdicts["found"] + verdicts["not-found"]),
        dict(reasons.most_common()),
    )
