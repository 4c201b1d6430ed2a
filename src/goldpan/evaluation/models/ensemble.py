"""Views of a text, each read by a model of its own, stacked by scikit-learn.

A support vector machine with a Gaussian kernel reads words and characters; another one reads
these with embeddings of a frozen encoder, its last layers; randomized trees read structure: signs,
lengths, the place in a document, and lines that many texts share, such as those of a template.
Where wanted a logistic regression reads train's answers to the surrounding texts. Another one
learns from answers to rows that these models had not seen how far to believe each.

The first line of a text is its title where others follow. Lines that many texts share, and comments
of Markdown, are no words of their own.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from string import punctuation
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from annotated_types import Ge

from goldpan.datasets.tasks.task import CLASSIFICATION, Task
from goldpan.evaluation.finetune.weights import MINILM, Weights
from goldpan.evaluation.model import Fitted, TrainingContext, load, require_few, require_type
from goldpan.evaluation.models.embedded import Encoder, embedded_context, encoder_model, units
from goldpan.evaluation.models.features import Documents, Features, place_facts
from goldpan.evaluation.models.linear import HeadKind, Numbers, fit_heads

_NAME = "ensemble"
_REMEDY = "Choose tfidf-svm or embeddings"
_MOST_ROWS = 8_000
"""The most rows of train: a kernel compares every two of them."""
_STRENGTH, _SHARPNESS, _TREES, _LEAF = 4.0, 0.2, 200, 2
"""Strength and sharpness of the machines, number of trees and rows of a leaf."""
_TITLE, _LOWER = 0.7, 0.7
"""How much titles and lower layers count beside whole texts and the last layer."""
_FEWEST, _SHARE = 4, 75
"""A line is shared where at least 4 texts have it, or one in 75 if that is more."""
_MOST_CHARACTERS = 20_000

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]\[]{0,200}\]\([^)]{0,500}\)|<img[^>]{0,500}>", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://\S+")
_NO_LETTERS = re.compile(r"[\W\d_]+")


def shared_lines(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the lines behind the first that many texts have, as letters alone, sorted."""
    counts = Counter[str]()
    number = 0
    for text in texts:
        counts.update(set(_lines(text)))
        number += 1
    least = max(_FEWEST, number // _SHARE)
    return tuple(sorted(line for line, count in counts.items() if count >= least))


def own_words(text: str, shared: frozenset[str]) -> str:
    """Return a text without the lines that many share; pictures and addresses are words."""
    title, _, rest = text[:_MOST_CHARACTERS].partition("\n")
    plain = _ADDRESS.sub(" link ", _IMAGE.sub(" screenshot ", _COMMENT.sub(" ", rest)))
    own = [line for line in plain.split("\n") if _letters(line) not in shared]
    return "\n".join([title, *own]) if rest else title


def _lines(text: str) -> list[str]:
    _, _, rest = text[:_MOST_CHARACTERS].partition("\n")
    letters = map(_letters, _COMMENT.sub(" ", rest).split("\n"))
    return [line for line in letters if line]


def _letters(line: str) -> str:
    return _NO_LETTERS.sub(" ", line).strip().lower()


def _signs(text: str) -> list[float]:
    """Return lengths, and how often signs, digits and capitals stand in a text."""
    counts = [text.count(sign) for sign in punctuation]
    kinds = [sum(map(str.isdigit, text)), sum(map(str.isupper, text))]
    return [len(text), len(text.split()), text.count("\n"), *kinds, *counts]


class _Views:
    """What the models read, learned from texts without their answers: columns side by side."""

    def __init__(
        self, weights: Weights, settings: Mapping[str, Any], context: TrainingContext
    ) -> None:
        rows, every = context.whole_train, context.unlabeled
        self._shared = shared_lines(rows["text"].to_pylist())
        self._known = frozenset(self._shared)
        self._reads_answers = settings["context"] == "answers"
        around = "none" if settings["context"] == "none" else "neighbors"
        self._words = Features(self._own(rows), self._own(every), around)
        self._documents = Documents(self._own(every)) if around != "none" else None
        self._numbers: dict[tuple[str | None, str], int] = {}
        vectorizer = load("sklearn.feature_extraction.text").TfidfVectorizer
        words = {"sublinear_tf": True, "ngram_range": (1, 2), "token_pattern": r"(?u)\S+"}
        self._titles = vectorizer(**words)
        titles = _titles(self._own(rows))
        self._titles.fit(titles if any(map(str.strip, titles)) else ["-"])
        self._encoder = Encoder(weights, settings["tokens"], context, layers=settings["layers"])
        # All at once: texts of like lengths share batches.
        _, *lower = self._encoder.of(self._own(every)["text"].to_pylist())
        self._centers = [layer.mean(axis=0) for layer in lower]
        self.widths = [part.shape[1] for part in self._parts(rows)]

    def of(self, rows: pa.Table) -> Any:
        """Return all views of rows, a sparse matrix of float64."""
        return load("scipy.sparse").hstack(self._parts(rows)).tocsr()

    def _parts(self, rows: pa.Table) -> list[Any]:
        sparse = load("scipy.sparse")
        own = self._own(rows)
        titles = self._titles.transform(_titles(own)) * _TITLE
        words = sparse.hstack([self._words.of(own), titles])
        parts = [words, self._meanings(own), self._structure(rows)]
        if self._reads_answers:
            parts.append(self._places(rows))
        return [sparse.csr_matrix(part) for part in parts]

    def _own(self, rows: pa.Table) -> pa.Table:
        texts = [own_words(text, self._known) for text in rows["text"].to_pylist()]
        return rows.set_column(rows.column_names.index("text"), "text", pa.array(texts))

    def _meanings(self, own: pa.Table) -> Numbers:
        texts = own["text"].to_pylist()
        last, *lower = self._encoder.of(texts)
        parts = [units(last)]
        parts += [
            units(layer - center) * _LOWER
            for layer, center in zip(lower, self._centers, strict=True)
        ]
        if any("\n" in text for text in texts):
            parts.append(units(self._encoder.of(_titles(own))[0]) * _TITLE)
        else:
            parts.append(np.zeros_like(parts[0]))
        if self._documents is not None:
            parts += embedded_context(self._encoder, texts, self._documents.around(own))
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def _structure(self, rows: pa.Table) -> Numbers:
        texts = [text[:_MOST_CHARACTERS] for text in rows["text"].to_pylist()]
        counts = [
            [*_signs(text.partition("\n")[0]), *_signs(text.partition("\n")[2])] for text in texts
        ]
        has_line = [
            [line in lines for line in self._shared] for lines in map(set, map(_lines, texts))
        ]
        parts = [np.array(counts, dtype=np.float64), np.array(has_line, dtype=np.float64)]
        if self._documents is not None:
            parts.append(place_facts(texts, self._documents.around(rows)))
        return np.hstack(parts)

    def _places(self, rows: pa.Table) -> Numbers:
        """Return the number of each row's document, 0 for none, and its position there."""
        columns = (rows[name].to_pylist() for name in ("repo", "document", "position"))
        places = []
        for repo, document, position in zip(*columns, strict=True):
            key = (repo, document)
            number = self._numbers.setdefault(key, len(self._numbers) + 1) if document else 0
            places.append([number, position or 0])
        return np.asarray(places, dtype=np.float64)


def _titles(rows: pa.Table) -> list[str]:
    """Return the first lines of texts that have others, empty for those of one line."""
    lines = (text.partition("\n") for text in rows["text"].to_pylist())
    return [title if rest else "" for title, _, rest in lines]


def similar_words(left: Any, right: Any) -> Numbers:
    """Return how similar rows are to others, from 0 to 1."""
    kernel = load("sklearn.metrics.pairwise").rbf_kernel
    return np.asarray(kernel(left, right, gamma=_SHARPNESS))


def similar_meanings(words: int, left: Any, right: Any) -> Numbers:
    """Return the same by words, which are the first columns, and by dense columns behind them."""
    dense = similar_words(left[:, words:].toarray(), right[:, words:].toarray())
    return similar_words(left[:, :words], right[:, :words]) * dense


def _stack(widths: Sequence[int], folds: int, strength: float, seed: int) -> Any:
    """Return the models and what joins them, for one label; none has learned."""
    svm, ensemble = load("sklearn.svm").SVC, load("sklearn.ensemble")
    fixed = {"class_weight": "balanced", "random_state": seed}
    words, meanings, structure, *places = np.cumsum(widths).tolist()
    kernel = partial(similar_meanings, words)
    trees = ensemble.ExtraTreesClassifier(_TREES, min_samples_leaf=_LEAF, **fixed)
    models: list[tuple[str, slice, Any]] = [
        ("words", slice(words), svm(C=_STRENGTH, kernel=similar_words, **fixed)),
        ("meanings", slice(meanings), svm(C=_STRENGTH, kernel=kernel, **fixed)),
        ("structure", slice(meanings, structure), trees),
    ]
    if places:
        answers = import_module("goldpan.evaluation.models.answered").AnswersAround()
        models.append(("answers", slice(structure, places[0]), answers))
    pipeline = load("sklearn.pipeline").make_pipeline
    columns = load("sklearn.compose").ColumnTransformer
    readers = [
        (name, pipeline(columns([(name, "passthrough", read)], sparse_threshold=1.0), model))
        for name, read, model in models
    ]
    split = load("sklearn.model_selection").StratifiedKFold(folds, shuffle=True, random_state=seed)
    scaler = load("sklearn.preprocessing").StandardScaler()
    joined = load("sklearn.linear_model").LogisticRegression(C=strength)
    return ensemble.StackingClassifier(readers, pipeline(scaler, joined), cv=split)


def _fit(weights: Weights, settings: Mapping[str, Any], context: TrainingContext) -> Fitted:
    task, rows = context.task, context.whole_train
    require_few(_NAME, "compares every two of", task, rows, _MOST_ROWS, _REMEDY)
    views = _Views(weights, settings, context)
    stack = HeadKind(partial(_stack, views.widths, settings["folds"]), (1.0,), fewest=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels with fewer rows than folds
        return fit_heads(stack, views.of, context, settings["folds"])


def _check(task: Task) -> None:
    require_type(task, CLASSIFICATION, f"The model {_NAME} does not answer", _REMEDY)


MODELS = (
    encoder_model(
        _NAME,
        "Words, embeddings and structure of texts, each read by a model of its own, stacked; "
        "weights=minilm or weights=DIRECTORY; context=neighbors adds the surrounding texts, "
        "context=answers train's answers to them, too.",
        _fit,
        {"weights": MINILM, "context": "none", "tokens": 128, "layers": 3, "folds": 5},
        tasks="classification",
        check=_check,
        context=Literal["none", "neighbors", "answers"],
        layers=Annotated[int, Ge(1)],
    ),
)
