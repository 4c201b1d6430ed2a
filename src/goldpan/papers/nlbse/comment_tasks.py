"""The binary tasks of NLBSE'23 on code comments, one a category, made of one file.

A task such as `nlbse23_java_summary` is an attribute of this module. Its prompt's examples are
sentences of its category and of two others, whose reason is what those tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

from goldpan.plugins.data import Task, read_toml, task_of

_FILE = Path(__file__).with_suffix(".toml")
_PREFIX = "nlbse23_"
Category: TypeAlias = Mapping[str, Any]


def __getattr__(name: str) -> Task:
    key = name.removeprefix(_PREFIX)
    if key == name or key not in _file()["category"]:
        raise AttributeError(f"{_FILE} has no category {key}")
    values = {"name": name, **_values(key, _file()["category"])}
    return task_of(values, f"{_FILE}: {key}")


def categories() -> Mapping[str, Category]:
    """Return what is said of each category, by its task's name."""
    return {f"{_PREFIX}{key}": category for key, category in _file()["category"].items()}


@cache
def _file() -> Mapping[str, Any]:
    return read_toml(_FILE).values


def _values(key: str, categories: Mapping[str, Category]) -> dict[str, Any]:
    own, language = categories[key], key.partition("_")[0]
    words = {**own, "language": language, "Language": language.title()}
    others = [categories[f"{language}_{other}"] for other in own["unlike"]]
    for name, category in zip(("own", "other", "third"), (own, *others), strict=True):
        words |= {f"{name}_tells": category["tells"]}
        words |= {f"{name}_{at}": text for at, text in enumerate(category["sentences"], 1)}
    values: dict[str, Any] = _filled(_file()["task"], words)
    return {**values, "counts": _counts(own)}


def _filled(value: Any, words: Mapping[str, Any]) -> Any:
    """Return shared settings with a category's words in them."""
    if isinstance(value, str):
        return Template(value).substitute(words)
    if isinstance(value, Mapping):
        return {key: _filled(item, words) for key, item in value.items()}
    return [_filled(item, words) for item in value] if isinstance(value, list) else value


def _counts(own: Category) -> dict[str, int]:
    label, counts = own["label"], own["counts"]
    names = [f"{side}/{name}" for side in ("train", "test") for name in (label, f"not {label}")]
    totals = {"total": sum(counts), "train": sum(counts[:2]), "test": sum(counts[2:])}
    return {**totals, **dict(zip(names, counts, strict=True))}
