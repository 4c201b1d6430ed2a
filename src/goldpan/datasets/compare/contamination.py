"""Rows of a dataset that also occur in other data, such as a benchmark: by text and identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.core.result import Result
from goldpan.core.storage.parquet import connect
from goldpan.datasets.compare.rows import ComparedSource, Item, open_source
from goldpan.datasets.table_files import check_form, write_rows
from goldpan.filters.duplicates.near import find_leaks_of_batches
from goldpan.filters.duplicates.settings import (
    DuplicateSettings,
    Hashes,
    fold,
    hash_words,
    shingles,
    words,
)

Kind = Literal["pull", "issue", "commit", "exact", "near", "ngram"]
KINDS: tuple[Kind, ...] = ("pull", "issue", "commit", "exact", "near", "ngram")
"""The strongest evidence first."""


@dataclass(frozen=True, slots=True)
class ContaminationEvidence:
    """Evidence that a row of the dataset occurs in other data."""

    id: str
    """The id of the row."""
    against: str
    item: str
    """The row of the other data that shares the most, by its id."""
    kind: Kind
    column: str | None
    """The other data's column, of a text that is the same or nearly so."""
    value: float
    """The similarity of texts, or the share of the row's n-grams; 1 for the rest."""
    shared: int | None
    """How many n-grams are shared with that item."""


@dataclass(frozen=True, slots=True)
class AgainstResult:
    """The rows that one file or dataset shares."""

    against: str
    items: int
    columns: tuple[str, ...]
    """Whose texts were compared."""
    rows: int
    """Rows of the dataset with any evidence."""
    kinds: Mapping[str, int]
    """Rows by kind of evidence; a row may have several."""
    same_repository: int | None
    """Rows of a repository that occurs there, which alone is no evidence; None where none does."""
    common: int
    """n-grams that were left out, as too many rows or items share them."""


@dataclass(frozen=True, slots=True)
class ContaminationResult(Result):
    """The rows of a dataset that also occur in other data."""

    schema = 2

    dataset: str
    rows: int
    """Rows of the dataset."""
    columns: tuple[str, ...]
    """Whose texts were compared."""
    contaminated: int
    """Rows with any evidence, whatever the other data."""
    share: float
    against: tuple[AgainstResult, ...]
    evidence: tuple[ContaminationEvidence, ...]
    """The evidence of the first rows that have any."""


_BATCH = 1_024
_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("id", "against", "item", "kind", "column"), pa.string()),
        "value": pa.float64(),
        "shared": pa.int64(),
    }
)


@dataclass(slots=True)
class _Side:
    """One side of a comparison; of texts, what is compared is kept."""

    source: ComparedSource
    ngram: int
    items: list[Item] = field(default_factory=list)
    texts: list[tuple[int, str]] = field(default_factory=list)
    """The row and the column of each text that was compared."""
    grams: list[Hashes] = field(default_factory=list)
    """The n-grams of each row, each once."""

    def batches(self) -> Iterator[list[str]]:
        """Yield texts with at least `ngram` words, those of many rows together."""
        batch: list[str] = []
        for number, item in enumerate(self.source.items()):
            self.items.append(replace(item, texts=()))
            tokenized = [(column, text, words(fold(text))) for column, text in item.texts]
            long = [entry for entry in tokenized if len(entry[2]) >= self.ngram]
            self.texts += ((number, column) for column, _, _ in long)
            hashes = hash_words([tokens for _, _, tokens in long])
            self.grams.append(np.unique(shingles(*hashes, self.ngram) & _HASH))
            batch += (text for _, text, _ in long)
            if len(batch) >= _BATCH:
                yield batch
                batch = []
        yield batch

    def table(self, known: Hashes | None = None) -> pa.Table:
        """Return the n-grams with their rows and how many each row has; those known alone."""
        sizes = [len(grams) for grams in self.grams]
        grams = np.concatenate([np.empty(0, np.uint64), *self.grams])
        columns = {
            "gram": grams,
            "row": np.repeat(np.arange(len(sizes)), sizes),
            "total": np.repeat(np.array(sizes, np.int64), sizes),
        }
        chosen = slice(None) if known is None else np.isin(grams, known)
        return pa.table({name: values[chosen] for name, values in columns.items()})


def find_contamination(
    dataset: Path,
    against: Sequence[Path],
    *,
    columns: Sequence[str] = (),
    ngram: int = 13,
    common: int = 10,
    most: int = 20,
    output: Path | None = None,
) -> ContaminationResult:
    """Return the rows of a dataset that occur in other files or datasets, with the evidence.

    `columns` names the texts of the dataset to compare, in place of those known by name. Texts
    with fewer words than `ngram` are not compared; an n-gram in more than `common` rows or items
    is left out. The evidence for the first `most` rows is returned; `output` takes all. Raises
    `UsageError` and `DatasetError` for unreadable input.
    """
    if ngram < 2 or common < 1:
        raise UsageError(
            f"--ngram {ngram} with --common {common} compares nothing",
            "Give at least 2 words and at least 1 row",
        )
    if output is not None:
        check_form(output)
    rows = open_source(dataset, columns)
    others = [open_source(path) for path in against]
    results, evidences, ids = [], [], list[str]()
    for other in others:
        ids, evidence, result = _compare(rows, other, ngram, common)
        results.append(result)
        evidences += evidence
    order = {name: position for position, name in enumerate(ids)}
    evidences.sort(key=lambda item: (order[item.id], item.against, KINDS.index(item.kind)))
    named = list(dict.fromkeys(item.id for item in evidences))
    if output is not None:
        table = pa.Table.from_pylist(list(map(asdict, evidences)), schema=_SCHEMA)
        write_rows(table.to_reader(), output)
    shown = set(named[:most])
    return ContaminationResult(
        dataset=str(dataset),
        rows=len(ids),
        columns=rows.columns,
        contaminated=len(named),
        share=len(named) / len(ids),
        against=tuple(results),
        evidence=tuple(item for item in evidences if item.id in shown),
    )


def _compare(
    rows: ComparedSource, other: ComparedSource, ngram: int, common: int
) -> tuple[list[str], list[ContaminationEvidence], AgainstResult]:
    """Return the ids of the rows, and their evidence in the other data."""
    items, side = _Side(other, ngram), _Side(rows, ngram)
    settings = DuplicateSettings(min_words=max(ngram, DuplicateSettings().min_words))
    leaks = find_leaks_of_batches(items.batches(), side.batches(), settings)
    name = str(other.path)

    def evidence_of(
        row: int, item: int, kind: Kind, column: str | None, value: float, shared: int | None = None
    ) -> ContaminationEvidence:
        ids = side.items[row].id, items.items[item].id
        return ContaminationEvidence(ids[0], name, ids[1], kind, column, value, shared)

    evidence = [
        evidence_of(row, item, kind, None, 1.0)
        for row, item, kind in _same_identities(side.items, items.items)
    ]
    best: dict[int, ContaminationEvidence] = {}
    for leak in leaks:
        (row, _), (item, column) = side.texts[leak.query], items.texts[leak.match]
        if row not in best or leak.similarity > best[row].value:
            best[row] = evidence_of(row, item, leak.relation, column, leak.similarity)
    evidence += best.values()
    grams, common_count = _shared(items, side, common)
    evidence += [
        evidence_of(row, item, "ngram", None, share, shared) for row, item, shared, share in grams
    ]
    hits = {(hit.id, hit.kind) for hit in evidence}
    kinds = Counter(kind for _, kind in hits)
    repos = {item.repo for item in items.items} - {None}
    result = AgainstResult(
        against=name,
        items=len(items.items),
        columns=other.columns,
        rows=len({hit.id for hit in evidence}),
        kinds={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        same_repository=sum(row.repo in repos for row in side.items) if repos else None,
        common=common_count,
    )
    return [row.id for row in side.items], evidence, result


def _same_identities(
    rows: Iterable[Item], items: Iterable[Item]
) -> Iterator[tuple[int, int, Kind]]:
    """Yield the numbers of rows and items that are about the same, the first item for each."""
    known: dict[tuple[Kind, object], int] = {}
    for number, item in enumerate(items):
        for identity in _identities(item):
            known.setdefault(identity, number)
    for number, row in enumerate(rows):
        for identity in _identities(row):
            if identity in known:
                yield number, known[identity], identity[0]


def _identities(item: Item) -> Iterator[tuple[Kind, object]]:
    yield from (("commit", commit) for commit in item.commits)
    if item.repo:
        yield from (("pull", (item.repo, number)) for number in item.pulls)
        yield from (("issue", (item.repo, number)) for number in item.issues)


_HASH = np.uint64(2**48 - 1)
"""The bits of an n-gram that are its hash; the others tell texts apart."""
_SHARED = """
WITH common AS (
  SELECT gram FROM found GROUP BY gram HAVING count(*) > $common
  UNION SELECT gram FROM items SEMI JOIN found USING (gram) GROUP BY gram HAVING count(*) > $common
), rare AS (FROM found ANTI JOIN common USING (gram)), hits AS (
  SELECT rare.row, items.row AS item, count(*) AS shared FROM rare JOIN items USING (gram)
  GROUP BY ALL
), shares AS (SELECT row, count(*) / any_value(total) AS share FROM rare GROUP BY row)
SELECT row, min_by(item, (-shared, item)), max(shared), any_value(share)
FROM hits JOIN shares USING (row) GROUP BY row
UNION ALL SELECT -1, count(*), NULL, NULL FROM common
ORDER BY row
"""


def _shared(
    items: _Side, side: _Side, common: int
) -> tuple[list[tuple[int, int, int, float]], int]:
    """Return rows with n-grams of items, and how many n-grams were left out as common.

    Of each row the nearest item, how many n-grams they share, and the share of the row's n-grams
    that any item has. As in Brown et al. 2020, appendix C, an n-gram that more than `common` items
    or rows have is of a template or a license and says nothing.
    """
    theirs = items.table()
    with connect() as connection:
        connection.register("items", theirs)
        connection.register("found", side.table(theirs["gram"].to_numpy()))
        left_out, *hits = connection.execute(_SHARED, {"common": common}).fetchall()
    return hits, left_out[1]
