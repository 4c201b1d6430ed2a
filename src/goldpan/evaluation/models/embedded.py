"""A linear head on frozen embeddings of texts, with those of their neighbours if wanted.

The embeddings of an encoder are kept in the workspace, so no text is encoded twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from goldpan.core.progress import Reporter
from goldpan.evaluation.finetune.weights import MINILM, Weights, encoder_weights
from goldpan.evaluation.model import (
    Entry,
    Fitted,
    Model,
    TrainingContext,
    require_choice,
    require_least,
    settled,
)
from goldpan.evaluation.models.encoder import (
    Pair,
    Vectors,
    cache_directory,
    digest,
    load_encoder,
    vectors_of,
)
from goldpan.evaluation.models.features import NEIGHBOUR, PLACE, Documents, place_facts
from goldpan.evaluation.models.linear import LinearKind, fit_heads

_NAME = "embeddings"
_HEAD = LinearKind("logistic", (1.0, 4.0, 16.0, 64.0))
_CONTEXTS = ("none", "neighbours")
_DEFAULTS = {"weights": MINILM, "context": "none", "folds": 5, "tokens": 256}


class Frozen:
    """The embeddings of an encoder that does not learn, kept by its weights."""

    def __init__(self, weights: Weights, tokens: int, cache: Path, reporter: Reporter) -> None:
        self._weights, self._tokens, self._reporter = weights, tokens, reporter
        self._store = cache / f"{digest(weights.digest, tokens)}.sqlite"

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return a vector of length 1 for each text, a row each."""
        pairs = [(text, "") for text in texts]
        return vectors_of(self._store, pairs, self._encode, self._reporter)

    def _encode(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, Vectors]]:
        # Loaded only where a text is missing: often all are there.
        encoder = load_encoder(self._weights.directory, self._tokens)
        for index, vector in encoder.encode(pairs):
            yield index, vector / max(float(np.linalg.norm(vector)), 1e-9)


class LayerMeans:
    """The means of an encoder's last layers, as they are, kept by its weights."""

    def __init__(
        self, weights: Weights, tokens: int, layers: int, cache: Path, reporter: Reporter
    ) -> None:
        self._weights, self._tokens, self._layers = weights, tokens, layers
        self._reporter = reporter
        self._store = cache / f"{digest(weights.digest, tokens, 'layers', layers)}.sqlite"

    def of(self, pairs: Sequence[Pair]) -> list[Vectors]:
        """Return a matrix for each layer, the last first, with a row a pair."""
        vectors = vectors_of(self._store, pairs, self._encode, self._reporter)
        return np.split(vectors, self._layers, axis=1)

    def _encode(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, Vectors]]:
        encoder = load_encoder(self._weights.directory, self._tokens, layers=self._layers)
        yield from encoder.encode(pairs)


class EmbeddedTexts:
    """Embeddings of rows; of neighbours too where the context says so."""

    def __init__(self, frozen: Frozen, unlabelled: pa.Table, context: str) -> None:
        self._frozen = frozen
        self._documents = Documents(unlabelled) if context == "neighbours" else None
        # All at once: each call of the encoder fills up its batches.
        frozen.of(unlabelled["text"].to_pylist())

    def of(self, rows: pa.Table) -> Any:
        """Return a matrix of float64, a row a text."""
        texts = rows["text"].to_pylist()
        parts: list[Any] = [self._frozen.of(texts)]
        if self._documents is not None:
            around = self._documents.around(rows)
            for near in (
                [surroundings.before for surroundings in around],
                [surroundings.after for surroundings in around],
            ):
                has_text = np.array([bool(text) for text in near])[:, None]
                parts.append(self._frozen.of(near) * has_text * NEIGHBOUR)
            parts.append(place_facts(texts, around) * PLACE)
        return np.concatenate(parts, axis=1, dtype=np.float64)


def _fit(weights: Weights, settings: Mapping[str, Any], context: TrainingContext) -> Fitted:
    def prepare() -> EmbeddedTexts:
        cache = cache_directory(context, "embeddings")
        frozen = Frozen(weights, settings["tokens"], cache, context.reporter)
        return EmbeddedTexts(frozen, context.unlabelled, settings["context"])

    return fit_heads(_HEAD, prepare, context, settings["folds"])


def _model(overrides: Mapping[str, Any]) -> Model:
    settings = settled(_NAME, _DEFAULTS, overrides)
    require_choice(_NAME, settings, "context", _CONTEXTS)
    require_least(_NAME, settings, folds=2, tokens=16)
    weights = encoder_weights(settings["weights"])
    # The same weights elsewhere are the same run.
    settings |= {"weights": weights.name, "weights_hash": weights.digest}
    around = settings["context"] == "neighbours"
    return Model(_NAME, partial(_fit, weights, settings), settings, uses_neighbours=around)


MODELS = (
    Entry(
        _NAME,
        "Logistic regression, or ridge for numbers, on embeddings of a frozen encoder: "
        "weights=minilm or weights=DIRECTORY; context=neighbours adds the surrounding texts.",
        _model,
    ),
)
