"""Tags are learned from words and what stands beside them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import EvaluationError, UsageError
from goldpan.datasets.tasks.data import TaskData
from goldpan.evaluation.model import find_model
from goldpan.evaluation.models.tokens import features_of, shape, with_beginnings
from tests.evaluating import ran, requirements, rows_of

pytest.importorskip("sklearn")
TAGS = st.lists(st.sampled_from(["O", "B-Class", "I-Class", "B-Library", "I-Library"]))


def _posts(count: int = 90) -> TaskData:
    """Names of classes are written as such; libraries stand after the word import."""
    draw = random.Random(0)
    posts: list[tuple[list[str], list[str]]] = []
    for _ in range(count):
        words, tags = [], []
        for _ in range(6):
            kind = draw.randrange(3)
            if kind == 0:
                words += [f"{draw.choice('PQRS')}an{draw.choice('PQRS')}ieve"]
                tags += ["B-Class"]
            elif kind == 1:
                words += ["import", draw.choice(["creek", "gravel", "the"]), "tools"]
                tags += ["O", "B-Library", "I-Library"]
            else:
                words += draw.choices(["the", "gravel", "of", "creek"], k=2)
                tags += ["O", "O"]
        posts.append((words, tags))
    return rows_of("se_entities", posts, 60)


def test_learns_names_by_their_shape_and_place(tmp_path: Path) -> None:
    done = [ran(tmp_path / name, _posts(), "token-svm") for name in "ab"]
    assert (done[0].scores.value("seqeval_f1") or 0) > 0.9
    first, second = (result.directory / "predictions.parquet" for result in done)
    assert first.read_bytes() == second.read_bytes()


def test_texts_without_words_or_tags_are_answered(tmp_path: Path) -> None:
    odd = ["\0", "x" * 100_000, "\u2028"]
    posts = [([], []), *(([*odd, str(number)], ["O"] * 4) for number in range(39))]
    done = ran(tmp_path, rows_of("se_entities", posts, 30), "token-svm")
    assert done.scores.invalid == 0


def test_says_what_it_does_not_answer(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="gives tags, and requirement_type is binary"):
        ran(tmp_path, requirements(), "token-svm")
    with pytest.raises(UsageError, match="rounds of the model token-svm cannot be 0"):
        find_model("token-svm", {"rounds": 0})


def test_shapes() -> None:
    assert shape("getName2()") == "aAa0()"
    assert shape("HTML5") == "A0"
    assert shape("") == ""


@given(TAGS)
def test_every_name_begins(tags: list[str]) -> None:
    begun = with_beginnings(tags)
    for index, tag in enumerate(begun):
        if tag.startswith("I-"):
            assert begun[index - 1][2:] == tag[2:]
            assert index
        assert tag.partition("-")[2] == tags[index].partition("-")[2]


@given(st.lists(st.text(max_size=5)))
def test_a_word_gives_features(words: list[str]) -> None:
    assert len(list(features_of(words))) == len(words)
