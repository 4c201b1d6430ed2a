"""Every change of a real history: what it is, as edits, as text, and back, byte for byte."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from goldpan.code.edits.apply import Edit, FileEdits, apply_edits, split_lines
from goldpan.code.edits.find import find_edits
from goldpan.code.edits.parse import format_edits, parse_edits
from goldpan.code.grammar import read
from goldpan.code.languages import language_of
from goldpan.code.lexer import squeeze
from goldpan.code.substance import FilePair, Substance, compare_all
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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone."""
    clone: Path = tmp_path_factory.mktemp("clone")
    git("clone", "--quiet", "--mirror", BUNDLE, clone)
    return clone


@pytest.fixture(scope="module")
def pairs(folder: Path) -> list[FilePair]:
    """Return the changes of all commits, merges aside, that change one file."""
    options = ("--all", "--no-merges", "--raw", "--no-abbrev", "-M", "--format=%x2f")
    commits = git("-C", folder, "log", *options).decode().split("/\n")
    single = [commit.strip() for commit in commits if commit.strip().count("\n") == 0]
    changes = [line.split("\t") for line in single if line]
    ends = [fields[0].encode().split()[2:4] for fields in changes]
    blobs = dict(read_blobs(folder, sorted({sha for both in ends for sha in both})))
    return [
        FilePair(blobs.get(old), blobs.get(new), fields[-1], fields[1] if len(fields) > 2 else None)
        for (old, new), fields in zip(ends, changes, strict=True)
    ]


@pytest.fixture(scope="module")
def verdicts(pairs: list[FilePair]) -> list[Substance]:
    return list(compare_all(pairs))


def test_counts(pairs: list[FilePair], verdicts: list[Substance]) -> None:
    assert len(pairs) == len(verdicts) == 1_558
    keeps = Counter(verdict.keep for verdict in verdicts)
    assert keeps == {True: 822, False: 126, None: 610}
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.keep is False)
    assert (reasons["comments"], reasons["strings"], reasons["white-space"]) == (109, 8, 4)
    assert (reasons["rename-only"], reasons["mode-only"], reasons.total()) == (3, 2, 126)
    undecided = Counter(verdict.reason for verdict in verdicts if verdict.keep is None)
    assert undecided == {"unknown-language": 591, "no-grammar": 19}
    parsed = Counter(verdict.parsed for verdict in verdicts)
    assert parsed["tokens"] == 777
    assert parsed["tree"] + parsed["failed"] == 166
    assert parsed["tree"] >= 70


def test_changes_kept_for_their_tokens_differ_in_their_trees_too(
    pairs: list[FilePair], verdicts: list[Substance]
) -> None:
    quick = [
        pair
        for pair, verdict in zip(pairs, verdicts, strict=True)
        if verdict.parsed == "tokens" and pair.before and pair.after
    ]
    assert len(quick) > 600
    for pair in quick[::10]:
        codes = []
        for text in (pair.before, pair.after):
            language = language_of(pair.path)
            assert language is not None
            assert language.grammar is not None
            assert text is not None
            codes.append(squeeze(read(text, language.grammar).stripped.code))
        assert codes[0] != codes[1]


@pytest.mark.parametrize(
    ("path", "line", "keep"),
    [
        ("src/field_5x52_asm_impl.h", '"adcq %%rdx,%%r9\\n" => 468: "addq %%rdx,%%r9\\n"', True),
        ("src/scratch_impl.h", "28: VERIFY_CHECK(scratch->alloc_size == 0);", True),
        ("src/tests.c", "51: } while(0);", True),
        ("include/secp256k1.h", "* In/Out: pubkey: pointer to a public key obkect.", False),
        ("src/bench.c", '208: fprintf(stderr, "Use ./configure --enable-module-ecdh', False),
        ("src/tests.c", "159: && a->illegal_callback.data == b->illegal_callback.", False),
    ],
)
def test_changes_that_were_looked_at(
    path: str, line: str, keep: bool, pairs: list[FilePair], verdicts: list[Substance]
) -> None:
    matching = [
        verdict
        for pair, verdict in zip(pairs, verdicts, strict=True)
        if pair.path == path and line in verdict.evidence
    ]
    assert matching
    assert {verdict.keep for verdict in matching} == {keep}


@pytest.fixture(scope="module")
def changes(folder: Path) -> list[Change]:
    """Return each text file's change of each commit, merges against their first parent."""
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
