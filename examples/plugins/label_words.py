"""A model: predicts the label whose name occurs in the text, else the most frequent one.

goldpan --plugin label_words.py evaluate run --task nlbse23_issue_type --model label-words
"""

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from goldpan.plugins import Answers, Model, TrainingContext, register, target_column


@dataclass(frozen=True)
class LabelWords:
    """A fitted model."""

    labels: tuple[str, ...]
    commonest: str

    def answer(self, rows: pa.Table) -> Answers:
        """Return a prediction for each row; the rows have no target."""
        return Answers([self._choose(text.lower()) for text in rows["text"].to_pylist()])

    def _choose(self, text: str) -> str:
        return next((label for label in self.labels if label.lower() in text), self.commonest)


def fit(context: TrainingContext) -> LabelWords:
    """Predict the label whose name occurs in the text, else the most frequent one of train."""
    targets = context.whole_train[target_column(context.task.type).name].to_pylist()
    return LabelWords(context.task.label_names, Counter(targets).most_common(1)[0][0])


register(Model("label-words", fit))
