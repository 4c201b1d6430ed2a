"""Reads scores, confusion counts or predictions that were made elsewhere.

Any table that Goldpan reads (`datasets/table_files.py`), such as CSV with a header. Three layouts
are told by their columns (docs/reports.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, FiniteFloat, StringConstraints, ValidationError

from goldpan.core.errors import EvaluationError
from goldpan.datasets.table_files import form_of, table_rows
from goldpan.datasets.tasks.table_reader import cell_text
from goldpan.evaluation.metrics.estimate import Confusion

Part = Literal["train", "validation", "test"]
Layout = Literal["scores", "counts", "predictions"]
_COLUMNS: Mapping[Layout, tuple[str, ...]] = {
    "predictions": ("id", "truth", "answer"),
    "counts": ("tp", "fp", "tn", "fn"),
    "scores": ("score",),
}
Truth = str | tuple[str, ...]
"""A label, a number, a text, or a list of labels or tags."""


@dataclass(frozen=True, slots=True)
class Key:
    """Model, task and part that a row of the file is about."""

    model: str
    task: str
    part: Part = "test"
    project: str = ""
    """The project, or another data set of the task, that these test rows come from."""
    fold: str = ""
    """Fold of a cross-validation."""
    seed: int = 0

    @property
    def dataset(self) -> str:
        """Return the name of the data set: the task, and the project where there is one."""
        return f"{self.task} / {self.project}" if self.project else self.task


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer to one row."""

    id: str
    truth: Truth
    answer: Truth
    """Empty where there is none."""
    document: str = ""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """Content of a file; only one of the three mappings is filled."""

    path: Path
    layout: Layout
    scores: Mapping[Key, float]
    counts: Mapping[Key, Mapping[str, Confusion]]
    """By label, one against the rest; the empty label where none is named."""
    predictions: Mapping[Key, tuple[Prediction, ...]]
    trainings: Mapping[Key, str]
    """Name of the training, of rows that have the column `training`."""

    def training(self, keys: Sequence[Key]) -> str:
        """Return the name of the training of a model that was tested on a data set.

        Without a name it is that of its task: several projects are tests of one training, whose
        luck shows where there are several seeds.
        """
        if len({key.seed for key in keys}) > 1:
            named = {self.trainings.get(key, f"task {key.task}") for key in keys}
        else:
            named = {self.trainings.get(key, "") for key in keys}
        return " ".join(sorted(named)) if all(named) else ""

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the keys of the rows, in the order of the file."""
        return tuple(
            {"scores": self.scores, "counts": self.counts}.get(self.layout, self.predictions)
        )


def read_scores(path: Path) -> ScoreFile:
    """Read a file of scores, counts or predictions.

    Raises `EvaluationError`, with the row, for rows that lack a value, have an impossible one, or
    repeat another, and what `table_rows` raises.
    """
    rows = list(_rows(path))
    if not rows:
        raise EvaluationError(f"{path} holds no row", "Give one row per score, count or answer")
    columns = set(rows[0][1])
    layout = next((name for name, needed in _COLUMNS.items() if columns >= set(needed)), None)
    if layout is None or not columns >= {"model", "task"}:
        layouts = "; ".join(f"model, task, {', '.join(names)}" for names in _COLUMNS.values())
        raise EvaluationError(
            f"{path} has the columns {', '.join(sorted(map(str, columns)))[:200]}, which fit no "
            "known layout",
            f"Name the columns of one: {layouts}",
        )
    content: dict[Key, dict[str, Any]] = {}
    trainings: dict[Key, str] = {}
    for number, values in rows:
        place = f"Row {number} of {path}"
        row = _checked(_ROWS[layout], place, values)
        key = Key(row.model, row.task, row.part, row.project, row.fold, row.seed)
        if row.training:
            trainings[key] = row.training
        name, value = _NAMED[layout](row)
        if name in (own := content.setdefault(key, {})):
            raise EvaluationError(
                f"{place} repeats the {', '.join(_TELLING)}{_MORE[layout]} of another",
                "Keep the rows of one metric"
                if "metric" in columns
                else "Keep one of them, or tell them apart by the column seed or fold",
            )
        own[name] = value
        if isinstance(value, Confusion) and not value.size:
            raise EvaluationError(f"{place} counts nothing", "Take the row out")
    file = ScoreFile(path, layout, {}, {}, {}, trainings)
    if layout == "counts":
        return replace(file, counts=content)
    if layout == "scores":
        return replace(file, scores={key: own[""] for key, own in content.items()})
    rows_by_id = {key: tuple(own[id_] for id_ in sorted(own)) for key, own in content.items()}
    return replace(file, predictions=rows_by_id)


_SHARES = {"accuracy", "auc", "auprc", "auroc", "f", "f1", "f2", "jaccard", "precision", "recall"}
_SHARES |= {"sensitivity", "specificity"}
_CORRELATIONS = {"kappa", "mcc"}
"""Words that name metrics from 0 to 1, and from -1 to 1."""
_ERRORS = {"cer", "error", "loss", "mae", "mape", "mse", "perplexity", "rmse", "smape", "wer"}
_TURNED = {"1", "neg", "negative", "score"} | _SHARES | _CORRELATIONS
"""Words that name errors, and those beside which they do not."""


def is_error(metric: str) -> bool:
    """Return whether a metric's name says that less of it is better."""
    words = _words(metric)
    return not words.isdisjoint(_ERRORS) and words.isdisjoint(_TURNED) and metric[:1] != "-"


def _words(metric: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", metric.lower()))


def check_range(file: ScoreFile, metric: str) -> None:
    """Raise `EvaluationError` for a score that no metric of that name can have.

    Without a name, it is so where on each data set one model has shares and another percentages.
    """
    scales: dict[str, set[bool]] = {}
    for key, score in file.scores.items():
        if 0 < score <= 100:
            scales.setdefault(key.dataset, set()).add(score > 1)
    if not metric and scales and all(len(scale) > 1 for scale in scales.values()):
        raise EvaluationError(
            f"{file.path} has scores below 1 beside others up to 100 on each data set",
            "Give shares alone, not percent, or name the metric that has such scores",
        )
    words = _words(metric)
    if metric.startswith("-") or not words & (_SHARES | _CORRELATIONS):
        return
    lowest = -1 if words & _CORRELATIONS else 0
    for key, score in file.scores.items():
        if not lowest <= score <= 1:
            raise EvaluationError(
                f"{file.path} has {score:g} as the {metric} of {key.model} on {key.dataset}",
                f"Give numbers from {lowest} to 1, not percent",
            )


_Text = Annotated[str, StringConstraints(strip_whitespace=True)]
_Whole = Annotated[int, Field(ge=0, le=10**9)]


class _Row(BaseModel):
    model: _Text
    task: _Text
    part: Part = "test"
    project: _Text = ""
    fold: _Text = ""
    seed: _Whole = 0
    training: _Text = ""


class _Score(_Row):
    score: FiniteFloat


class _Counts(_Row):
    label: _Text = ""
    tp: _Whole
    fp: _Whole
    tn: _Whole
    fn: _Whole


class _Answer(_Row):
    id: _Text
    truth: Truth
    answer: Truth = ""
    document: _Text = ""


_NAMED: Mapping[Layout, Callable[[Any], tuple[str, Any]]] = {
    "scores": lambda row: ("", row.score),
    "counts": lambda row: (row.label, Confusion(row.tp, row.fp, row.tn, row.fn)),
    "predictions": lambda row: (row.id, Prediction(row.id, row.truth, row.answer, row.document)),
}
"""What tells a row from others of its run, and what it says."""
_TELLING = ("model", "task", "part", "project", "fold", "seed")
_MORE: Mapping[Layout, str] = {"scores": "", "counts": ", label", "predictions": ", id"}
"""What tells rows apart beside `_TELLING`."""
_ROWS: Mapping[Layout, type[_Row]] = {"scores": _Score, "counts": _Counts, "predictions": _Answer}


def _checked(kind: type[_Row], place: str, values: Mapping[str, Any]) -> _Row:
    cells = {
        name: list(map(cell_text, value)) if isinstance(value, list) else cell_text(value)
        for name, value in values.items()
    }
    try:
        return kind.model_validate(
            {
                name: cell
                for name, cell in cells.items()
                if not isinstance(cell, str) or cell.strip()
            }
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = first["loc"][0]
        if first["type"] == "missing":
            remedy = f"Fill in the column {name}, or take the row out"
            raise EvaluationError(f"{place} has no {name}", remedy) from None
        value = str(first["input"])[:40]
        decimal = first["type"] == "float_parsing" and re.fullmatch(r"[-+]?\d+,\d+", value)
        raise EvaluationError(
            f"{place} has {value!r} as its {name}",
            "Write decimals with a point"
            if decimal
            else first["msg"].replace("Input should be", "Give", 1).partition(", unable")[0],
        ) from None


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield rows with their numbers; the first below the header of a CSV file is 2."""
    first = 2 if form_of(path) in ("csv", "tsv") else 1
    for number, row in enumerate(table_rows(path), first):
        if any(str(value).strip() for value in row.values()):
            yield number, {str(name).strip().lower(): value for name, value in row.items()}
