"""What provenance and card say of the prompts of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from goldpan import __version__
from goldpan.datasets.manifest import CardInputs, TaskLine
from goldpan.datasets.prompt_methods import Side
from goldpan.datasets.provenance import Provenance, digest
from goldpan.papers.crosscodebench.meta import META, Meta
from goldpan.papers.crosscodebench.prompt_table import SHARDS, CrossSettings
from goldpan.papers.crosscodebench.splits import Assigned
from goldpan.papers.crosscodebench.spool import TaskCount, TaskFiles

_EXPLAINED = {
    "leaking_exact": "training instances whose input stands in the evaluation",
    "leaking_near": "training instances whose input has a near duplicate in the evaluation",
    "examples_cut": "prompts that lack examples, for their length",
    "inputs_cut": "prompts that lack the end of the input, for their length",
}
_APART = (
    "Training and evaluation have other tasks, of other datasets. Training instances whose input "
    "stands in the evaluation, exactly or nearly, were left out"
)


@dataclass(frozen=True, slots=True)
class Sides:
    """The tasks of both sides of a split, and what became of their instances."""

    assigned: Assigned
    tasks: Mapping[Side, Sequence[TaskFiles]]
    counts: Mapping[Side, tuple[TaskCount, ...]]

    @property
    def metas(self) -> tuple[Meta, ...]:
        """The tasks, those for training first."""
        return (*self.assigned.train, *self.assigned.evaluation)


def describe_provenance(
    sides: Sides, settings: CrossSettings, counts: Mapping[str, int]
) -> Provenance:
    """Return where the prompts come from; `counts` fills while they are made."""
    budget = settings.budget
    return Provenance(
        settings={
            "method": settings.method.name,
            "seed": settings.seed,
            "budget": {"most": budget.most, "unit": budget.unit} if budget else None,
            "train_cap": settings.train_cap,
            "evaluation_cap": settings.evaluation_cap,
            "duplicates": asdict(settings.duplicates),
            "layout": settings.layout,
            "tasks": [_described_task(meta) for meta in sides.metas],
        },
        versions={"rensa": version("rensa")},
        counts=counts,
    )


def describe_split(sides: Sides) -> dict[str, Any]:
    """Return what the provenance says of the split itself."""
    assigned = sides.assigned
    return {
        "split": {"name": assigned.name, **asdict(assigned.split)},
        **{side: [asdict(count) for count in counts] for side, counts in sides.counts.items()},
        "left_out": [asdict(left_out) for left_out in assigned.left_out],
        "inputs": {
            path.name: digest(path)
            for tasks in sides.tasks.values()
            for task in tasks
            for path in (task.data, task.data.with_name(f"{task.meta.stem}{META}"))
        },
    }


def describe_card(sides: Sides, settings: CrossSettings) -> CardInputs:
    """Return what people are told of the prompts."""
    name, method = sides.assigned.name, settings.method.name
    return CardInputs(
        title=f"{name} of CrossCodeBench, {method}",
        summary=(
            f"The split {name} evaluates on {sides.assigned.split.evaluate}. The prompts are made "
            f"by the method {method}, seed {settings.seed}."
        ),
        subjects="count",
        explained=_EXPLAINED,
        tasks=tuple(_lines(sides)),
        citations=tuple(dict.fromkeys(meta.bibtex for meta in sides.metas)),
        near_duplicates=_APART,
        made=(
            f"Goldpan {__version__} drew up to {settings.train_cap:,} instances of each training "
            f"task and {settings.evaluation_cap:,} of each evaluation task, by hash, and made a "
            "prompt of each. The folder tasks has descriptions, definitions and examples of all "
            "tasks."
        ),
    )


def _described_task(meta: Meta) -> dict[str, Any]:
    source = {"title": meta.work, "url": meta.url, "license": meta.license}
    access = {"access": meta.task.source.access} if meta.task else {}
    return {"name": meta.name, "source": {**source, **access}}


def _license(meta: Meta) -> str:
    """Return the license of a task's source; what Goldpan builds has that of each repository."""
    if meta.task is not None and meta.task.source.access == "built":
        return "of each repository"
    return meta.license or "not known"


def _lines(sides: Sides) -> list[TaskLine]:
    return [
        TaskLine(
            task.meta.name,
            SHARDS[side],
            str(task.meta.kind),
            task.meta.work,
            _license(task.meta),
            count.available,
            count.drawn,
            count.drawn - count.leaking,
        )
        for side, tasks in sides.tasks.items()
        for task, count in zip(tasks, sides.counts[side], strict=True)
    ]
