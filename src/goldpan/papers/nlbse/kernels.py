"""How similar texts are to those of train, seen in two ways: a row a text, a column a train row.

Beside what two texts say, with what stands around them, it may count how near they stand to each
other in one document. That reads no answer, yet it lets a model that learned from one sentence
judge the next: where a partition cuts documents apart it helps much, and on documents never seen
not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from goldpan.plugins.evaluation import PLACE, Documents, Features, Frozen, Numbers, place_facts

Document = tuple[str, str]
"""Project and name."""
_ROWS = 1_000
"""Compared with train at once."""
_NEAR = 0.3
_REACH = 1.5
"""Sentences at which nearness has fallen to a third."""
_TEXT, _BESIDE, _REST = 2.0, 0.3, 0.3
"""How much the meaning of a text, of each neighbour and of the rest of the document count."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words and characters, by TF-IDF: matrices whose products add up."""

    features: Features
    sharpness: float = 0.2
    """How fast similarity falls with the squared distance."""

    def parts(self, rows: pa.Table) -> Sequence[Any]:
        """Return one sparse matrix."""
        return (self.features.of(rows),)


class Meanings:
    """Embeddings of texts; with context those of neighbours and of the rest of the document."""

    sharpness = 0.4

    def __init__(
        self, frozen: Frozen, unlabelled: pa.Table, features: Features, *, around: bool
    ) -> None:
        self._frozen, self._features = frozen, features
        self._documents = Documents(unlabelled) if around else None
        self._whole: dict[Document, Numbers] = {}
        vectors = frozen.of(unlabelled["text"].to_pylist())
        for key, vector in zip(documents_of(unlabelled), vectors, strict=True):
            if key is not None:
                self._whole[key] = self._whole.get(key, np.zeros(len(vector))) + vector

    def parts(self, rows: pa.Table) -> Sequence[Any]:
        """Return the embeddings, and with context the documents' names."""
        texts = rows["text"].to_pylist()
        own = self._frozen.of(texts)
        if self._documents is None:
            return (own * _TEXT**0.5,)
        around = self._documents.around(rows)
        dense = [own * _TEXT**0.5]
        for near in (
            [surroundings.before for surroundings in around],
            [surroundings.after for surroundings in around],
        ):
            has_text = np.array([[bool(text)] for text in near])
            dense.append(self._frozen.of(near) * has_text * _BESIDE**0.5)
        keys = documents_of(rows)
        rest = [
            np.zeros(len(vector)) if key is None else self._whole.get(key, vector) - vector
            for key, vector in zip(keys, own, strict=True)
        ]
        dense.append(units(np.stack(rest)) * _REST**0.5)
        dense.append(place_facts(texts, around) * PLACE)
        return np.concatenate(dense, axis=1), self._features.names(around)


class Similarities:
    """Similarities to the train rows, as one view sees them."""

    def __init__(self, view: Words | Meanings, train: pa.Table, near: Documents | None) -> None:
        """Keep the train rows; `near` has nearness count, and says where rows stand."""
        self._view, self._train, self._documents = view, train, near
        self._parts = view.parts(train)

    def of(self, rows: pa.Table) -> Numbers:
        """Return a matrix with a row a text and a column a train row."""
        starts = range(0, len(rows), _ROWS)
        return np.concatenate([self._row_features(rows.slice(start, _ROWS)) for start in starts])

    def _row_features(self, rows: pa.Table) -> Numbers:
        parts = self._view.parts(rows)
        products = sum(
            _dense(ours @ theirs.T) for ours, theirs in zip(parts, self._parts, strict=True)
        )
        far = _squares(parts)[:, None] + _squares(self._parts)[None, :] - 2 * products
        similar = np.exp(-self._view.sharpness * np.maximum(far, 0.0))
        if self._documents is not None:
            similar += _NEAR * _nearness(self._documents, rows, self._train)
        return np.asarray(similar, dtype=np.float64)


def documents_of(rows: pa.Table) -> list[Document | None]:
    """Return the project and document of each row, None where it names no document."""
    repos, documents = rows["repo"].to_pylist(), rows["document"].to_pylist()
    return [
        None if document is None else (repo or "", document)
        for repo, document in zip(repos, documents, strict=True)
    ]


def _nearness(documents: Documents, rows: pa.Table, train: pa.Table) -> Numbers:
    numbers: dict[Document, int] = {}
    ours, theirs = (
        np.array(
            [
                # A row without a document is near nothing, itself included.
                numbers.setdefault(key, len(numbers)) if key is not None else -1 - side
                for key in documents_of(table)
            ]
        )
        for side, table in enumerate((rows, train))
    )
    row_positions, train_positions = (
        np.array([surroundings.position for surroundings in documents.around(table)])
        for table in (rows, train)
    )
    near = np.exp(-np.abs(row_positions[:, None] - train_positions[None, :]) / _REACH)
    return np.asarray(near * (ours[:, None] == theirs[None, :]), dtype=np.float64)


def units(vectors: Any) -> Numbers:
    """Return vectors with the same directions, of length one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float64)


def _dense(matrix: Any) -> Numbers:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def _squares(parts: Sequence[Any]) -> Numbers:
    squares = [
        np.asarray(part.multiply(part).sum(axis=1)).ravel()
        if hasattr(part, "toarray")
        else (part**2).sum(axis=1)
        for part in parts
    ]
    return np.asarray(sum(squares), dtype=np.float64)
