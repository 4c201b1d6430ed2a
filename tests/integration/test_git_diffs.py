"""Where git cannot tell what a pull request changed: GitHub's diff, asked for once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import goldpan
from goldpan.core.result import blocks_of
from goldpan.core.storage.archive import Archive, Record
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.core.terminal import show
from goldpan.git.clone import clone
from goldpan.git.objects import Objects
from goldpan.git.trees import CommitPair, Depth, Touched, compare
from goldpan.miners.coverage import measure_coverage
from goldpan.miners.github.client import GitHub
from goldpan.miners.github.limits import TokenPool
from goldpan.miners.history.base_resolution import UnfitError, rebuild
from goldpan.miners.history.changes import PART, describe
from goldpan.miners.history.commit_pairs import NOWHERE
from goldpan.miners.history.revisions import History, read_history
from goldpan.miners.journal import Journal
from tests.git_repositories import LOST, Odd, Repository
from tests.mining import (
    PACE,
    SLUICE,
    TOKEN,
    Notes,
    archive,
    coverage_of,
    mine_twin,
    rows,
    table_bytes,
)
from tests.twin import Editor, Twin, World
from tests.twin.asking import titled
from tests.twin.history import git, history_world

TITLE = "Read from HTTP"


class Sluice:
    """The made-up repository, mined and cloned; of one pull all commits but the base are lost."""

    def __init__(self, root: Path) -> None:
        self.source = root / "sluice.git"
        self.world: World = history_world(self.source)
        self.number = titled(self.world, TITLE)
        self.workspace = WorkspaceLayout(root / "workspace")
        with Twin(self.world) as twin:
            mine_twin(twin, self.workspace.root)
        clone(self.workspace, SLUICE, Notes(), source=self.source)
        self.squash = self.row("entries")["merge_sha"]
        path = self.workspace.table(SLUICE, "entries")
        table = pq.read_table(path)
        chosen = pc.equal(table["number"], self.number)
        lost = pc.if_else(chosen, pa.scalar(LOST), table["merge_sha"])
        index = table.column_names.index("merge_sha")
        pq.write_table(table.set_column(index, "merge_sha", lost), path)
        (self.workspace.tables(SLUICE) / "normalize.json").unlink()  # the table is another now

    def row(self, table: str) -> dict[str, object]:
        """Return the row of the lost pull in a table."""
        return next(
            row for row in rows(self.workspace.root, table, SLUICE) if row["number"] == self.number
        )

    def read(self, twin: Twin | None = None, notes: Notes | None = None) -> History:
        """Read the history, asking a twin where one is given."""

        def connect() -> GitHub:
            assert twin is not None
            pool = TokenPool((TOKEN,), PACE)
            return GitHub(twin.url, f"{twin.url}/graphql", pool, retries=2, pace=PACE)

        with self.workspace.lock(SLUICE):
            return read_history(
                self.workspace, SLUICE, notes or Notes(), client=connect if twin else None
            )

    def written(self) -> list[bytes]:
        """Return both tables as they lie on disk."""
        return [
            self.workspace.table(SLUICE, name).read_bytes() for name in ("revisions", "changes")
        ]


@pytest.fixture
def sluice(tmp_path: Path) -> Sluice:
    return Sluice(tmp_path)


def test_the_diff_is_asked_for_once_and_gives_the_files(sluice: Sluice) -> None:
    assert sluice.read().states["none"] == 1
    assert sluice.row("revisions")["problem"] == NOWHERE
    before = table_bytes(sluice.workspace.root, SLUICE)
    with Twin(sluice.world) as twin:
        history = sluice.read(twin)
        paths = [request.path for request in twin.requests]
        assert paths == [f"/repos/{SLUICE}/pulls/{sluice.number}"]
        written = sluice.written()
        sluice.read(twin)
        assert twin.count == 1
    assert "none" not in history.states
    row = sluice.row("revisions")
    assert (row["state"], row["agrees"], row["after_sha"]) == ("diff", True, None)
    assert row["before_sha"] == sluice.row("entries")["base_sha"]
    assert row["notes"] == ["head_missing"]
    change = sluice.row("changes")
    inside = f"--git-dir={sluice.source}"
    blob = git(inside, "rev-parse", f"{sluice.squash}:{change['path']}").decode().strip()
    assert (change["blob_after"], change["status"]) == (blob, "added")
    assert sluice.written() == written
    assert table_bytes(sluice.workspace.root, SLUICE) == before
    clone(WorkspaceLayout(sluice.workspace.root / "x"), SLUICE, Notes(), source=sluice.source)
    sluice.workspace.clone(SLUICE).rename(sluice.workspace.root / "old.git")
    (sluice.workspace.root / "x/git" / f"{SLUICE}.git").rename(sluice.workspace.clone(SLUICE))
    sluice.read()  # a function of what is on disk, also where the clone is new
    assert sluice.written() == written


def test_a_local_source_asks_nothing_of_the_network_unless_told(
    sluice: Sluice, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    bundle = sluice.workspace.root / "sluice.bundle"
    git(f"--git-dir={sluice.source}", "bundle", "create", "--quiet", str(bundle), "--all")
    with Twin(sluice.world) as twin:
        lab = goldpan.Workspace(sluice.workspace.root, api_url=twin.url)
        for source in (sluice.source, bundle, f"file://{sluice.source}"):
            (fetched,) = lab.clone(SLUICE, source=str(source))
            assert (twin.count, fetched.history.unasked, fetched.history.states["none"]) == (
                0,
                1,
                1,
            )
        show(blocks_of(lab.clone(SLUICE, source=str(bundle))))
        assert "goldpan clone --network asks GitHub" in " ".join(capsys.readouterr().out.split())
        (fetched,) = lab.clone(SLUICE, source=str(bundle), network=True)
        assert (twin.count, fetched.history.unasked, fetched.history.states["diff"]) == (1, 0, 1)
        (fetched,) = lab.clone(SLUICE, source=str(bundle))  # what came before still counts
        assert (twin.count, fetched.history.unasked, fetched.history.states["diff"]) == (1, 0, 1)


def test_archived_diffs_disturb_neither_status_nor_mining(sluice: Sluice) -> None:
    before = measure_coverage(sluice.workspace, SLUICE)
    with Twin(sluice.world) as twin:
        sluice.read(twin)
        assert replace(measure_coverage(sluice.workspace, SLUICE), mined_at="") == replace(
            before, mined_at=""
        )
        records = archive(sluice.workspace.root).records
        assert [record.meta["part"] for record in records[-2:]] == ["end", PART]
        assert records[-1].run == records[-2].run
        again = mine_twin(twin, sluice.workspace.root)
    assert again.failure is None
    assert coverage_of(again).complete


def test_a_run_that_was_cut_off_is_still_resumed(tmp_path: Path) -> None:
    plan = {"via": "rest", "repo": "o/n", "since": None}
    with Archive(tmp_path) as first:
        Journal(first).begin(plan)
    with Archive(tmp_path) as second:
        second.begin(resume=True)
        second.append({"part": PART, "run": 1, "keys": ["diff|1|x"], "status": 200}, b"")
    with Archive(tmp_path) as third:
        journal = Journal(third)
        journal.begin(plan)
        assert (journal.resumed, journal.run) == (True, 1)


def test_a_refusal_is_kept_and_told(sluice: Sluice) -> None:
    Editor(sluice.world).unlist_files(sluice.number)
    with Twin(sluice.world) as twin:
        sluice.read(twin)
        sluice.read(twin)
        assert twin.count == 1
    row = sluice.row("revisions")
    assert (row["state"], row["problem"]) == ("none", "GitHub gives no diff (HTTP 406)")


def test_a_server_that_is_away_is_asked_again_later(sluice: Sluice) -> None:
    with Twin(sluice.world) as twin:
        pass
    notes = Notes()
    assert sluice.read(twin, notes).states["none"] == 1
    assert "could not be fetched" in notes
    with Twin(sluice.world) as twin:
        assert "none" not in sluice.read(twin).states


_LONG = b"".join(b"line %d of a file\n" % index for index in range(30))
BEFORE: dict[bytes, bytes | Odd] = {
    b"a.py": b"a = 1\nb = 2\n",
    b"old name.py": _LONG,
    b"gone": b"gone\n",
    b"mode": b"x\n",
    b"crlf": b"a\r\nb\r\n",
    b"caf\xe9": b"1\n",
    b"vendor": Odd("160000", "1" * 40),
}
AFTER: dict[bytes, bytes | Odd] = {
    b"a.py": b"a = 1\nb = 3",
    b"new name.py": _LONG + b"more\n",
    b"mode": b"x\n",
    b"crlf": b"a\r\nc\r\n",
    b"caf\xe9": b"2\n",
    b"vendor": Odd("160000", "2" * 40),
    b"new": b"new\n",
    b"empty": b"",
}


def record_of(directory: Path, body: bytes, status: int = 200) -> Record:
    with Archive(directory) as writer:
        writer.begin(resume=False)
        return writer.append({"part": PART, "keys": [], "status": status}, body)


def build(tmp_path: Path, after: dict[bytes, bytes | Odd]) -> tuple[Repository, Path, str, str]:
    """Return a repository, its clone that has only the state before, and both commits."""
    source = Repository.create(tmp_path / "source.git")
    before = source.commit(BEFORE, ref="refs/heads/main")
    made = clone(WorkspaceLayout(tmp_path / "w"), "o/n", Notes(), source=source.path)
    script = source.object("blob", b"x\n")
    return (
        source,
        made.path,
        before,
        source.commit({**after, b"mode": Odd("100755", script)}, before),
    )


@pytest.mark.parametrize("options", [("--full-index",), ()])
def test_a_diff_gives_what_git_would_have_told(tmp_path: Path, options: tuple[str, ...]) -> None:
    source, path, before, after = build(tmp_path, AFTER)
    diff = git(f"--git-dir={source.path}", "diff", "-M", *options, before, after)
    ((*expected,),) = (
        group or () for group in compare(source.path, [CommitPair(before, after)], Depth.FILES)
    )
    with Objects(path) as objects:
        base, rebuilt = rebuild(path, record_of(tmp_path / "raw", diff), [LOST, before], objects)
        assert base == before

        def order(file: Touched) -> bytes:
            return file.path

        assert sorted(rebuilt, key=order) == sorted(expected, key=order)
        kinds = {
            row["path"]: row["kind"] for row in describe([(1, file) for file in rebuilt], objects)
        }
    assert kinds.pop("vendor") == "submodule"
    assert set(kinds.values()) == {"text"}


def test_a_binary_file_in_a_diff_is_missing_after_it(tmp_path: Path) -> None:
    source, path, before, after = build(tmp_path, {**BEFORE, b"gone": b"\0"})
    diff = git(f"--git-dir={source.path}", "diff", before, after)
    with Objects(path) as objects:
        _, rebuilt = rebuild(path, record_of(tmp_path / "raw", diff), [before], objects)
        (row,) = (
            row
            for row in describe([(1, file) for file in rebuilt], objects)
            if row["path"] == "gone"
        )
    assert (row["kind"], row["blob_after"], row["additions"]) == ("missing", None, None)


def test_a_diff_that_does_not_belong_is_refused(tmp_path: Path) -> None:
    source, path, before, after = build(tmp_path, AFTER)
    other = source.commit({**BEFORE, b"crlf": b"a\r\nb\n"}, ref="refs/heads/main")
    clone(WorkspaceLayout(tmp_path / "w"), "o/n", Notes(), source=source.path)
    whole = git(f"--git-dir={source.path}", "diff", before, after)
    lie = whole.replace(b"+b = 3", b"+b = 4")
    cases = [
        (whole, [], "could belong to is in the clone"),
        (whole, [other], "patch failed: crlf:1; crlf: patch does not apply"),
        (whole.replace(b"index 223ca50", b"index 223ca51"), [before], "another version of a file"),
        (lie, [before], "another file than it says"),
        (whole[:-20], [before], "corrupt patch at line"),
        (b"<html>", [before], "cannot be read"),
        (whole.replace(b"a/gone", b"a/none"), [before], "none: does not exist in index"),
    ]
    with Objects(path) as objects:
        for body, bases, problem in cases:
            with pytest.raises(UnfitError, match=problem):
                rebuild(path, record_of(tmp_path / "raw", body), bases, objects)
        with pytest.raises(UnfitError, match="HTTP 404"):
            rebuild(path, record_of(tmp_path / "raw", b"{}", 404), [before], objects)
        assert rebuild(path, record_of(tmp_path / "raw", b""), [before], objects)[1] == ()
