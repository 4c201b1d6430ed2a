"""Exact match and edit similarity of texts."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein

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
