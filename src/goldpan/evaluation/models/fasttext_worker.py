"""Trains fastText or asks a trained model: one process a piece of work.

It runs in the environment of the trainer, where nothing of Goldpan is installed:
``python fasttext_worker.py ORDER.json``. The order names what to do and where files lie. It ends
with 3 where training ends in NaN, which happens at random.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

NAN = 3


def main(order: dict[str, Any]) -> int:
    """Carry out an order."""
    # The predictor that tells languages apart has the same name, and no types either.
    fasttext = import_module("fasttext")

    fasttext.FastText.eprint = lambda *_: None
    try:
        if order["work"] == "train":
            kinds = {
                "supervised": fasttext.train_supervised,
                "vectors": fasttext.train_unsupervised,
            }
            model = kinds[order["kind"]](input=order["input"], **order["settings"])
            model.save_model(order["model"])
            return 0
        model = fasttext.load_model(order["model"])
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return NAN if "NaN" in str(error) else 1
    texts = json.loads(Path(order["input"]).read_text(encoding="utf-8"))
    answers: list[Any] = (
        [_vector(model, text) for text in texts]
        if order["kind"] == "vectors"
        else _likely(model, texts)
    )
    Path(order["output"]).write_text(json.dumps(answers), encoding="utf-8")
    return 0


def _likely(model: Any, texts: list[str]) -> list[dict[str, float]]:
    """Return the probability of each label.

    The library's own functions fail with numpy 2 for one text, and for several give all labels
    the probability of the first: so this asks what lies below them.
    """
    return [
        {label: chance for chance, label in model.f.predict(text + "\n", -1, 0.0, "strict")}
        for text in texts
    ]


def _vector(model: Any, text: str) -> list[float]:
    """Return the mean of the vectors of a text's words."""
    words = text.split()
    if not words:
        return [0.0] * int(model.get_dimension())
    total = sum(model.get_word_vector(word) for word in words)
    return [float(value) / len(words) for value in total]


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
