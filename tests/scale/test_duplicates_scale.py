"""Near duplicates in numbers: recall, hubs, templates and hostile texts."""

from __future__ import annotations

import json
import lzma
import random
import re
import time
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest

from goldpan.filters.clusters import find_duplicates
from goldpan.filters.duplicates.settings import DuplicateSettings
from tests.places import SECP256K1

SOURCE = SECP256K1 / "entries.jsonl.xz"

Words = list[str]


def batches(texts: list[str]) -> Iterator[pa.Table]:
    for start in range(0, len(texts), 2_000):
        part = texts[start : start + 2_000]
        numbers = list(range(start, start + len(part)))
        yield pa.table({"repo": ["o/r"] * len(part), "number": numbers, "text": part})


def clusters(texts: list[str]) -> tuple[dict[int, str], pa.Table]:
    answer = find_duplicates([partial(batches, texts)], DuplicateSettings())
    columns = (answer[name].to_pylist() for name in ("number", "cluster"))
    return dict(zip(*columns, strict=True)), answer


def prose(chance: random.Random, count: int) -> Words:
    return [f"w{chance.randrange(20_000)}" for _ in range(count)]


def edited(words: Words, chance: random.Random, count: int) -> Words:
    words = list(words)
    for at in chance.sample(range(len(words)), count):
        words[at] = f"new{chance.randrange(10**9)}"
    return words


def jaccard(left: Words, right: Words) -> float:
    first, second = (
        {tuple(words[at : at + 3]) for at in range(len(words) - 2)} for words in (left, right)
    )
    return len(first & second) / len(first | second)


@pytest.mark.parametrize("length", [20, 40, 150])
def test_recall_and_precision_of_planted_edits(length: int) -> None:
    chance = random.Random(length)
    sources = [prose(chance, length) for _ in range(1_500)]
    copies = [edited(words, chance, chance.randint(1, max(1, length // 15))) for words in sources]
    similar = [jaccard(*pair) for pair in zip(sources, copies, strict=True)]
    texts = sources + copies
    cluster, answer = clusters([" ".join(words) for words in texts])

    def recall(low: float) -> float:
        planted = [at for at, value in enumerate(similar) if value >= low]
        assert len(planted) >= 100
        together = [cluster.get(at, "none") == cluster.get(at + 1_500) for at in planted]
        return sum(together) / len(planted)

    assert recall(0.7) >= 0.99
    assert recall(0.75) >= 0.999
    for row in answer.to_pylist():
        truth = jaccard(texts[row["number"]], texts[row["nearest_number"]])
        assert row["nearest_similarity"] == truth >= 0.7


def test_a_hub_of_equal_texts() -> None:
    start = time.process_time()
    cluster, answer = clusters(["This issue was opened by a robot. " * 20] * 50_000)
    assert time.process_time() - start < 10
    assert set(cluster.values()) == {"o/r#0"}
    assert set(answer["size"].to_pylist()) == {50_000}


def test_a_hub_of_nearly_equal_texts() -> None:
    body = prose(random.Random(1), 80)
    start = time.process_time()
    cluster, _ = clusters([" ".join([*body[:40], f"#{n}", *body[40:]]) for n in range(10_000)])
    assert time.process_time() - start < 10
    assert len(cluster) == 10_000
    assert set(cluster.values()) == {"o/r#0"}


def test_a_template_filled_in_thousands_of_times_hides_no_copy() -> None:
    """All texts meet in many buckets, and none but the copies is similar enough."""
    chance = random.Random(1)
    template = prose(chance, 100)
    filled = [template + prose(chance, 30) for _ in range(3_000)]
    assert 0.55 < jaccard(filled[0], filled[1]) < 0.65
    copies = [edited(words, chance, 2) for words in filled[:500]]
    start = time.process_time()
    cluster, _ = clusters([" ".join(words) for words in filled + copies])
    assert time.process_time() - start < 20
    assert (
        sum(cluster.get(at) == f"o/r#{at}" == cluster.get(3_000 + at) for at in range(500)) >= 499
    )
    assert len(cluster) <= 1_000


@pytest.mark.parametrize(
    "text",
    [
        "a" * 65_536,
        "a " * 32_768,
        "a\n" * 32_768,
        "<!--" * 16_384,
        "x" + "<!---->" * 9_362,
        "\u0301\u0323" * 32_768,
        "\u0344\u0323" * 32_768,
        "\ufdfa" * 65_536,
        "修" * 65_536,
        "\U0001f4a9" * 65_536,
        "aé" * 32_768,
        " ".join(f"{n:x}" for n in range(16_000)),
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_hostile_texts_take_bounded_time(text: str) -> None:
    start = time.process_time()
    cluster, _ = clusters([text, f"{text} ", f"{text}b"])
    assert time.process_time() - start < 5
    assert cluster[0] == cluster[1] == "o/r#0"


@pytest.mark.real_data
@pytest.mark.skipif(not SOURCE.exists(), reason=f"{SOURCE} is missing; set GOLDPAN_REAL_DATA")
def test_real_duplicates() -> None:
    """Pairs that a person found by reading, and no pair that plain counting does not confirm."""
    texts: dict[int, str] = {}
    with lzma.open(SOURCE) as lines:
        for line in lines:
            entry = json.loads(line)
            entry = entry.get("issue") or entry["pull"]
            texts[entry["number"]] = f"{entry['title']}\n{entry.get('body') or ''}"
    rows = {"repo": ["o/r"] * len(texts), "number": list(texts), "text": list(texts.values())}
    answer = find_duplicates([partial(list, [pa.table(rows)])], DuplicateSettings())
    columns = (answer[name].to_pylist() for name in ("number", "cluster"))
    cluster = dict(zip(*columns, strict=True))
    for left, right in ((15, 19), (791, 1299), (1057, 1058), (1259, 1469), (1598, 1599)):
        assert cluster[right] == cluster[left] == f"o/r#{left}"
    split = {number: re.findall(r"\w+", text.lower()) for number, text in texts.items()}
    for row in answer.to_pylist():
        if row["nearest_similarity"] < 1:
            truth = jaccard(split[row["number"]], split[row["nearest_number"]])
            assert row["nearest_similarity"] == truth >= 0.7
