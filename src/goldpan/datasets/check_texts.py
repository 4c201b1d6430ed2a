"""Searches the texts of a dataset for secrets and personal data before it is published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from goldpan.datasets.family import Column, Family

_BATCH = 64
_MOST_FINDINGS = 20
_ALSO_IN_CODE = "secret"
"""How the kinds start that are looked for in code as well."""


@dataclass(frozen=True, slots=True)
class PublishProblem:
    """Why a dataset should not be published as it is."""

    file: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}: {self.cause}. {self.remedy}."


class PrivateFinding(Protocol):
    """Something in a text that should not be public."""

    @property
    def kind(self) -> str:
        """What it is, such as email; of a secret, it starts with that word."""


FindPrivate = Callable[[str], Sequence[PrivateFinding]]
Likely = Callable[[pa.Array, Column], pa.Array]
"""Marks the texts of a column that are worth a search."""


def check_texts(
    directory: Path, family: Family, shards: list[str], find_private: FindPrivate | None
) -> Iterator[PublishProblem]:
    """Find secrets in all texts, and personal data in prose: code has to stay as it was."""
    find, likely = (find_private, None) if find_private else _own_search()
    columns = [column for column in family.columns if column.holds != "fact"]
    names = ["id", *(column.name for column in columns)]
    count = 0
    for shard in shards:
        for batch in pq.ParquetFile(directory / shard).iter_batches(_BATCH, columns=names):
            for column in columns:
                for index, kind in _findings(batch.column(column.name), column, find, likely):
                    count += 1
                    if count <= _MOST_FINDINGS:
                        cause = f"{batch['id'][index]} has {kind} in its {column.name}"
                        yield PublishProblem(shard, cause, "Redact or leave out the example")
    if count > _MOST_FINDINGS:
        cause = f"{count - _MOST_FINDINGS} more texts hold what should not be public"
        yield PublishProblem("data", cause, "Redact or leave out the examples")


def check_files(
    directory: Path, names: list[str], find_private: FindPrivate | None
) -> Iterator[PublishProblem]:
    """Find secrets and personal data in further files of a dataset, which are UTF-8 text."""
    for name in names:
        find = find_private or _own_search()[0]
        text = (directory / name).read_text(encoding="utf-8", errors="replace")
        for kind in sorted({finding.kind for finding in find(text)}):
            yield PublishProblem(name, f"it holds {kind}", "Leave the example out that it is of")


def _findings(
    values: pa.Array, column: Column, find: FindPrivate, likely: Likely | None
) -> list[tuple[int, str]]:
    """Return each row's number with each kind that was found in it, once and sorted."""
    texts = [(at, text) for at, value in enumerate(values.to_pylist()) for text in _texts(value)]
    if likely:
        marks = likely(pa.array([text for _, text in texts], pa.string()), column).to_pylist()
        texts = [text for text, mark in zip(texts, marks, strict=True) if mark]
    kinds = {(at, finding.kind) for at, text in texts for finding in find(text)}
    return sorted(
        (at, kind)
        for at, kind in kinds
        if column.holds == "prose" or kind.startswith(_ALSO_IN_CODE)
    )


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)


def _own_search() -> tuple[FindPrivate, Likely]:
    # Loading the detectors takes a second, which only this check has to wait for.
    from goldpan.text.redaction import SECRETS_ONLY, find_private, may_be_private

    def likely(texts: pa.Array, column: Column) -> pa.Array:
        return may_be_private(texts, SECRETS_ONLY if column.holds == "code" else None)

    return find_private, likely
