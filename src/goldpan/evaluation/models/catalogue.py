"""Finds models by name; adding one is adding its file and a line here, or a plugin's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from goldpan.core.errors import UsageError
from goldpan.core.plugins import Kind, blamed
from goldpan.core.registry import Registry
from goldpan.core.settings_file import unknown_key
from goldpan.evaluation.dates import CUTOFF, read_cutoff
from goldpan.evaluation.model import Model

_FAMILIES = (
    "boosted",
    "dates_only",
    "dummy",
    "embedded",
    "fasttext",
    "finetuned",
    "linear",
    "prompted",
    "shortcuts",
    "tokens",
)
"""Modules of this folder, each with `MODELS`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that can be named on the command line."""

    name: str
    about: str
    """One sentence."""
    make: Callable[[Mapping[str, Any]], Model]
    """Takes settings that override its own; raises `UsageError` for one that it does not know."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("model", self.name, self)]


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


def fixed_entry(model: Model) -> Entry:
    """Return the entry of a model that has no settings to choose."""
    about = (inspect.getdoc(model.fit) or "").partition("\n")[0]
    return Entry(model.name, about, partial(_without_settings, model))


def _without_settings(model: Model, settings: Mapping[str, Any]) -> Model:
    settled(model.name, {}, settings)
    return model


def settled(name: str, defaults: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's settings with what was given, in the types of its defaults.

    Raises `UsageError` for a setting that the model does not know or of another type.
    """
    settings = dict(defaults)
    for key, value in overrides.items():
        if key not in defaults:
            cause, remedy = unknown_key(key, list(defaults))
            raise UsageError(f"The model {name}: {cause}", remedy)
        kind = type(defaults[key])
        try:
            settings[key] = _boolean(value) if kind is bool else kind(value)
        except (TypeError, ValueError):
            raise UsageError(
                f"{key} of the model {name} cannot be {value!r}", f"Give a {kind.__name__}"
            ) from None
    return settings


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "yes", "1"):
        return True
    if str(value).lower() in ("false", "no", "0"):
        return False
    raise ValueError(value)
