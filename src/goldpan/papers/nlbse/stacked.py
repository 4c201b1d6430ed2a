"""Machines that see texts in several ways, stacked: words, meanings and a fine-tuned trunk.

Two support vector machines compare texts with those of train, by words and characters and by
frozen embeddings, each with what stands around. Their scores are averaged, and those of a trunk
(`trunk.py`) that was fine-tuned on the rows that are train in every task are added with a weight.
The weight is the best by average precision, and the threshold the best by F1, on train rows that
the trunk has not seen, by scores of machines that had not seen them either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from goldpan.papers.nlbse.kernels import Meanings, Similarities, Words
from goldpan.papers.nlbse.trunk import (
    Lesson,
    Training,
    Trunk,
    fast_in_half,
    find_trunk,
    places_of,
    shared_rows,
)
from goldpan.plugins.data import CLASSIFICATION, Task, target_column
from goldpan.plugins.evaluation import (
    MINILM,
    SIMILARITY,
    Answers,
    Booleans,
    Documents,
    Features,
    Frozen,
    Head,
    Model,
    ModelEntry,
    Numbers,
    Pair,
    TrainingContext,
    Weights,
    answers_of,
    best_threshold,
    cache_directory,
    cross_validated,
    encoder_weights,
    fit_head,
    has_label,
    labels_of,
    load,
    model_settings,
    require_choice,
    require_few,
    require_least,
    require_type,
    spoken,
)

_NAME = "stacked"
_CONTEXTS = ("none", "neighbours", "places")
_PRECISIONS = ("auto", "bfloat16", "float32")
_DEFAULTS = {
    "context": "neighbours",
    "weights": MINILM,
    "tokens": 80,
    "epochs": 6,
    "rate": 1e-4,
    "seeds": 1,
    "precision": "auto",
    "folds": 5,
}
_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4)
"""The weight of the trunk beside the machines."""
_SPARE = 0.2
_FEWEST = 3
"""Positive and negative rows to choose by; with fewer the trunk is left out."""
_MOST_ROWS = 8_000
"""The most rows of train: every two of them are compared."""
_AROUND = 100
"""Characters of a neighbour that the trunk reads."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """A scale that makes scores of different models comparable."""

    middle: float
    width: float

    def of(self, scores: Numbers) -> Numbers:
        return np.asarray((scores - self.middle) / self.width)


@dataclass(frozen=True, slots=True)
class _Blend:
    """The way in which scores on one label come together; above 0 the label is given."""

    label: str
    heads: Sequence[Head]
    scales: Sequence[_Scale]
    both: _Scale
    trunk: _Scale
    weight: float
    threshold: float

    def of(self, machines: Sequence[Numbers], trunk: Numbers | None) -> Numbers:
        scaled = [scale.of(machine) for scale, machine in zip(self.scales, machines, strict=True)]
        scores = self.both.of(np.mean(scaled, axis=0))
        if trunk is not None and self.weight:
            scores = (1 - self.weight) * scores + self.weight * self.trunk.of(trunk)
        return scores - self.threshold


@dataclass(frozen=True, slots=True)
class _Stack:
    task: Task
    views: Sequence[Similarities]
    trunks: _Trunks
    blends: Sequence[_Blend]

    def answer(self, rows: pa.Table) -> Answers:
        matrices = [view.of(rows) for view in self.views]
        columns = []
        for blend in self.blends:
            machines = [
                head.model.decision_function(matrix)
                for head, matrix in zip(blend.heads, matrices, strict=True)
            ]
            columns.append(blend.of(machines, self.trunks.scores(blend.label, rows)))
        return answers_of(self.task, np.column_stack(columns), [0.0] * len(columns))


@dataclass(frozen=True, slots=True)
class _Trunks:
    """Trunks of several seeds, whose scores are averaged; none where none is wanted."""

    context: TrainingContext
    documents: Documents | None
    trunks: Sequence[Trunk]
    seen: frozenset[tuple[str, str, int, str]]
    """The texts that they were fine-tuned on."""

    def scores(self, label: str, rows: pa.Table) -> Numbers | None:
        pairs = pairs_of(rows, self.documents)
        features = [self._trunk_scores(trunk, label, pairs) for trunk in self.trunks]
        scored = [scores for scores in features if scores is not None]
        return np.asarray(np.mean(scored, axis=0)) if scored else None

    def _trunk_scores(self, trunk: Trunk, label: str, pairs: Sequence[Pair]) -> Numbers | None:
        task, reporter = self.context.task, self.context.reporter
        scores = trunk.scores(task.name, label, pairs, reporter)
        if scores is None and task.type == "binary":
            # Of two labels that exclude each other the rarer one was learned.
            other = trunk.scores(task.name, task.label_names[1], pairs, reporter)
            return None if other is None else -other
        return scores


def pairs_of(rows: pa.Table, documents: Documents | None) -> list[Pair]:
    """Return each text with what stands around it, as the trunk reads them."""
    texts = rows["text"].to_pylist()
    if documents is None:
        return [(text, "") for text in texts]
    return [
        (text, f"{spoken(near.document)} . {near.before[-_AROUND:]} | {near.after[:_AROUND]}")
        for text, near in zip(texts, documents.around(rows), strict=True)
    ]


def _fit(weights: Weights, settings: Mapping[str, Any], context: TrainingContext) -> _Stack:
    task, rows = context.task, context.whole_train
    require_type(
        task,
        CLASSIFICATION,
        f"The model {_NAME} does not answer",
        "Choose embeddings, or a fine-tuned model",
    )
    does, remedy = "compares every two of", "Choose tfidf-svm or embeddings"
    require_few(_NAME, does, task, rows, _MOST_ROWS, remedy)
    views, documents = _views(weights, settings, context)
    trunks = _trunks(weights, settings, context, documents)
    targets = rows[target_column(task.type).name].to_pylist()
    unseen = np.array([key not in trunks.seen for key in places_of(rows)])
    matrices = [view.of(rows) for view in views]
    blends, scores = [], []
    with context.reporter.task(f"{task.name}: labels", len(labels_of(task))) as progress:
        for label in labels_of(task):
            truth = has_label(targets, label)
            heads = [
                fit_head(SIMILARITY, matrix, truth, settings["folds"], context.seed)
                for matrix in matrices
            ]
            blend, out = _blend(label, heads, trunks.scores(label, rows), truth, unseen)
            blends.append(blend)
            scores.append(out)
            progress.advance()
    answers = answers_of(task, np.column_stack(scores), [0.0] * len(scores))
    unseen_rows = rows.filter(pa.array(unseen))
    cross_validated(context, settings["folds"], len(_WEIGHTS), unseen_rows, answers)
    return _Stack(task, views, trunks, blends)


def _views(
    weights: Weights, settings: Mapping[str, Any], context: TrainingContext
) -> tuple[list[Similarities], Documents | None]:
    rows, every = context.whole_train, context.unlabelled
    around = settings["context"] != "none"
    documents = Documents(every) if around else None
    features = Features(rows, every, "neighbours" if around else "none")
    cache = cache_directory(context, "embeddings")
    frozen = Frozen(weights, settings["tokens"], cache, context.reporter)
    near = documents if settings["context"] == "places" else None
    views = (Words(features), Meanings(frozen, every, features, around=around))
    return [Similarities(view, rows, near) for view in views], documents


def _trunks(
    weights: Weights,
    settings: Mapping[str, Any],
    context: TrainingContext,
    documents: Documents | None,
) -> _Trunks:
    if not settings["epochs"]:
        return _Trunks(context, documents, (), frozenset())
    shared = shared_rows(context, _SPARE)
    how = {name: settings[name] for name in ("epochs", "rate", "tokens")}
    training = Training(**how, half=settings["precision"] == "bfloat16")
    cache, pairs = cache_directory(context, "trunks"), pairs_of(shared.texts, documents)
    trunks = [
        find_trunk(cache, Lesson(weights, shared, pairs, training, seed), context.reporter)
        for seed in range(context.seed, context.seed + settings["seeds"])
    ]
    context.learning.training = " ".join(trunk.directory.name for trunk in trunks)
    return _Trunks(context, documents, trunks, frozenset(places_of(shared.texts)))


def _blend(
    label: str, heads: Sequence[Head], trunk: Numbers | None, truth: Booleans, unseen: Booleans
) -> tuple[_Blend, Numbers]:
    """Return the blend, with its scores of the rows that neither machines nor trunk had seen."""
    precision = load("sklearn.metrics").average_precision_score
    scales = [_scale(head.unseen) for head in heads]
    both = np.mean(
        [scale.of(head.unseen) for scale, head in zip(scales, heads, strict=True)], axis=0
    )
    few = min(truth[unseen].sum(), (~truth[unseen]).sum()) < _FEWEST
    if trunk is None or few:
        threshold, _ = best_threshold(both, truth)
        blend = _Blend(label, heads, scales, _Scale(0, 1), _Scale(0, 1), 0.0, threshold)
        return blend, both[unseen] - threshold
    # On the footing of rows that neither has seen: a trunk is too sure of those it learned from.
    footing, ground = _scale(both[unseen]), _scale(trunk[unseen])
    machines, tuned, right = footing.of(both[unseen]), ground.of(trunk[unseen]), truth[unseen]
    blends = [(1 - weight) * machines + weight * tuned for weight in _WEIGHTS]
    best = int(np.argmax([precision(right, scores) for scores in blends]))
    threshold, _ = best_threshold(blends[best], right)
    blend = _Blend(label, heads, scales, footing, ground, _WEIGHTS[best], threshold)
    return blend, blends[best] - threshold


def _scale(scores: Numbers) -> _Scale:
    return _Scale(float(scores.mean()), float(scores.std()) or 1.0)


def _model(overrides: Mapping[str, Any]) -> Model:
    settings = model_settings(_NAME, _DEFAULTS, overrides)
    require_choice(_NAME, settings, "context", _CONTEXTS)
    require_choice(_NAME, settings, "precision", _PRECISIONS)
    require_least(_NAME, settings, folds=2, tokens=16, epochs=0, seeds=1)
    if settings["precision"] == "auto":
        settings["precision"] = "bfloat16" if fast_in_half() else "float32"
    weights = encoder_weights(settings["weights"])
    settings |= {"weights": weights.name, "weights_hash": weights.digest}
    around = settings["context"] != "none"
    return Model(_NAME, partial(_fit, weights, settings), settings, uses_neighbours=around)


MODEL = ModelEntry(
    _NAME,
    "Support vector machines on words and on embeddings, stacked with an encoder that is "
    "fine-tuned once for all tasks on the same texts; context=places adds how close texts "
    "are in a document, epochs=0 leaves the encoder as it is, seeds=2 averages two.",
    _model,
)
