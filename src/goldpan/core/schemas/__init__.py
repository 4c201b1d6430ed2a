"""The tables between stages: the one definition of every column.

Times are UTC, enumerations are lower case, and logins of bots end in ``[bot]`` whichever API
reported them. A null says that the source cannot see the value, never that it is zero.
Each table is one Parquet file per repository, its rows sorted by `TableSchema.order`.
"""

from __future__ import annotations

from goldpan.core.schemas.mined import COMMENTS as COMMENTS
from goldpan.core.schemas.mined import COMMITS as COMMITS
from goldpan.core.schemas.mined import DISCUSSION_COMMENTS as DISCUSSION_COMMENTS
from goldpan.core.schemas.mined import DISCUSSIONS as DISCUSSIONS
from goldpan.core.schemas.mined import EDITS as EDITS
from goldpan.core.schemas.mined import ENTRIES as ENTRIES
from goldpan.core.schemas.mined import EVENTS as EVENTS
from goldpan.core.schemas.mined import EVIDENCE as EVIDENCE
from goldpan.core.schemas.mined import FILES as FILES
from goldpan.core.schemas.mined import LEDGER as LEDGER
from goldpan.core.schemas.mined import MINED as MINED
from goldpan.core.schemas.mined import REFERENCES as REFERENCES
from goldpan.core.schemas.mined import REPOSITORIES as REPOSITORIES
from goldpan.core.schemas.mined import UNKNOWN as UNKNOWN
from goldpan.core.schemas.stages import ANNOTATIONS as ANNOTATIONS
from goldpan.core.schemas.stages import CHANGES as CHANGES
from goldpan.core.schemas.stages import DECISIONS as DECISIONS
from goldpan.core.schemas.stages import DUPLICATES as DUPLICATES
from goldpan.core.schemas.stages import FINDINGS as FINDINGS
from goldpan.core.schemas.stages import PAIRS as PAIRS
from goldpan.core.schemas.stages import REVISIONS as REVISIONS
from goldpan.core.schemas.stages import VERDICTS as VERDICTS
from goldpan.core.schemas.table import TableSchema as TableSchema
