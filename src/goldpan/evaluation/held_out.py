"""Holds out whole documents: what a model is worth on classes or threads that it has never seen.

Where a source splits single sentences, a test sentence has its neighbours in train, and often
stands there word for word. Here a fifth of the documents is the test, drawn by a hash of their
names, so that all tasks that share documents hold out the same ones, whatever the seed. There are
five such fifths, and every document is in one of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.datasets.task_data import TaskData, task_data
from goldpan.evaluation.protocol import Protocol

FIFTHS = 5
_KIND = re.compile(r"document(?::([0-4]))?")


@dataclass(frozen=True, slots=True)
class HeldOut(Protocol):
    """A protocol whose test is of whole documents; its name tells runs apart."""

    fifth: int = 0
    """Which documents, from 0."""


def hold_out(
    data: TaskData, protocol: Protocol, kind: str = "document"
) -> tuple[TaskData, HeldOut]:
    """Return the task's rows split by document, and the protocol that says so.

    `kind` is `document`, or `document:1` to `document:4` for the other fifths. The official
    partition no longer counts. Raises `UsageError` for a kind that is not known, and
    for rows without documents, or with too few to hold any out.
    """
    match = _KIND.fullmatch(kind)
    if match is None:
        raise UsageError(
            f"Rows cannot be held out by {kind!r}",
            "Give --hold-out document, or document:1 to document:4 for other documents",
        )
    fifth = int(match[1] or 0)
    rows = pa.concat_tables(data.splits.values()).sort_by("id")
    if rows["document"].null_count:
        raise UsageError(
            f"{rows['document'].null_count:,} of {len(rows):,} rows of {data.task.name} name no "
            "document to be held out by",
            "Run it without --hold-out",
        )
    sides = held_out_rows(rows, fifth)
    splits = {
        "train": rows.filter(pa.array([not side for side in sides])),
        "test": rows.filter(pa.array(sides)),
    }
    if not all(len(table) for table in splits.values()):
        raise UsageError(
            f"{data.task.name} has too few documents to hold some out", "Run it without --hold-out"
        )
    described = asdict(protocol) | {
        "name": f"{protocol.name}+document" + (f":{fifth}" if fifth else ""),
        "title": f"{protocol.title}, whole documents held out",
        "fifth": fifth,
    }
    method = f"whole documents held out, fifth {fifth + 1} of {FIFTHS}"
    return task_data(data.task, splits, method), HeldOut(**described)


def held_out_rows(rows: pa.Table, fifth: int) -> Sequence[bool]:
    """Tell which rows are of the documents of a fifth."""
    places = zip(rows["repo"].to_pylist(), rows["document"].to_pylist(), strict=True)
    return [_fifth(repo or "", document or "") == fifth for repo, document in places]


def _fifth(repo: str, document: str) -> int:
    named = f"{len(repo)} {repo} {document}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(named).digest()[:8]) % FIFTHS
