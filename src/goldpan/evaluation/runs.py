"""The finished runs of a workspace, as comparisons and reports read them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.core.parquet import read_table
from goldpan.core.plugins import Kind, digests
from goldpan.core.registry import unknown_name
from goldpan.core.workspace import Workspace
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.metrics.added import added_names
from goldpan.evaluation.metrics.result import Scores
from goldpan.evaluation.model import Model
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.record import RunRecord
from goldpan.evaluation.stored import FORMAT, PREDICTIONS, RESULT, TRAIN, read_result, record_of

# What tells a run apart from others, and where it lies.

ABLATE = "ablate"
"""The setting of a run that names what is taken out of the input."""


def identity(
    data: TaskData, model: Model, protocol: Protocol, seed: int, ablated: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what tells a run apart from others, as plain JSON data."""
    facts = model.task_facts(data.task) if model.task_facts else {}
    metrics: list[tuple[Kind, str]] = [("metric", name) for name in added_names(data.task)]
    rules: list[tuple[Kind, str]] = [("prompt rule", data.task.source.builder)]
    plugins = digests(
        ("model", model.name),
        ("task", data.task.name),
        ("importer", data.task.source.reader),
        ("protocol", protocol.name),
        ("fine-tuning recipe", str(model.settings.get("recipe", ""))),
        *metrics,
        *(rules if model.task_facts else ()),
    )
    return {
        "format": FORMAT,
        "task": data.task.name,
        "metric": data.task.metric,
        "labels": list(data.task.label_names),
        "data_hash": data.data_hash,
        "split_hash": data.split_hash,
        "model": model.name,
        "settings": {**model.settings, **facts, **({ABLATE: "+".join(ablated)} if ablated else {})},
        "protocol": asdict(protocol),
        "seed": seed,
        **({"plugins": plugins} if plugins else {}),
    }


def run_directory(workspace: Workspace, facts: Mapping[str, Any]) -> Path:
    """Return where the run of that identity lies."""
    digest = hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
    name = f"seed-{facts['seed']}-{digest}"
    return workspace.root / "runs" / str(facts["task"]) / str(facts["model"]) / name


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run."""

    directory: Path
    record: RunRecord

    @property
    def task(self) -> str:
        """The task's name."""
        return self.record.task

    @property
    def model(self) -> str:
        """The model's name."""
        return self.record.model

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.record.seed

    @property
    def scores(self) -> Scores:
        """The scores on test."""
        return self.record.scores

    @property
    def train_scores(self) -> Scores:
        """The scores on train rows."""
        return self.record.train_scores

    @property
    def validation_scores(self) -> Scores:
        """The scores on the rows that chose."""
        return self.record.validation_scores

    @property
    def value(self) -> float | None:
        """The score that ranks, None where it is undefined."""
        return self.scores.value(self.scores.main)

    def predictions(self) -> pa.Table:
        """Return the answers to the test rows."""
        return read_table(self.directory / PREDICTIONS)

    def train_predictions(self) -> pa.Table:
        """Return the answers to train rows."""
        return read_table(self.directory / TRAIN)


def read_runs(
    workspace: Workspace, *, tasks: Collection[str] = (), models: Collection[str] = ()
) -> list[Run]:
    """Return the finished runs of these tasks and models, of all where none is named; sorted.

    Raises `UsageError` where there is none, `EvaluationError` for one that is damaged.
    """
    runs = []
    there: dict[str, set[str]] = {"task": set(), "model": set()}
    for path in sorted((workspace.root / "runs").glob(f"*/*/*/{RESULT}")):
        result = read_result(path.parent)
        for noun, names in there.items():
            names.add(result[noun])
        if (tasks and result["task"] not in tasks) or (models and result["model"] not in models):
            continue
        runs.append(Run(path.parent, record_of(path.parent, result)))
    if not runs:
        raise _no_runs(workspace, there, {"task": tasks, "model": models})
    return sorted(runs, key=lambda run: (run.task, run.model, run.seed, run.directory.name))


def require_runs(noun: str, names: Collection[str], available: Collection[str]) -> None:
    """Raise `UsageError` that lists near matches for a task, model or protocol without a run."""
    for name in names:
        if name not in available:
            raise unknown_name(f"stored run for the {noun}", name, sorted(available))


def _no_runs(
    workspace: Workspace,
    there: Mapping[str, Collection[str]],
    wanted: Mapping[str, Collection[str]],
) -> UsageError:
    """Say that no run was chosen; raises `UsageError` itself for the one name that has no run."""
    for noun, names in wanted.items():
        if len(names) == 1 and there[noun]:
            require_runs(noun, names, there[noun])
    chosen = " of what was asked for" if any(wanted.values()) and there["task"] else ""
    return UsageError(
        f"{workspace.root} holds no finished run{chosen}",
        "Run goldpan evaluate run --task TASK --model MODEL",
    )
