"""Exports a dataset: each split a file, in the form that a harness or a training program takes."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from goldpan.code.edits.edit import EditError
from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.examples import FAMILIES
from goldpan.datasets.export.harbor import harbor_task
from goldpan.datasets.export.harnesses import (
    HARNESSED,
    inspect_sample,
    inspect_task,
    lm_eval_doc,
    lm_eval_scoring,
    lm_eval_task,
    scoring_module,
    task_name,
)
from goldpan.datasets.export.labels import Labelling, find_labelling
from goldpan.datasets.export.result import ExportResult
from goldpan.datasets.export.samples import Sample, labelled_sample, require_family, sample_of
from goldpan.datasets.export.swe_bench import swe_bench_row, why_not
from goldpan.datasets.export.text_to_text import TEXT_TO_TEXT
from goldpan.datasets.export.writing import Writer, read_rows, replacing
from goldpan.datasets.issue_resolution import ISSUE_RESOLUTION

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
) -> ExportResult:
    """Write a dataset to the directory `output`, all or nothing.

    It is of one of `FAMILIES`, or of a classification task, shipped or in the directory `tasks`.
    Harnesses call its task by the dataset's `name`.
    Harbor's form and SWE-bench's take rows that running their tests proved; SWE-bench's takes
    others if `unverified`. An earlier export in the directory is replaced. Raises `UsageError`
    where the family has no such form, `DatasetError` where no row is left or the directory holds
    something else.
    """
    labelling = None
    if family not in FAMILIES and to not in _PROVED:
        labelling = find_labelling(dataset, family, tasks)
    if labelling is None:
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
    with replacing(output, to) as writer:
        if to == "harbor":
            rows = {split: _write_tasks(writer, dataset, split) for split in splits}
        else:
            convert = _converter(family, to, writer.left_out, labelling, unverified=unverified)
            rows = {
                split: writer.lines(f"{split}.jsonl", read_rows(dataset, split, convert))
                for split in splits
            }
        written = [split for split in splits if rows[split]]
        if not written:
            raise _nothing_left(dataset, to, writer.left_out)
        scored = next((split for split in _SCORED if split in written), written[0])
        kind = family if labelling is None else labelling.kind
        _write_harness(writer, task, kind, to, written, scored)
    following = _next(to, task, output, scored)
    return ExportResult(to, output, rows, dict(sorted(writer.left_out.items())), following)


def _families(to: str) -> tuple[str, ...]:
    if to in _PROVED:
        return (ISSUE_RESOLUTION.name,)
    return (*HARNESSED, ISSUE_RESOLUTION.name) if to in TEXT_TO_TEXT else HARNESSED


def _converter(
    family: str,
    to: str,
    left_out: Counter[str],
    labelling: Labelling | None,
    *,
    unverified: bool,
) -> Callable[[Row], Mapping[str, Any] | None]:
    if to == "swe-bench":

        def proved(row: Row) -> Mapping[str, Any] | None:
            reason = None if unverified else why_not(row)
            if reason is None:
                return swe_bench_row(row)
            left_out[reason] += 1
            return None

        return proved
    shapes: Mapping[str, Callable[[Sample], dict[str, Any]]] = {
        **TEXT_TO_TEXT,
        "inspect": inspect_sample,
        "lm-eval": lm_eval_doc,
    }
    shape = shapes[to]

    def asked(row: Row) -> Mapping[str, Any] | None:
        if labelling is not None:
            return shape(labelled_sample(labelling, row))
        try:
            return shape(sample_of(family, row))
        except EditError:
            left_out["does-not-apply"] += 1
            return None

    return asked


def _write_tasks(writer: Writer, dataset: Path, split: str) -> int:
    """Write a folder for each row of a split that is proved; return how many there are."""
    count = 0
    for row in read_rows(dataset, split, lambda row: row):
        harbor = why_not(row) or harbor_task(row)
        folder = f"{split}/{row['instance_id']}"
        if isinstance(harbor, str) or (writer.directory / folder).exists():
            writer.left_out[harbor if isinstance(harbor, str) else "same-instance"] += 1
            continue
        for name, content in harbor.items():
            writer.text(f"{folder}/{name}", content, executable=name.endswith(".sh"))
        count += 1
    return count


def _write_harness(
    writer: Writer, task: str, kind: str, to: str, splits: list[str], scored: str
) -> None:
    if to == "inspect":
        writer.text("task.py", inspect_task(task, kind, scored))
        writer.text("scoring.py", scoring_module())
    elif to == "lm-eval":
        writer.text(f"{task}.yaml", lm_eval_task(task, kind, splits, scored))
        writer.text("lm_eval_scoring.py", lm_eval_scoring(kind, splits))


def _nothing_left(dataset: Path, to: str, left_out: Counter[str]) -> DatasetError:
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(left_out.items()))
    if to not in _PROVED:
        return DatasetError(
            f"No row of {dataset} can be exported ({reasons or 'it has none'})",
            "Build the dataset again",
        )
    if left_out.keys() <= {"no-environment", "same-instance"}:
        return DatasetError(
            f"The proved rows of {dataset} lack their environment ({reasons})",
            "Run goldpan verify, whose own recipe for Python records it, and build again",
        )
    if "not-run" in left_out:
        remedy = (
            "Run goldpan verify with this dataset, then goldpan build issue-resolution with the "
            "same options and --require verified: rows tell what was proved before they were built"
        )
    else:
        remedy = "See goldpan verify for what its verdicts mean"
    return DatasetError(
        f"No row of {dataset} is proved by its tests ({reasons})",
        remedy + (", or give --unverified" if to == "swe-bench" else ""),
    )


def _next(to: str, task: str, directory: Path, split: str) -> str:
    """Return the command or the code that takes an export."""

    def path(*names: str) -> str:
        return shlex.quote(str(directory.joinpath(*names)))

    file = repr(str(directory / f"{split}.jsonl"))
    return {
        "swe-bench": f"swebench.harness.utils.load_swebench_dataset({file})",
        "harbor": f"harbor run --path {path(split)} --agent oracle",
        "inspect": f"inspect eval {path('task.py')} --model PROVIDER/MODEL",
        "lm-eval": f"lm_eval run --include_path {path()} --tasks {task} --model local-completions",
    }.get(to, f"datasets.load_dataset('json', data_files={file})")
