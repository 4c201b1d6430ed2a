"""Evaluation protocols: rows that choose settings, access to the test, rows held out, defects.

Goldpan's own protocol lets nothing be chosen by the test. Those of papers are there to repeat
what they did; each says its known defects, and reports show them.

Where a source splits single rows, a test row has its neighbors in train, and often stands there
word for word. `hold_out` keeps the values of a column apart, for what a model is worth on new ones:

    document        a fifth of the documents is the test, drawn by a hash of their names, so that
                    all tasks that share documents hold out the same ones, whatever the seed;
                    document:1 to document:4 are the other fifths
    repo=OWNER/NAME the rows of that project are the test
    repo:each       one run in which each project is tested by a model that learned from all others
                    (leave one project out)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.core.plugins.registry import Registry, files_in
from goldpan.core.result import Result
from goldpan.core.settings.file import read_toml
from goldpan.datasets.tasks.data import TaskData, task_data
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.task_input import values_of
from goldpan.text.preprocessing import ordered_steps

_SHIPPED = files("goldpan.evaluation") / "protocols"


@dataclass(frozen=True, slots=True)
class Protocol(Result):
    """One TOML file, in `evaluation/protocols/` or a plugin's."""

    name: str
    title: str
    source: str
    """The paper and section, or why it is Goldpan's own."""
    validation: Literal["train", "test", "none"]
    """Where rows to choose settings by come from: a part of train, the test itself, or nowhere."""
    share: float = 0.1
    """Share of train that becomes validation."""
    temperature: float = 0.0
    """Temperature of language models."""
    answer_tokens: int = 50
    """The most tokens of a language model's answer that is a label or a number."""
    text_tokens: int = 4096
    """The most where it is a text, or has a tag or a word for each that is asked."""
    structured: bool = True
    """True if the server enforces the form of a language model's answer, where it can."""
    model_per: str = ""
    """A column, such as `repo`: each of its values has a model of its own, which learns from its
    rows alone."""
    leave_out: str = ""
    """A column: each of its values is tested by a model that learned from all others."""
    seed: int = 0
    """Seed of runs without one of their own."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of models by name; a run with others follows the protocol in part."""
    expected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Facts that training must report, by model, for a run to follow the whole protocol."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Known deviations of Goldpan's models from the protocol, by `MODEL TYPE`."""
    steps: str = ""
    """The order of preprocessing that rows were imported with; empty where any will do."""
    split_seed: int | None = None
    """Seed of the task's own split; None if any split will do."""
    defects: tuple[str, ...] = ()
    """Defects to know before quoting its scores, a sentence each."""


def settings_for(protocol: Protocol, model: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a protocol asks of a model, with overrides."""
    return {**protocol.settings.get(_settings_name(protocol, model), {}), **overrides}


def in_part(
    protocol: Protocol,
    task: Task,
    model: str,
    settings: Mapping[str, Any],
    *,
    steps: Sequence[str] | None,
    split: str,
    facts: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return where a run falls short of its protocol; nothing where it follows it whole.

    `steps` and `split` are those of the rows, None and empty where they are not known; `facts` is
    what training reported of itself.
    """
    name = _settings_name(protocol, model)
    gaps = []
    if protocol.settings and not name:
        gaps.append(f"the protocol names no settings of {model}")
    for key, value in protocol.settings.get(name, {}).items():
        if settings.get(key) != value:
            gaps.append(f"{key} is {_value_text(settings.get(key))}, not {_value_text(value)}")
    for key, value in protocol.expected.get(name, {}).items():
        if key in facts and facts[key] != value:
            gaps.append(f"{key} is {_value_text(facts[key])}, not {_value_text(value)}")
    if gap := protocol.lacking.get(f"{name} {task.type}"):
        gaps.append(gap)
    if protocol.steps and steps is not None:
        expected = ordered_steps(task.steps, protocol.steps)
        if tuple(steps) != expected:
            gaps.append(f"texts were prepared by {_listed(steps)}, not by {_listed(expected)}")
    kind, _, seed = split.partition(", seed ")
    if protocol.split_seed is not None and seed:
        if kind != task.split:
            gaps.append(f"rows are split by {kind}, not by {task.split}")
        elif seed != str(protocol.split_seed):
            gaps.append(f"the split's seed is {seed}, not {protocol.split_seed}")
    return tuple(gaps)


def _settings_name(protocol: Protocol, model: str) -> str:
    """Return the name under which a protocol has settings of a model; empty without any.

    Runs of fine-tuned models are named after their weights.
    """
    names = (name for name in protocol.settings if model == name or model.startswith(f"{name}-"))
    return next(names, "")


def _value_text(value: object) -> str:
    if value in (None, ""):
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(steps: Sequence[str]) -> str:
    return ", ".join(steps) or "no step"


@cache
def _shipped() -> dict[str, Protocol]:
    return {name: read_protocol(path) for name, path in files_in(_SHIPPED).items()}


def read_protocol(path: Path | Traversable) -> Protocol:
    """Return the protocol of a file; raises `UsageError` that names file, line and key."""
    source = read_toml(path)
    return source.read(Protocol, source.named(path.name.removesuffix(".toml")))


PROTOCOLS = Registry("protocol", _shipped, "protocol", lambda item: item[0], read=read_protocol)
protocols, find_protocol = PROTOCOLS.entries, PROTOCOLS.find


FIFTHS = 5
DOCUMENT = "document"
MOST_MODELS = 1_000
"""Models that one run may train."""
_KIND = re.compile(
    r"(?P<column>[A-Za-z_][A-Za-z0-9_]*)(?::(?P<fifth>[0-4])|:(?P<each>each)|=(?P<value>.+))?"
)
_FORMS = (
    "COLUMN, COLUMN:1 to COLUMN:4 for other fifths, COLUMN=VALUE, or COLUMN:each for one run in "
    "which each value is held out once"
)


def held_out_column(kind: str) -> str:
    """Return the column that `--hold-out` names; raises `UsageError` where it names none."""
    return _held_out(kind)["column"]


def _held_out(kind: str) -> re.Match[str]:
    if match := _KIND.fullmatch(kind):
        return match
    raise UsageError(f"Rows cannot be held out by {kind!r}", f"Give {_FORMS}")


def hold_out(data: TaskData, protocol: Protocol, kind: str = DOCUMENT) -> tuple[TaskData, Protocol]:
    """Return the task's rows split by a column, and the protocol whose name says so.

    `kind` is what `--hold-out` takes; the rows have the column (`task_input.with_columns`). The
    official partition no longer counts. Raises `UsageError` for a kind that is not known, for
    rows without a value, or with too few values to hold any out.
    """
    match = _held_out(kind)
    column, value, fifth = match["column"], match["value"], int(match["fifth"] or 0)
    rows = pa.concat_tables(data.splits.values()).sort_by("id")
    if column not in rows.column_names:
        raise UsageError(
            f"The rows of {data.task.name} have no column {column!r} to be held out by",
            f"They have {', '.join(rows.column_names)}",
        )
    if rows[column].null_count:
        raise UsageError(
            f"{rows[column].null_count:,} of {len(rows):,} rows of {data.task.name} name no "
            f"{column} to be held out by",
            "Run it without --hold-out, or give another column",
        )
    rules = replace(
        protocol,
        name=f"{protocol.name}+{kind.removesuffix(':0')}",
        title=f"{protocol.title}, {_groups(column)} held out",
    )
    if match["each"]:
        return _every_value(data, rows, column), replace(rules, leave_out=column)
    values = values_of(rows, column)
    if value:
        sides = [each == value for each in values]
        method = f"{column} {value} held out"
    else:
        sides = [each == fifth for each in _fifths(rows, column)]
        method = f"whole {_groups(column)} held out, fifth {fifth + 1} of {FIFTHS}"
    if value and not any(sides):
        named = sorted(set(values))
        more = f" and {len(named) - 10:,} more" if len(named) > 10 else ""
        raise UsageError(
            f"No row of {data.task.name} has {column} {value!r}",
            f"It has {', '.join(named[:10])}{more}",
        )
    if len(set(sides)) < 2:
        raise _one_side(data, rows, column)
    splits = {
        "train": rows.filter(pa.array([not side for side in sides])),
        "test": rows.filter(pa.array(sides)),
    }
    return task_data(data.task, splits, method), rules


def _one_side(data: TaskData, rows: pa.Table, column: str) -> UsageError:
    """Return the error for rows that are all on one side, and what else can be held out."""
    values = set(values_of(rows, column))
    if len(values) < 2:
        return UsageError(
            f"{data.task.name} has one value of {column}, {next(iter(values))}, so nothing is left "
            "to learn from",
            "Run it without --hold-out",
        )
    fifths = sorted(set(_fifths(rows, column)))
    others = "".join(f"{column}:{fifth}, " for fifth in fifths if len(fifths) > 1)
    return UsageError(
        f"None of the {len(values):,} values of {column} in {data.task.name} is in this fifth, "
        "which is drawn by name",
        f"Hold out {others}{column}=VALUE, or {column}:each, one after another",
    )


def _fifths(rows: pa.Table, column: str) -> list[int]:
    """Return the fifth of each row, by its value."""
    values = values_of(rows, column)
    repos = rows["repo"].to_pylist() if column == DOCUMENT else [""] * len(rows)
    return [_fifth(repo or "", value) for repo, value in zip(repos, values, strict=True)]


def _every_value(data: TaskData, rows: pa.Table, column: str) -> TaskData:
    """Return all rows as train and as test: the run splits them, value by value."""
    count = len(set(values_of(rows, column)))
    if not 2 <= count <= MOST_MODELS:
        raise UsageError(
            f"{data.task.name} cannot be tested on each {column} once: there "
            + ("is one value" if count == 1 else f"are {count:,} values"),
            f"Give a column with 2 to {MOST_MODELS:,} values, or hold out a fifth",
        )
    split = f"each {column} held out once, {count:,} models"
    whole = task_data(data.task, {"train": rows, "test": rows}, split)
    split_hash = hashlib.sha256(f"{whole.split_hash} {column}:each".encode()).hexdigest()
    # The rows are the same, each once, however often they are learned from.
    return replace(whole, data_hash=data.data_hash, split_hash=split_hash)


def _groups(column: str) -> str:
    return {"repo": "projects", DOCUMENT: "documents"}.get(column, f"values of {column}")


def _fifth(repo: str, value: str) -> int:
    named = f"{len(repo)} {repo} {value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(named).digest()[:8]) % FIFTHS
