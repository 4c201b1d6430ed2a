"""Every commit of a real history that changes a single file."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldpan.code.grammar import read
from goldpan.code.languages import language_of
from goldpan.code.lexer import squeeze
from goldpan.code.substance import FilePair, Substance, compare_all
from tests.places import DATA

BUNDLE = DATA / "github" / "bitcoin-core__secp256k1" / "repo.bundle"

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        not BUNDLE.exists(),
        reason=f"{BUNDLE} is missing; set GOLDPAN_REAL_DATA to the real data's folder",
    ),
]


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[FilePair]:
    """Return the changes of all commits, merges aside, that change one file."""
    folder = tmp_path_factory.mktemp("clone")
    git(folder, "clone", "--quiet", "--mirror", str(BUNDLE), ".")
    log = git(folder, "log", "--all", "--no-merges", "--raw", "--no-abbrev", "-M", "--format=%x2f")
    commits = log.decode().split("/\n")
    single = [commit.strip() for commit in commits if commit.strip().count("\n") == 0]
    changes = [line.split("\t") for line in single if line]
    ends = [fields[0].split()[2:4] for fields in changes]
    blobs = dict(_blobs(folder, sorted({sha for both in ends for sha in both})))
    return [
        FilePair(blobs.get(old), blobs.get(new), fields[-1], fields[1] if len(fields) > 2 else None)
        for (old, new), fields in zip(ends, changes, strict=True)
    ]


def _blobs(folder: Path, shas: list[str]) -> Iterator[tuple[str, bytes]]:
    out = git(folder, "cat-file", "--batch", stdin="\n".join(shas).encode() + b"\n")
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        sha, kind, *size = out[at:end].decode().split()
        at = end + 1
        if kind == "blob":
            yield sha, out[at : at + int(size[0])]
        if size:
            at += int(size[0]) + 1


@pytest.fixture(scope="module")
def verdicts(pairs: list[FilePair]) -> list[Substance]:
    return list(compare_all(pairs))


def test_counts(pairs: list[FilePair], verdicts: list[Substance]) -> None:
    assert len(pairs) == len(verdicts) == 1_558
    keeps = Counter(verdict.keep for verdict in verdicts)
    assert keeps == {True: 822, False: 126, None: 610}
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.keep is False)
    assert reasons == {
        "comments": 109,
        "strings": 8,
        "white-space": 4,
        "rename-only": 3,
        "mode-only": 2,
    }
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
        (
            "src/field_5x52_asm_impl.h",
            '468: "adcq %%rdx,%%r9\\n" => 468: "addq %%rdx,%%r9\\n"',
            True,
        ),
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
