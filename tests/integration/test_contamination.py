"""Finding rows of a dataset in other data."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from goldpan.core.errors import DatasetError, UsageError
from goldpan.datasets.compare.contamination import ContaminationResult, find_contamination
from goldpan.datasets.examples import CODE_EDIT, QA
from goldpan.datasets.table_files import write_rows
from tests.examples import example, write
from tests.program import goldpan

CHANCE = random.Random(7)
WORDS = [f"word{number}" for number in range(20_000)]


def prose(words: int) -> str:
    return " ".join(CHANCE.choice(WORDS) for _ in range(words))


def instance(number: int, **changes: Any) -> dict[str, Any]:
    """Return a row as SWE-bench has them."""
    return {
        "instance_id": f"o__n-{number}",
        "repo": "o/n",
        "base_commit": f"{number:040x}",
        "problem_statement": f"Crash {number}\n{prose(60)}",
        "patch": f"--- a/x.py\n+++ b/x.py\n{prose(40)}",
        **changes,
    }


BENCH = [instance(number) for number in range(1, 8)]
STATEMENT = BENCH[0]["problem_statement"]


def lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def kinds(result: ContaminationResult) -> dict[str, list[tuple[str, str]]]:
    by_row: dict[str, list[tuple[str, str]]] = {}
    for hit in result.evidence:
        by_row.setdefault(hit.id.rpartition(":")[2], []).append((hit.kind, hit.item))
    return by_row


def row(number: int, **changes: Any) -> dict[str, Any]:
    fields = {"title": f"Leak {number}", "body": prose(60), "answer": prose(20), **changes}
    return example(QA, number, "p/q", **fields)


def test_planted_rows_are_found_by_the_evidence_that_they_have(tmp_path: Path) -> None:
    quoted = " ".join(STATEMENT.split()[10:24])
    near = STATEMENT.split()
    near[30] = "otherwise"
    rows = [
        row(1, title="crash  1", body=STATEMENT.partition("\n")[2].upper()),
        row(2, title="", body=" ".join(near)),
        row(3, answer=f"{prose(30)} {quoted} {prose(30)}"),
        row(4),
        row(5, answer=" ".join(STATEMENT.split()[10:22])),  # twelve words
    ]
    made = write(tmp_path, QA, rows).directory
    result = find_contamination(made, [lines(tmp_path / "bench.jsonl", BENCH)])
    item = "o__n-1"
    assert kinds(result) == {
        "p/q#1": [("exact", item), ("ngram", item)],
        "p/q#2": [("near", item), ("ngram", item)],
        "p/q#3": [("ngram", item)],
    }
    assert (result.contaminated, result.rows, result.share) == (3, 5, 0.6)
    (bench,) = result.against
    assert (bench.items, bench.rows) == (7, 3)
    assert bench.kinds == {"exact": 1, "near": 1, "ngram": 3}
    assert result.columns == ("title+body", "answer")
    assert bench.columns == ("problem_statement", "patch")
    shared = {hit.id: hit.shared for hit in result.evidence if hit.kind == "ngram"}
    assert shared == {"qa:p/q#1": 50, "qa:p/q#2": 37, "qa:p/q#3": 2}
    assert bench.same_repository == 0


def test_identity_counts_pulls_issues_and_commits_but_no_repositories_or_bases(
    tmp_path: Path,
) -> None:
    """Many fixes start from one base commit."""
    rows = [
        example(CODE_EDIT, 1, pull=3, base_sha="f" * 40),
        example(CODE_EDIT, 2, base_sha=f"{4:040x}", head_sha="a" * 40),
        example(CODE_EDIT, 5, base_sha="e" * 40),
        example(CODE_EDIT, 6, "p/q", pull=3, base_sha="d" * 40),
    ]
    made = write(tmp_path, CODE_EDIT, rows).directory
    item = {"instance_id": "x", "repo": "O/N", "issue_numbers": "[5, 70]", "text": "short"}
    change = {"id": "y", "repo": "O/N", "commit": "a" * 40, "text": "short"}
    others = [
        lines(tmp_path / "bench.jsonl", BENCH),
        lines(tmp_path / "other.jsonl", [item, change]),
    ]
    result = find_contamination(made, others)
    assert [(hit.id, hit.kind, hit.item) for hit in result.evidence] == [
        ("code-edit:o/n#1+10001", "pull", "o__n-3"),
        ("code-edit:o/n#2+10002", "commit", "y"),
        ("code-edit:o/n#5+10005", "issue", "x"),
    ]
    assert [benchmark.same_repository for benchmark in result.against] == [3, 3]
    assert [benchmark.rows for benchmark in result.against] == [1, 2]


def test_what_many_rows_or_items_share_says_nothing(tmp_path: Path) -> None:
    template = prose(20)
    rows = [row(number, body=f"{prose(40)} {template}") for number in range(1, 13)]
    made = write(tmp_path, QA, rows).directory
    bench = lines(tmp_path / "bench.jsonl", [instance(1, problem_statement=template)])
    result = find_contamination(made, [bench])
    assert (result.contaminated, result.against[0].common) == (0, 8)
    assert find_contamination(made, [bench], common=12).contaminated == 12
    items = [instance(number, patch=f"{prose(40)} {template}") for number in range(12)]
    few = write(tmp_path / "few", QA, rows[:2]).directory
    assert not find_contamination(few, [lines(tmp_path / "many.jsonl", items)]).contaminated


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "dataset"])
def test_every_form_of_input_says_the_same(tmp_path: Path, form: str) -> None:
    bench = [row(1), row(2)]
    made = write(tmp_path / "made", QA, [bench[0], row(3)]).directory
    plain = [
        {name: item[name] for name in ("id", "repo", "issue", "title", "body")} for item in bench
    ]
    path = tmp_path / f"bench.{form}"
    if form == "dataset":
        path = write(tmp_path / "bench", QA, bench).directory
    else:
        write_rows(pa.Table.from_pylist(plain).to_reader(), path)
    result = find_contamination(made, [path])
    named = [hit for hit in result.evidence if hit.kind in ("issue", "exact")]
    assert [(hit.id, hit.kind, hit.item) for hit in named] == [
        ("qa:p/q#1", "issue", "qa:p/q#1"),
        ("qa:p/q#1", "exact", "qa:p/q#1"),
    ]


def test_numbers_of_pandas_are_whole(tmp_path: Path) -> None:
    rows = [example(QA, number, "o/n") for number in (1, 5, 10)]
    made = write(tmp_path, QA, rows).directory
    others = tmp_path / "others.csv"
    names = f"o__n-{'9' * 5_000}"
    others.write_text(f"instance_id,repo,issue,text\n{names},o/n,5.0,short\n,o/n,2010.0,short\n")
    result = find_contamination(made, [others])
    assert [(hit.id, hit.kind) for hit in result.evidence] == [("qa:o/n#5", "issue")]
    others.write_text("repo,issue,text\no/n,2.0,short\no/n,,short\n")
    assert find_contamination(others, [others]).contaminated == 1


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    made = write(tmp_path, QA, [row(1)]).directory
    bench = lines(tmp_path / "bench.jsonl", BENCH)
    with pytest.raises(UsageError, match="no column 'words'"):
        find_contamination(made, [bench], columns=["words"])
    with pytest.raises(UsageError, match="holds no dataset"):
        find_contamination(made, [tmp_path])
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": 1}\n[2]\n')
    with pytest.raises(DatasetError, match="not an object"):
        find_contamination(made, [broken])


def test_the_command_lists_rows_and_exits_with_0(tmp_path: Path) -> None:
    made = write(tmp_path, QA, [row(1, body=STATEMENT), row(2)]).directory
    bench, rows = lines(tmp_path / "bench.jsonl", BENCH), tmp_path / "rows.csv"
    done = goldpan("contamination", made, "--against", bench, "--output", rows)
    assert done.code == 0, done.err
    assert "1 of 2 rows (50.0%)" in done.out
    assert "Paraphrases, short texts and renamed repositories are not detected." in done.out
    with rows.open(newline="") as file:
        assert [(record["id"], record["kind"]) for record in csv.DictReader(file)] == [
            ("qa:p/q#1", "near"),
            ("qa:p/q#1", "ngram"),
        ]
    output = json.loads(goldpan("contamination", made, "--against", bench, "--json").out)
    assert (output["contaminated"], output["share"]) == (1, 0.5)
    clean = goldpan("contamination", made, "--against", bench, "--column", "answer")
    assert clean.code == 0
    assert "0 of 2 rows" in clean.out
