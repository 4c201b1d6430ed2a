"""TF-IDF of the letters of words, as scikit-learn's `char_wb` has it, cutting each word once.

Logs and code repeat their words, so counting words first and cutting the distinct ones gives the
same matrix in less time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldpan.evaluation.extras import load


class Letters:
    """Pieces of words from `shortest` to `longest` letters, weighted by TF-IDF."""

    def __init__(self, shortest: int, longest: int, *, rare: int, most: int) -> None:
        self._lengths, self._rare, self._most = (shortest, longest), rare, most
        self._vocabulary: dict[str, int] = {}
        self._weights = load("sklearn.feature_extraction.text").TfidfTransformer(sublinear_tf=True)

    def fit_transform(self, texts: Sequence[str]) -> Any:
        """Learn the pieces that `rare` texts have, the `most` frequent ones; a row a text.

        Raises `ValueError` where there is none.
        """
        words, names = self._words(texts)
        cutter = self._cutter()
        counts = (words @ cutter.fit_transform(names)).tocsc()
        columns = np.flatnonzero(np.diff(counts.indptr) >= self._rare)
        if len(columns) > self._most:
            frequency = np.asarray(counts.sum(axis=0)).ravel()[columns]
            columns = np.sort(columns[(-frequency).argsort()[: self._most]])
        if not len(columns):
            raise ValueError("no piece of a word is in enough texts")
        pieces = cutter.get_feature_names_out()[columns]
        self._vocabulary = {piece: index for index, piece in enumerate(pieces)}
        return self._weights.fit_transform(_sorted(counts[:, columns]))

    def transform(self, texts: Sequence[str]) -> Any:
        """Return the weights of what was learned, a row a text."""
        words, names = self._words(texts)
        cut = self._cutter(vocabulary=self._vocabulary).transform(names)
        return self._weights.transform(_sorted(words @ cut))

    def _words(self, texts: Sequence[str]) -> tuple[Any, Sequence[str]]:
        """Return how often texts have words, and the words."""
        counter = load("sklearn.feature_extraction.text").CountVectorizer(analyzer=_split)
        try:
            matrix = counter.fit_transform(texts)
        except ValueError:  # no text has a word
            return load("scipy.sparse").csr_matrix((len(texts), 1), dtype=np.int64), [""]
        return matrix, counter.get_feature_names_out().tolist()

    def _cutter(self, **vocabulary: Any) -> Any:
        return load("sklearn.feature_extraction.text").CountVectorizer(
            analyzer="char_wb", ngram_range=self._lengths, lowercase=False, **vocabulary
        )


def _split(text: str) -> list[str]:
    return text.lower().split()


def _sorted(matrix: Any) -> Any:
    """Return the rows with their columns in order, so that sums are the same each time."""
    rows = matrix.tocsr()
    rows.sort_indices()
    return rows
