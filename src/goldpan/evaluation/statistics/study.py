"""What the ECSER steps are filled from: the facts of a study's runs, however they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from goldpan.evaluation.statistics.curves import Counts, Curve

Part = Literal["train", "validation", "test"]


@dataclass(frozen=True, slots=True)
class Split:
    """How the data of one task were divided (S1)."""

    task: str
    method: str
    """holdout, k-fold cross-validation, by project, official partition, ..."""
    sizes: Mapping[Part, int]
    """Examples of each part."""
    seed: int | None = None
    digest: str = ""
    """Hash of the split."""
    test_opened: int | None = None
    """How often the test set was looked at."""
    caveat: str = ""
    """What is known to be wrong with it."""


@dataclass(frozen=True, slots=True)
class Training:
    """How one model was made for one task and seed (S2 to S5)."""

    model: str
    task: str
    seed: int
    trained_on: int
    """Examples; 0 for a model that is only prompted."""
    settings: Mapping[str, str] = field(default_factory=dict)
    tuned_on: str = ""
    """What chose the settings: validation, 5 folds inside train, ...; empty: nothing did."""
    candidates: int = 0
    """How many settings were tried."""
    retrained: bool = False
    """Whether it was trained anew on train and validation with the chosen settings."""
    tested: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """What one trained model reached on one part of one task, or on one data set or fold of it."""

    model: str
    task: str
    seed: int
    part: Part
    metrics: Mapping[str, float]
    counts: Mapping[str, Counts] = field(default_factory=dict)
    """A confusion matrix a label, one against the rest."""
    dataset: str = ""
    """A project or fold; empty where the part is one whole."""
    invalid: int = 0
    """Answers that were none of the allowed."""


@dataclass(frozen=True, slots=True)
class Study:
    """All that is known of a comparison."""

    metric: str
    """The one that ranks; higher is better."""
    splits: tuple[Split, ...] = ()
    trainings: tuple[Training, ...] = ()
    results: tuple[Result, ...] = ()
    roc: tuple[Curve, ...] = ()
    pr: tuple[Curve, ...] = ()
    examples: Literal["classification", "other"] = "classification"
    """Only classification has confusion matrices and curves."""
