"""Near duplicates found from sketches of many units are those found among the texts at once."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from goldpan.core.parallel.engine import open_engine
from goldpan.core.values import Execution
from goldpan.filters.duplicates.find import find_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.sketches import sketch_file, sketches
from goldpan.papers.nlbse.issues.selection import KeptSketches, group_rows

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


def sketched(directory: Path, texts: list[str], cuts: list[int]) -> list[KeptSketches]:
    units = []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(texts)], strict=True)):
        path = directory / f"{number}.sketches"
        with sketch_file(path) as target:
            for some in sketches(texts[start:end], SETTINGS):
                target.append(some)
        units.append(KeptSketches(path, np.arange(end - start)))
    return units


def grouped(units: list[KeptSketches], ages: np.ndarray, directory: Path) -> list[int]:
    with open_engine(Execution(workers=1)) as engine:
        return list(map(int, group_rows(units, ages, directory, engine)))


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_the_whole(tmp_path: Path, seed: int) -> None:
    texts = made_up_texts(300, seed)
    chance = random.Random(seed)
    ages = np.array(chance.sample(range(300), 300))
    cuts = sorted(chance.sample(range(300), 5))
    stands = grouped(sketched(tmp_path, texts, cuts), ages, tmp_path)

    rows = pa.table({"repo": ["o/r"] * 300, "number": ages, "text": texts})
    whole = find_duplicates([partial(list, [rows])], SETTINGS)
    columns = (whole[name].to_pylist() for name in ("number", "representative_number"))
    expected = {age: age for age in ages.tolist()} | dict(zip(*columns, strict=True))
    assert {int(age): int(ages[row]) for age, row in zip(ages, stands, strict=True)} == expected
    assert len(whole) > 50


def test_only_kept_rows_count(tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(40))
    units = sketched(tmp_path, [text, "other " * 20, text, text], [2])
    without_first = [KeptSketches(units[0].path, units[0].rows[1:]), units[1]]
    assert grouped(units, np.arange(4), tmp_path) == [0, 1, 0, 0]
    assert grouped(without_first, np.arange(3), tmp_path) == [0, 1, 1]


def test_nothing_to_compare(tmp_path: Path) -> None:
    assert grouped([], np.arange(0), tmp_path) == []
    assert grouped(sketched(tmp_path, ["", " "], [1]), np.arange(2), tmp_path) == [0, 1]
