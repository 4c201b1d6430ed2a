"""Finds models by name; adding one is adding its file and a line here, or a plugin's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from goldpan.core.plugins import blamed
from goldpan.core.registry import Registry
from goldpan.core.result import Block, Result, Table
from goldpan.evaluation.leaks import CUTOFF, read_cutoff
from goldpan.evaluation.model import Entry, Model

_FAMILIES = (
    "baselines",
    "boosted",
    "embedded",
    "fasttext",
    "finetuned",
    "linear",
    "prompted",
    "tokens",
)
"""Modules of this folder, each with `MODELS`."""


def _own() -> dict[str, Entry]:
    modules = (import_module(f"goldpan.evaluation.models.{family}") for family in _FAMILIES)
    return {entry.name: entry for module in modules for entry in module.MODELS}


MODELS: Registry[Entry] = Registry("model", _own, "model", order=lambda item: item[0])
catalogue = MODELS.entries


def find_model(name: str, settings: Mapping[str, Any]) -> Model:
    """Return the model of that name; raises `UsageError` that lists near matches.

    The setting `cutoff`, the last day of its training data, is any model's.
    """
    entry = MODELS.find(name)
    with blamed("model", name):
        model = entry.make({key: settings[key] for key in settings if key != CUTOFF})
    if CUTOFF not in settings:
        return model
    return replace(model, settings={**model.settings, CUTOFF: read_cutoff(settings[CUTOFF])})


@dataclass(frozen=True, slots=True)
class ModelList(Result):
    """The models that can be run."""

    entries: tuple[Entry, ...]

    def plain(self) -> list[dict[str, str]]:
        """Return name and description of each."""
        return [{"name": entry.name, "about": entry.about} for entry in self.entries]

    def blocks(self) -> Iterator[Block]:
        """Yield one table."""
        yield Table(("model", ""), [(entry.name, entry.about) for entry in self.entries])
