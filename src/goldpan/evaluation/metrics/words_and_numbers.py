"""Metrics of tasks that ask for named entities, masked words or a number.

seqeval reads tags in two ways, and results differ. By default an I- that follows no entity of its
type begins one. Strictly (IOB2) only B- does, and an I- that follows no entity of its type is none.
In IOBES and BILOU, S- and U- are whole entities, and E- and L- end one.
SELU's section on metrics speaks of tokens instead (Equation 3): `token_micro_f1`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from goldpan.evaluation.metrics.estimate import (
    Floats,
    Measure,
    MetricEvidence,
    Totals,
    mean_of,
    means,
    ratio,
)

_OUTSIDE = "O"
_WHOLE, _LAST = ("S", "U"), ("E", "L")
TAG = re.compile(r"O|[BIESLU]-.+")
"""The tag of a word."""


class Entity(NamedTuple):
    """Words `start` to `end`, the last excluded, of one type."""

    type: str
    start: int
    end: int


def entities(tags: Sequence[str], *, strict: bool = False) -> frozenset[Entity]:
    """Return the entities that the tags of a sentence mark."""
    spans: list[Entity] = []
    open_type: str | None = None
    start = 0
    for index, tag in enumerate([*tags, _OUTSIDE]):
        prefix, _, name = tag.partition("-")
        goes_on = prefix in ("I", *_LAST)
        if not (goes_on and open_type == name):
            if open_type is not None:
                spans.append(Entity(open_type, start, index))
            begins = prefix in ("B", *_WHOLE) or (goes_on and not strict)
            open_type, start = (name, index) if begins else (None, index)
        if open_type is not None and prefix in (*_LAST, *_WHOLE):
            spans.append(Entity(open_type, start, index + 1))
            open_type = None
    return frozenset(spans)


def entity_evidence(
    truths: Sequence[Sequence[str]], answers: Sequence[Sequence[str] | None]
) -> list[MetricEvidence]:
    """Return what the metrics of a NER task follow from.

    An answer without one tag a word is not valid: none of its entities is found.
    """
    answered = [
        answer if answer is not None and len(answer) == len(truth) else None
        for truth, answer in zip(truths, answers, strict=True)
    ]
    evidence: list[MetricEvidence] = []
    for name, strict in (("seqeval", False), ("strict_seqeval", True)):
        counts = [_agreement(*pair, strict) for pair in zip(truths, answered, strict=True)]
        columns = np.array(counts, dtype=np.float64).reshape(-1, 3)
        evidence.append(Totals(columns, _measures(name)))
    counts = [_token_agreement(*pair) for pair in zip(truths, answered, strict=True)]
    tokens = np.array(counts, dtype=np.float64).reshape(-1, 5)
    token_f1 = Measure("token_micro_f1", _f1, "no token has a tag")
    accuracy = Measure("token_accuracy", mean_of(3, 4), "there are no tokens")
    evidence.append(Totals(tokens, [token_f1, accuracy]))
    return evidence


def count_invalid_tags(
    truths: Sequence[Sequence[str]], answers: Sequence[Sequence[str] | None]
) -> int:
    """Count answers that do not have one tag a word."""
    return sum(
        answer is None or len(answer) != len(truth)
        for truth, answer in zip(truths, answers, strict=True)
    )


def _agreement(truth: Sequence[str], answer: Sequence[str] | None, strict: bool) -> list[int]:
    """Return how many entities are found, answered and right."""
    right = entities(truth, strict=strict)
    answered = entities(answer or (), strict=strict)
    return [len(right & answered), len(answered), len(right)]


def _token_agreement(truth: Sequence[str], answer: Sequence[str] | None) -> list[int]:
    """Return tokens found, answered and right that are in entities, right ones, all."""
    answered: Sequence[str | None] = answer if answer is not None else [None] * len(truth)
    same = [right for right, tag in zip(truth, answered, strict=True) if right == tag]
    return [
        sum(tag != _OUTSIDE for tag in same),
        sum(tag not in (_OUTSIDE, None) for tag in answered),
        sum(tag != _OUTSIDE for tag in truth),
        len(same),
        len(truth),
    ]


def _f1(totals: Floats) -> Floats:
    return ratio(2 * totals[:, 0], totals[:, 1] + totals[:, 2])


def _measures(name: str) -> list[Measure]:
    shares: dict[str, tuple[Callable[[Floats], Floats], str]] = {
        "f1": (_f1, "there is no entity, right or answered"),
        "precision": (mean_of(0, 1), "no entity was answered"),
        "recall": (mean_of(0, 2), "there is no entity"),
    }
    return [
        Measure(f"{name}_{share}", compute, undefined)
        for share, (compute, undefined) in shares.items()
    ]


def masked_word_evidence(
    truths: Sequence[Sequence[str]], answers: Sequence[Sequence[str] | None]
) -> list[MetricEvidence]:
    """Return what accuracy over all masked words follows from (SELU, Equation 4).

    Words are compared as they are, by place; a word without an answer is not found.
    """
    columns = [
        (
            sum(word == answered for word, answered in zip(truth, answer or (), strict=False)),
            len(truth),
        )
        for truth, answer in zip(truths, answers, strict=True)
    ]
    counts = np.array(columns, dtype=np.float64).reshape(-1, 2)
    return [Totals(counts, [Measure("mlm_accuracy", mean_of(0, 1), "no word is masked")])]


_WORST = 2.0
_NO_MEAN = "there are no examples, or errors are too large to sum"


def smape_errors(truths: Floats, answers: Floats) -> Floats:
    """Return each example's term of SMAPE (SELU, Equation 2): |y' - y| / ((|y'| + |y|) / 2).

    It lies in [0, 2], although the paper says [0, 1]: 2 where the signs differ or one number
    alone is 0. Where both are 0 it is 0. An answer that is not finite has 2.
    """
    finite = np.isfinite(answers)
    answered = np.where(finite, answers, 0.0)
    largest = np.maximum(np.abs(truths), np.abs(answered))
    scale = np.where(largest > 0, largest, 1.0)  # lest a sum of large numbers overflow
    truth, other = truths / scale, answered / scale
    under = np.abs(truth) + np.abs(other)
    terms = 2 * np.abs(other - truth) / np.where(under > 0, under, 1.0)
    return np.where(finite, terms, _WORST)


def count_invalid_numbers(answers: Sequence[float | None]) -> int:
    """Count answers that are no finite number."""
    return sum(answer is None or not math.isfinite(answer) for answer in answers)


def regression_evidence(
    truths: Sequence[float], answers: Sequence[float | None]
) -> list[MetricEvidence]:
    """Return what the metrics of a regression task follow from.

    `smape_score` is 1 - SMAPE, by which SELU ranks; it lies in [-1, 1]. The mean absolute error
    has no worst value, so it is undefined where an answer is not valid; `valid_mae` is of the
    others.
    """
    right = np.array(truths, dtype=np.float64)
    answered = np.array(
        [math.nan if answer is None else answer for answer in answers], dtype=np.float64
    )
    valid = np.isfinite(answered)
    terms = smape_errors(right, answered)
    with np.errstate(over="ignore"):
        errors = np.abs(np.where(valid, answered, right) - right)
    columns = np.column_stack([errors, valid, np.ones(len(right))])
    wrong = int((~valid).sum())
    measures = [
        Measure(
            "mae",
            lambda totals: np.where(
                totals[:, 1] == totals[:, 2], ratio(totals[:, 0], totals[:, 2]), np.nan
            ),
            f"{wrong} of {len(right)} answers are not valid" if wrong else _NO_MEAN,
            higher_is_better=False,
            limits=(0.0, math.inf),
        ),
        Measure(
            "valid_mae",
            mean_of(0, 1),
            "no answer is valid, or errors are too large to sum",
            higher_is_better=False,
            limits=(0.0, math.inf),
        ),
    ]
    return [
        means({"smape": terms}, lower=frozenset({"smape"}), limits=(0.0, _WORST)),
        means({"smape_score": 1 - terms}, limits=(1 - _WORST, 1.0)),
        Totals(columns, measures),
    ]
