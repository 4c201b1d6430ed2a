"""What models say is read by stated rules, whatever it is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.datasets.tasks.task import Label, TaskType
from goldpan.datasets.tasks.wording import wording_of
from goldpan.evaluation.models.prompt_answers import PromptRow, Read, align, read_answer
from tests.crosscode_tasks import TYPES, make_task
from tests.drawing import examples

NOT_BUG = (Label("bug", "", "bug"), Label("other", "", "not a bug"))
WORDS = ("I", "use", "std::vector", "and", "git", "daily")


def read(kind: TaskType, text: str, *, structured: bool = False, **changes: Any) -> Read:
    """Return what is made of words for a task of a type."""
    task = make_task("t", kind, **changes)
    shown = PromptRow("text", words=WORDS, blanks=2)
    return read_answer(wording_of(task), shown, text, structured=structured)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("bug", "bug"),
        ("Not a bug.", "other"),
        ("I think this is NOT A BUG because...", "other"),
        ("**Bug**", "bug"),
        ("debugging", "bug"),
        ("Label: bug\nReason: others would say it is not a bug", "bug"),
        ('{"label": "bug", "reason": "nobody calls it \\"not a bug', "bug"),
        ("feature", None),
        ("   \n", None),
    ],
)
def test_the_longest_label_that_stands_there_is_meant(text: str, label: str | None) -> None:
    answer = read("binary", text, labels=NOT_BUG)
    assert answer.value == label
    assert (answer.note == "") == (label is not None)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("joy, fear", ["joy", "fear"]),
        ("fear and joy", ["joy", "fear"]),
        ("none", []),
        ("None of them", []),
        ("sadness", None),
        ("sadness (score: 0.9)", None),
        ("[]", []),
        ('{"labels": {"joy": true, "fear": false}}', ["joy"]),
        ("joy: no\nfear: **no**", []),
        ("None of the labels (joy, fear) applies.", []),
        ("None of the labels but fear applies", ["fear"]),
        ("No labels apply.", []),
        ("N/A", []),
        ("Nonetheless, sadness", None),
        ('{"labels": ["none"]}', []),
    ],
)
def test_several_labels_come_in_the_order_of_the_task(text: str, labels: list[str] | None) -> None:
    assert read("multi-label", text).value == labels


def test_a_label_inside_of_another_is_not_meant_too() -> None:
    several = (Label("bug", "", "bug"), Label("no", "", "not a bug"), Label("x", "", "joy"))
    assert read("multi-label", "not a bug, joy", labels=several).value == ["no", "x"]
    assert read("multi-label", "not a bug, bug", labels=several).value == ["bug", "no"]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("I do not know.", None),
        ("No.", "no"),
        ("Yes, it cannot be otherwise", "yes"),
        ("no2", None),
    ],
)
def test_a_label_of_two_letters_is_no_part_of_a_word(text: str, label: str | None) -> None:
    labels = (Label("yes", "", "yes"), Label("no", "", "no"))
    assert read("binary", text, labels=labels).value == label


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5.0),
        ("5.5 points", 5.5),
        ("Story points: 8.", 8.0),
        ("-2", -2.0),
        ("8, so 8 it is", 8.0),
        ("between 3 and 5", None),
        ("large", None),
        ("9" * 400, None),
        ("v1.2.3", None),
        ("1e3", 1000.0),
        ("About 1,000 points", 1000.0),
        ("12,345,678.5", 12345678.5),
        ("1\u202f000", 1000.0),
        ("3,5", None),
        ('{"value": 1e400}', None),
        ("\u22125", -5.0),
    ],
)
def test_a_number_is_the_only_one_there(text: str, value: float | None) -> None:
    assert read("regression", text).value == value


def test_tags_are_aligned_to_the_words() -> None:
    lines = "I: O\nuse: O\nstd::vector: B-tool\nand: O\ngit: B-tool\ndaily: O"
    right = ["O", "O", "B-tool", "O", "B-tool", "O"]
    assert read("ner", lines).value == right
    assert read("ner", f"Here you are:\n```\n- {lines}\n```").value == right
    assert read("ner", "git: B-tool").value == ["O", "O", "O", "O", "B-tool", "O"]
    assert read("ner", "git: B-weather").value == ["O"] * 6, "an unknown tag names nothing"
    assert read("ner", "There are no tools").value is None
    items = ", ".join(
        f'{{"word": "{word}", "tag": "{tag}"}}' for word, tag in zip(WORDS, right, strict=True)
    )
    assert read("ner", f'{{"words": [{items}]}}', structured=True).value == right


def test_alignment_keeps_order_and_passes_over_what_does_not_come() -> None:
    words = ["a", "b", "a", "c"]
    assert align(words, [("a", "1"), ("a", "2"), ("c", "3")], "O") == ["1", "O", "2", "3"]
    assert align(words, [("z", "9"), ("b", "1"), ("a", "2")], "O") == ["O", "1", "2", "O"]
    assert align(words, [("c", "1"), ("a", "2")], "O") == ["O", "O", "O", "1"]
    assert align([], [("a", "1")], "O") == []


def test_blanks_take_a_line_each() -> None:
    assert read("mlm", "run\nwalk").value == ["run", "walk"]
    assert read("mlm", "1. run\n\n2. walk\n").value == ["run", "walk"]
    assert read("mlm", "run").value is None
    assert read("mlm", '{"words": ["run", "walk"]}', structured=True).value == ["run", "walk"]


def test_texts_are_taken_as_they_are() -> None:
    text = " `src/a.c`\n"
    assert read("text-generation", text).value == text
    assert read("text-generation", "<think>hm, a?</think>\n\nsrc/a.c").value == "src/a.c"
    assert read("text-generation", "").value is None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("multi-class", '{"label": "bug"}', "bug"),
        ("binary", '{"label": "Yes"}', "bug"),
        ("multi-label", '{"labels": ["fear", "joy", "joy"]}', ["joy", "fear"]),
        ("multi-label", '{"labels": []}', []),
        ("regression", '{"value": 3}', 3.0),
    ],
)
def test_json_is_read_where_it_was_asked_for(kind: TaskType, text: str, value: Any) -> None:
    assert read(kind, text, structured=True) == Read(value)


def test_json_that_is_broken_or_of_another_form_is_read_as_words() -> None:
    assert read("multi-class", '{"label": "bug', structured=True) == Read("bug", "no-json")
    assert read("multi-class", '["feature"]', structured=True) == Read("feature", "no-json")
    assert read("multi-class", '{"label": 3}', structured=True) == Read(None, "no-answer")
    assert read("regression", '{"value": true}', structured=True) == Read(None, "no-answer")


@pytest.mark.parametrize("kind", TYPES)
@examples(60)
@given(text=st.text(max_size=300), structured=st.booleans())
def test_whatever_is_said_gives_a_valid_answer_or_none(
    kind: TaskType, text: str, structured: bool
) -> None:
    task = make_task("t", kind)
    value = read(kind, text, structured=structured).value
    if value is None:
        return
    match kind:
        case "binary" | "multi-class":
            assert value in task.label_names
        case "multi-label":
            assert isinstance(value, list)
            assert set(value) <= set(task.label_names)
        case "ner":
            assert isinstance(value, list)
            assert len(value) == len(WORDS)
        case "mlm":
            assert isinstance(value, list)
            assert len(value) == 2


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "text",
    [
        "not a " * 40_000,
        "1." * 100_000,
        "+-" * 100_000,
        ": " * 100_000,
        "git: O\n" * 40_000,
        "```\n" * 50_000,
        "[" * 200_000,
        "<think>" * 30_000,
        '{"words": [' * 20_000,
    ],
)
def test_hostile_answers_take_no_time(kind: TaskType, text: str) -> None:
    begun = time.process_time()
    read(kind, text, structured=True)
    assert time.process_time() - begun < 2
