"""What `result.json` of a finished run says, typed: a viewer or a script reads it by this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.datasets.leakage import DateSignal
from goldpan.evaluation.columns import ByColumn
from goldpan.evaluation.dates import RowDates
from goldpan.evaluation.environment import Environment
from goldpan.evaluation.leaks import Leaks
from goldpan.evaluation.metrics.result import Scores
from goldpan.evaluation.model import Costs
from goldpan.evaluation.protocol import Protocol


class _Part(BaseModel):
    """Data that nobody changes; what a later version adds is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class LearnedFrom(_Part):
    """How many rows the model learned from."""

    train: int
    """Rows of train."""
    validation: int
    """Rows that chose, of a split or carved out of train."""


class Learning(_Part):
    """How the model came to be."""

    chosen_on: str
    """What chose among candidates; empty where there was nothing to choose."""
    candidates: int
    """How many there were."""
    from_all: bool
    """Whether it learned from all of train, the rows that chose included."""
    training: str = ""
    """What names the training where it answers other tasks too; empty where it is this one's."""
    facts: Mapping[str, Any]
    """What else happened, by model."""


class InvalidAnswer(_Part):
    """An answer that is not valid."""

    raw: str
    """As the model gave it, cut to 500 characters."""
    count: int
    """How often it was given."""


class AnswersTold(_Part):
    """What there is to know of the answers to test rows."""

    notes: Mapping[str, int]
    """How many are not what was hoped for, by what they are: refused, truncated."""
    invalid: tuple[InvalidAnswer, ...]
    """The commonest ones that are not valid."""


class RunRecord(_Part):
    """The record of a finished run: task, model, seed, settings, environment and scores."""

    format: int
    """Version of the file's format; others are refused."""
    task: str
    """The task's name."""
    metric: str
    """The metric that ranks."""
    labels: tuple[str, ...]
    """The labels of a classification task, in the order of scores."""
    data_hash: str
    """SHA-256 of all rows, whatever their split."""
    split_hash: str
    """SHA-256 of the assignment of rows to splits."""
    model: str
    """The model's name."""
    settings: Mapping[str, Any]
    """The model's and the relevant ones of the task; `ablate` names what was left out."""
    protocol: Protocol
    """The rules by which settings were chosen and the test was opened."""
    in_part: tuple[str, ...] = ()
    """In what the run is less than its protocol asks for; empty where it follows it in whole."""
    seed: int
    """What random draws began with."""
    plugins: Mapping[str, str] = {}
    """SHA-256 of the plugins that brought the model or the task, by their names."""
    environment: Environment
    """Goldpan's revision, packages and hardware."""
    rows: Mapping[str, int]
    """How many rows each split has."""
    dates: RowDates | None = None
    """When test rows were written, and how many after the model's cut-off; None in older runs."""
    date_signal: DateSignal | None = None
    """What dates alone tell of labels; None where rows have no dates, and in older runs."""
    split: str
    """How rows were split, as `--split` writes it; empty where it is not known."""
    learned_from: LearnedFrom
    """How many rows the model learned from."""
    learning: Learning
    """How the model came to be."""
    uses_neighbours: bool
    """Whether the model reads the texts around a row, those of test rows included."""
    uses_dates: bool = False
    """Whether the model reads when a text was written; false in older runs."""
    test_opened: int
    """How often the test was opened: once, and once more after each kill."""
    answers: AnswersTold
    """What there is to know of the answers."""
    costs: Costs
    """Tokens, money and time."""
    leaks: Leaks
    """Test rows that resemble train, and the scores without them."""
    scores_by: Mapping[str, ByColumn] = {}
    """Scores by project, and by the columns that `--by` named."""
    scores: Scores
    """On test, from the stored predictions alone."""
    train_scores: Scores
    """On train rows, to see overfitting."""
    validation_scores: Scores
    """On the rows that chose, to see degradation."""
