"""Scores of texts beside the right ones: exact match, edit similarity, BLEU.

Tokens are those of mteval-v13a, case counts, n-grams up to 4. Over a corpus, counts are summed
before precisions are taken; a precision of 0 is smoothed exponentially. A single text takes only
the orders that it is long enough for (sacreBLEU's effective order). Values lie in [0, 1].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from goldpan.evaluation.metrics.estimate import Floats

MOST_CHARACTERS = 65_536
"""Characters beyond which texts count as different: GitHub's own limit for a text."""


def edit_similarity(reference: str, answer: str) -> float:
    """Return 1 - (fewest insertions, deletions and substitutions) / (length of the longer).

    FAUN-Eval (section 4.4) does not say by what it divides. Where a text is longer than
    `MOST_CHARACTERS`, once what both begin and end with is set aside, the distance is bounded
    from above by that of the first parts and the length of the longer rest: the time a hostile
    answer takes is bounded, and no answer gains by its length.
    """
    longest = max(len(reference), len(answer))
    if reference == answer:
        return 1.0
    if longest <= MOST_CHARACTERS:
        return 1 - Levenshtein.distance(reference, answer) / longest
    start, end = _shared_ends(reference, answer)
    left, right = reference[start : len(reference) - end], answer[start : len(answer) - end]
    distance = Levenshtein.distance(left[:MOST_CHARACTERS], right[:MOST_CHARACTERS])
    rest = max(len(left), len(right), MOST_CHARACTERS) - MOST_CHARACTERS
    return 1 - (distance + rest) / longest


def _shared_ends(first: str, other: str) -> tuple[int, int]:
    """Return how many characters texts share at their start, and how many more at their end."""
    most = min(len(first), len(other))
    start = next((at for at in range(most) if first[at] != other[at]), most)
    left = most - start
    end = next((at for at in range(left) if first[-1 - at] != other[-1 - at]), left)
    return start, end


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
