"""Every change of a text file in a real history: as edits, as text, and back, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from goldpan.code.edits.apply import Edit, FileEdits, apply_edits, split_lines
from goldpan.code.edits.find import find_edits
from goldpan.code.edits.parse import format_edits, parse_edits
from goldpan.git.objects import shared_encoding
from tests.git_repositories import read_blobs
from tests.places import SECP256K1, needs_data
from tests.twin.history import git

BUNDLE = SECP256K1 / "repo.bundle"
FILES = {b"100644", b"100755", b"000000"}

pytestmark = needs_data(BUNDLE)


@dataclass(frozen=True, slots=True)
class Change:
    """A file's versions, None where there is no file."""

    path: str
    before: str | None
    after: str | None


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> list[Change]:
    """Return each text file's change of each commit, merges against their first parent."""
    folder = tmp_path_factory.mktemp("clone")
    git("clone", "--quiet", "--mirror", BUNDLE, folder)
    log = git(
        *("-C", folder, "log", "--all", "--raw", "-z", "--no-abbrev", "--no-renames"),
        *("--diff-merges=first-parent", "--format="),
    )
    fields = log.lstrip(b"\0").split(b"\0")
    ends: dict[tuple[bytes, bytes], str] = {}
    for header, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, mode, old, new, _ = header.strip(b"\n:").split(b" ")
        if {old_mode, mode} <= FILES:
            ends.setdefault((old, new), name.decode())
    blobs = dict(read_blobs(folder, sorted({blob for pair in ends for blob in pair})))
    made = []
    for (old, new), path in ends.items():
        versions = blobs.get(old), blobs.get(new)
        encoding = shared_encoding(*(data for data in versions if data is not None))
        if encoding and versions[0] != versions[1]:
            texts = (None if data is None else data.decode(encoding) for data in versions)
            made.append(Change(path, *texts))
    return made


def test_every_change_goes_there_and_back(changes: list[Change]) -> None:
    assert len(changes) > 10_000
    blocks = searched = 0
    for change in changes:
        found = find_edits(change.before or "", change.after or "") or (Edit("", ""),)
        edits = FileEdits(change.path, found, removes=change.after is None)
        assert parse_edits(format_edits(edits.path, edits.edits, removes=edits.removes)) == (edits,)
        after = apply_edits(change.before or "", edits.edits)
        assert after == (change.after or "")
        assert one_by_one(change.before or "", edits.edits) == after
        if change.before and change.after:
            blocks += len(edits.edits)
            searched += sum(len(split_lines(edit.search)) for edit in edits.edits)
    assert blocks > 30_000
    assert searched / blocks < 12


def one_by_one(text: str, edits: tuple[Edit, ...]) -> str:
    """Apply edits as the simplest tool would, which finds each as plain text."""
    for edit in edits:
        assert not edit.search or text.count(edit.search) == 1
        text = text.replace(edit.search, edit.replace) if edit.search else edit.replace
    return text
