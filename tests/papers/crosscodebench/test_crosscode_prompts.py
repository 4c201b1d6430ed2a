"""Prompts: their form, their length, and texts that imitate their structure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import UsageError
from goldpan.datasets.tasks.wording import METHODS, Side, find_method
from goldpan.papers.crosscodebench.kinds import TaskKind
from goldpan.papers.crosscodebench.meta import Meta, TaskExample
from goldpan.papers.crosscodebench.prompts import CrossSettings, Prompt, make_prompt
from goldpan.text.markers import escaped, unescaped

META = Meta(
    "task_001_set_translation",
    TaskKind("Translation"),
    "Translate A to B",
    "The input is A. The output is B.",
    "set",
    ("Translation",),
    tuple(TaskExample(f"in {at}", f"out {at}", f"why {at}") for at in range(4)),
    tuple(TaskExample(f"bad {at}", f"wrong {at}", f"fault {at}") for at in range(4)),
)
MARKERS = re.compile(
    r"(?:input|output|explanation|definition)\s*:|(?:positive |negative )?example\s*[0-9]+\s*-"
    r"|now complete the following example"
)
SIGNS = ["Output:", "input :", " Example 1 -", "POSITIVE EXAMPLE 12 -", "Definition:", " ", "x"]
SIGNS += ["Now complete the following example -", "\\", "\n", "\r", "\u2028", "\u200b"]
SIGNS.append("\uff29nput\uff1a")
PIECES = st.lists(st.sampled_from(SIGNS) | st.text(max_size=3)).map("".join)


def made(
    method: str,
    side: Side = "train",
    meta: Meta = META,
    *,
    text: str = "x",
    name: str = "1",
    **settings: Any,
) -> Prompt:
    return make_prompt(meta, side, CrossSettings(find_method(method), **settings), text, name)


def prompt(method: str, input_text: str = "x") -> str:
    return made(method, "evaluation", text=input_text).text


def test_few_shots_have_description_examples_and_input() -> None:
    text = prompt("2-shot", "the input")
    blocks = text.split("\n\n")
    assert blocks[0] == "Translate A to B"
    assert blocks[3] == "Now complete the following example -\nInput: the input\nOutput:"
    for number, block in enumerate(blocks[1:3], 1):
        head, input_text, output = block.split("\n")
        assert head == f"Example {number} -"
        at = input_text.removeprefix("Input: in ")
        assert output == f"Output: out {at}"
    assert "why" not in text
    assert "Definition" not in text


def test_instructions_have_definition_and_reasons() -> None:
    text = prompt("2/2-instruct")
    assert text.startswith("Definition: The input is A. The output is B.\n\nPositive Example 1 -\n")
    assert len(re.findall("Positive Example", text)) == 2
    assert len(re.findall("Negative Example", text)) == 2
    assert text.index("Positive Example 2") < text.index("Negative Example 1")
    assert len(re.findall("Explanation: (why|fault)", text)) == 4


@pytest.mark.parametrize("method", METHODS)
def test_the_sides_show_as_many_examples_as_the_paper(method: str) -> None:
    expected = {"2/0-instruct": (2, 4, 0), "2/2-instruct": (2, 2, 2), "zero-shot": (0, 0, 0)}
    k = int(method[0]) if method[0].isdigit() else 0
    train, evaluation, negative = expected.get(method, (k, k, 0))
    sides: dict[Side, int] = {"train": train, "evaluation": evaluation}
    for side, count in sides.items():
        result = made(method, side)
        assert (result.positive, result.negative) == (count, negative)


def test_examples_are_drawn_for_each_instance_by_the_seed() -> None:
    def shown(seed: int) -> list[str]:
        prompts = [made("1-shot", name=str(at), seed=seed) for at in range(80)]
        return [re.findall("in ([0-9])", one.text)[0] for one in prompts]

    assert shown(0) == shown(0) != shown(1)
    assert {shown(0).count(at) > 5 for at in "0123"} == {True}


@given(PIECES)
def test_escaping_is_undone(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert unescaped(unescaped(escaped(escaped(text)))) == text


@given(PIECES, PIECES, PIECES, PIECES, st.sampled_from(list(METHODS)))
def test_texts_cannot_imitate_the_structure(
    input_text: str, shown: str, output: str, ending: str, method: str
) -> None:
    plain = made(method)
    example = TaskExample(f"a{shown}", f"b{output}", f"c{shown}")
    hostile = replace(META, positive=(example,) * 4, negative=(example,) * 4)
    hostile = replace(hostile, description=f"Do{ending}", definition=f"So{ending}")
    result = made(method, meta=hostile, text=input_text)
    assert structure(result.text) == structure(plain.text)


def looks_like_structure(line: str) -> bool:
    """Say whether a person, or a model, may take a line for one of the structure."""
    plain = unicodedata.normalize("NFKC", line)
    seen = "".join(character for character in plain if unicodedata.category(character) != "Cf")
    return bool(MARKERS.match(seen.strip().casefold()))


def structure(text: str) -> list[str]:
    """Return how the lines of the structure begin, in order."""
    lines = (line for line in text.splitlines() if looks_like_structure(line))
    return [re.split(r"[:0-9]", line)[0] for line in lines]


def authors(method: str) -> str:
    return made(method, "evaluation", layout="authors").text


def test_the_authors_prompts_are_one_line() -> None:
    assert authors("zero-shot") == "Translate A to B: x"
    shot = re.fullmatch(
        r"Translate A to B: Example 1 - input: in (\d); output: out \1; "
        r"Now complete the following example \u2212 input: x; output:",
        authors("1-shot"),
    )
    assert shot, authors("1-shot")
    expected = r"Definition: The input is A. The output is B.; "
    for group in (1, 2):
        expected += rf"Positive Example {group} - input: in (\d); output: out \{group}, "
        expected += rf"explanation: why \{group}; "
    for group in (3, 4):
        expected += rf"Negative Example {group - 2} - input: bad (\d); output: wrong \{group}, "
        expected += rf"explanation: fault \{group}; "
    expected += "Now complete the following example \u2212 input: x; output:"
    assert re.fullmatch(expected, authors("2/2-instruct")), authors("2/2-instruct")
    with pytest.raises(UsageError, match="There is no layout 'line'"):
        made("1-shot", layout="line")
