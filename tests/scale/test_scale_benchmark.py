"""What the benchmark of 30 repositories measures on, and what it prints, in small."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.backup import Run
from benchmarks.faun_scale import Measured, show, show_sum, stages
from benchmarks.scale import mine_world
from benchmarks.scale_data import Source, repository, write_repositories
from benchmarks.scale_history import repeat_history
from goldpan.core.storage.archive import run_files
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import Reporter
from goldpan.miners.pairing import find_rules, pair
from goldpan.miners.tables.normalize import normalize
from tests.twin import workload_world
from tests.twin.history import git as run_git


def test_repositories_are_copies_under_new_numbers_in_other_words(tmp_path: Path) -> None:
    base, large = WorkspaceLayout(tmp_path / "base"), WorkspaceLayout(tmp_path / "large")
    source = Source.read(base, mine_world(workload_world(4, 4), base.root).repo)
    assert write_repositories(source, large, 20, repositories=2) == 24
    at_once = WorkspaceLayout(tmp_path / "at-once")
    write_repositories(source, at_once, 20, repositories=2, workers=2)
    titles: list[str] = []
    for index, copies in enumerate((2, 1)):
        rows = normalize(large, repository(index), Reporter(quiet=True), workers=1)
        assert rows["entries"] == 8 * copies
        (run,), (same,) = (
            run_files(workspace.raw(repository(index))) for workspace in (large, at_once)
        )
        assert run.read_bytes() == same.read_bytes()
        assert pair(large, repository(index), find_rules("default")).pairs == 4 * copies
        entries = pq.read_table(large.table(repository(index), "entries"))
        assert set(entries["repo"].to_pylist()) == {repository(index)}
        titles += [f"{row['title']} {row['body']}" for row in entries.to_pylist()]
    words = [re.sub(r"[^a-z ]", "", title) for title in titles]
    assert len(set(words)) > len(set(words[:8]))


def test_a_history_goes_on_from_repetition_to_repetition(tmp_path: Path) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    git = partial(run_git, "-C", tmp_path / "code", *author)
    (tmp_path / "code").mkdir()
    git("init", "--quiet", "--initial-branch=main")
    for step in range(3):
        (tmp_path / "code" / f"{step}.txt").write_text(f"commit refs/heads/{step}\n")
        git("add", ".")
        git("commit", "--quiet", "-m", f"Step {step}\n\nfrom :1")
    git("update-ref", "refs/pull/7/head", "HEAD~1")
    made = tmp_path / "history.git"
    renamed = repeat_history(tmp_path / "code" / ".git", made, 2, 100)
    assert [len(names) for names in renamed] == [3, 3]
    assert not set(renamed[0].values()) & set(renamed[1].values())
    lines = run_git("-C", made, "log", "--format=%H %T", "main").split()
    assert len(lines) == 12
    assert lines[1] == lines[7] == git("rev-parse", "HEAD^{tree}").strip()
    heads = run_git("-C", made, "for-each-ref", "--format=%(refname)", "refs/pull").split()
    assert heads == [b"refs/pull/107/head", b"refs/pull/7/head"]


def test_each_stage_is_told_beside_the_smallest_size(tmp_path: Path) -> None:
    names = [name for name, _ in stages(tmp_path, ["a/b"], 0)]
    assert names == ["normalize", "pair", "filter", "build qa", "report"]
    calls = dict(stages(tmp_path, ["a/b", "c/d"], 1))
    assert calls["clone"][-2:] == calls["build code-edit"][-2:] == ["--repo", "a/b"]
    assert calls["build qa"][-4:] == ["--repo", "a/b", "--repo", "c/d"]
    small = Measured("pair", 1_000, Run(1.0, 2.0, 30.0, 20.0))
    large = Measured("pair", 10_000, Run(10.0, 30.0, 30.0, 20.0))
    assert show(large, small).split()[-1] == "1.50"
    assert "30 s of processors, 10.0 x the 3.0 s" in show_sum([large], 3.0)
