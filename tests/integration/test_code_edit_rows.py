"""Goldpan applies what its own rows say: blocks and diff of each give the file after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldpan.code.edits.files import apply_patch_files
from goldpan.datasets.provenance import stored_rows
from tests.backups import issue, pull
from tests.git_repositories import Odd, Repository
from tests.invoking import invoke

_CODE = b"".join(b"def f%d(x):\n    return x + %d\n" % (at, at) for at in range(12))
_FIXED = _CODE.replace(b"x + 5", b"x + 50")
_WORD = "d\xe9j\xe0 vu\n"
_CHANGES: dict[str, tuple[dict[bytes, Any], dict[bytes, Any]]] = {
    "gone.py": ({b"gone.py": _CODE}, {}),
    "new.py": ({}, {b"new.py": _CODE}),
    "cr.py": ({b"cr.py": b"A = 'x\ry'\n" + _CODE}, {b"cr.py": b"A = 'x\ry'\n" + _FIXED}),
    "crlf.py": (
        {b"crlf.py": _CODE.replace(b"\n", b"\r\n")},
        {b"crlf.py": _FIXED.replace(b"\n", b"\r\n")},
    ),
    "end.py": ({b"end.py": _CODE}, {b"end.py": _CODE[:-1]}),
    "bom.py": ({b"bom.py": b"\xef\xbb\xbf" + _CODE}, {b"bom.py": b"\xef\xbb\xbf# x\n" + _CODE}),
    "latin.py": (
        {b"latin.py": (_WORD * 3).encode("latin-1") + _CODE},
        {b"latin.py": (_WORD * 2 + "\xe8\n").encode("latin-1") + _CODE},
    ),
    "wide.py": (
        {b"wide.py": ("\ufeff" + _WORD * 3).encode("utf-16-le")},
        {b"wide.py": ("\ufeff" + _WORD * 2 + "\xe8\n").encode("utf-16-le")},
    ),
    "moved to.py": ({b"moved.py": _CODE}, {b"moved to.py": _FIXED}),
    'od"d\té.py': ({'od"d\té.py'.encode(): _CODE}, {'od"d\té.py'.encode(): _FIXED}),
    "run.py": ({b"run.py": ("100755", _CODE)}, {b"run.py": ("100755", _FIXED)}),
    "under lines.py": (
        {b"under lines.py": _CODE},
        {b"under lines.py": b"\xe2\x80\xa8\x0c\n" + _CODE},
    ),
}
_NEVER = {"link.py": ({b"link.py": ("120000", b"a.py")}, {b"link.py": ("120000", b"b.py")})}


def commit(repository: Repository, files: dict[bytes, Any], *parents: str, ref: str) -> str:
    tree = {
        name: Odd(content[0], repository.object("blob", content[1]))
        if isinstance(content, tuple)
        else content
        for name, content in files.items()
    }
    return repository.commit({b"README.md": b"x\n", **tree}, *parents, ref=ref)


def entry(kind: str, number: int, *events: Any, **facts: Any) -> dict[str, Any]:
    made = issue() if kind == "issue" else pull()
    text = f"When I call the function {number} it gives a wrong number."
    about = {"number": number, "title": f"Wrong number {number}", "body": text, "comments": 0}
    return {"type": kind, kind: {**made[kind], **about, **facts}, "events": events, "comments": []}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("odd")
    repository = Repository.create(folder / "repo.git")
    about = {"full_name": "o/n", "default_branch": "main", "license": {"spdx_id": "MIT"}}
    entries = []
    for number, (before, after) in enumerate([*_CHANGES.values(), *_NEVER.values()], 1):
        bug, fix = 2 * number, 2 * number + 1
        base = commit(repository, before, ref=f"refs/heads/base{fix}")
        head = commit(repository, after, base, ref=f"refs/pull/{fix}/head")
        merge = commit(repository, after, base, head, ref="refs/heads/main")
        sides = {
            "base": {"ref": "main", "sha": base, "repo": about},
            "head": {"ref": f"pr{fix}", "sha": head, "repo": {"full_name": "o/n"}},
        }
        counts = {"changed_files": 1, "commits": 1, "review_comments": 0}
        source = {"number": fix, "repository": {"full_name": "o/n"}, "pull_request": {}}
        mention = {"event": "cross-referenced", "source": {"type": "issue", "issue": source}}
        entries.append(entry("issue", bug, {**mention, "created_at": "2024-03-02T10:00:00Z"}))
        facts = {"body": f"Fixes #{bug}", "merge_commit_sha": merge, "merged": True}
        entries.append(entry("pull", fix, **facts, **sides, **counts))
    (folder / "backup.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entries))
    (folder / "lenient.toml").write_text('decide = ["merged"]\n')
    profile = ("--profile", folder / "lenient.toml")
    for command in (
        ("mine", "--from-backup", folder / "backup.jsonl", "--repo", "o/n"),
        ("clone", "--repo", "o/n", "--source", repository.path),
        ("pair",),
        ("filter", *profile),
        ("build", "code-edit", *profile),
    ):
        done = invoke(*map(str, command), "--workspace", str(folder / "ws"))
        assert done.exit_code in (0, 3), done.output
    built = list(stored_rows(folder / "ws/datasets/code-edit"))
    assert {row["path"] for row in built} == _CHANGES.keys()
    return built


@pytest.mark.parametrize("column", ["patch", "diff"])
def test_each_row_gives_the_file_after(
    rows: list[dict[str, Any]], tmp_path: Path, column: str
) -> None:
    for at, row in enumerate(rows):
        root = tmp_path / f"{at}"
        root.mkdir()
        before, after = (
            {
                name.decode(): content[1] if isinstance(content, tuple) else content
                for name, content in state.items()
            }
            for state in _CHANGES[row["path"]]
        )
        for name, content in before.items():
            assert row["file_before"].encode(row["encoding"]) == content
            (root / name).write_bytes(content)
        applied = apply_patch_files(row[column], root, write=True)
        # Blocks name a file as it is before; they do not move it.
        names = list(before or after) if column == "patch" else list(after)
        expected = {names[0]: after[row["path"]]} if after else {}
        written = {path.name: path.read_bytes() for path in root.iterdir()}
        assert written == expected, row["path"]
        assert all(not file.forgiven for file in applied.files)


def test_a_row_of_a_file_that_goes_says_delete(rows: list[dict[str, Any]]) -> None:
    verbs = {row["path"]: row["patch"].rstrip().rpartition(" ")[2] for row in rows}
    assert [path for path, verb in verbs.items() if verb == "DELETE"] == ["gone.py"]
