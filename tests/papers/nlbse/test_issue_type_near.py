"""Near duplicates found from sketches of many units are those found among the texts at once."""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from goldpan.filters.clusters import find_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings, Sketches, sketch_all
from goldpan.papers.nlbse.issues.selection import group_rows

SETTINGS = DuplicateSettings()


def made_up_texts(count: int, seed: int) -> list[str]:
    """Return texts of which some are empty, short, equal or nearly equal to an earlier one."""
    chance = random.Random(seed)
    texts: list[str] = []
    for _ in range(count):
        kind = chance.random()
        if texts and kind < 0.3:
            words = chance.choice(texts).split()
            if words and kind < 0.2:
                words[chance.randrange(len(words))] = f"new{chance.randrange(10**6)}"
            texts.append(" ".join(words))
        elif kind < 0.35:
            texts.append(chance.choice(["", "  ", "It fails.", "<!-- hidden -->"]))
        else:
            texts.append(" ".join(f"w{chance.randrange(3_000)}" for _ in range(60)))
    return texts


def sketched(texts: list[str], cuts: list[int]) -> list[Sketches]:
    bounds = pairwise([0, *cuts, len(texts)])
    return [sketch_all([texts[start:end]], SETTINGS) for start, end in bounds]


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_the_whole(seed: int) -> None:
    texts = made_up_texts(300, seed)
    chance = random.Random(seed)
    ages = np.array(chance.sample(range(300), 300))
    cuts = sorted(chance.sample(range(300), 5))
    stands = group_rows(sketched(texts, cuts), ages)

    rows = pa.table({"repo": ["o/r"] * 300, "number": ages, "text": texts})
    whole = find_duplicates([partial(list, [rows])], SETTINGS)
    columns = (whole[name].to_pylist() for name in ("number", "representative_number"))
    expected = {age: age for age in ages.tolist()} | dict(zip(*columns, strict=True))
    assert {int(age): int(ages[row]) for age, row in zip(ages, stands, strict=True)} == expected
    assert len(whole) > 50


def test_nothing_to_compare() -> None:
    assert group_rows([], np.arange(0)).tolist() == []
    assert group_rows(sketched(["", " "], [1]), np.arange(2)).tolist() == [0, 1]
