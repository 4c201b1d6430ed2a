"""A linear head on frozen embeddings of texts, with those of their neighbors if wanted.

    WORKSPACE/cache/
    └── embeddings/DIGEST.npy     vectors of texts, by the texts and what made them

All of it can be deleted: it is made again when it is wanted.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
from annotated_types import Ge

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.core.storage.workspace import make_directory, write_whole
from goldpan.datasets.tasks.task import Task
from goldpan.evaluation.finetune.loading import quiet
from goldpan.evaluation.finetune.weights import MINILM, Weights, encoder_weights
from goldpan.evaluation.model import (
    LABELS_AND_NUMBERS,
    Fitted,
    Folds,
    Model,
    ModelEntry,
    TrainingContext,
    load,
    model_settings,
)
from goldpan.evaluation.models.features import NEIGHBOR, PLACE, Documents, Surroundings, place_facts
from goldpan.evaluation.models.linear import HeadKind, Numbers, check_linear, fit_heads, logistic

_HEAD = HeadKind(logistic, (1.0, 4.0, 16.0, 64.0))
_KINDS = {"folds": Folds, "tokens": Annotated[int, Ge(16)]}
_AT_ONCE = 512
"""Texts that are encoded between two signs of progress."""
_TOKEN_CHARACTERS = 24
"""More than a token has, on average, of any text that a person wrote; the rest is not read."""
Vectors = npt.NDArray[np.float32]


class Encoder:
    """The means of a frozen encoder's last layers over a text, by sentence-transformers."""

    def __init__(
        self, weights: Weights, tokens: int, context: TrainingContext, *, layers: int = 1
    ) -> None:
        self._weights, self._tokens, self._layers = weights, tokens, layers
        self._reporter = context.reporter
        # A run works in WORKSPACE/runs/TASK/MODEL/RUN.work, four levels below the workspace.
        self._cache = context.directory.parents[3] / "cache" / "embeddings"
        self._known: dict[str, Vectors] = {}

    def of(self, texts: Sequence[str]) -> list[Vectors]:
        """Return a matrix for each layer, the last first, with a row a text."""
        missing = sorted({*texts} - self._known.keys(), key=lambda text: (len(text), text))
        if missing:
            self._known |= zip(missing, self._vectors(missing), strict=True)
        return np.split(np.stack([self._known[text] for text in texts]), self._layers, axis=1)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        parts = orjson.dumps([self._weights.digest, self._tokens, self._layers, *texts])
        path = self._cache / f"{hashlib.sha256(parts).hexdigest()[:24]}.npy"
        try:
            return np.asarray(np.load(path), dtype=np.float32)
        except FileNotFoundError:
            vectors = self._encoded(texts)
        except (OSError, ValueError, EOFError) as error:
            raise EvaluationError(
                f"{path} cannot be used ({error})", "Delete it: vectors are made again"
            ) from None
        make_directory(self._cache)
        file = io.BytesIO()
        np.save(file, vectors, allow_pickle=False)
        write_whole(path, file.getvalue())
        return vectors

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        encoder = load_encoder(self._weights.directory, self._tokens, self._layers)
        most = self._tokens * _TOKEN_CHARACTERS
        parts = []
        with self._reporter.task("texts encoded", len(texts)) as progress:
            for start in range(0, len(texts), _AT_ONCE):
                cut = [text[:most] for text in texts[start : start + _AT_ONCE]]
                parts.append(encoder.encode(cut, show_progress_bar=False))
                progress.advance(len(cut))
        return np.concatenate(parts)


class EmbeddedTexts:
    """Embeddings of rows; of neighbors too where the context says so."""

    def __init__(self, encoder: Encoder, unlabeled: pa.Table, context: str) -> None:
        self._encoder = encoder
        self._documents = Documents(unlabeled) if context == "neighbors" else None
        # All at once: texts of like lengths share batches.
        encoder.of(unlabeled["text"].to_pylist())

    def of(self, rows: pa.Table) -> Numbers:
        """Return a matrix of float64, a row a text."""
        texts = rows["text"].to_pylist()
        parts = [units(self._encoder.of(texts)[0])]
        if self._documents is not None:
            parts += embedded_context(self._encoder, texts, self._documents.around(rows))
        return np.concatenate(parts, axis=1, dtype=np.float64)


def embedded_context(
    encoder: Encoder, texts: Sequence[str], around: Sequence[Surroundings]
) -> Iterator[Numbers]:
    """Yield the embeddings of the texts before and after, and the places, weighed."""
    for near in ([place.before for place in around], [place.after for place in around]):
        has_text = np.array([bool(text) for text in near])[:, None]
        yield units(encoder.of(near)[0]) * has_text * NEIGHBOR
    yield place_facts(texts, around) * PLACE


def units(vectors: Any) -> Numbers:
    """Return vectors, a row each, with a length of 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float64)


def load_encoder(directory: Path, tokens: int, layers: int = 1) -> Any:
    """Return a `SentenceTransformer` that gives the means of an encoder's last layers.

    Raises `UsageError` where the directory holds none, or one with fewer than `layers` layers.
    """
    library, torch = load("sentence_transformers"), load("torch")
    modules = import_module("sentence_transformers.sentence_transformer.modules")
    try:
        with quiet():
            words = modules.Transformer(
                str(directory),
                config_kwargs={"local_files_only": True, "output_hidden_states": layers > 1},
                model_kwargs={"local_files_only": True},
                processor_kwargs={"local_files_only": True},
            )
    except (OSError, ValueError, import_module("safetensors").SafetensorError) as error:
        message = (str(error).splitlines() or ["no reason given"])[0]
        raise UsageError(
            f"{directory} holds no encoder that can be loaded ({message})",
            "Give a directory that transformers wrote, with a tokenizer",
        ) from None
    config, tokenizer = words.config, words.tokenizer
    if layers > (known_layers := getattr(config, "num_hidden_layers", layers)):
        raise UsageError(
            f"{directory} holds an encoder of {known_layers} layers, and {layers} are read",
            "Give a larger one",
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    positions = getattr(config, "max_position_embeddings", None) or tokens
    words.max_seq_length = min(tokens, int(positions), tokenizer.model_max_length)

    class LayerMeans(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, features: dict[str, Any]) -> dict[str, Any]:
            mask = features["attention_mask"].unsqueeze(-1)
            states = [features["token_embeddings"]]
            lower = features.get("all_layer_embeddings", ())
            states += [lower[-number] for number in range(2, layers + 1)]
            means = [(state.float() * mask).sum(1) / mask.sum(1) for state in states]
            features["sentence_embedding"] = torch.cat(means, dim=1)
            return features

    return library.SentenceTransformer(modules=[words, LayerMeans()])


def _fit(weights: Weights, settings: Mapping[str, Any], context: TrainingContext) -> Fitted:
    encoder = Encoder(weights, settings["tokens"], context)
    texts = EmbeddedTexts(encoder, context.unlabeled, settings["context"])
    return fit_heads(_HEAD, texts.of, context, settings["folds"])


def encoder_model(
    name: str,
    about: str,
    fit: Callable[[Weights, Mapping[str, Any], TrainingContext], Fitted],
    defaults: Mapping[str, Any],
    *,
    tasks: str,
    check: Callable[[Task], None],
    **kinds: Any,
) -> ModelEntry:
    """Return the entry of a model that reads texts by the encoder that its `weights` name."""

    def make(overrides: Mapping[str, Any]) -> Model:
        settings = model_settings(name, defaults, overrides, {**_KINDS, **kinds})
        weights = encoder_weights(settings["weights"])
        # The same weights elsewhere are the same run.
        settings |= {"weights": weights.name, "weights_hash": weights.digest}
        around = settings["context"] != "none"
        return Model(
            name, partial(fit, weights, settings), settings, uses_neighbors=around, check=check
        )

    return ModelEntry(name, about, make, tasks)


MODELS = (
    encoder_model(
        "embeddings",
        "Logistic regression, or ridge for numbers, on embeddings of a frozen encoder: "
        "weights=minilm or weights=DIRECTORY; context=neighbors adds the surrounding texts.",
        _fit,
        {"weights": MINILM, "context": "none", "folds": 5, "tokens": 256},
        tasks=LABELS_AND_NUMBERS,
        check=check_linear,
        context=Literal["none", "neighbors"],
    ),
)
