"""The door: what a plugin is made of, and `register`, which takes it in.

    from goldpan.plugins import Criterion, register

    register(Criterion(name="has-code", ...))

`docs/plugins.md` shows one of each kind. What else a plugin needs of Goldpan is in the modules of
this package: `data` to read, make and write rows, `evaluation` for models, metrics, reports and
papers' tables, `operations` for commands. A name is imported when it is first used, so that
registering costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from goldpan.core import plugins
from goldpan.core.plugin_parts import Builder, Command, Files, Part, Registrable, no_part

if TYPE_CHECKING:
    from goldpan.annotation.studio.forms import Form
    from goldpan.builders.context import BuildContext
    from goldpan.builders.recipes import Recipe
    from goldpan.datasets.family import Column, Family
    from goldpan.datasets.registry import read_path as read_task
    from goldpan.datasets.task import Task, target_column
    from goldpan.evaluation.metrics.estimate import ExampleMetric
    from goldpan.evaluation.model import Answers, Model, TrainingContext
    from goldpan.evaluation.model import Entry as ModelEntry
    from goldpan.evaluation.model import settled as model_settings
    from goldpan.filters.criterion import Criterion, NoSettings
    from goldpan.filters.repo_view import RepoView
    from goldpan.miners.pairing import SIGNALS, Rules, Signal
    from goldpan.report.comparison.rows import ReportSection

__all__ = [
    "SIGNALS",
    "Answers",
    "BuildContext",
    "Builder",
    "Column",
    "Command",
    "Criterion",
    "ExampleMetric",
    "Family",
    "Files",
    "Form",
    "Model",
    "ModelEntry",
    "NoSettings",
    "Part",
    "Recipe",
    "RepoView",
    "ReportSection",
    "Rules",
    "Signal",
    "Task",
    "TrainingContext",
    "model_settings",
    "read_task",
    "register",
    "target_column",
]

_MODULES = {
    "SIGNALS": "miners.pairing",
    "Answers": "evaluation.model",
    "BuildContext": "builders.context",
    "Column": "datasets.family",
    "Criterion": "filters.criterion",
    "ExampleMetric": "evaluation.metrics.estimate",
    "Family": "datasets.family",
    "Form": "annotation.studio.forms",
    "Model": "evaluation.model",
    "ModelEntry": "evaluation.model:Entry",
    "NoSettings": "filters.criterion",
    "Recipe": "builders.recipes",
    "RepoView": "filters.repo_view",
    "ReportSection": "report.comparison.rows",
    "Rules": "miners.pairing",
    "Signal": "miners.pairing",
    "Task": "datasets.task",
    "TrainingContext": "evaluation.model",
    "model_settings": "evaluation.model:settled",
    "read_task": "datasets.registry:read_path",
    "target_column": "datasets.task",
}
"""Where each name stands, with the name that it has there if it is another."""


def register(*things: Registrable) -> None:
    """Add the parts of a plugin to those of Goldpan; a plugin calls it when it is imported.

    Raises `UsageError` for what is no part of a plugin, and for a name that is taken.
    """
    module = sys._getframe(1).f_globals
    for thing in things:
        if not hasattr(thing, "parts"):
            raise no_part(thing)
        plugins.register(module, thing)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, there = _MODULES[name].partition(":")
    value: object = getattr(import_module(f"goldpan.{module}"), there or name)
    globals()[name] = value
    return value
