"""A linear head on frozen embeddings of texts, with those of their neighbours if wanted.

    WORKSPACE/cache/
    └── embeddings/DIGEST.sqlite  vectors of texts, by what made them

All of it can be deleted: it is made again when it is wanted. One SQLite file for each encoder:
several runs may write it at once, and what a killed run had encoded stays.

Batches have one of few shapes, filled up where texts are few, so that a vector does not depend on
what was encoded beside it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.storage.workspace import make_directory
from goldpan.core.terminal import Reporter
from goldpan.evaluation.finetune.job import MINILM, Weights, encoder_weights
from goldpan.evaluation.finetune.loading import quiet
from goldpan.evaluation.model import (
    Fitted,
    Model,
    ModelEntry,
    TrainingContext,
    load,
    model_settings,
    require_choice,
    require_least,
)
from goldpan.evaluation.models.features import NEIGHBOUR, PLACE, Documents, place_facts
from goldpan.evaluation.models.linear import LinearKind, check_linear, fit_heads

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
        return vectors_of(self._store, texts, self._encode, self._reporter)

    def _encode(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        # Loaded only where a text is missing: often all are there.
        encoder = load_encoder(self._weights.directory, self._tokens)
        for index, vector in encoder.encode(texts):
            yield index, vector / max(float(np.linalg.norm(vector)), 1e-9)


class LayerMeans:
    """The means of an encoder's last layers, as they are, kept by its weights."""

    def __init__(
        self, weights: Weights, tokens: int, layers: int, cache: Path, reporter: Reporter
    ) -> None:
        self._weights, self._tokens, self._layers = weights, tokens, layers
        self._reporter = reporter
        self._store = cache / f"{digest(weights.digest, tokens, 'layers', layers)}.sqlite"

    def of(self, texts: Sequence[str]) -> list[Vectors]:
        """Return a matrix for each layer, the last first, with a row a text."""
        vectors = vectors_of(self._store, texts, self._encode, self._reporter)
        return np.split(vectors, self._layers, axis=1)

    def _encode(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        encoder = load_encoder(self._weights.directory, self._tokens, layers=self._layers)
        yield from encoder.encode(texts)


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
            for near in ([place.before for place in around], [place.after for place in around]):
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
    settings = model_settings(_NAME, _DEFAULTS, overrides)
    require_choice(_NAME, settings, "context", _CONTEXTS)
    require_least(_NAME, settings, folds=2, tokens=16)
    weights = encoder_weights(settings["weights"])
    # The same weights elsewhere are the same run.
    settings |= {"weights": weights.name, "weights_hash": weights.digest}
    around = settings["context"] == "neighbours"
    fit = partial(_fit, weights, settings)
    return Model(_NAME, fit, settings, uses_neighbours=around, check=check_linear)


MODELS = (
    ModelEntry(
        _NAME,
        "Logistic regression, or ridge for numbers, on embeddings of a frozen encoder: "
        "weights=minilm or weights=DIRECTORY; context=neighbours adds the surrounding texts.",
        _model,
    ),
)


_DIGEST_CHARACTERS = 24


def cache_directory(context: TrainingContext, kind: str) -> Path:
    """Return a directory of the workspace that its runs share, and make it.

    A run works in ``WORKSPACE/runs/TASK/MODEL/RUN.work``, four levels below the workspace.
    """
    path = context.directory.parents[3] / "cache" / kind
    make_directory(path)
    return path


def digest(*parts: object) -> str:
    """Return a digest of plain JSON data, as a name of files."""
    plain = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(plain).hexdigest()[:_DIGEST_CHARACTERS]


Vectors = npt.NDArray[np.float32]
_Each = TypeVar("_Each")
_LOCK_SECONDS = 120.0
_STORED_AT_ONCE = 500
"""Rows asked for or stored at once."""


def vectors_of(
    path: Path,
    texts: Sequence[str],
    encode: Callable[[Sequence[str]], Iterable[tuple[int, Vectors]]],
    reporter: Reporter,
) -> Vectors:
    """Return a vector for each text, a row each, from `path` or else by `encode`.

    `encode` yields the place of a text among those that it was given, with its vector. Raises
    `EvaluationError` where the file cannot be used.
    """
    keys = [_key(text) for text in texts]
    try:
        with closing(sqlite3.connect(path, timeout=_LOCK_SECONDS)) as store:
            store.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")
            vectors = _stored_vectors(store, keys)
            missing = {
                key: text for key, text in zip(keys, texts, strict=True) if key not in vectors
            }
            vectors |= _encode_missing(store, missing, encode, reporter)
    except sqlite3.Error as error:
        raise EvaluationError(
            f"{path} cannot be used ({error})", "Delete it: vectors are made again"
        ) from None
    return np.stack([vectors[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)


def _stored_vectors(store: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
    stored = {}
    for batch in _batches(sorted(set(keys))):
        marks = ",".join("?" * len(batch))
        query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608 - only marks
        for key, vector in store.execute(query, batch):
            stored[key] = np.frombuffer(vector, dtype="<f4")
    return stored


def _encode_missing(
    store: sqlite3.Connection,
    missing: dict[bytes, str],
    encode: Callable[[Sequence[str]], Iterable[tuple[int, Vectors]]],
    reporter: Reporter,
) -> dict[bytes, Vectors]:
    keys, encoded = list(missing), {}
    if not keys:
        return {}
    with reporter.task("texts encoded", len(keys)) as progress:
        for batch in _batches(encode([missing[key] for key in keys])):
            rows = [(keys[index], vector.astype("<f4").tobytes()) for index, vector in batch]
            with store:
                store.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            encoded.update({keys[index]: vector for index, vector in batch})
            progress.advance(len(batch))
    return encoded


def _batches(items: Iterable[_Each]) -> Iterator[list[_Each]]:
    waiting = iter(items)
    while batch := list(islice(waiting, _STORED_AT_ONCE)):
        yield batch


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


_BATCH = 32
_STEP = 16
"""Lengths in tokens are filled up to a multiple of it."""
_TOKEN_CHARACTERS = 24
"""More than a token has, on average, of any text that a person wrote; the rest is not read."""
Tokens = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Encoder:
    """A transformer with its tokenizer, on the processor."""

    model: Any
    tokenizer: Any
    tokens: int
    """The most that are read of a text."""
    layers: int = 1
    """How many means a vector joins: of the last layer first, then of those below it."""

    def encode(self, texts: Sequence[str]) -> Iterator[tuple[int, Vectors]]:
        """Yield the place of each text with its vector, short texts first."""
        torch = load("torch")
        tokens = self._tokenized(texts)
        lengths = [-(-len(token["input_ids"]) // _STEP) for token in tokens]
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        self.model.eval()
        for indexes in _alike(order, lengths):
            filled = [tokens[index] for index in indexes]
            filled += [tokens[indexes[0]]] * (_BATCH - len(indexes))
            with torch.no_grad():
                vectors = self._pooled(filled).numpy()
            yield from zip(indexes, vectors, strict=False)

    def _tokenized(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the numbers that the model reads, for each text."""
        most = self.tokens * _TOKEN_CHARACTERS
        cut = [text[:most] for text in texts]
        read = self.tokenizer(cut, truncation=True, max_length=self.tokens)
        return [{name: read[name][index] for name in read} for index in range(len(texts))]

    def _pooled(self, tokens: Sequence[Tokens]) -> Any:
        """Return the mean vectors of texts of similar lengths, a tensor of float32."""
        padded = self.tokenizer.pad(
            list(tokens), padding=True, pad_to_multiple_of=_STEP, return_tensors="pt"
        )
        states = self.model(**padded, output_hidden_states=self.layers > 1)
        mask = padded["attention_mask"].unsqueeze(-1)
        last = [states.last_hidden_state]
        if self.layers > 1:
            last += [states.hidden_states[-number] for number in range(2, self.layers + 1)]
        means = [(hidden.float() * mask).sum(1) / mask.sum(1) for hidden in last]
        return load("torch").cat(means, dim=1)


def load_encoder(directory: Path, tokens: int, *, layers: int = 1) -> Encoder:
    """Load an encoder from a directory; raises `UsageError` where transformers cannot.

    It raises `UsageError` too where the encoder has fewer than `layers` layers.
    """
    auto = load("transformers")
    try:
        with quiet():
            tokenizer = auto.AutoTokenizer.from_pretrained(directory, local_files_only=True)
            model = auto.AutoModel.from_pretrained(directory, local_files_only=True)
    except (OSError, ValueError, import_module("safetensors").SafetensorError) as error:
        message = (str(error).splitlines() or ["no reason given"])[0]
        raise UsageError(
            f"{directory} holds no encoder that can be loaded ({message})",
            "Give a directory that transformers wrote, with a tokenizer",
        ) from None
    if layers > (known_layers := getattr(model.config, "num_hidden_layers", layers)):
        raise UsageError(
            f"{directory} holds an encoder of {known_layers} layers, and {layers} are read",
            "Give a larger one",
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    positions = getattr(model.config, "max_position_embeddings", None) or tokens
    most = min(tokens, int(positions), tokenizer.model_max_length)
    return Encoder(model, tokenizer, max(_STEP, most // _STEP * _STEP), layers)


def _alike(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield batches of places whose lengths are the same."""
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) == _BATCH or lengths[index] != lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
