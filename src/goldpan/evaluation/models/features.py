"""TF-IDF of texts, with what stands around them if wanted: sparse matrices, a row a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.evaluation.extras import load
from goldpan.evaluation.models.character_tfidf import Letters
from goldpan.evaluation.models.surrounding_text import Documents, Surroundings

CONTEXTS = ("none", "document", "neighbours")
NEIGHBOUR, NAME, PLACE = 0.4, 0.5, 0.5
"""How much neighbours, the document's name and the place count beside the text itself."""
_MOST_CHARACTERS = 20_000
"""Of a text that is read: what follows in a log says nothing new."""


class Features:
    """Vocabularies and weights, learned from texts without their answers.

    Without context they are those of train alone; with it those of all rows, which a model that
    reads neighbours has before it anyway.
    """

    def __init__(self, train: pa.Table, unlabelled: pa.Table, context: str) -> None:
        self._context = context
        self._documents = Documents(unlabelled) if context != "none" else None
        texts = _texts(train if context == "none" else unlabelled)
        vectorizer = load("sklearn.feature_extraction.text").TfidfVectorizer
        words = {"sublinear_tf": True, "token_pattern": r"(?u)\S+"}
        self._words = vectorizer(ngram_range=(1, 2), max_features=400_000, **words)
        letters = {"analyzer": "char_wb", "sublinear_tf": True, "max_features": 400_000}
        rare = 2 if len(texts) > 50 else 1
        self._letters = Letters(2, 5, rare=rare, most=400_000)
        # Cutting texts into pieces takes most of the time: those learned from are cut once.
        self._parts = [self._words.fit_transform(texts), self._letters.fit_transform(texts)]
        corpus = train if context == "none" else unlabelled
        names = corpus["id"].to_pylist() if "id" in corpus.column_names else []
        self._rows = {name: row for row, name in enumerate(names)}
        self._near = vectorizer(min_df=rare, **words)
        self._names = vectorizer(ngram_range=(3, 5), **letters)
        if self._documents is not None:
            around = self._documents.around(unlabelled)
            names = [f" {surroundings.document} " for surroundings in around]
            # Of rows that name no documents there is nothing to learn, which is no error.
            self._names.fit(names if any(map(str.strip, names)) else [" - "])
            if context == "neighbours":
                self._near.fit(texts)

    def of(self, rows: pa.Table) -> Any:
        """Return the features of rows, a sparse matrix of float64."""
        sparse = load("scipy.sparse")
        texts = _texts(rows)
        parts = self._learned_features(rows)
        if parts is None:
            parts = [self._words.transform(texts), self._letters.transform(texts)]
        if self._documents is not None:
            around = self._documents.around(rows)
            parts.append(self.names(around))
            if self._context == "neighbours":
                parts.append(
                    self._near.transform([surroundings.before for surroundings in around])
                    * NEIGHBOUR
                )
                parts.append(
                    self._near.transform([surroundings.after for surroundings in around])
                    * NEIGHBOUR
                )
                parts.append(sparse.csr_matrix(place_facts(texts, around) * PLACE))
        return sparse.hstack(parts).tocsr()

    def _learned_features(self, rows: pa.Table) -> list[Any] | None:
        """Return the features of rows that were learned from, None where one was not."""
        names = rows["id"].to_pylist() if "id" in rows.column_names else [None]
        indexes = [self._rows.get(name) for name in names]
        return None if None in indexes else [part[indexes] for part in self._parts]

    def names(self, around: Sequence[Surroundings]) -> Any:
        """Return the features of the documents' names alone."""
        return (
            self._names.transform([f" {surroundings.document} " for surroundings in around]) * NAME
        )


def place_facts(texts: Sequence[str], around: Sequence[Surroundings]) -> npt.NDArray[np.float64]:
    """Return where texts stand in their documents, and how long both are; each from 0 to 1."""
    facts = [
        (
            surroundings.position == 0,
            surroundings.position == 1,
            surroundings.position == surroundings.size - 1,
            min(surroundings.position, 20) / 20,
            surroundings.size == 1,
            min(surroundings.size, 40) / 40,
            min(len(text), 300) / 300,
        )
        for text, surroundings in zip(texts, around, strict=True)
    ]
    return np.asarray(facts, dtype=np.float64)


def _texts(rows: pa.Table) -> list[str]:
    return [text[:_MOST_CHARACTERS] for text in rows["text"].to_pylist()]
