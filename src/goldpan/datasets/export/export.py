"""Exports a dataset: each split a file, in the form that a harness or a training program takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from goldpan.code.edits.edit import EditError
from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.export.harbor import harbor_task
from goldpan.datasets.export.harnesses import (
    HARNESSED,
    inspect_sample,
    inspect_task,
    lm_eval_doc,
    lm_eval_name,
    lm_eval_scoring,
    lm_eval_task,
    scoring_module,
)
from goldpan.datasets.export.result import ExportResult
from goldpan.datasets.export.samples import Sample, require_family, sample_of
from goldpan.datasets.export.swe_bench import swe_bench_row, why_not
from goldpan.datasets.export.text_to_text import TEXT_TO_TEXT
from goldpan.datasets.export.writing import Writer, read_rows, replacing
from goldpan.datasets.issue_resolution import ISSUE_RESOLUTION

ExportName = Literal["swe-bench", "harbor", "inspect", "lm-eval", "alpaca", "chat"]
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
    to: ExportName,
    output: Path,
    *,
    unverified: bool = False,
) -> ExportResult:
    """Write a dataset of one of `FAMILIES` to the directory `output`, all or nothing.

    Harbor's form and SWE-bench's take rows that running their tests proved; SWE-bench's takes
    others if `unverified`. An earlier export in the directory is replaced. Raises `UsageError`
    where the family has no such form, `DatasetError` where no row is left or the directory holds
    something else.
    """
    require_family(family, _families(to))
    if unverified and to != "swe-bench":
        raise UsageError(
            f"--unverified says nothing about --to {to}", "Leave it out, or use --to swe-bench"
        )
    for name in splits:
        if not _SPLIT.fullmatch(name):
            raise DatasetError(f"The split name {name!r} cannot name a file", "Build it again")
    output = output.absolute()
    with replacing(output, to) as writer:
        if to == "harbor":
            tasks = {name: _write_tasks(writer, dataset, name) for name in splits}
            if not sum(tasks.values()):
                raise _nothing_left(dataset, to, writer.left_out)
            left_out = dict(sorted(writer.left_out.items()))
            return ExportResult(to, output, tasks, left_out, _next(to, family))
        convert = _converter(family, to, writer.left_out, unverified=unverified)
        rows = {
            name: writer.lines(f"{name}.jsonl", read_rows(dataset, name, convert))
            for name in splits
        }
        if not sum(rows.values()):
            raise _nothing_left(dataset, to, writer.left_out)
        _write_harness(writer, family, to, [name for name in splits if rows[name]])
    return ExportResult(to, output, rows, dict(sorted(writer.left_out.items())), _next(to, family))


def _families(to: ExportName) -> tuple[str, ...]:
    if to in _PROVED:
        return (ISSUE_RESOLUTION.name,)
    return (*HARNESSED, ISSUE_RESOLUTION.name) if to in TEXT_TO_TEXT else HARNESSED


def _converter(
    family: str, to: ExportName, left_out: Counter[str], *, unverified: bool
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


def _write_harness(writer: Writer, family: str, to: ExportName, splits: list[str]) -> None:
    if to not in ("inspect", "lm-eval"):
        return
    scored = next((name for name in _SCORED if name in splits), splits[0])
    if to == "inspect":
        writer.text("task.py", inspect_task(family, scored))
        writer.text("scoring.py", scoring_module())
    else:
        writer.text(f"{lm_eval_name(family)}.yaml", lm_eval_task(family, splits, scored))
        writer.text("lm_eval_scoring.py", lm_eval_scoring(family))


def _nothing_left(dataset: Path, to: ExportName, left_out: Counter[str]) -> DatasetError:
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(left_out.items()))
    if to not in _PROVED:
        return DatasetError(
            f"No row of {dataset} can be exported ({reasons or 'it has none'})",
            "Build the dataset again",
        )
    return DatasetError(
        f"No row of {dataset} is proved by its tests ({reasons})",
        "Run goldpan verify and build with --verified"
        + (", or give --unverified" if to == "swe-bench" else ""),
    )


def _next(to: ExportName, family: str) -> str:
    return {
        "swe-bench": "swebench.harness.utils.load_swebench_dataset('DIRECTORY/SPLIT.jsonl')",
        "harbor": "harbor run --path DIRECTORY/SPLIT --agent oracle",
        "inspect": "inspect eval DIRECTORY/task.py --model PROVIDER/MODEL",
        "lm-eval": "cd DIRECTORY && lm_eval run --include_path . "
        f"--tasks {lm_eval_name(family)} --model local-completions",
    }.get(to, "datasets.load_dataset('json', data_files='DIRECTORY/SPLIT.jsonl')")
