"""Exports a dataset: each split a file, in the form that a harness or a training program takes."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import orjson

from goldpan.code.edits.apply import EditError
from goldpan.core.errors import DatasetError, UsageError
from goldpan.core.resources import check_folder, unwritable
from goldpan.core.result import Result
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import replacing
from goldpan.datasets.examples import FAMILIES, ISSUE_RESOLUTION
from goldpan.datasets.export.samples import (
    HARNESSED,
    SHAPES,
    Labeling,
    find_labeling,
    harbor_task,
    harness_files,
    labeled_sample,
    require_family,
    sample_of,
    task_name,
)
from goldpan.datasets.provenance import stored_rows


@dataclass(frozen=True, slots=True)
class ExportResult(Result):
    """The files of an export, and how many rows were written or left out."""

    to: str
    directory: Path
    rows: Mapping[str, int]
    """How many rows were written, by split."""
    left_out: Mapping[str, int]
    """How many rows were left out, by reason."""
    next: str
    """The command or the code that takes it."""
    audit: str = ""
    """The digest of the audit whose findings rows carry."""
    lacking: str = ""
    """Why rows carry no findings, where the form has a place for them."""


# Writes the files of an export: all or none, and the same bytes for the same rows.

MARK = "goldpan-export.json"
"""The file that marks a directory as an export, which a later one may replace."""


@dataclass(frozen=True, slots=True)
class ExportedFindings:
    """Findings of an audit by row, or why there is none."""

    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Verdict and case by finding, by the row's id."""
    audit: str = ""
    """The digest of the audit."""
    lacking: str = ""

    def of(self, row_id: str) -> dict[str, Any]:
        """Return the findings of a row, as metadata; nothing without an audit."""
        return {"findings": self.rows[row_id]} if self.audit else {}


@dataclass(frozen=True, slots=True)
class ExportWriter:
    """Writes files into the directory of an export."""

    directory: Path
    left_out: Counter[str] = field(default_factory=Counter)

    def text(self, name: str, content: str, *, executable: bool = False) -> None:
        """Write a file; `name` is ours or was checked."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mask(content).encode())
        path.chmod(0o755 if executable else 0o644)

    def lines(self, name: str, values: Iterator[Mapping[str, Any] | None]) -> int:
        """Write JSON lines, without None; return how many there are.

        Each value is one line for every reader: characters at which some of them break lines, as
        U+2028, are escaped.
        """
        count = 0
        with (self.directory / name).open("w", encoding="utf-8", newline="\n") as file:
            for value in filter(None, values):
                file.write(for_json(mask(orjson.dumps(value).decode())) + "\n")
                count += 1
        return count


@contextmanager
def replacing_export(directory: Path, to: str) -> Iterator[ExportWriter]:
    """Open a writer whose files replace `directory` when the block succeeds.

    Raises `DatasetError` where the directory holds something else than an export, or where it
    cannot be written, and `UsageError` where it would lie in a folder that is not there.
    """
    _refuse_foreign(directory)
    check_folder(directory)
    try:
        with replacing(directory) as building:
            writer = ExportWriter(building)
            yield writer
            writer.text(MARK, f'{{"goldpan_export": "{to}"}}\n')
    except OSError as error:
        raise unwritable(directory, error, DatasetError) from None


def _refuse_foreign(directory: Path) -> None:
    remedy = "Choose another --output, or empty this one"
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise DatasetError(f"{directory} is not a directory", remedy)
    if directory.exists() and any(directory.iterdir()) and not (directory / MARK).is_file():
        raise DatasetError(f"{directory} is not replaced, as it is not an export", remedy)


# Rows in SWE-bench's columns and types, as its package loads them.

VERIFIED = "verified"
NOT_RUN = "not-run"
"""The reason of rows whose tests were not run when the dataset was built."""
_TEXTS = ("instance_id", "repo", "base_commit", "patch", "test_patch", "problem_statement")


def unproved_reason(row: Mapping[str, Any]) -> str | None:
    """Return why a row is not proved by its tests, None where it is."""
    verdict = row["verification"] or NOT_RUN
    if verdict != VERIFIED:
        return str(verdict)
    return None if row["FAIL_TO_PASS"] else "no-test-fails-before"


def swe_bench_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row of issue-resolution as SWE-bench publishes its own (section 2, Table 5)."""
    created = row["created_at"]
    return {
        **{name: row[name] or "" for name in (*_TEXTS, "hints_text")},
        "created_at": f"{created.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if created else "",
        "version": row["version"] or "",
        **{
            name: orjson.dumps(row[name] or []).decode()
            for name in ("FAIL_TO_PASS", "PASS_TO_PASS")
        },
        "environment_setup_commit": row["environment_setup_commit"] or "",
    }


_CARRIED = ("swe-bench", "inspect", "lm-eval")
"""The forms whose rows have a place for findings."""
_PROVED = ("swe-bench", "harbor")
"""The forms of `issue-resolution`, whose rows running their tests has to have proved."""
_SPLIT = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SCORED = ("test", "validation", "train")
"""The split that a harness scores is the first of these that there is."""
Row = dict[str, Any]


def export_dataset(
    dataset: Path,
    family: str,
    splits: list[str],
    to: str,
    output: Path,
    *,
    name: str,
    tasks: Path | None = None,
    unverified: bool = False,
    findings: ExportedFindings | None = None,
) -> ExportResult:
    """Write a dataset to the directory `output`, all or nothing.

    It is of one of `FAMILIES`, or of a classification task, shipped or in the directory `tasks`.
    Harnesses call its task by the dataset's `name`.
    Harbor's form and SWE-bench's take rows that running their tests proved; SWE-bench's takes
    others if `unverified`. Rows of SWE-bench and of harnesses carry the `findings`. An earlier
    export in the directory is replaced. Raises `UsageError` where the family has no such form,
    `DatasetError` where no row is left or the directory holds something else.
    """
    findings = findings if findings and to in _CARRIED else ExportedFindings()
    labeling = None
    if family not in FAMILIES and to not in _PROVED:
        labeling = find_labeling(dataset, family, tasks)
    if labeling is None:
        require_family(family, _families(to))
    if unverified and to != "swe-bench":
        raise UsageError(
            f"--unverified says nothing about --to {to}", "Leave it out, or use --to swe-bench"
        )
    for split in splits:
        if not _SPLIT.fullmatch(split):
            raise DatasetError(f"The split name {split!r} cannot name a file", "Build it again")
    task = task_name(name)
    output = output.absolute()
    with replacing_export(output, to) as writer:
        if to == "harbor":
            rows = {split: _write_tasks(writer, dataset, split) for split in splits}
        else:
            convert = _converter(family, to, writer.left_out, labeling, findings, unverified)
            rows = {
                split: writer.lines(f"{split}.jsonl", map(convert, stored_rows(dataset, split)))
                for split in splits
            }
        written = [split for split in splits if rows[split]]
        if not written:
            raise _nothing_left(dataset, to, writer.left_out)
        scored = next((split for split in _SCORED if split in written), written[0])
        kind = family if labeling is None else labeling.kind
        for file, content in harness_files(to, task, kind, written, scored).items():
            writer.text(file, content)
    following = _next(to, task, output, scored)
    left_out = dict(sorted(writer.left_out.items()))
    audit, lacking = findings.audit, findings.lacking
    return ExportResult(to, output, rows, left_out, following, audit, lacking)


def _families(to: str) -> tuple[str, ...]:
    if to in _PROVED:
        return (ISSUE_RESOLUTION.name,)
    return (*HARNESSED, ISSUE_RESOLUTION.name) if to in ("alpaca", "chat") else HARNESSED


def _converter(
    family: str,
    to: str,
    left_out: Counter[str],
    labeling: Labeling | None,
    findings: ExportedFindings,
    unverified: bool,
) -> Callable[[Row], Mapping[str, Any] | None]:
    if to == "swe-bench":

        def to_swe_bench(row: Row) -> Mapping[str, Any] | None:
            reason = None if unverified else unproved_reason(row)
            if reason is None:
                metadata = findings.of(row["id"]).items()
                return {
                    **swe_bench_row(row),
                    **{name: orjson.dumps(value).decode() for name, value in metadata},
                }
            left_out[reason] += 1
            return None

        return to_swe_bench

    def to_sample(row: Row) -> Mapping[str, Any] | None:
        try:
            sample = labeled_sample(labeling, row) if labeling else sample_of(family, row)
            return SHAPES[to](replace(sample, facts={**sample.facts, **findings.of(sample.id)}))
        except EditError:
            left_out["does-not-apply"] += 1
            return None

    return to_sample


def _write_tasks(writer: ExportWriter, dataset: Path, split: str) -> int:
    """Write a folder for each row of a split that is proved; return how many there are."""
    count = 0
    for row in stored_rows(dataset, split):
        harbor = unproved_reason(row) or harbor_task(row)
        folder = f"{split}/{row['instance_id']}"
        if isinstance(harbor, str) or (writer.directory / folder).exists():
            writer.left_out[harbor if isinstance(harbor, str) else "same-instance"] += 1
            continue
        for name, content in harbor.items():
            writer.text(f"{folder}/{name}", content, executable=name.endswith(".sh"))
        count += 1
    return count


def _nothing_left(dataset: Path, to: str, left_out: Counter[str]) -> DatasetError:
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(left_out.items()))
    if to in _PROVED:
        return DatasetError(
            f"No row of {dataset} is proved by its tests ({reasons})",
            "Run goldpan verify, then goldpan build issue-resolution --require verified",
        )
    return DatasetError(
        f"No row of {dataset} can be exported ({reasons or 'it has none'})",
        "Build the dataset again",
    )


def _next(to: str, task: str, directory: Path, split: str) -> str:
    def path(*names: str) -> str:
        return shlex.quote(str(directory.joinpath(*names)))

    file = repr(str(directory / f"{split}.jsonl"))
    return {
        "swe-bench": f"swebench.harness.utils.load_swebench_dataset({file})",
        "harbor": f"harbor run --path {path(split)} --agent oracle",
        "inspect": f"inspect eval {path('task.py')} --model PROVIDER/MODEL",
        "lm-eval": f"lm_eval run --include_path {path()} --tasks {task} --model local-completions",
    }.get(to, f"datasets.load_dataset('json', data_files={file})")
