"""Models as runs use them, by name: they learn from rows with answers, then answer rows without.

A model never sees the test answers. What it may see of the test rows beside their own texts is
what `Unlabeled` holds: the texts around them, as a tool that comments code would have them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Protocol

import numpy as np
import pyarrow as pa
from annotated_types import Ge
from pydantic import ConfigDict, TypeAdapter, ValidationError

from goldpan.core import imports
from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.plugins.loading import attribute_to_plugin
from goldpan.core.plugins.parts import Kind
from goldpan.core.plugins.registry import Registry
from goldpan.core.result import NOT_IN_JSON, Result
from goldpan.core.settings.file import unknown_key
from goldpan.core.terminal import Reporter
from goldpan.datasets.tasks.task import CLASSIFICATION, Task, TaskType
from goldpan.evaluation.protocol import Protocol as Rules
from goldpan.evaluation.protocol import find_protocol
from goldpan.llm.budget import RequestEstimate

LABELS_AND_NUMBERS = "classification, regression"
"""The tasks of models that give labels or numbers."""


def load(module: str) -> Any:
    """Return a module of an extra; raises `EvaluationError` that names what to install."""
    return imports.load(module, "This model", EvaluationError)


Answer = str | float | Sequence[str] | None
_LEAST = 0.5
"""The score from which a row has a label, where it may have several."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of a model to rows, in their order."""

    values: Sequence[Answer]
    """In the type of the task's target; None where an answer is not valid."""
    scores: Sequence[Sequence[float]] | None = None
    """A number for each of the task's labels, in its order: higher is more likely."""
    raw: Sequence[str] | None = None
    """Verbatim, of a language model."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """How many answers are refused, truncated or the like, by kind."""


@dataclass(slots=True)
class Costs:
    """Costs of a run; models add those that only they know."""

    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    gpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass(slots=True)
class Learning:
    """How a model came to be; models add what only they know."""

    chosen_on: str = ""
    """Rows that chose among candidates; empty without candidates."""
    candidates: int = 0
    """How many there were."""
    from_all: bool = False
    """True where the model learned from all of train, the rows that chose included."""
    training: str = ""
    """Name of a training that answers several tasks; empty for the training of this task alone."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Further facts, as plain JSON data."""


@dataclass(slots=True)
class SelectionInfo(Learning):
    """The same while a model learns."""

    unseen: tuple[pa.Table, Answers] | None = None
    """Train rows with answers of models that had not learned from them."""


@dataclass(frozen=True, slots=True)
class TrainingContext:
    """Rows, settings and folders that a model learns with."""

    task: Task
    train: pa.Table
    """Rows with the target."""
    validation: pa.Table | None
    """Rows to choose by; None where the protocol has none."""
    whole_train: pa.Table
    """Train with what was carved out of it: for models that choose by cross-validation inside."""
    unlabeled: pa.Table
    """All rows of the task, those of the test too, without targets; sorted by id."""
    seed: int
    directory: Path
    """For checkpoints: its content is available again when an interrupted run resumes."""
    reporter: Reporter
    costs: Costs
    learning: SelectionInfo = field(default_factory=SelectionInfo)
    protocol: Rules = field(default_factory=lambda: find_protocol("default"))
    validation_name: str = "the validation split"
    """Name of the rows to choose by, for readers."""
    replies: Path | None = None
    """Where replies that were paid for are kept beyond this run; None is in `directory`."""


class Fitted(Protocol):
    """A model that has learned."""

    def answer(self, rows: pa.Table, /) -> Answers:
        """Answer rows that have no target."""
        ...


@dataclass(frozen=True, slots=True)
class FittedFunction:
    """A model that has learned, by the function that answers."""

    answer: Callable[[pa.Table], Answers]


@dataclass(frozen=True, slots=True)
class Model:
    """A model by name, with the settings that identify its runs."""

    name: str
    fit: Callable[[TrainingContext], Fitted]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Plain JSON data."""
    uses_neighbors: bool = False
    """True where the model reads the texts around a row, those of test rows included."""
    check: Callable[[Task], None] | None = None
    """Raises `EvaluationError` for a task that the model cannot answer, before rows are looked at;
    None where it answers any."""
    columns: tuple[str, ...] = ()
    """Columns of the dataset that it reads beside the input."""
    needs_train: bool = True
    """True where the model learns from train rows; other models run where there are none."""
    predict_train: bool = True
    """True where train rows are answered too, to show overfitting; not if answers cost money."""
    task_facts: Callable[[Task], Mapping[str, Any]] | None = None
    """Parts of a task's file that also identify a run, such as its prompt."""
    estimate: Callable[[TrainingContext, pa.Table], RequestEstimate] | None = None
    """Returns the cost of answering rows; None for models that cost none."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return the entry of a model without settings to choose, as a plugin registers it."""
        about = (inspect.getdoc(self.fit) or "").partition("\n")[0]
        return ModelEntry(self.name, about, partial(_without_settings, self)).parts()


@dataclass(frozen=True, slots=True)
class ModelEntry(Result):
    """A model that can be named on the command line."""

    name: str
    about: str
    """One sentence."""
    make: Callable[[Mapping[str, Any]], Model] = field(metadata=NOT_IN_JSON)
    """Takes settings that override its own; raises `UsageError` for one that it does not know."""
    tasks: str = ""
    """The kinds of tasks that it answers, for people."""

    def parts(self) -> Iterable[tuple[Kind, str, object]]:
        """Return itself, as a plugin registers it."""
        return [("model", self.name, self)]


Folds = Annotated[int, Ge(2)]
"""Of a cross-validation inside train."""
NO_KINDS: Mapping[str, Any] = MappingProxyType({})


def entry(
    name: str,
    about: str,
    fit: Callable[[Mapping[str, Any], TrainingContext], Fitted],
    defaults: Mapping[str, Any] | None = None,
    *,
    tasks: str,
    kinds: Mapping[str, Any] = NO_KINDS,
    **facts: Any,
) -> ModelEntry:
    """Return the entry of a model that is fitted with its settings; `facts` are those of `Model`.

    A model with the setting `context=neighbors` reads the texts around a row.
    """

    def make(overrides: Mapping[str, Any]) -> Model:
        settings = model_settings(name, defaults or {}, overrides, kinds)
        around = settings.get("context") == "neighbors"
        return Model(name, partial(fit, settings), settings, uses_neighbors=around, **facts)

    return ModelEntry(name, about, make, tasks)


def _without_settings(model: Model, settings: Mapping[str, Any]) -> Model:
    model_settings(model.name, {}, settings)
    return model


def model_settings(
    name: str,
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any],
    kinds: Mapping[str, Any] = NO_KINDS,
) -> dict[str, Any]:
    """Return a model's defaults with overrides, converted to the types of the defaults.

    `kinds` are narrower types of some, such as `Literal["none", "neighbors"]`. Raises `UsageError`
    for a setting that the model does not know, or a value that it cannot have.
    """
    settings = dict(defaults)
    for key, value in overrides.items():
        if key not in defaults:
            cause, remedy = unknown_key(key, list(defaults))
            raise UsageError(f"The model {name}: {cause}", remedy)
        kind = type(defaults[key])
        adapter = TypeAdapter(kinds.get(key, kind), config=_CONVERSION)
        try:
            settings[key] = adapter.validate_python(str(value) if kind is str else value)
        except ValidationError as error:
            raise UsageError(
                f"{key} of the model {name} cannot be {value!r}", _possible(kind, error)
            ) from None
    return settings


_WORDS = {bool: "yes or no", int: "a whole number", float: "a number", str: "a text"}
_CONVERSION = ConfigDict(allow_inf_nan=False)


def _possible(kind: type, error: ValidationError) -> str:
    """Return the remedy for a value that a setting cannot have."""
    (problem,) = error.errors()
    limits = problem.get("ctx", {})
    if "expected" in limits:
        return f"Choose {limits['expected']}"
    return f"Give {limits['ge']} or more" if "ge" in limits else f"Give {_WORDS[kind]}"


def require_type(task: Task, types: Collection[str], problem: str, remedy: str) -> None:
    """Raise `EvaluationError` for a task of another type; `problem` says who does not answer it."""
    if task.type not in types:
        raise EvaluationError(f"{problem} {task.name}, which is {task.type}", remedy)


def require_labels(task: Task, problem: str, more: TaskType = "binary") -> None:
    """Raise `EvaluationError` for a task without labels whose type is not `more` either."""
    remedy = "Choose a fine-tuned model or a prompted one"
    require_type(task, (*CLASSIFICATION, more), problem, remedy)


def require_few(model: str, does: str, task: Task, rows: pa.Table, most: int, remedy: str) -> None:
    """Raise `EvaluationError` where there are more train rows than a model can take."""
    if len(rows) > most:
        raise EvaluationError(
            f"The model {model} {does} {len(rows):,} train rows of {task.name}, and takes at most "
            f"{most:,}",
            remedy,
        )


def label_answers(task: Task, scores: Any, notes: Mapping[str, int] | None = None) -> Answers:
    """Return the likeliest label of each row; all of 0.5 and more where a row may have several.

    `scores` are rows x labels.
    """
    rows = np.asarray(scores, dtype=np.float64).reshape(-1, len(task.labels))
    names = task.label_names
    values: list[Answer] = [names[best] for best in rows.argmax(axis=1)]
    if task.type == "multi-label":
        values = [
            [name for name, score in zip(names, row, strict=True) if score >= _LEAST]
            for row in rows
        ]
    return Answers(values, rows.tolist(), notes=notes or {})


CUTOFF = "cutoff"
"""The setting of a run that names the last day of the model's training data."""


def read_cutoff(value: object) -> str:
    """Return a cut-off as YYYY-MM-DD; raises `UsageError` for what is no date."""
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise UsageError(
            f"The cut-off {str(value)!r} is not a date", "Write it as in --set cutoff=2023-10-01"
        ) from None


_FAMILIES = (
    "baselines",
    "boosted",
    "embedded",
    "ensemble",
    "fasttext",
    "finetuned",
    "linear",
    "prompted",
)
"""Modules of `models/`, each with `MODELS`: a new model is a file there and a line here."""


def _own_models() -> dict[str, ModelEntry]:
    modules = (import_module(f"goldpan.evaluation.models.{family}") for family in _FAMILIES)
    return {entry.name: entry for module in modules for entry in module.MODELS}


MODELS: Registry[ModelEntry] = Registry("model", _own_models, "model", order=lambda item: item[0])
catalog = MODELS.entries


def find_model(name: str, settings: Mapping[str, Any]) -> Model:
    """Return the model of that name; raises `UsageError` that lists near matches.

    The setting `cutoff`, the last day of its training data, is any model's.
    """
    entry = MODELS.find(name)
    with attribute_to_plugin("model", name):
        model = entry.make({key: settings[key] for key in settings if key != CUTOFF})
    if CUTOFF not in settings:
        return model
    return replace(model, settings={**model.settings, CUTOFF: read_cutoff(settings[CUTOFF])})


class UnansweredError(EvaluationError):
    """Some rows have no answer yet: the same command goes on, and pays for nothing twice."""

    exit_code = 3
