"""The pairing rules of FAUN-Eval, and what a workspace holds of its data.

Rows of the table are `repositories`, `entries` and `fix pairs` with one column, or datasets by
`_DATASETS` with the columns languages, repositories and samples.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

from goldpan.plugins import Rules, data
from goldpan.plugins.data import PROVENANCE, read_provenance, shard_paths
from goldpan.plugins.evaluation import CellOutcome, PaperContext, State, TableRecipe, workspaces

_DATASETS = {"FAUN-Eval-QA": ("qa",), "FAUN-Eval-fix": ("code-edit", "fault-localization")}
_PREFIX = "faun-eval-"
_RULES = "faun-eval"
_AT_LEAST = ("entries", "fix pairs")
"""Rows of which the paper prints rough numbers, so that more is as much."""
_PLANS = files("goldpan.papers.faun_eval") / "plans"
_SPLITS = ("train", "validation", "test")

RULES = Rules(
    "faun-eval",
    ("keyword",),
    # Algorithm 1 reads title, body, comments and review comments, and no commit messages.
    ("title", "body", "comment", "review_comment"),
    same_repository=True,
    default_branch=True,
)
"""The pairing rules of the paper (section 3.2)."""


def compute(context: PaperContext, table: TableRecipe) -> Iterator[CellOutcome]:
    """Yield the counts of the first workspace that has some."""
    for workspace in workspaces(context):
        counts = _mined(workspace)
        for row, value in counts.items():
            if row in table.rows and value:
                yield _outcome(table, row, table.columns[0], value, workspace.root)
        for row, families in _DATASETS.items():
            directory = _dataset(workspace, families) if row in table.rows else None
            if directory is None:
                continue
            rows = _rows(directory)
            facts: dict[str, float] = {
                "languages": len(set(rows["language"].to_pylist()) - {None}),
                "repositories": len(set(rows["repo"].to_pylist())),
                "samples": rows.num_rows,
            }
            gaps = dataset_gaps(directory, _RULES)
            for column in table.columns:
                yield _outcome(table, row, column, facts[column], directory, gaps)
        return
    plan = _written_plan(context)
    remedy = "give one with --workspace or --data"
    if plan is not None:
        remedy = (
            f"goldpan run {shlex.quote(str(plan))} makes them from GitHub (--dry-run says at what"
            f" cost), and the same command then finds them; or {remedy}"
        )
    context.note(f"No workspace with the paper's datasets is there: {remedy}.")


def _outcome(
    table: TableRecipe, row: str, column: str, value: float, where: Path, gaps: Sequence[str] = ()
) -> CellOutcome:
    paper = table.rows[row][table.columns.index(column)]
    note = ""
    if isinstance(paper, float | int) and value != paper:
        note = "less than the paper's" if value < paper else "more than the paper's"
    if value > float(paper or 0) and row in _AT_LEAST:
        note = ""
    note = "; ".join(filter(None, (note, *gaps)))
    state: State = "in part" if note else "run"
    return CellOutcome(row, column, value, state, note, {"directory": str(where)})


def _mined(workspace: data.WorkspaceLayout) -> dict[str, int]:
    repositories = workspace.repositories("tables")
    return {
        "repositories": len(repositories),
        "entries": sum(_count(workspace.table(repo, "entries")) for repo in repositories),
        "fix pairs": sum(_count(workspace.pairs(repo, _RULES)) for repo in repositories),
    }


def _count(path: Path) -> int:
    return data.count_rows(path) if path.exists() else 0


def _dataset(workspace: data.WorkspaceLayout, families: tuple[str, ...]) -> Path | None:
    """Return the dataset of the first family, that of the plan's name before others."""
    for family in families:
        named = workspace.dataset(f"{_PREFIX}{family}")
        for directory in (named, workspace.dataset(family)):
            if (directory / PROVENANCE).exists():
                if read_provenance(directory).get("family") != family:
                    continue
                return directory
    return None


def _rows(directory: Path) -> pa.Table:
    parts = [
        data.read_table(path, columns=["repo", "language"])
        for split in _SPLITS
        for path in shard_paths(directory, split)
    ]
    if not parts:
        raise data.DatasetError(f"{directory} holds no rows", "Build it again")
    return pa.concat_tables(parts)


def _written_plan(context: PaperContext) -> Path | None:
    """Return the plan that makes the paper's data, written where it is not; None without one.

    It lies where the paper's results do, and is never written over: people change theirs.
    """
    shipped = _PLANS / f"{context.recipe.name}.toml"
    if not shipped.is_file():
        return None
    path = context.directory / shipped.name
    if not path.exists():
        data.make_directory(path.parent)
        data.write_whole(path, shipped.read_bytes())
    return path


def dataset_gaps(directory: Path, profile: str) -> tuple[str, ...]:
    """Return what differs, in clauses; none where it is as FAUN-Eval describes (section 3.3).

    `profile` is the paper's. Its semantic check has models review what the filters keep, and then
    people. A folder without provenance is taken as built by other hands.
    """
    if not (directory / PROVENANCE).exists():
        return ("rows of unknown making",)
    return tuple(_gaps(read_provenance(directory), profile))


def _gaps(provenance: Mapping[str, Any], profile: str) -> Iterator[str]:
    name = provenance.get("profile", {}).get("name")
    if name != profile:
        yield f"filtered by the profile {name}"
    reviewers = {kind for review in provenance.get("reviews", {}).values() for kind in review}
    if not reviewers:
        yield "not reviewed"
    elif "people" not in reviewers:
        yield "reviewed by models alone"
    elif "models" not in reviewers:
        yield "reviewed by people alone"
