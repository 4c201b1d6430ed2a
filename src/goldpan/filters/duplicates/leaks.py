"""Finds which texts of one collection stand in another, exactly or nearly."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goldpan.filters.duplicates.best import Best
from goldpan.filters.duplicates.index import NO_TEXT, TextIndex
from goldpan.filters.duplicates.neighbours import near_pairs
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Ids, ShingleFile


@dataclass(frozen=True, slots=True)
class Leak:
    """A text (position among the texts asked for) and the most similar one found in the corpus."""

    asked: int
    found: int
    relation: Literal["exact", "near"]
    similarity: float


def find_leaks(
    corpus: Iterable[Sequence[str]],
    asked: Sequence[str],
    settings: DuplicateSettings,
    *,
    scratch: Path | None = None,
    workers: int = 1,
) -> list[Leak]:
    """Return a leak for each text of `asked` that has a duplicate in `corpus`, in order.

    `corpus` comes in batches and is not kept; `found` counts through them all. Among equally
    similar texts the first is named.
    """
    return find_leaks_of_batches(corpus, [asked], settings, scratch=scratch, workers=workers)


def find_leaks_of_batches(
    corpus: Iterable[Sequence[str]],
    asked: Iterable[Sequence[str]],
    settings: DuplicateSettings,
    *,
    scratch: Path | None = None,
    workers: int = 1,
) -> list[Leak]:
    """Return leaks as `find_leaks` does, of texts that come in batches and are not kept either.

    `corpus` is read to its end before `asked` is.
    """
    with tempfile.TemporaryFile(dir=scratch) as file:
        shingles = ShingleFile(file, scratch)
        index = TextIndex(settings, shingles, workers)
        stands = index.read(corpus)
        wanted = index.read(asked)
        bands = index.finish()
        first = _first_places(stands, len(bands))
        missing = np.zeros(len(bands), np.bool_)
        missing[wanted[wanted != NO_TEXT]] = True
        missing &= first < 0
        texts = np.flatnonzero(shingles.sizes)
        looking, there = missing[texts], Best(len(texts))

        def across(left: Ids, right: Ids) -> NDArray[np.bool_]:
            return np.asarray(looking[left] != looking[right])

        for pairs in near_pairs(shingles, bands, texts, settings, across):
            there.offer(pairs)
    return _leaks(wanted, first, texts, there)


def _first_places(stands: Ids, count: int) -> Ids:
    first = np.full(count, -1)
    rows = np.flatnonzero(stands != NO_TEXT)[::-1]
    first[stands[rows]] = rows
    return first


def _leaks(wanted: Ids, first: Ids, texts: Ids, there: Best) -> list[Leak]:
    position = np.full(len(first), -1)
    position[texts] = np.arange(len(texts))
    leaks: list[Leak] = []
    for at, text in enumerate(wanted.tolist()):
        if text == NO_TEXT:
            continue
        if first[text] >= 0:
            leaks.append(Leak(at, int(first[text]), "exact", 1.0))
        elif position[text] >= 0 and there.text[position[text]] >= 0:
            near = texts[there.text[position[text]]]
            value = float(there.similarity[position[text]])
            leaks.append(Leak(at, int(first[near]), "near", value))
    return leaks
