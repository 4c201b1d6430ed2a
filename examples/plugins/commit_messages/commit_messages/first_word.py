"""The model of the paper: the first words of a message, each with its most frequent purpose."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from goldpan.plugins import Answers, Model, ModelEntry, TrainingContext, model_settings

_NAME = "first-word"


def _start(text: str, words: int) -> str:
    return " ".join(text.lower().split()[:words])


@dataclass(frozen=True)
class FirstWord:
    """A fitted model."""

    words: int
    known: Mapping[str, str]
    commonest: str

    def answer(self, rows: pa.Table) -> Answers:
        """Return the purpose that most messages with that start have."""
        starts = (_start(text, self.words) for text in rows["text"].to_pylist())
        return Answers([self.known.get(start, self.commonest) for start in starts])


def make(settings: Mapping[str, Any]) -> Model:
    """Return the model with its settings: how many words count."""
    chosen = model_settings(_NAME, {"words": 1}, settings)

    def fit(context: TrainingContext) -> FirstWord:
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        rows = context.whole_train
        labels = rows["label"].to_pylist()
        for text, label in zip(rows["text"].to_pylist(), labels, strict=True):
            seen[_start(text, chosen["words"])][label] += 1
        known = {start: counts.most_common(1)[0][0] for start, counts in seen.items()}
        return FirstWord(chosen["words"], known, Counter(labels).most_common(1)[0][0])

    return Model(_NAME, fit, chosen)


MODEL = ModelEntry(
    _NAME, "The most frequent purpose of messages that start alike.", make, tasks="classification"
)
