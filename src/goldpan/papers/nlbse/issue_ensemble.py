"""Three classifiers of issue reports, averaged: by words, by words and meaning, by structure.

Logistic regression reads words of title and body, lines of the template and structure; another one
reads the same with embeddings of a frozen encoder, its last layers; randomized trees read
lines of the template and structure. Their log-probabilities count the same. Nothing is chosen on
the rows, so folds inside train say what the model is worth.

With `dates`, the date alone counts as much as each of them. That is evidence of how
issues were collected, not of what they say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.papers.nlbse.issue_texts import IssueText, read_issue, template_lines
from goldpan.papers.nlbse.kernels import units
from goldpan.plugins import evaluation
from goldpan.plugins.data import EvaluationError, Task, target_column

_NAME = "issue-ensemble"
_DEFAULTS = {"weights": evaluation.MINILM, "tokens": 128, "layers": 3, "folds": 5, "dates": False}
_TITLE, _LOWER, _TEMPLATE, _STRUCTURE = 0.7, 0.7, 0.7, 0.1
"""How much titles, lower layers, lines of the template and structure count beside all words."""
_STRENGTH, _TREES, _LEAF = 10.0, 300, 2
_FLOOR = 1e-3
"""Added to probabilities, so that no classifier alone rules a label out."""
_MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class _Views:
    """Views of issues that classifiers read, learned from train without its answers."""

    titles: Any
    words: Any
    template: Any
    mean: evaluation.Numbers
    deviation: evaluation.Numbers
    centers: Sequence[evaluation.Vectors]
    """The means of the lower layers, which point the same way for all texts."""

    def of(self, issues: _Issues) -> tuple[Any, Any, Any]:
        """Return what each of the three classifiers reads, a row an issue."""
        stack = evaluation.load("scipy.sparse").hstack
        structure = (issues.structure - self.mean) / self.deviation
        lines = self.template.transform(issue.template for issue in issues.texts)
        words = [
            self.titles.transform(issue.title for issue in issues.texts) * _TITLE,
            self.words.transform(_all_words(issues.texts)),
            lines * _TEMPLATE,
            structure * _STRUCTURE,
        ]
        last, *lower = issues.layers
        meanings = [units(last), units(issues.titles) * _TITLE]
        meanings += [
            units(layer - center) * _LOWER
            for layer, center in zip(lower, self.centers, strict=True)
        ]
        return (
            stack(words).tocsr(),
            stack([*words, *meanings]).tocsr(),
            np.hstack([structure, lines.toarray()]),
        )


@dataclass(frozen=True, slots=True)
class _Issues:
    """Issues, taken apart and embedded."""

    texts: Sequence[IssueText]
    structure: evaluation.Numbers
    layers: Sequence[evaluation.Vectors]
    """Embeddings of title and body together, the last layer first."""
    titles: evaluation.Vectors
    """The last layer, of titles alone."""
    rows: pa.Table
    """As they came."""

    def at(self, indexes: npt.NDArray[np.int64]) -> _Issues:
        return _Issues(
            [self.texts[row] for row in indexes],
            self.structure[indexes],
            [layer[indexes] for layer in self.layers],
            self.titles[indexes],
            self.rows.take(pa.array(indexes)),
        )


@dataclass(frozen=True, slots=True)
class _IssueReader:
    """Takes issues apart by a template, and embeds them."""

    template: frozenset[str]
    encoder: evaluation.LayerMeans

    def read(self, rows: pa.Table) -> _Issues:
        texts = [read_issue(text, self.template) for text in rows["text"].to_pylist()]
        pairs = [(issue.title, issue.words) for issue in texts]
        titles = [(issue.title, "") for issue in texts]
        return _Issues(
            texts,
            np.stack([issue.structure for issue in texts]),
            self.encoder.of(pairs),
            self.encoder.of(titles)[0],
            rows,
        )


@dataclass(frozen=True, slots=True)
class _Ensemble:
    views: _Views
    classifiers: Sequence[Any]
    labels: Sequence[str]
    dates: evaluation.LabelsByDate | None

    def scores(self, issues: _Issues) -> evaluation.Numbers:
        """Return the sum of log-probabilities, a column a label."""
        total = np.zeros((len(issues.texts), len(self.labels)))
        for classifier, matrix in zip(self.classifiers, self.views.of(issues), strict=True):
            probabilities = np.zeros_like(total)
            indexes = [self.labels.index(name) for name in classifier.classes_]
            probabilities[:, indexes] = classifier.predict_proba(matrix)
            total += np.log(probabilities + _FLOOR)
        if self.dates is not None:
            total += np.log(self.dates.shares(issues.rows) + _FLOOR)
        return total


@dataclass(frozen=True, slots=True)
class _Fitted:
    task: Task
    reader: _IssueReader
    ensemble: _Ensemble

    def answer(self, rows: pa.Table) -> evaluation.Answers:
        if not len(rows):
            return evaluation.Answers([])
        return _answers(self.task, self.ensemble.scores(self.reader.read(rows)))


def _answers(task: Task, scores: evaluation.Numbers) -> evaluation.Answers:
    return evaluation.Answers(
        [task.label_names[best] for best in scores.argmax(axis=1)], scores.tolist()
    )


def _fit(
    weights: evaluation.Weights, settings: Mapping[str, Any], context: evaluation.TrainingContext
) -> _Fitted:
    task, rows = context.task, context.whole_train
    evaluation.require_type(
        task,
        ("binary", "multi-class"),
        f"The model {_NAME} does not answer",
        "Choose tfidf-svm or embeddings",
    )
    evaluation.require_few(_NAME, "embeds", task, rows, _MOST_ROWS, "Choose tfidf-svm")
    targets = np.array(rows[target_column(task.type).name].to_pylist())
    if len(set(targets.tolist())) < 2:
        raise EvaluationError(
            f"All train rows of {task.name} bear the same label", "Choose majority"
        )
    if settings["dates"]:
        evaluation.require_dates(_NAME, task, rows)
    cache = evaluation.cache_directory(context, "embeddings")
    encoder = evaluation.LayerMeans(
        weights, settings["tokens"], settings["layers"], cache, context.reporter
    )
    reader = _IssueReader(template_lines(rows["text"].to_pylist()), encoder)
    issues = reader.read(rows)
    context.learning.from_all = True
    unseen = _unseen(task, issues, targets, settings, context)
    if unseen is not None:
        context.learning.unseen = (rows, _answers(task, unseen))
    return _Fitted(task, reader, _learned(task, issues, targets, settings, context.seed))


def _learned(
    task: Task,
    issues: _Issues,
    targets: npt.NDArray[np.str_],
    settings: Mapping[str, Any],
    seed: int,
) -> _Ensemble:
    views = _views(issues)
    logistic = evaluation.load("sklearn.linear_model").LogisticRegression
    trees = evaluation.load("sklearn.ensemble").ExtraTreesClassifier
    classifiers = (
        logistic(C=_STRENGTH, max_iter=500),
        logistic(C=_STRENGTH, max_iter=500),
        trees(_TREES, min_samples_leaf=_LEAF, random_state=seed, n_jobs=1),
    )
    fitted = [
        classifier.fit(matrix, targets)
        for classifier, matrix in zip(classifiers, views.of(issues), strict=True)
    ]
    dates = evaluation.LabelsByDate.of(task, issues.rows) if settings["dates"] else None
    return _Ensemble(views, fitted, list(task.label_names), dates)


def _unseen(
    task: Task,
    issues: _Issues,
    targets: npt.NDArray[np.str_],
    settings: Mapping[str, Any],
    context: evaluation.TrainingContext,
) -> evaluation.Numbers | None:
    """Return scores of train rows, each by an ensemble without it; None where rows are too few."""
    smallest = min(np.unique(targets, return_counts=True)[1])
    folds = min(settings["folds"], smallest)
    if folds < 2:
        return None
    split = evaluation.load("sklearn.model_selection").StratifiedKFold(
        folds, shuffle=True, random_state=context.seed
    )
    scores = np.zeros((len(targets), len(task.label_names)))
    with context.reporter.task(f"{task.name}: folds", split.n_splits) as progress:
        for train, held_out in split.split(targets, targets):
            ensemble = _learned(task, issues.at(train), targets[train], settings, context.seed)
            scores[held_out] = ensemble.scores(issues.at(held_out))
            progress.advance()
    return scores


def _views(issues: _Issues) -> _Views:
    vectorizer = evaluation.load("sklearn.feature_extraction.text").TfidfVectorizer
    rare = 2 if len(issues.texts) > 50 else 1
    words = {"sublinear_tf": True, "ngram_range": (1, 2), "min_df": rare}
    # A text without any word, or a project without a template, still has something to stand for it.
    texts = issues.texts
    deviation = issues.structure.std(axis=0)
    return _Views(
        _fitted(vectorizer(**words), [issue.title for issue in texts]),
        _fitted(vectorizer(**words), _all_words(texts)),
        _fitted(
            vectorizer(token_pattern=r"\S+", binary=True, min_df=rare),  # noqa: S106 - not a secret
            [issue.template for issue in texts],
        ),
        issues.structure.mean(axis=0),
        np.where(deviation > 0, deviation, 1.0),
        [layer.mean(axis=0) for layer in issues.layers[1:]],
    )


def _fitted(vectorizer: Any, texts: Sequence[str]) -> Any:
    """Learn a vocabulary; where texts share no word, one that none of them has."""
    try:
        return vectorizer.fit(texts)
    except ValueError:
        return vectorizer.set_params(min_df=1).fit(["nothing"])


def _all_words(texts: Sequence[IssueText]) -> list[str]:
    return [f"{issue.title}\n{issue.words}" for issue in texts]


def _model(overrides: Mapping[str, Any]) -> evaluation.Model:
    settings = evaluation.model_settings(_NAME, _DEFAULTS, overrides)
    evaluation.require_least(_NAME, settings, folds=1, tokens=16, layers=1)
    weights = evaluation.encoder_weights(settings["weights"])
    # The same weights elsewhere are the same run.
    settings |= {"weights": weights.name, "weights_hash": weights.digest}
    reads = settings["dates"]
    return evaluation.Model(_NAME, partial(_fit, weights, settings), settings, uses_dates=reads)


MODEL = evaluation.ModelEntry(
    _NAME,
    "Logistic regression on words and embeddings and randomized trees on structure, of issues "
    "whose first line is the title; folds=1 leaves out what cross-validation says of it, and "
    "dates=yes also reads the date.",
    _model,
)
