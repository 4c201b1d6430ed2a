"""Speed of the filters on a real repository's tables repeated under new numbers.

Beside it, where there is one, datatrove does the same work on the same discussions: lengths,
bots, events and participants. Install it in an environment of its own with
``pip install "datatrove[processing]==0.10.1" orjson`` and name its Python by
``--datatrove-python`` or the variable GOLDPAN_DATATROVE_PYTHON.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.scale import base_world, mine_world, scratch
from goldpan.code.substance import FilePair, compare_all
from goldpan.core.schemas.mined import COMMENTS, ENTRIES, REFERENCES
from goldpan.core.schemas.stages import DUPLICATES
from goldpan.core.schemas.table import TableSchema
from goldpan.core.storage.parquet import write, writer
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.filters.profile import criteria, load_profile
from goldpan.filters.repo_view import RepoView, open_repo_view
from goldpan.git.clone import clone
from goldpan.git.objects import Objects
from goldpan.miners.history.revisions import read_history
from goldpan.miners.pairing import find_rules, pair

WORKERS = 2
ISSUES = 20_000
SLOW = ("language", "near-duplicates")
"""Criteria with limits of their own, see `benchmarks/duplicates.py` for the second."""
SHARED = ("comment-scale", "event-count", "bots", "participants")
"""What datatrove is asked to do as well."""
_NUMBERS = {ENTRIES: ("number",), COMMENTS: ("number",), REFERENCES: ("number", "target_number")}


class Size(NamedTuple):
    """How large the repeated repository is."""

    issues: int
    entries: int
    """Issues and pull requests."""


def repeat_tables(source: WorkspaceLayout, target: WorkspaceLayout, repo: str) -> Size:
    """Write a repository with at least `ISSUES` issues and return its size."""
    entries = pq.read_table(source.table(repo, "entries"))
    issues = pc.sum(pc.equal(entries["kind"], "issue")).as_py()
    copies = -(-ISSUES // issues)
    step = (pc.max(entries["number"]).as_py() // 1_000 + 1) * 1_000
    for table, columns in _NUMBERS.items():
        rows = pq.read_table(source.table(repo, table.name))
        repeated = [_moved(rows, columns, step * copy) for copy in range(copies)]
        _save(target, table, repo, pa.concat_tables(repeated))
    facts = pq.read_table(source.table(repo, "repositories"))
    pq.write_table(facts, target.table(repo, "repositories"))
    return Size(issues * copies, len(entries) * copies)


def _moved(rows: pa.Table, columns: tuple[str, ...], by: int) -> pa.Table:
    for name in columns:
        field_index = rows.schema.get_field_index(name)
        rows = rows.set_column(field_index, name, pc.add(rows[name], by))
    if "comment_id" in rows.column_names:
        field_index = rows.schema.get_field_index("comment_id")
        rows = rows.set_column(
            field_index, "comment_id", pc.add(rows["comment_id"], by * 1_000_000)
        )
    return rows


def _save(target: WorkspaceLayout, table: TableSchema, repo: str, rows: pa.Table) -> None:
    path = target.table(repo, table.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writer(path, table.schema) as file:
        write(file, rows, repo)


def measure_issue_filters(workspace: WorkspaceLayout, repo: str, size: Size) -> float:
    """Print what each criterion for issues takes; return the seconds of the shared ones."""
    profile = load_profile("default")
    # Repeating a repository repeats its comments, which would make bots of everybody.
    bots = replace(profile.settings["bots"], repeated=10**9)
    seconds: dict[str, float] = {}
    begun = time.perf_counter()
    none = DUPLICATES.schema.empty_table()
    with open_repo_view(workspace, repo, bots, none, WORKERS) as view:
        opened = time.perf_counter() - begun
        for criterion in criteria().values():
            if criterion.subject == "issue":
                begun = time.perf_counter()
                criterion.judge(view, profile.settings[criterion.name])
                seconds[criterion.name] = time.perf_counter() - begun
        megabytes = _megabytes(view)
    issues = size.issues
    print(
        f"{repo}: {size.entries:,} entries, {issues:,} of them issues with {megabytes:,.0f} MB of "
        "discussions"
    )
    print(f"  {'reading, bots marked':24} {opened:6.2f} s")
    for name, took in seconds.items():
        print(f"  {name:24} {took:6.2f} s {issues / took:12,.0f} issues/s")
    cheap = opened + sum(took for name, took in seconds.items() if name not in SLOW)
    print(
        f"  all but {' and '.join(SLOW)}: {cheap:.2f} s, {size.entries / cheap:,.0f} entries/s, "
        f"{issues / cheap:,.0f} issues/s, {megabytes / cheap:.0f} MB/s"
    )
    return opened + sum(seconds[name] for name in SHARED)


def _megabytes(view: RepoView) -> float:
    total = view.sql("SELECT sum(strlen(text)) AS bytes FROM texts")["bytes"][0].as_py()
    return float(total) / 1e6


def measure_substance(base: WorkspaceLayout, repo: str, bundle: Path) -> None:
    """Print how many changes a second are compared: all single-file changes of the history."""
    pair(base, repo, find_rules("default"))
    clone(base, repo, Reporter(quiet=True), source=bundle.resolve())
    read_history(base, repo, Reporter(quiet=True))
    changes = pq.read_table(base.table(repo, "changes"), filters=[("kind", "=", "text")])
    with Objects(base.clone(repo)) as objects:
        pairs = [
            FilePair(
                objects.blob(row["blob_before"]) if row["blob_before"] else None,
                objects.blob(row["blob_after"]) if row["blob_after"] else None,
                row["path"],
                row["previous_path"],
            )
            for row in changes.to_pylist()
        ]
    size = sum(len(change.before or b"") + len(change.after or b"") for change in pairs) / 1e6
    begun = time.perf_counter()
    substantial = sum(verdict.keep is True for verdict in compare_all(pairs, WORKERS))
    took = time.perf_counter() - begun
    print(
        f"substance: {len(pairs):,} changed files, {size:,.0f} MB, {substantial:,} with substance: "
        f"{took:.1f} s, {len(pairs) / took:,.0f} pairs/s, {size / took:.0f} MB/s"
    )


def measure_datatrove(python: str, workspace: WorkspaceLayout, repo: str, issues: int) -> float:
    """Let datatrove filter the same discussions; return its seconds without starting."""
    with scratch() as directory:
        folder = Path(directory) / "json"
        folder.mkdir()
        _write_discussions(workspace, repo, folder)
        done = subprocess.run(
            [python, "-m", "benchmarks.filters_datatrove", directory, str(WORKERS)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    value = json.loads(done.stdout.splitlines()[-1])
    took = float(value["seconds"])
    print(
        f"datatrove, {' '.join(SHARED)}: {took:.2f} s, {issues / took:,.0f} issues/s, "
        f"{value['kept']:,} kept"
    )
    return took


def _write_discussions(workspace: WorkspaceLayout, repo: str, folder: Path) -> None:
    """Write each issue with its comments as a document, dealt out to the processes."""
    profile = load_profile("default")
    none = DUPLICATES.schema.empty_table()
    with open_repo_view(workspace, repo, profile.settings["bots"], none, WORKERS) as view:
        rows = view.sql(
            "SELECT number, list(author ORDER BY source, comment_id) AS authors, "
            "list(author_type ORDER BY source, comment_id) AS types, "
            "list(text ORDER BY source, comment_id) AS texts "
            "FROM texts WHERE source <> 'title' GROUP BY number ORDER BY number"
        )
    files = [(folder / f"{part}.jsonl").open("wb") for part in range(WORKERS)]
    for position, row in enumerate(rows.to_pylist()):
        text = "\n".join(row["texts"])
        document = {"text": text or " ", "id": str(row["number"]), "metadata": row}
        files[position % WORKERS].write(orjson.dumps(document) + b"\n")
    for file in files:
        file.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--datatrove-python", default=os.environ.get("GOLDPAN_DATATROVE_PYTHON", "")
    )
    python = parser.parse_args().datatrove_python
    data = Path(os.environ.get("GOLDPAN_REAL_DATA", "../shared/data"))
    bundle = data / "github" / "bitcoin-core__secp256k1" / "repo.bundle"
    with scratch() as small, scratch() as large:
        base, workspace = WorkspaceLayout(Path(small)), WorkspaceLayout(Path(large))
        repo = mine_world(base_world(), base.root).repo
        size = repeat_tables(base, workspace, repo)
        gc.collect()
        gc.freeze()  # the local GitHub's objects are no part of what is measured
        ours = measure_issue_filters(workspace, repo, size)
        if python:
            theirs = measure_datatrove(python, workspace, repo, size.issues)
            print(f"  {theirs / ours:.1f} x Goldpan's {ours:.2f} s for the same, reading included")
        else:
            print("datatrove: not compared, as --datatrove-python names no Python that has it")
        if bundle.exists():
            measure_substance(base, repo, bundle)
        else:
            print("substance: not measured, as the real data is missing")


if __name__ == "__main__":
    main()
