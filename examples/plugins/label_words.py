"""A model: answers the label whose name stands in the text, else the commonest of train.

goldpan --plugin label_words.py evaluate run --task nlbse23_issue_type --model label-words
"""

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from goldpan.plugins import Answers, Model, TrainingContext, register, target_column


@dataclass(frozen=True)
class LabelWords:
    """What it knows after training."""

    labels: tuple[str, ...]
    commonest: str

    def answer(self, rows: pa.Table) -> Answers:
        """Answer rows that have no target."""
        return Answers([self._choose(text.lower()) for text in rows["text"].to_pylist()])

    def _choose(self, text: str) -> str:
        return next((label for label in self.labels if label.lower() in text), self.commonest)


def fit(context: TrainingContext) -> LabelWords:
    """Answer the label whose name stands in the text, else the commonest of train."""
    targets = context.whole_train[target_column(context.task.type).name].to_pylist()
    return LabelWords(context.task.label_names, Counter(targets).most_common(1)[0][0])


register(Model("label-words", fit))
