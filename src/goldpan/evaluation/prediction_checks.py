"""Checks predictions from elsewhere before models are compared: the same rows, the same labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from goldpan.core.errors import EvaluationError
from goldpan.evaluation.score_files import Prediction

_NAMED = 5
"""Labels that a sentence names."""


def check_rows(
    path: Path,
    dataset: str,
    model: str,
    first: Sequence[Prediction],
    rows: Sequence[Prediction],
) -> None:
    """Raise `EvaluationError` where a model answered other rows than the first, or other truths."""
    truths, others = ({row.id: row.truth for row in table} for table in (first, rows))
    if truths == others:
        return
    remedy = "Give all models and seeds the same rows with the same truths"
    if missing := sorted(truths.keys() ^ others.keys()):
        count = "1 row" if len(missing) == 1 else f"{len(missing):,} rows"
        verb = "is" if len(missing) == 1 else "are"
        raise EvaluationError(
            f"{path}: {count} of {dataset}, such as {missing[0]!r}, {verb} not there for both"
            f" {model} and the first model",
            remedy,
        )
    id_ = next(name for name in truths if truths[name] != others[name])
    raise EvaluationError(
        f"{path}: models do not agree on row {id_!r} of {dataset}, which {model} has with the"
        f" truth {others[id_]!r} and the first model with {truths[id_]!r}",
        remedy,
    )


def check_labels(
    path: Path, dataset: str, by_model: Mapping[str, Sequence[Sequence[Prediction]]]
) -> None:
    """Raise `EvaluationError` where no answer of any model is one of the labels."""
    rows = [row for several in by_model.values() for part in several for row in part]
    truths, answers = {row.truth for row in rows}, {row.answer for row in rows if row.answer}
    if answers and not truths & answers:
        named = [", ".join(sorted(texts)[:_NAMED]) for texts in (answers, truths)]
        raise EvaluationError(
            f"{path}: no answer to {dataset} ({named[0]}) is one of its truths ({named[1]})",
            "Write the labels of both columns alike, one label per row",
        )
