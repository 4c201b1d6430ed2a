"""Takes in a stream of texts: each distinct one is sketched and numbered, none is kept."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice

import numpy as np

from goldpan.core.errors import WorkspaceError
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Ids, ShingleFile
from goldpan.filters.duplicates.sketch import MAX_TEXTS, Hashes, Sketches, sketch

NO_TEXT = -1
"""The number of a text that says nothing."""

Texts = Sequence[str | None]

_CHARACTERS = 2**21
"""Characters that are sketched at once, as far as one text allows."""


class TextIndex:
    """Numbers distinct texts from 0 on and keeps their sketches.

    With `workers` above 1 texts are sketched in that many processes, which changes nothing else.
    """

    def __init__(self, settings: DuplicateSettings, shingles: ShingleFile, workers: int) -> None:
        self._settings = settings
        self._shingles = shingles
        self._workers = workers
        self._numbers: dict[bytes, int] = {}
        self._bands: list[Hashes] = [np.empty((0, settings.bands), np.uint64)]

    def read(self, batches: Iterable[Texts]) -> Ids:
        """Return the number of each text; texts that are equal when folded share one."""
        chunks = (chunk for batch in batches for chunk in _chunks(batch))
        return self.take(self._sketch(chunks))

    def take(self, sketches: Iterable[Sketches]) -> Ids:
        """Return the number of each text that was sketched already, perhaps on another machine."""
        numbers = [self._number(some) for some in sketches]
        return np.concatenate([np.empty(0, np.int64), *numbers])

    def finish(self) -> Hashes:
        """End the reading and return the bands of each text's signature (texts x bands)."""
        self._shingles.finish()
        return np.concatenate(self._bands)

    def _number(self, sketches: Sketches) -> Ids:
        known = len(self._numbers)
        numbers = np.array(
            [self._numbers.setdefault(digest, len(self._numbers)) for digest in sketches.digests],
            np.int64,
        )
        new = numbers >= known
        self._shingles.append(
            sketches.shingles[np.repeat(new, sketches.sizes)], sketches.sizes[new]
        )
        self._bands.append(sketches.bands[new])
        return np.where(sketches.which < 0, NO_TEXT, np.append(numbers, 0)[sketches.which])

    def _sketch(self, chunks: Iterator[Texts]) -> Iterator[Sketches]:
        first = list(islice(chunks, 2))
        chunks = chain(first, chunks)
        if self._workers < 2 or len(first) < 2:
            for texts in chunks:
                yield sketch(texts, self._settings)
            return
        context = multiprocessing.get_context("spawn")
        waiting: deque[Future[Sketches]] = deque()
        with ProcessPoolExecutor(self._workers, mp_context=context) as pool:
            try:
                for texts in chunks:
                    waiting.append(pool.submit(sketch, texts, self._settings))
                    if len(waiting) > 2 * self._workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            except BrokenProcessPool:
                raise WorkspaceError(
                    "A process that compares texts was ended from outside, perhaps for memory",
                    "Set workers = 1 in goldpan.toml and try again; in your own script, "
                    "call Goldpan below if __name__ == '__main__'",
                ) from None


def _chunks(texts: Texts) -> Iterator[Texts]:
    start = size = 0
    for at, text in enumerate(texts):
        size += len(text or "")
        if size >= _CHARACTERS or at - start + 1 == MAX_TEXTS:
            yield texts[start : at + 1]
            start, size = at + 1, 0
    if start < len(texts):
        yield texts[start:]
