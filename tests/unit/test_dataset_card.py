from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.sanitize import visible
from goldpan.datasets.card import escape, size_category
from goldpan.datasets.examples import FAMILIES, QA
from goldpan.datasets.licenses import hub_licenses, spdx
from goldpan.datasets.provenance import MinedSource, build_command
from goldpan.miners.journal_state import STATED
from tests.examples import CARD, PROVENANCE, example, examples, front_matter, write

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
HOSTILE = (
    'a|b <script>alert(1)</script> [x](http://evil) `$x$` **b** \x1b[31m @everyone "\n---\n# c'
)


def test_the_card_tells_people_what_they_need(tmp_path: Path) -> None:
    rows = [*examples(QA, 20), example(QA, 1, "p/q", license="Apache-2.0")]
    written = write(tmp_path, QA, rows, "time:2019-01-01,2020-01-11")
    card = (written.directory / "README.md").read_text()
    head = front_matter(written.directory)
    assert head["license"] == ["apache-2.0", "mit"]
    assert head["size_categories"] == ["n<1K"]
    assert head["configs"][0]["data_files"] == [
        {"split": "validation", "path": "data/validation-*.parquet"},
        {"split": "test", "path": "data/test-*.parquet"},
    ]
    info = head["dataset_info"]
    sizes = {split["name"]: split["num_examples"] for split in info["splits"]}
    assert sizes == {"validation": 10, "test": 11}
    assert info["download_size"] == sum(file.size for file in written.files)
    assert head["pretty_name"] == "Question answering from o/n and p/q"
    for line in (
        "Made for a test.",
        "mined until 2024-05-02",
        "| criterion | what it keeps | settings | drops by itself | cannot judge | left |",
        "| bots | Issues that a human wrote. |  | 9 | 1 | 490 |",
        "Of 500 issues, these criteria of the profile default decided",
        "| no-answer | 3 |",
        "| MIT | 1 | 20 |",
        "| p/q | Apache-2.0 | 1 |",
        "email (4)",
        "No example lies in train.",
        "- It is small.",
        "hu2024fauneval",
        *(f"| `{column.name}` |" for column in QA.columns),
    ):
        assert line in card
    assert not re.search(r"[^\n]\n## ", card)


def test_the_card_shows_an_example_and_how_to_cite_it(tmp_path: Path) -> None:
    long = "```\n" + 1_000 * "x"
    written = write(tmp_path, QA, [example(QA, 1, title=long)])
    card = (written.directory / "README.md").read_text()
    (shown,) = re.findall(r"^```json\n(.*?)\n```$", card, re.M | re.S)
    assert json.loads(shown)["title"] == long[:300] + "…"
    assert set(json.loads(shown)) == {"id", *QA.inputs, QA.target}
    (entry,) = re.findall(r"@misc\{dataset_([0-9a-f]{12}),", card)
    assert f"content {entry}" in card
    other = write(tmp_path / "other", QA, [example(QA, 2)])
    assert entry not in (other.directory / "README.md").read_text()


def test_hostile_names_cannot_write_the_card(tmp_path: Path) -> None:
    rows = [example(QA, 1, license=HOSTILE, repo="o/n")]
    written = write(
        tmp_path,
        QA,
        rows,
        card=replace(CARD, title=HOSTILE, summary=HOSTILE, limits=(HOSTILE,), tags=("a: b #c",)),
        provenance=replace(PROVENANCE, counts={HOSTILE: 1}, redactions={HOSTILE: 2}),
    )
    text = (written.directory / "README.md").read_text()
    assert front_matter(written.directory)["pretty_name"] == HOSTILE
    body = text.split("\n---\n", 1)[1]
    assert "<script" not in body
    assert "\x1b" not in text
    assert "http://" not in body
    assert not re.search(r"(?<!\\)\*\*b", body)
    assert body.count("\n# ") == 0
    assert len(re.findall(r"(?m)^\| .*a\\\|b.*(?<!\\)\|$", body)) == 3
    json.loads((written.directory / "croissant.json").read_text())


@given(st.text(st.characters(), max_size=60))
def test_escaped_text_is_one_line_without_markup(text: str) -> None:
    escaped = escape(text)
    escaped.encode()
    assert "\n" not in escaped
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]#|~$]", re.sub(r"&#\d+;", "", escaped))
    assert not re.search(r"[<>@]", escaped)
    assert visible(escaped) == escaped


def test_licenses_are_known_by_spdx_and_by_the_hub() -> None:
    known = [spdx(name) for name in ("mit", "GPL-3.0-or-later", "NOASSERTION", None)]
    assert known == ["MIT", "GPL-3.0", None, None]
    on_hub = hub_licenses(["MIT", "MIT", "0BSD", None, "GFDL-1.3"])
    assert on_hub == ["gfdl", "mit", "other", "unknown"]
    sizes = [size_category(rows) for rows in (999, 1_000, 99_999, 10**6)]
    assert sizes == ["n<1K", "1K<n<10K", "10K<n<100K", "1M<n<10M"]


def test_sources_without_times_give_no_dates(tmp_path: Path) -> None:
    written = write(
        tmp_path, QA, examples(QA, 1), provenance=replace(PROVENANCE, sources=(MinedSource("o/n"),))
    )
    assert "mined until" not in (written.directory / "README.md").read_text()
    assert "datePublished" not in (written.directory / "croissant.json").read_text()


def test_the_card_tells_whose_license_it_is_and_how_labels_were_made(tmp_path: Path) -> None:
    stated = MinedSource("o/n", license="MIT", license_source=STATED)
    card = replace(
        CARD, label_rule="the best reply", label_accuracy=lambda _: "71% were whole answers"
    )
    provenance = replace(PROVENANCE, sources=(stated,))
    written = write(tmp_path, QA, examples(QA, 1), provenance=provenance, card=card)
    text = (written.directory / "README.md").read_text()
    assert "| o/n | MIT, stated by the user | 1 |" in text
    first, _, _ = text.partition("## Use")
    assert "Labels: the best reply;" in first
    assert "without a review. 71% were whole answers." in first
    assert "issues. Stated by the user: the license MIT of o/n.\n" in first
    unknown = write(
        tmp_path / "x", QA, examples(QA, 1), card=replace(card, label_accuracy=lambda _: "")
    )
    text = (unknown.directory / "README.md").read_text()
    assert "Their accuracy was not measured." in text
    assert "stated by the user" not in text


def test_the_card_tells_how_many_rows_tests_prove(tmp_path: Path) -> None:
    fixes = FAMILIES["issue-resolution"]
    proved = examples(fixes, 2, verification="verified")
    card = replace(CARD, label_rule="the merged change", label_accuracy=lambda _: "99% were fixes")
    for rest, numbers in ((None, "3 rows, 2"), ("flaky", "3 rows, 2"), ("verified", "3 rows, 3")):
        rows = [*proved, example(fixes, 9, verification=rest)]
        written = write(tmp_path / str(rest), fixes, rows, card=card)
        text = (written.directory / "README.md").read_text()
        proof = f"Of {numbers} are proved by tests that fail before the fix and pass after it."
        assert proof in text
        about = orjson.loads((written.directory / "provenance.json").read_bytes())
        assert about["labels"]["measured_on"] == "tests"
    unproved = write(tmp_path, fixes, [example(fixes, 1, verification=None)], card=card)
    assert "99% were fixes." in (unproved.directory / "README.md").read_text()


def test_the_card_tells_who_reviewed(tmp_path: Path) -> None:
    judged = {"annotators": 3, "subjects": 9, "adjudicated": 1}
    reviews = {"question-answer": {"people": {"round1": judged}}, "other": {}}
    written = write(tmp_path, QA, examples(QA, 1), provenance=replace(PROVENANCE, reviews=reviews))
    card = (written.directory / "README.md").read_text()
    assert "In round1, 3 people judged 9: 0 agreed, 1 adjudicated, 0 open." in card
    assert "kept by the review other." in card


@pytest.mark.parametrize(("texts", "said"), [("before-fix", True), ("as-mined", False)])
def test_it_names_the_workspace_and_the_texts(tmp_path: Path, texts: str, said: bool) -> None:
    content = {
        "goldpan": {"format": 1},
        "files": {},
        "family": "code-edit",
        "profile": {"name": "default"},
        "sources": [{"repo": "prospector/sluice", "rules": "default"}],
        "settings": {"family": "code-edit", "seed": 0, "split": "none", "texts": texts},
    }
    (tmp_path / "provenance.json").write_bytes(orjson.dumps(content))
    command = build_command(tmp_path, Path("the lab"), Path("gold.csv"))
    assert command.endswith("--gold gold.csv --workspace 'the lab'")
    assert ("--texts before-fix" in command) == said
