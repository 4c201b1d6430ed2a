"""The columns of issue-type datasets, and their rows out of the chosen candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goldpan.core.parquet import open_file
from goldpan.core.resources import named
from goldpan.datasets.family import GROUP, Column, Family
from goldpan.datasets.task import Task
from goldpan.datasets.task_rows import task_family
from goldpan.papers.nlbse.issues.candidates import CANDIDATES, Search, given_text
from goldpan.papers.nlbse.issues.closings import Unit

_TEXT = pa.string()
_COUNT = pa.int64()
_TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))
_BATCH = 1_000
_STRETCH = 20_000
"""Rows that are sorted at once."""
_MOST_FILES = 200

_COLUMNS = (
    Column("title", _TEXT, "The title of the issue.", holds="prose"),
    Column("body", _TEXT, "The first text of the issue, in Markdown.", holds="prose"),
    Column("labels", _TEXTS, "The labels of the issue as people gave them.", holds="prose"),
    Column("author_association", _TEXT, "The relation of its author to the repository."),
    Column("number", _COUNT, "The number of the issue, as in github.com/REPO/issues/NUMBER."),
    Column("issue_id", _COUNT, "GitHub's identifier of the issue, which outlives renames."),
    Column("event", _TEXT, "The event that closed it in GH Archive; null where it was mined."),
    Column(
        "closed_at", pa.timestamp("us", tz="UTC"), "When it was closed; its labels are of then."
    ),
)


def issue_family(task: Task) -> Family:
    """Return the kind of dataset that holds a task's rows and what is known of their issues."""
    family = task_family(task)
    return replace(family, columns=(*family.columns, *_COLUMNS), limits=(), tags=(), origin="")


@dataclass(frozen=True, slots=True)
class RowSource:
    """The candidates of all units in files, and which of them are `chosen`."""

    search: Search
    units: Sequence[Unit]
    chosen: pa.Table
    family: Family

    def batches(self, redacted: Counter[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a dataset by id, a batch in memory; count what was made unreadable.

        Datasets are written in that order, and gather rows that lie far apart slowly.
        """
        with TemporaryDirectory(dir=self.search.directory) as scratch:
            for path in self._spread(Path(scratch)):
                with pa.OSFile(str(path)) as file:
                    rows = pa.ipc.open_file(file).read_all()
                path.unlink()
                for batch in rows.sort_by("rank").combine_chunks().to_batches(_BATCH):
                    for kinds in batch["redacted"].to_pylist():
                        redacted.update(kinds)
                    yield self._finish(batch)

    def _spread(self, scratch: Path) -> list[Path]:
        """Write the chosen candidates into files, each with a stretch of the ids; return them."""
        size = max(_STRETCH, ceil(len(self.chosen) / _MOST_FILES))
        paths = [scratch / f"{part}.arrow" for part in range(ceil(len(self.chosen) / size))]
        schema = CANDIDATES.append(pa.field("near", _TEXT)).append(pa.field("rank", _COUNT))
        with named(scratch), ExitStack() as stack:
            files = [stack.enter_context(pa.ipc.new_file(str(path), schema)) for path in paths]
            for rows in self._read():
                parts = pc.divide(rows["rank"], size).to_numpy()
                for part in np.unique(parts):
                    files[part].write(rows.filter(pa.array(parts == part)).cast(schema))
        return paths

    def _read(self) -> Iterator[pa.Table]:
        """Yield the chosen candidates with `near` and `rank`, unit by unit."""
        positions = self.chosen["place"].to_numpy()
        bounds = np.searchsorted(self.chosen["unit"].to_numpy(), np.arange(len(self.units) + 1))
        for unit in self.units:
            start, end = bounds[unit.number : unit.number + 2]
            mine = positions[start:end]
            with open_file(self.search.candidates(unit)) as file:
                for batch in file.iter_batches(_BATCH):
                    places = batch["place"].to_numpy()
                    at = np.searchsorted(mine, places)
                    is_chosen = np.append(mine, -1)[at] == places
                    about = self.chosen.select(["near", "rank"]).take(
                        pa.array(start + at[is_chosen])
                    )
                    rows = pa.Table.from_batches([batch]).filter(pa.array(is_chosen))
                    yield rows.append_column("near", about["near"]).append_column(
                        "rank", about["rank"]
                    )

    def _finish(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        schema = self.family.schema.append(pa.field(GROUP, pa.string()))
        columns = {name: rows[name] for name in rows.schema.names}
        labels = [[label for label in names or () if label] for names in rows["labels"].to_pylist()]
        columns["labels"] = pa.array(labels, _TEXTS)
        columns["text"] = given_text(rows)
        columns[GROUP] = rows["near"]
        return pa.RecordBatch.from_arrays(
            [
                columns[field.name].cast(field.type)
                if field.name in columns
                else pa.nulls(len(rows), field.type)
                for field in schema
            ],
            schema=schema,
        )
