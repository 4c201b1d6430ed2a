"""What a plugin is made of: the kinds of things that `register` takes, and what they stand on.

    from goldpan.plugins import Criterion, register

    register(Criterion(name="has-code", ...))

`docs/plugins.md` shows one of each kind.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from goldpan.builders.context import BuildContext
from goldpan.builders.recipes import Recipe
from goldpan.core import plugins
from goldpan.core.errors import UsageError
from goldpan.datasets.family import Column, Family
from goldpan.datasets.registry import read_path as read_task
from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import target_column
from goldpan.evaluation.model import Answers, Model, TrainingContext
from goldpan.evaluation.models.catalogue import Entry as ModelEntry
from goldpan.evaluation.models.catalogue import settled as model_settings
from goldpan.filters.criterion import Criterion, NoSettings
from goldpan.filters.repo_view import RepoView
from goldpan.miners.pairing import SIGNALS, Rules, Signal

__all__ = [
    "SIGNALS",
    "Answers",
    "BuildContext",
    "Column",
    "Criterion",
    "Family",
    "Model",
    "ModelEntry",
    "NoSettings",
    "Recipe",
    "RepoView",
    "Rules",
    "Signal",
    "Task",
    "TrainingContext",
    "model_settings",
    "read_task",
    "register",
    "target_column",
]

_RULES = re.compile(r"[a-z0-9][a-z0-9_-]*")


def register(*things: object) -> None:
    """Add criteria, models, datasets, tasks, pairing rules and signals to those of Goldpan.

    A plugin calls it when it is imported. A `Model` has no settings to choose; a `ModelEntry`
    makes one of settings. Raises `UsageError` for what is none of these.
    """
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    module = caller.f_globals if caller else {}
    for thing in things:
        kind, name, value = _identified(thing)
        plugins.add(kind, name, value, module)


def _without(model: Model, settings: Mapping[str, Any]) -> Model:
    """Return a model that has no settings; raises `UsageError` where some are given."""
    model_settings(model.name, {}, settings)
    return model


def _identified(thing: object) -> tuple[plugins.Kind, str, object]:
    match thing:
        case Criterion():
            return "criterion", thing.name, cast(object, thing)
        case ModelEntry():
            return "model", thing.name, thing
        case Model():
            about = (inspect.getdoc(thing.fit) or "").partition("\n")[0]
            return "model", thing.name, ModelEntry(thing.name, about, partial(_without, thing))
        case Recipe():
            return "dataset", thing.family.name, thing
        case Task():
            return "task", thing.name, thing
        case Rules():
            if not _RULES.fullmatch(thing.name):
                raise UsageError(
                    f"The rules {thing.name!r} cannot name a file",
                    "Use lower-case letters, digits, hyphens and underscores",
                )
            return "rules", thing.name, thing
        case Signal():
            return "signal", thing.name, thing
        case _:
            raise UsageError(
                f"A plugin registers an object of type {type(thing).__name__}, "
                "which Goldpan does not know",
                "Register a Criterion, Model, ModelEntry, Recipe, Task, Rules or Signal",
            )
