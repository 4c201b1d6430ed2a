"""Findings that rows of a build must not have: `build FAMILY --require not:FINDING`.

What the row and its fix show is looked for while the rows are made. What takes test runs, stored
runs or the whole history is read from the audits of the workspace: of a row that is as it was then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc

from goldpan.audit.finding import VERDICTS, FindingName, Verdict, chosen_findings
from goldpan.audit.fixes import Fixes
from goldpan.audit.place import find_place
from goldpan.audit.rows import row_of
from goldpan.audit.solution import find_solution
from goldpan.builders.recipes import NOT, NOT_AUDITED, RowCheck
from goldpan.core.errors import UsageError, WorkspaceError
from goldpan.core.parquet import read_table, reading
from goldpan.core.sealed import seal_of_parquet
from goldpan.core.workspace import Workspace
from goldpan.datasets.family import Family

_OF_ROWS = {"solution-in-issue": find_solution, "place-in-issue": find_place}
_FIX = frozenset({"patch", "diff", "changed_path"})
_NEEDS = {"solution-in-issue": _FIX | {"answer"}, "place-in-issue": _FIX}
_COLUMNS = ("id", "digest", "finding", "verdict")
_WORST = VERDICTS.index
"""Of two audits: found by one counts, and so does what only one can tell."""
_Stored = Mapping[FindingName, Mapping[tuple[str, str], Verdict]]


def row_check(workspace: Workspace, required: Sequence[str], family: Family) -> RowCheck | None:
    """Return what drops rows with the findings that `required` names as not:FINDING, if any.

    Raises `UsageError` for a finding that there is not, or that rows of the family cannot have, and
    `WorkspaceError` where an audit is needed and the workspace has none.
    """
    asked = [name.removeprefix(NOT) for name in required if name.startswith(NOT)]
    names = chosen_findings(asked)
    columns = set(family.schema.names)
    for name in names:
        if name in _NEEDS and not columns & _NEEDS[name]:
            raise UsageError(
                f"Rows of {family.name} have no fix, which {name} needs",
                f"Leave out --require {NOT}{name}",
            )
    if not names:
        return None
    stored, audits = _read_audits(workspace, names, family.name)
    absolute = replace(workspace, root=workspace.root.absolute())  # other processes see it
    verdicts = _Verdicts(absolute, names, stored)
    return RowCheck(tuple(f"{NOT}{name}" for name in names), verdicts.of, audits)


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """The verdicts on rows; goes to other processes."""

    workspace: Workspace
    names: tuple[FindingName, ...]
    stored: _Stored

    def of(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
        """Return the verdicts on each row by requirement."""
        read = [row_of(columns, number) for number, columns in enumerate(rows, 1)]
        verdicts: list[dict[str, str]] = []
        with Fixes(self.workspace) as fixes:
            for row, fix in zip(read, fixes.of(read), strict=True):
                key = row.id, row.digest
                verdicts.append(
                    {
                        f"{NOT}{name}": _OF_ROWS[name](row, fix).verdict
                        if name in _OF_ROWS
                        else self.stored[name].get(key, NOT_AUDITED)
                        for name in self.names
                    }
                )
        return verdicts


def _read_audits(
    workspace: Workspace, names: Sequence[FindingName], family: str
) -> tuple[_Stored, dict[str, str]]:
    """Return what audits say of rows by id and digest, and the digests of these audits by name."""
    stored: dict[FindingName, dict[tuple[str, str], Verdict]] = {
        name: {} for name in names if name not in _OF_ROWS
    }
    audits: dict[str, str] = {}
    for path in sorted((workspace.root / "audits").glob("*/findings.parquet")) if stored else ():
        with reading(path, f"Run goldpan audit {path.parent.name}"):
            table = read_table(path, _COLUMNS)
        of_family = pc.starts_with(table["id"], f"{family}:")
        for name, verdicts in stored.items():
            rows = table.filter(pc.and_(of_family, pc.equal(table["finding"], name))).to_pylist()
            for row in rows:
                key = row["id"], row["digest"]
                verdicts[key] = min(verdicts.get(key, row["verdict"]), row["verdict"], key=_WORST)
            if rows:
                audits[path.parent.name] = seal_of_parquet(path)
    for name, verdicts in stored.items():
        if not verdicts:
            raise WorkspaceError(
                f"No audit in {workspace.root} says which rows of {family} have {name}",
                f"Build them without --require {NOT}{name}, run goldpan audit {family} "
                "first, and build again",
            )
    return stored, audits
