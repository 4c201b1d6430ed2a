"""Finds which texts of one collection stand in another, exactly or nearly."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from goldpan.core.engine import open_engine
from goldpan.filters.duplicates.kept import NO_TEXT, Ids, sketch_file
from goldpan.filters.duplicates.nearest import Best
from goldpan.filters.duplicates.neighbours import search_band
from goldpan.filters.duplicates.numbering import number_texts
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Portions
from goldpan.filters.duplicates.shuffle import bring_together
from goldpan.filters.duplicates.sketch import sketches

_TEXTS = 20_000
"""Distinct texts after which another file is begun."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A text (position among the texts asked for) and the most similar one found in the corpus."""

    query: int
    match: int
    relation: Literal["exact", "near"]
    similarity: float


def find_leaks(
    corpus: Iterable[Sequence[str]],
    asked: Sequence[str],
    settings: DuplicateSettings,
    *,
    scratch: Path | None = None,
) -> list[Leak]:
    """Return a leak for each text of `asked` that has a duplicate in `corpus`, in order.

    `corpus` comes in batches and is not kept; `found` counts through them all. Among equally
    similar texts the first is named.
    """
    return find_leaks_of_batches(corpus, [asked], settings, scratch=scratch)


def find_leaks_of_batches(
    corpus: Iterable[Sequence[str]],
    asked: Iterable[Sequence[str]],
    settings: DuplicateSettings,
    *,
    scratch: Path | None = None,
) -> list[Leak]:
    """Return leaks as `find_leaks` does, of texts that come in batches and are not kept either.

    `corpus` is read to its end before `asked` is.
    """
    with tempfile.TemporaryDirectory(dir=scratch) as name, open_engine("local", 1) as engine:
        folder = Path(name)
        files: list[tuple[Path, int]] = []
        stands = _keep(corpus, settings, folder, files)
        asked_texts = _keep(asked, settings, folder, files)
        portions = Portions.of([path for path, _ in files], [count for _, count in files])
        numbering = number_texts(portions, np.concatenate([stands, asked_texts]))
        text, count = numbering.text, len(numbering.slot)
        first = _first_places(text[: len(stands)], count)
        asked_texts = text[len(stands) :]
        missing = np.zeros(count, np.bool_)
        missing[asked_texts[asked_texts != NO_TEXT]] = True
        missing &= first < 0
        # A text that is asked for is compared with the corpus, and with no other.
        groups, best = missing.astype(np.int64), Best(count)
        for parts in bring_together(portions, numbering, settings.bands, folder, engine):
            for pairs in search_band(parts, groups, portions, settings, engine, joins=False):
                best.offer(pairs)
    return _leaks(asked_texts, first, best)


def _keep(
    batches: Iterable[Sequence[str]],
    settings: DuplicateSettings,
    folder: Path,
    files: list[tuple[Path, int]],
) -> Ids:
    """Write the sketches of texts to files of a folder, and return the slot of each text."""
    slots = [np.empty(0, np.int64)]
    stream, offset = iter(batches), sum(count for _, count in files)
    for batch in stream:
        path, count = folder / f"{len(files)}.sketches", 0
        with sketch_file(path) as target:
            for texts in chain([batch], stream):
                for sketched in sketches(texts, settings):
                    rows = target.append(sketched)
                    count = max(count, 1 + int(rows.max(initial=NO_TEXT)))
                    slots.append(np.where(rows == NO_TEXT, NO_TEXT, rows + offset))
                if count >= _TEXTS:
                    break
        files.append((path, count))
        offset += count
    return np.concatenate(slots)


def _first_places(stands: Ids, count: int) -> Ids:
    first = np.full(count, -1)
    rows = np.flatnonzero(stands != NO_TEXT)[::-1]
    first[stands[rows]] = rows
    return first


def _leaks(texts: Ids, first: Ids, best: Best) -> list[Leak]:
    leaks: list[Leak] = []
    for at, text in enumerate(texts.tolist()):
        if text == NO_TEXT:
            continue
        if first[text] >= 0:
            leaks.append(Leak(at, int(first[text]), "exact", 1.0))
        elif best.text[text] >= 0:
            value = float(best.similarity[text])
            leaks.append(Leak(at, int(first[best.text[text]]), "near", value))
    return leaks
