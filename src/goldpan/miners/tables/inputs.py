"""Whether an archive still holds the replies that tables were made of."""

from __future__ import annotations

from goldpan.core.archive import scan_runs
from goldpan.core.errors import WorkspaceError
from goldpan.core.lineage import read_lineage
from goldpan.core.run_file import seal_of
from goldpan.core.workspace import Workspace
from goldpan.miners.repair import REPAIRED


def check_replies(workspace: Workspace, repo: str) -> None:
    """Raise `WorkspaceError` where the replies that tables were made of are not all there.

    The end of the newest run may be cut off as if by a kill: only the tables tell. What a repair
    could not save is told by `goldpan status`.
    """
    runs = {scan.path.name: scan.records for scan in scan_runs(workspace.raw(repo))}
    inputs = read_lineage(workspace.tables(repo), "normalize")["inputs"]
    for name, (count, digest) in inputs.items():
        records = runs.get(name, ())
        if any(record.meta["part"] == REPAIRED for record in records):
            continue
        if seal_of([record.digest for record in records[:count]]) != [count, digest]:
            raise WorkspaceError(
                f"{workspace.raw(repo) / name} no longer holds the {count:,} replies that the "
                "tables were made of",
                f"Restore it, or run goldpan mine --repo {repo}",
            )
