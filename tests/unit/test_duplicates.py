from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import UsageError
from goldpan.core.parallel.engine import open_engine
from goldpan.core.schemas.stages import DUPLICATES
from goldpan.core.values import Execution
from goldpan.filters.clusters import Source, find_duplicates
from goldpan.filters.duplicates import settings as settings_module
from goldpan.filters.duplicates.near import Leak, find_leaks_of_batches
from goldpan.filters.duplicates.settings import DuplicateSettings, fold, signatures, words
from goldpan.filters.profile import change_settings, load_profile
from tests.drawing import examples

Row = tuple[str, int, str]

# With these no similar pair is missed: 0.3^60 is nothing.
SURE = DuplicateSettings(min_words=3, bands=60, rows=1, window=100)
CRASH = (
    "The server crashes when a client sends an empty header after the handshake has ended "
    "because the parser reads past the end of the buffer and nobody checks the length first"
)


def table(rows: Sequence[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    kinds = (pa.string(), pa.int64(), pa.string())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, ["repo", "number", "text"])


def judged(
    rows: Sequence[Row], settings: DuplicateSettings | None = None
) -> dict[tuple[str, int], dict[str, object]]:
    answer = find_duplicates([texts_of(table(rows))], settings or DuplicateSettings())
    return {(row["repo"], row["number"]): row for row in answer.to_pylist()}


def shingles(text: str, width: int = 3) -> set[tuple[str, ...]]:
    split = re.findall(r"\w+", text.lower())
    return {tuple(split[at : at + width]) for at in range(len(split) - width + 1)}


def jaccard(left: str, right: str) -> float:
    first, second = shingles(left), shingles(right)
    return len(first & second) / len(first | second)


def texts_of(*batches: pa.Table | pa.RecordBatch) -> Source:
    return partial(list, batches)


def prose(chance: random.Random, count: int) -> list[str]:
    return [f"word{chance.randrange(5_000)}" for _ in range(count)]


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Title\r\n\r\n  Body\t text ", "title body text"),
        ("ＦＵＬＬ width ① ﬁle", "full width 1 file"),
        ("Straße", "strasse"),
        ("e\u0301tat", "\u00e9tat"),
        ("a <!-- Please describe\nthe bug --> b<!---->c", "a b c"),
        ("a <!-- never closed", "a <!-- never closed"),
        ("a <!--> b --> c", "a c"),
        (" \n\u00a0\u3000", ""),
        ("<!-- template -->", ""),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("folded", "expected"),
    [
        ("foo->bar(x_1, 2.5); #12", ["foo", "bar", "x_1", "2", "5", "12"]),
        ("naïve “quotes” d’accord", ["naïve", "quotes", "d", "accord"]),
        ("修复 bug在windows上", ["修", "复", "bug", "在", "windows", "上"]),
        ("서버 오류", ["서버", "오류"]),
        ("\ud800 \0 x", ["x"]),
    ],
)
def test_words(folded: str, expected: list[str]) -> None:
    assert words(folded) == expected


@pytest.mark.parametrize("other", ["é", "修"])
@given(text=st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_are_those_of_the_general_rules(other: str, text: str) -> None:
    folded = fold(text)
    assert [*words(folded), other] == words(f"{folded} {other}")


def test_exact_duplicates_across_repositories() -> None:
    rows = judged(
        [
            ("b/b", 1, CRASH),
            ("a/a", 7, CRASH.upper().replace(" ", "\n")),
            ("a/a", 3, "Something else"),
            ("a/a", 9, f"{CRASH} <!-- hidden -->"),
        ]
    )
    assert sorted(rows) == [("a/a", 7), ("a/a", 9), ("b/b", 1)]
    assert {row["cluster"] for row in rows.values()} == {"a/a#7"}
    assert {key: row["relation"] for key, row in rows.items()} == {
        ("a/a", 7): "representative",
        ("a/a", 9): "exact",
        ("b/b", 1): "exact",
    }
    assert {row["size"] for row in rows.values()} == {3}
    assert {row["similarity"] for row in rows.values()} == {1.0}
    assert (rows["a/a", 7]["nearest_repo"], rows["a/a", 7]["nearest_number"]) == ("a/a", 9)
    assert (rows["b/b", 1]["nearest_repo"], rows["b/b", 1]["nearest_number"]) == ("a/a", 7)


def test_the_earliest_text_represents() -> None:
    columns = table([("a/a", 1, CRASH), ("b/b", 2, CRASH), ("c/c", 3, CRASH)])
    times = [None, datetime(2024, 5, 2, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)]
    dated = columns.append_column("created_at", pa.array(times, pa.timestamp("us", tz="UTC")))
    answer = find_duplicates([texts_of(dated)], DuplicateSettings())
    assert set(answer["cluster"].to_pylist()) == {"c/c#3"}
    assert set(answer["representative_number"].to_pylist()) == {3}


def test_short_texts_are_compared_for_equality_alone() -> None:
    short = "Bump the version after the release of 0.4.1"
    next_version = short.replace("0.4.1", "0.4.2")
    rows = judged([("a/a", 1, short), ("a/a", 2, next_version), ("a/a", 3, f"{short}  ")])
    assert sorted(rows) == [("a/a", 1), ("a/a", 3)]


def test_texts_that_say_nothing_are_no_duplicates() -> None:
    assert judged([("a/a", 1, ""), ("a/a", 2, " \n"), ("a/a", 3, "<!-- -->")]) == {}
    nothing = pa.table({"repo": ["a/a", "a/a"], "number": [1, 2], "text": [None, None]})
    nothing = nothing.set_column(2, "text", nothing["text"].cast(pa.string()))
    assert len(find_duplicates([texts_of(nothing)], DuplicateSettings())) == 0
    assert find_duplicates([], DuplicateSettings()).schema == DUPLICATES.schema


def test_equal_words_with_other_marks_are_near() -> None:
    rows = judged([("a/a", 1, CRASH), ("a/a", 2, CRASH.replace(" ", "_ ").replace("_", ", "))])
    assert (rows["a/a", 2]["relation"], rows["a/a", 2]["similarity"]) == ("near", 1.0)


TEXTS = st.lists(
    st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), min_size=1, max_size=14
)


@examples(40)
@given(TEXTS, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_batches_change_nothing(
    texts: list[str], chance: random.Random, size: int
) -> None:
    rows = [(f"o/{number % 3}", number, text) for number, text in enumerate(texts)]
    answer = find_duplicates([texts_of(table(rows))], SURE)
    chance.shuffle(rows)
    shuffled = find_duplicates(
        [texts_of(batch) for batch in table(rows).to_batches(max_chunksize=size)], SURE
    )
    assert written(shuffled) == written(answer)
    assert answer.schema == DUPLICATES.schema
    keys = list(zip(answer["repo"].to_pylist(), answer["number"].to_pylist(), strict=True))
    assert keys == sorted(keys)


def written(answer: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, answer.schema) as target:
        target.write_table(answer)
    return bytes(sink.getvalue())


@examples(60)
@given(TEXTS)
def test_clusters_are_the_chains_of_similar_texts(texts: list[str]) -> None:
    group = list(range(len(texts)))
    for right, text in enumerate(texts):
        for left in range(right):
            other = texts[left]
            long = min(len(text.split()), len(other.split())) >= SURE.min_words
            if text and (text == other or (long and jaccard(text, other) >= SURE.threshold)):
                old, new = group[right], group[left]
                group = [min(old, new) if item in (old, new) else item for item in group]
    rows = judged([("o/r", number, text) for number, text in enumerate(texts)], SURE)
    clusters = {number: row["representative_number"] for (_, number), row in rows.items()}
    assert clusters == {at: item for at, item in enumerate(group) if group.count(item) > 1}
    for (_, number), row in rows.items():
        text, nearest = texts[number], texts[int(str(row["nearest_number"]))]
        assert row["nearest_number"] != number
        if text != nearest:
            assert row["nearest_similarity"] == jaccard(text, nearest) >= SURE.threshold
        root = texts[int(str(row["representative_number"]))]
        assert row["similarity"] == (1.0 if text == root else jaccard(text, root))


def test_processes_change_nothing() -> None:
    chance = random.Random(2)
    texts = [" ".join(prose(chance, 900)) for _ in range(40)]
    texts += [text.replace("word1", "word2", 40) for text in texts]
    rows = table([("o/r", at, text) for at, text in enumerate(texts)])
    sources = [texts_of(batch) for batch in rows.to_batches(20)]
    with open_engine(Execution(workers=2)) as engine:
        answer = find_duplicates(sources, DuplicateSettings(), engine=engine)
    assert len(answer) == 80
    assert written(answer) == written(find_duplicates(sources, DuplicateSettings()))


def test_a_text_that_comes_twice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"o/r#4 comes twice"):
        judged([("o/r", 4, "one"), ("o/q", 4, "two"), ("o/r", 4, "three")])


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 1.1},
        {"threshold": float("nan")},
        {"min_words": 2},
        {"rows": 0},
        {"window": 0},
        {"seed": 2**64},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    changed = {f"near-duplicates.{name}": value for name, value in wrong.items()}
    with pytest.raises(UsageError, match=next(iter(wrong))):
        change_settings(load_profile("default"), changed)


def test_the_digest_names_settings_and_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = DuplicateSettings().digest()
    assert digest != DuplicateSettings(threshold=0.8).digest()
    assert judged([("a/a", 1, CRASH), ("a/a", 2, CRASH)])["a/a", 1]["settings"] == digest
    monkeypatch.setattr(settings_module, "ALGORITHM", "rensa RMinHash 3")
    assert digest != DuplicateSettings().digest()


def test_signatures_are_the_same_everywhere() -> None:
    """Should rensa's algorithm change, its version in `ALGORITHM` must have changed too."""
    hashes = np.arange(1, 1_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    values = signatures(hashes, np.array([3, 3, 1_000]), 5, seed=7)
    assert values.tolist() == [
        [1995499071, 141936780, 952027929, 2986038751, 132270007],
        [4294967295, 4294967295, 4294967295, 4294967295, 4294967295],
        [124988, 8425364, 1801611, 1338458, 4224477],
    ]


def test_leaks() -> None:
    edited = CRASH.replace("empty", "overlong")
    other = " ".join(prose(random.Random(3), 30))
    corpus = [["unrelated", edited, CRASH, ""], [CRASH.upper(), other]]
    another = other.replace("word", "other")
    queries = ["", CRASH, "new", another, f"{CRASH} today", "Unrelated", other]
    leaks = find_leaks_of_batches(corpus, [queries], DuplicateSettings())
    assert leaks == [
        Leak(1, 2, "exact", 1.0),
        Leak(4, 2, "near", jaccard(CRASH, f"{CRASH} today")),
        Leak(5, 0, "exact", 1.0),
        Leak(6, 5, "exact", 1.0),
    ]


def test_leaks_are_sought_in_the_corpus_alone() -> None:
    settings, edited = DuplicateSettings(), CRASH.replace("empty", "overlong")
    assert find_leaks_of_batches([["something else"]], [[CRASH, edited, CRASH]], settings) == []
    assert find_leaks_of_batches([], [[CRASH, edited]], settings) == []
    assert find_leaks_of_batches([[CRASH, edited]], [[]], settings) == []


@examples(40)
@given(TEXTS, TEXTS)
def test_leaks_name_the_most_similar_text(corpus: list[str], queries: list[str]) -> None:
    leaks = {leak.query: leak for leak in find_leaks_of_batches([corpus], [queries], SURE)}
    for at, text in enumerate(queries):
        likes = [
            (1.0 if text == other else jaccard(text, other), -index)
            for index, other in enumerate(corpus)
            if text and (text == other or min(len(text.split()), len(other.split())) >= 3)
        ]
        best = max((like for like in likes if like[0] >= SURE.threshold), default=None)
        if best is None:
            assert at not in leaks
        else:
            assert leaks[at].similarity == best[0]
            match = corpus[leaks[at].match]
            assert corpus.index(match) == leaks[at].match
            assert (match == text) == (leaks[at].relation == "exact")
