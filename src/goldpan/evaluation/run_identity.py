"""What tells a run apart from others, and where it lies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from goldpan.core.plugins import Kind, digests
from goldpan.core.workspace import Workspace
from goldpan.datasets.task_data import TaskData
from goldpan.evaluation.metrics.added import added_names
from goldpan.evaluation.model import Model
from goldpan.evaluation.protocol import Protocol
from goldpan.evaluation.stored import FORMAT

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
