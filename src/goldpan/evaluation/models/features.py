"""Features of texts: TF-IDF of words and characters, and of the surrounding texts of the document.

No answer is read, so the texts of test rows may be used: a tool that classifies a sentence of a
comment has the whole comment before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.model import load

_Place = tuple[str | None, str | None, int | None]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Document and neighbors of a text; neighbors are empty at the ends of a document."""

    document: str
    before: str
    after: str
    position: int
    """In the document, from 0."""
    size: int
    """Texts in the document."""


class Documents:
    """The documents of a task, put together from all its rows."""

    def __init__(self, unlabeled: pa.Table) -> None:
        columns = (unlabeled[name].to_pylist() for name in ("repo", "document", "position"))
        places: list[_Place] = list(zip(*columns, strict=True))
        texts = unlabeled["text"].to_pylist()
        order = sorted(
            (index for index in range(len(places)) if places[index][1] is not None),
            key=lambda index: (*(part or "" for part in places[index][:2]), places[index][2] or 0),
        )
        self._surroundings: dict[_Place, Surroundings] = {}
        for _, document in groupby(order, key=lambda index: places[index][:2]):
            indexes = list(document)
            self._add([places[index] for index in indexes], [texts[index] for index in indexes])

    def around(self, rows: pa.Table) -> list[Surroundings]:
        """Return the surroundings of each row, empty for rows that name no document."""
        columns = (rows[name].to_pylist() for name in ("repo", "document", "position"))
        nothing = Surroundings("", "", "", 0, 1)
        return [self._surroundings.get(key, nothing) for key in zip(*columns, strict=True)]

    def _add(self, places: list[_Place], texts: list[str]) -> None:
        for index, key in enumerate(places):
            before = texts[index - 1] if index else ""
            after = texts[index + 1] if index + 1 < len(texts) else ""
            name = key[1] or ""
            self._surroundings[key] = Surroundings(name, before, after, index, len(texts))


NEIGHBOR, NAME, PLACE = 0.4, 0.5, 0.5
"""Weights of neighbors, of the document's name and of the place, beside 1 for the text."""
_MOST_CHARACTERS = 20_000
"""Characters of a text that are read: the rest of a log says nothing new."""


@contextmanager
def needs_words() -> Iterator[None]:
    """Raise `EvaluationError` where scikit-learn finds no word to learn from."""
    try:
        yield
    except ValueError:
        raise EvaluationError(
            "No text that the model learns from has a word", "Choose the model majority"
        ) from None


class Features:
    """Vocabularies and weights, learned from texts without their answers.

    Without context they are those of train alone; with it those of all rows, which a model that
    reads neighbors has before it anyway.
    """

    def __init__(self, train: pa.Table, unlabeled: pa.Table, context: str) -> None:
        self._context = context
        self._documents = Documents(unlabeled) if context != "none" else None
        texts = _texts(train if context == "none" else unlabeled)
        vectorizer = load("sklearn.feature_extraction.text").TfidfVectorizer
        words = {"sublinear_tf": True, "token_pattern": r"(?u)\S+"}
        self._words = vectorizer(ngram_range=(1, 2), max_features=400_000, **words)
        letters = {"analyzer": "char_wb", "sublinear_tf": True, "max_features": 400_000}
        rare = 2 if len(texts) > 50 else 1
        self._letters = vectorizer(ngram_range=(2, 5), min_df=rare, **letters)
        # Cutting texts into pieces takes most of the time: those learned from are cut once.
        with needs_words():
            self._parts = [self._words.fit_transform(texts), _learned(self._letters, texts)]
        corpus = train if context == "none" else unlabeled
        names = corpus["id"].to_pylist() if "id" in corpus.column_names else []
        self._rows = {name: row for row, name in enumerate(names)}
        self._near = vectorizer(min_df=rare, **words)
        self._names = vectorizer(ngram_range=(3, 5), **letters)
        if self._documents is not None:
            around = self._documents.around(unlabeled)
            names = [f" {place.document} " for place in around]
            # Of rows that name no documents there is nothing to learn, which is no error.
            self._names.fit(names if any(map(str.strip, names)) else [" - "])
            if context == "neighbors":
                _learned(self._near, texts)

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
            if self._context == "neighbors":
                for near in ([place.before for place in around], [place.after for place in around]):
                    parts.append(self._near.transform(near) * NEIGHBOR)
                parts.append(sparse.csr_matrix(place_facts(texts, around) * PLACE))
        return sparse.hstack(parts).tocsr()

    def _learned_features(self, rows: pa.Table) -> list[Any] | None:
        """Return the features of rows that were learned from, None where one was not."""
        names = rows["id"].to_pylist() if "id" in rows.column_names else [None]
        indexes = [self._rows.get(name) for name in names]
        return None if None in indexes else [part[indexes] for part in self._parts]

    def names(self, around: Sequence[Surroundings]) -> Any:
        """Return the features of the documents' names alone."""
        return self._names.transform([f" {place.document} " for place in around]) * NAME


def place_facts(texts: Sequence[str], around: Sequence[Surroundings]) -> npt.NDArray[np.float64]:
    """Return where texts stand in their documents, and how long both are; each from 0 to 1."""
    facts = [
        (
            place.position == 0,
            place.position == 1,
            place.position == place.size - 1,
            min(place.position, 20) / 20,
            place.size == 1,
            min(place.size, 40) / 40,
            min(len(text), 300) / 300,
        )
        for text, place in zip(texts, around, strict=True)
    ]
    return np.asarray(facts, dtype=np.float64)


def _learned(vectorizer: Any, texts: Sequence[str]) -> Any:
    """Return the features of texts that a vectorizer learns from them.

    Where nothing is in as many texts as it asks for, as in scripts without spaces, it learns all.
    """
    try:
        return vectorizer.fit_transform(texts)
    except ValueError:
        return vectorizer.set_params(min_df=1).fit_transform(texts)


def _texts(rows: pa.Table) -> list[str]:
    return [text[:_MOST_CHARACTERS] for text in rows["text"].to_pylist()]
