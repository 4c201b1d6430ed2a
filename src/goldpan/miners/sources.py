"""Which archived replies hold something of an entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from goldpan.core.archive import Archive, Record
from goldpan.core.workspace import Workspace


def sources(workspace: Workspace, repo: str) -> Mapping[int, tuple[str, ...]]:
    """Return the names of the replies by entry number, as ``run-0001.zst@OFFSET``, in order."""
    return sources_in(Archive(workspace.raw(repo)).records)


def sources_in(records: Iterable[Record]) -> Mapping[int, tuple[str, ...]]:
    """Return the same of an archive's records."""
    sources_of: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for record in records:
        for number in _numbers(record):
            sources_of[number][record.name] = None
    return {number: tuple(names) for number, names in sources_of.items()}


def _numbers(record: Record) -> Iterator[int]:
    meta = record.meta
    if meta["part"] in ("entries", "more"):
        yield from (node[1] for node in meta["nodes"])
    elif meta["part"] in ("issues", "pulls"):
        yield from (item[0] for item in meta["items"])
    elif meta.get("number") is not None:
        yield meta["number"]
