"""The tables between stages: the one definition of every column.

Times are UTC, enumerations are lower case, and logins of bots end in ``[bot]`` whichever API
reported them. A null says that the source cannot see the value, never that it is zero.
Each table is one Parquet file per repository, its rows sorted by `TableSchema.order`.
"""

from __future__ import annotations

from goldpan.core.schemas.mined import (
    COMMENTS,
    COMMITS,
    DISCUSSION_COMMENTS,
    DISCUSSIONS,
    EDITS,
    ENTRIES,
    EVENTS,
    EVIDENCE,
    FILES,
    LEDGER,
    MINED,
    REFERENCES,
    REPOSITORIES,
    UNKNOWN,
)
from goldpan.core.schemas.stages import (
    ANNOTATIONS,
    CHANGES,
    DECISIONS,
    DUPLICATES,
    FINDINGS,
    PAIRS,
    REVISIONS,
    VERDICTS,
)
from goldpan.core.schemas.table import TableSchema

__all__ = [
    "ANNOTATIONS",
    "CHANGES",
    "COMMENTS",
    "COMMITS",
    "DECISIONS",
    "DISCUSSIONS",
    "DISCUSSION_COMMENTS",
    "DUPLICATES",
    "EDITS",
    "ENTRIES",
    "EVENTS",
    "EVIDENCE",
    "FILES",
    "FINDINGS",
    "LEDGER",
    "MINED",
    "PAIRS",
    "REFERENCES",
    "REPOSITORIES",
    "REVISIONS",
    "UNKNOWN",
    "VERDICTS",
    "TableSchema",
]
