"""Builds a split of CrossCodeBench: prompts for training and for evaluation on unseen tasks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan._version import __version__
from goldpan.papers.crosscodebench.meta import DATA, META, Meta, list_metas, meta_json, read_meta
from goldpan.papers.crosscodebench.prompts import CROSSCODE, SHARDS, CrossSettings, prompt_rows
from goldpan.papers.crosscodebench.splits import Assigned, LeftOut, TaskCount, TaskFiles, spool_side
from goldpan.plugins import data
from goldpan.plugins.data import find_leaks_of_batches

FAMILY = CROSSCODE.name
"""The family of a built split, in its provenance."""
_TASKS = "tasks"
"""The folder of the tasks' meta information."""
_BATCH = 256
_EXPLAINED = {
    "leaking_exact": "training instances whose input stands in the evaluation",
    "leaking_near": "training instances whose input has a near duplicate in the evaluation",
}
_APART = (
    "Training and evaluation have other tasks, of other datasets. Training instances whose input "
    "stands in the evaluation, exactly or nearly, were left out"
)


@dataclass(frozen=True, slots=True)
class CrossCodeResult(data.Result):
    """The result of building a split."""

    schema = 2

    directory: Path
    split: str
    train: tuple[TaskCount, ...]
    evaluation: tuple[TaskCount, ...]
    left_out: tuple[LeftOut, ...]
    leaking: Mapping[str, int]
    """Training instances that stand in the evaluation, by relation: exact, near."""
    seconds: float


@data.renders(CrossCodeResult)
def built(result: CrossCodeResult) -> Iterator[data.Block]:
    """Yield what the split holds, and what was left out of it."""
    cells = []
    for side, counts in (("train", result.train), ("evaluation", result.evaluation)):
        prompts = sum(count.drawn - count.leaking for count in counts)
        cells.append((side, len(counts), prompts, sum(count.available for count in counts)))
    yield data.Title(
        result.split,
        f": {cells[0][2]:,} prompts to train on, {cells[1][2]:,} to evaluate on"
        f" in {result.seconds:.1f} s",
    )
    yield data.Table(("side", "tasks", "prompts", "instances available"), cells)
    for task in result.left_out:
        yield data.Line(str(task))
    yield data.Line(
        f"{sum(result.leaking.values()):,} training instances dropped, as they also occur in the "
        f"evaluation: {result.leaking['exact']:,} exactly, {result.leaking['near']:,} nearly"
    )
    yield data.Line(f"Written to {result.directory}")


def find_tasks(directories: Sequence[Path]) -> list[TaskFiles]:
    """Return the tasks of directories of task files, sorted by the names of their files.

    Raises `DatasetError` where a file is not as it should be, or two tasks have one name.
    """
    read_files: list[TaskFiles] = []
    path_of: dict[str, Path] = {}
    for path in (path for directory in directories for path in list_metas(directory)):
        meta = read_meta(path)
        for name in {meta.name, meta.stem}:
            if name in path_of:
                raise data.DatasetError(
                    f"{path} describes the task {name}, as {path_of[name]} does",
                    "Remove one of the two, or give --from once",
                )
            path_of[name] = path
        data_path = path.with_name(f"{meta.stem}{DATA}")
        if not data_path.is_file():
            raise data.DatasetError(f"{data_path} is missing", "Write the task's files again")
        read_files.append(TaskFiles(meta, data_path))
    return sorted(read_files, key=lambda task: task.meta.stem)


def side_rows(directory: Path, side: data.Side, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the prompts of a side of a built split; memory follows a batch.

    Raises `DatasetError` where a file is damaged.
    """
    for path in data.shard_paths(directory, SHARDS[side]):
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(batch_size=_BATCH, columns=list(columns)):
                    yield from batch.to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise data.DatasetError(f"{path} cannot be read ({error})", "Build it again") from None


def build_split(
    workspace: data.WorkspaceLayout,
    tasks: Sequence[TaskFiles],
    assigned: Assigned,
    settings: CrossSettings,
    directory: Path,
    reporter: data.Reporter,
) -> CrossCodeResult:
    """Write the prompts of a split to a directory, in place of an earlier one there.

    Up to 10,000 instances of a training task and 500 of an evaluation task are drawn; training
    instances whose input stands in the evaluation, exactly or nearly, are dropped, as the paper
    does (section VI). Raises `DatasetError` where one side has no task, or the directory holds
    something else.
    """
    started = time.monotonic()
    if assigned.empty:
        raise data.DatasetError(
            f"The split {assigned.name} has no task for {assigned.empty}",
            f"It evaluates on {assigned.split.evaluate}: add tasks with --source, or choose "
            "another of goldpan reproduce crosscodebench --table 4",
        )
    data.refuse_foreign(directory, FAMILY)
    by_stem = {task.meta.stem: task for task in tasks}
    trained_on = [by_stem[meta.stem] for meta in assigned.train]
    evaluated_on = [by_stem[meta.stem] for meta in assigned.evaluation]
    with workspace.scratch() as scratch, reporter.task(assigned.name, 4) as progress:
        evaluation = spool_side(
            scratch / "evaluation", evaluated_on, settings.evaluation_cap, settings.seed
        )
        progress.advance()
        train = spool_side(scratch / "train", trained_on, settings.train_cap, settings.seed)
        progress.advance()
        leaks = find_leaks_of_batches(evaluation.inputs(), train.inputs(), settings.duplicates)
        dropped = {leak.query for leak in leaks}
        counts = Counter(leaking_exact=0, leaking_near=0)
        counts.update(f"leaking_{leak.relation}" for leak in leaks)
        progress.advance()
        train = replace(train, counts=train.counts_without(dropped))
        sides = (trained_on, train.counts), (evaluated_on, evaluation.counts)
        members = [
            _Member(side, *pair)
            for side, of_side in zip(SHARDS, sides, strict=True)
            for pair in zip(*of_side, strict=True)
        ]
        data.write_dataset(
            workspace,
            directory,
            CROSSCODE,
            CROSSCODE.batches(
                chain(
                    prompt_rows("train", trained_on, train, dropped, settings),
                    prompt_rows("evaluation", evaluated_on, evaluation, (), settings),
                )
            ),
            data.SplitPlan("given", seed=settings.seed),
            _provenance(members, settings, counts),
            _card(assigned, members, settings),
            extras=_extras(assigned, members, (*train.quoted, *evaluation.quoted)),
        )
        progress.advance()
    return CrossCodeResult(
        directory,
        assigned.name,
        train.counts,
        evaluation.counts,
        assigned.left_out,
        {relation: counts[f"leaking_{relation}"] for relation in ("exact", "near")},
        round(time.monotonic() - started, 3),
    )


@dataclass(frozen=True, slots=True)
class _Member:
    """A task of one side of a split, and what became of its instances."""

    side: data.Side
    task: TaskFiles
    count: TaskCount

    @property
    def meta(self) -> Meta:
        return self.task.meta


def _provenance(
    members: Sequence[_Member], settings: CrossSettings, counts: Mapping[str, int]
) -> data.Provenance:
    """Return where the prompts come from."""
    return data.Provenance(
        settings={
            "method": settings.method.name,
            "seed": settings.seed,
            "train_cap": settings.train_cap,
            "evaluation_cap": settings.evaluation_cap,
            "duplicates": asdict(settings.duplicates),
            "layout": settings.layout,
            "tasks": [_described_task(member.meta) for member in members],
        },
        versions={"rensa": version("rensa")},
        counts=counts,
    )


def _described_task(meta: Meta) -> dict[str, Any]:
    source = {"title": meta.work, "url": meta.url, "license": meta.license}
    access = {"access": meta.task.source.access} if meta.task else {}
    return {"name": meta.name, "source": {**source, **access}}


def _extras(
    assigned: Assigned, members: Sequence[_Member], quoted: tuple[data.Origin, ...]
) -> data.Extras:
    """Return the files of the tasks, and what the provenance says of the split itself."""
    about: dict[str, Any] = {
        "split": {"name": assigned.name, **asdict(assigned.split)},
        **{
            side: [asdict(member.count) for member in members if member.side == side]
            for side in SHARDS
        },
        "left_out": [asdict(left_out) for left_out in assigned.left_out],
        "inputs": {
            path.name: data.file_digest(path) for member in members for path in member.task.paths
        },
    }
    files = {f"{_TASKS}/{member.meta.stem}{META}": meta_json(member.meta) for member in members}
    return data.Extras(files, about, quoted)


def _card(
    assigned: Assigned, members: Sequence[_Member], settings: CrossSettings
) -> data.CardInputs:
    """Return the facts of the card."""
    name, method = assigned.name, settings.method.name
    return data.CardInputs(
        title=f"{name} of CrossCodeBench, {method}",
        summary=(
            f"The split {name} evaluates on {assigned.split.evaluate}. The prompts are made "
            f"by the method {method}, seed {settings.seed}."
        ),
        subjects="count",
        explained=_EXPLAINED,
        tasks=tuple(map(_task_line, members)),
        citations=tuple(dict.fromkeys(member.meta.bibtex for member in members)),
        near_duplicates=_APART,
        made=(
            f"Goldpan {__version__} drew up to {settings.train_cap:,} instances of each training "
            f"task and {settings.evaluation_cap:,} of each evaluation task, by hash, and made a "
            "prompt of each. The folder tasks has descriptions, definitions and examples of all "
            "tasks."
        ),
    )


def _task_line(member: _Member) -> data.TaskLine:
    meta, count = member.meta, member.count
    # What Goldpan builds has the license of each repository.
    built = meta.task is not None and meta.task.source.access == "built"
    return data.TaskLine(
        meta.name,
        SHARDS[member.side],
        str(meta.kind),
        meta.work,
        "of each repository" if built else meta.license or "not known",
        count.available,
        count.drawn,
        count.drawn - count.leaking,
    )
