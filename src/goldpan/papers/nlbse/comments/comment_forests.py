"""The code-comment competition's baseline: a random forest a category (NLBSE'23, section III-B).

It learns from the organizers' own features, NEON patterns and TF-IDF, in their ARFF files, and
weights both classes alike, as Weka's ClassBalancer. The forest is scikit-learn's with Weka's
settings: 100 trees, the binary logarithm of the number of features plus one at each split; so its
cells are in part. Settings: `row` of the table, and `features`, two files, train and test, by task.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from goldpan.core.errors import DatasetError
from goldpan.evaluation.extras import load
from goldpan.evaluation.metrics.confusion import BinaryConfusion
from goldpan.papers.nlbse.comments.arff import read_arff
from goldpan.reproduce.cells import Outcome
from goldpan.reproduce.context import Context
from goldpan.reproduce.data import FoundFile
from goldpan.reproduce.recipe import TableRecipe
from goldpan.reproduce.scores import parsed

_TREES = 100


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    row: str
    features: Mapping[str, tuple[str, str]]


def compute(context: Context, table: TableRecipe, settings: Mapping[str, Any]) -> Iterator[Outcome]:
    """Yield mean precision, recall and F1 over all categories; nothing where one lacks."""
    chosen = parsed(_Settings, settings)
    if not context.effort.run:
        return
    context.files(key for keys in chosen.features.values() for key in keys)  # all, or none
    files = {task: context.files(keys) for task, keys in chosen.features.items()}
    answered = [forest(train, test, context.seed) for train, test in files.values()]
    for column, metric in (("Precision", "precision"), ("Recall", "recall"), ("F1", "f1")):
        values = [getattr(confusion, metric) or 0.0 for confusion in answered]
        value = math.fsum(values) / len(values)
        note = "scikit-learn's forest in place of Weka's"
        yield Outcome(chosen.row, column, value, "in part", note)


def forest(train: FoundFile, test: FoundFile, seed: int) -> BinaryConfusion:
    """Return what a balanced forest answers to the test rows of a category."""
    train_data, test_data = read_arff(train.path), read_arff(test.path)
    names = train_data.names[:-1]
    if len(set(train_data.labels)) < 2:
        raise DatasetError(
            f"{train.path} holds only one class", "Give the file as its authors publish it"
        )
    model = load("sklearn.ensemble").RandomForestClassifier(
        n_estimators=_TREES,
        max_features=min(len(names), int(math.log2(len(names))) + 1),
        class_weight="balanced",
        random_state=seed,
    )
    model.fit(train_data.matrix(names), train_data.labels)
    answers = [int(answer) for answer in model.predict(test_data.matrix(names))]
    pairs = list(zip(test_data.labels, answers, strict=True))
    return BinaryConfusion(*(pairs.count(kind) for kind in ((1, 1), (0, 1), (0, 0), (1, 0))))
