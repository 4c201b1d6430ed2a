"""Near duplicates among the rows of all units: sketched unit by unit, compared all at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goldpan.filters.duplicates.index import NO_TEXT, TextIndex
from goldpan.filters.duplicates.link import link
from goldpan.filters.duplicates.settings import DuplicateSettings
from goldpan.filters.duplicates.shingles import Ids, ShingleFile
from goldpan.filters.duplicates.sketch import Sketches, sketch

_HASHES = pa.list_(pa.uint64())
SKETCHES = pa.schema(
    [
        ("place", pa.int64()),
        ("digest", pa.binary()),  # null of a text that says nothing
        ("shingles", _HASHES),
        ("bands", _HASHES),
    ]
)


@dataclass(frozen=True, slots=True)
class KeptSketches:
    """A unit's file of sketches, and the places of the rows that are still wanted, sorted."""

    path: Path
    places: Ids


def sketch_rows(places: pa.Array, texts: Sequence[str], settings: DuplicateSettings) -> pa.Table:
    """Return the sketches of texts as `SKETCHES`, a row each."""
    made = sketch(texts, settings)
    which = pa.array(made.which, mask=made.which < 0)
    bands = np.arange(len(made.sizes) + 1) * settings.bands
    distinct = pa.table(
        [
            pa.array(made.digests, pa.binary()),
            _lists(np.concatenate([[0], np.cumsum(made.sizes)]), made.shingles),
            _lists(bands, made.bands.reshape(-1)),
        ],
        SKETCHES.names[1:],
    )
    return distinct.take(which).add_column(0, "place", places).cast(SKETCHES)


def group_rows(units: Iterable[KeptSketches], ages: Ids, scratch: Path) -> Ids:
    """Return for each kept row of all units the row that stands for its group of near duplicates.

    `ages` ranks the rows, in the order of the units: the lowest of a group stands for it. A row
    without near duplicates stands for itself. Memory follows the number of texts, about 0.5 KB
    each; their shingles lie in a temporary file in `scratch`.
    """
    settings = DuplicateSettings()
    with tempfile.TemporaryFile(dir=scratch) as file:
        shingles = ShingleFile(file, scratch)
        index = TextIndex(settings, shingles, 1)
        text = index.take(_read(unit, settings) for unit in units)
        bands = index.finish()
        oldest = _oldest(text, ages, len(bands))
        links = link(shingles, bands, np.argsort(ages[oldest], kind="stable"), settings)
    rows = np.arange(len(text))
    return np.where(text == NO_TEXT, rows, oldest[links.root[text]]) if len(bands) else rows


def _oldest(text: Ids, ages: Ids, count: int) -> Ids:
    """Return the row of lowest age of each text."""
    by_age = np.argsort(ages, kind="stable")
    by_age = by_age[text[by_age] != NO_TEXT]
    oldest = np.full(count, -1)
    oldest[text[by_age[::-1]]] = by_age[::-1]
    return oldest


def _read(unit: KeptSketches, settings: DuplicateSettings) -> Sketches:
    """Read the sketches of a unit's kept rows, each distinct text once."""
    table = pq.read_table(unit.path)
    table = table.filter(pc.is_in(table["place"], pa.array(unit.places))).combine_chunks()
    numbers: dict[bytes, int] = {}
    which = [
        NO_TEXT if digest is None else numbers.setdefault(digest, len(numbers))
        for digest in table["digest"].to_pylist()
    ]
    first = {number: row for row, number in reversed(list(enumerate(which)))}
    distinct = table.take(pa.array([first[number] for number in numbers.values()], pa.int64()))
    sizes = pc.list_value_length(distinct["shingles"]).to_numpy().astype(np.int64)
    return Sketches(
        np.array(which, np.int64),
        list(numbers),
        _flat(distinct["shingles"]),
        sizes,
        _flat(distinct["bands"]).reshape(-1, settings.bands),
    )


def _lists(bounds: Ids, values: np.ndarray) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), pa.array(values, pa.uint64()))


def _flat(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.list_flatten(column).to_numpy(), np.uint64)
