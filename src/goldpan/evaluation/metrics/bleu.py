"""BLEU, as sacreBLEU defines it by default; the papers do not say which they used.

Tokens are those of mteval-v13a, case counts, n-grams up to 4. Over a corpus, counts are summed
before precisions are taken; a precision of 0 is smoothed exponentially. A single text takes only
the orders that it is long enough for (sacreBLEU's effective order). Values lie in [0, 1].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from goldpan.evaluation.metrics.bootstrap import Floats

ORDERS = 4
WIDTH = 2 + 2 * ORDERS
"""Columns of counts: tokens of the answer, of the reference, then n-grams matched and answered."""

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_SIGNS = re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])")
_POINT_AFTER_OTHER = re.compile(r"([^0-9])([\.,])")
_POINT_BEFORE_OTHER = re.compile(r"([\.,])([^0-9])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text by the rules of mteval-v13a."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES:
        text = text.replace(entity, sign)
    text = _SIGNS.sub(r" \1 ", f" {text} ")
    text = _POINT_AFTER_OTHER.sub(r"\1 \2 ", text)
    text = _POINT_BEFORE_OTHER.sub(r" \1 \2", text)
    return _DASH_AFTER_DIGIT.sub(r"\1 \2 ", text).split()


def ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """Count the runs of `order` tokens."""
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))


def bleu_counts(reference: Sequence[str], answer: Sequence[str]) -> list[int]:
    """Return what BLEU follows from, `WIDTH` numbers that may be summed over examples."""
    matched: list[int] = []
    answered: list[int] = []
    for order in range(1, ORDERS + 1):
        candidate, target = ngrams(answer, order), ngrams(reference, order)
        matched.append(sum(min(count, target[ngram]) for ngram, count in candidate.items()))
        answered.append(max(len(answer) - order + 1, 0))
    return [len(answer), len(reference), *matched, *answered]


def bleu_of_counts(totals: Floats, *, effective_order: bool = False) -> Floats:
    """Return BLEU from counts, rows x `WIDTH`; 1 where neither text has a token."""
    answer_length, reference_length = totals[:, 0], totals[:, 1]
    matched, candidate = totals[:, 2 : 2 + ORDERS], totals[:, 2 + ORDERS : WIDTH]
    long_enough = candidate > 0
    missed = long_enough & (matched == 0)
    smoothing = 2.0 ** np.cumsum(missed, axis=1)
    over = np.where(missed, 1 / smoothing, matched)
    precisions = np.where(long_enough, over / np.where(long_enough, candidate, 1.0), 1.0)
    orders = long_enough.sum(axis=1) if effective_order else np.full(len(totals), ORDERS)
    has_orders = long_enough.all(axis=1) | effective_order
    mean = np.log(precisions).sum(axis=1) / np.maximum(orders, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        brevity = np.where(
            answer_length < reference_length, np.exp(1 - reference_length / answer_length), 1.0
        )
    scores = np.where(has_orders & (matched.sum(axis=1) > 0), np.exp(mean) * brevity, 0.0)
    return np.where((answer_length == 0) & (reference_length == 0), 1.0, scores)
