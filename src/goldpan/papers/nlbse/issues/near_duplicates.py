"""Near duplicates among the rows of all units: sketched unit by unit, compared all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goldpan.core.engine import Engine
from goldpan.filters.duplicates.kept import NO_TEXT, Ids, SketchFile
from goldpan.filters.duplicates.link import link
from goldpan.filters.duplicates.numbering import number_texts
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Portions


@dataclass(frozen=True, slots=True, eq=False)
class KeptSketches:
    """A unit's file of sketches, and which of its rows are still wanted, by their order."""

    path: Path
    rows: Ids


def group_rows(units: Sequence[KeptSketches], ages: Ids, scratch: Path, engine: Engine) -> Ids:
    """Return for each kept row of all units the row that stands for its group of near duplicates.

    `ages` ranks the rows, in the order of the units: the lowest of a group stands for it. A row
    without near duplicates stands for itself. Memory follows the number of texts, about 0.4 KB
    each; files go to `scratch`, which all machines of a cluster must see.
    """
    counts: list[int] = []
    texts = [np.empty(0, np.int64)]
    for unit in units:
        with SketchFile(unit.path) as file:
            which = file.column("which")[unit.rows]
            texts.append(np.where(which == NO_TEXT, NO_TEXT, which + sum(counts)))
            counts.append(file.count)
    portions = Portions.of([unit.path for unit in units], counts)
    by_age = np.argsort(ages, kind="stable")
    numbering = number_texts(portions, np.concatenate(texts)[by_age])
    links = link(portions, numbering, DuplicateSettings(), scratch, engine)
    text = np.empty(len(ages), np.int64)
    text[by_age] = numbering.text
    rows = np.arange(len(ages))
    if not len(links.root):
        return rows
    oldest = np.empty(len(links.root), np.int64)
    said = numbering.text != NO_TEXT
    oldest[numbering.text[said][::-1]] = by_age[said][::-1]
    return np.where(text == NO_TEXT, rows, oldest[links.root[text]])
