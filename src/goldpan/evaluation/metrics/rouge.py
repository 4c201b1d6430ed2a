"""ROUGE-1 and ROUGE-L as F1, over tokens as the `rouge-score` package makes them, unstemmed.

Tokens are runs of a-z and 0-9 in the lower-cased text, so texts in other scripts have none. Where
neither text has a token, the score is 1 for equal texts, else 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

MOST_TOKENS = 65_536
"""Tokens beyond which ROUGE-L counts no common ones, in each text: it is a lower bound then."""

_TOKEN = re.compile(r"[a-z0-9]+")


def rouge_tokens(text: str) -> list[str]:
    """Return the tokens of a text."""
    return _TOKEN.findall(text.lower())


def rouge_1(reference: Sequence[str], answer: Sequence[str]) -> float:
    """Return the F1 of tokens that both have, whatever their order."""
    shared = (Counter(reference) & Counter(answer)).total()
    return _f1(shared, len(reference), len(answer))


def rouge_l(reference: Sequence[str], answer: Sequence[str]) -> float:
    """Return the F1 of the longest common subsequence of tokens."""
    shared = LCSseq.similarity(reference[:MOST_TOKENS], answer[:MOST_TOKENS])
    return _f1(shared, len(reference), len(answer))


def _f1(shared: int, reference_length: int, answer_length: int) -> float:
    return 2 * shared / (reference_length + answer_length) if shared else 0.0
