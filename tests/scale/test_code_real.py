"""Every change of a real history is judged: what has substance, and why the others have none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from goldpan.code.grammar import read
from goldpan.code.languages import language_of
from goldpan.code.lexer import squeeze
from goldpan.code.substance import FilePair, Substance, compare_all
from tests.git_repositories import read_blobs
from tests.places import SECP256K1, needs_data
from tests.twin.history import git

BUNDLE = SECP256K1 / "repo.bundle"

pytestmark = needs_data(BUNDLE)


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
