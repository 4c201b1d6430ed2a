"""Linear models on TF-IDF of words and characters, with what stands around a text if wanted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from goldpan.evaluation.model import Entry, Fitted, Model, TrainingContext, settled
from goldpan.evaluation.models.checks import require_choice, require_least
from goldpan.evaluation.models.features import CONTEXTS, Features
from goldpan.evaluation.models.heads import LOGISTIC, SVM, Kind, fit_heads

_DEFAULTS = {"context": "none", "folds": 5}


def _fit(kind: Kind, settings: Mapping[str, Any], context: TrainingContext) -> Fitted:
    def prepare() -> Features:
        return Features(context.whole_train, context.unlabelled, settings["context"])

    return fit_heads(kind, prepare, context, settings["folds"])


def _model(name: str, kind: Kind, overrides: Mapping[str, Any]) -> Model:
    settings = settled(name, _DEFAULTS, overrides)
    require_choice(name, settings, "context", CONTEXTS)
    require_least(name, settings, folds=2)
    around = settings["context"] == "neighbours"
    return Model(name, partial(_fit, kind, settings), settings, uses_neighbours=around)


MODELS = (
    Entry(
        "tfidf-svm",
        "Linear support vector machine on TF-IDF of words and characters; context=neighbours "
        "adds the document's name and the texts before and after.",
        partial(_model, "tfidf-svm", SVM),
    ),
    Entry(
        "tfidf-lr",
        "Logistic regression on the same features; ridge regression for numbers.",
        partial(_model, "tfidf-lr", LOGISTIC),
    ),
)
