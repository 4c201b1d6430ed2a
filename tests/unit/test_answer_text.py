"""Thoughts of models are no answer, and a JSON object is read as what it says."""

from __future__ import annotations

from typing import Any

import pytest

from goldpan.annotation.review.request import parse_answer
from goldpan.datasets.tasks.task import Label, TaskType
from goldpan.datasets.tasks.wording import wording_of
from goldpan.evaluation.models.prompt_answers import PromptRow, read_answer
from goldpan.llm.answer_text import find_objects, without_thoughts
from tests.crosscode_tasks import make_task

KINDS = tuple(Label(name, "", name) for name in ("bug", "feature", "documentation"))
THOUGHT = "It could be documentation, of 13 pages.\n\ngit: B-other\n"
BEHIND = {
    "whole": f"<think>\n{THOUGHT}</think>\n\n{{}}",
    "without its beginning": f"Okay. {THOUGHT}</think>\n\n{{}}",
    "named otherwise": f"<thinking>{THOUGHT}</thinking>\n{{}}",
    "reasoning": f"<reasoning>{THOUGHT}</reasoning>{{}}",
    "thought": f"<thought>{THOUGHT}</thought>{{}}",
    "capitals": f"<THINK>{THOUGHT}</THINK>{{}}",
    "attributes": f'<think duration="3s" foo>{THOUGHT}</think>{{}}',
    "spaces": f"< think >{THOUGHT}</ think >{{}}",
    "a space that nobody sees": f"\u200b<think>{THOUGHT}</think>{{}}",
    "escaped": f"&lt;think&gt;{THOUGHT}&lt;/think&gt;{{}}",
    "several": f"<think>{THOUGHT}</think>feature<think>{THOUGHT}</think>{{}}",
    "Magistral": f"[THINK]{THOUGHT}[/THINK]{{}}",
    "Seed": f"<seed:think>{THOUGHT}</seed:think>{{}}",
    "Kimi": f"◁think▷{THOUGHT}◁/think▷{{}}",
    "Sky": f"<|begin_of_thought|>{THOUGHT}<|end_of_thought|>\n\n"
    "<|begin_of_solution|>{}<|end_of_solution|>",
    "Command": f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>{{}}<|END_RESPONSE|>",
    "gpt-oss": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant"
    "<|channel|>final<|message|>{}<|return|>",
    "gpt-oss, constrained": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant"
    "<|channel|>final <|constrain|>json<|message|>{}",
    "gpt-oss, stripped": f"analysis{THOUGHT}assistantfinal{{}}",
    "Gemma": f"<|channel>thought\n{THOUGHT}<channel|>{{}}",
    "Granite": f"Here is my thought process: {THOUGHT}Here is my response:\n{{}}",
    "Ollama": f"Thinking...\n{THOUGHT}...done thinking.\n\n{{}}",
    "Open WebUI": f'<details type="reasoning" done="true">\n{THOUGHT}</details>\n{{}}',
    "GLM": f"<think>{THOUGHT}</think><|begin_of_box|>{{}}<|end_of_box|>",
    "Hunyuan": f"<think>{THOUGHT}</think><answer>{{}}</answer>",
}
CUT = (
    f"<think>{THOUGHT}",
    f"<think>a</think><think>{THOUGHT}",
    f"[THINK]{THOUGHT}",
    f"◁think▷{THOUGHT}",
    f"<|begin_of_thought|>{THOUGHT}",
    f"<|channel|>analysis<|message|>{THOUGHT}",
    f"<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=x{THOUGHT}",
    f"analysis{THOUGHT}",
)


def read(kind: TaskType, text: str, *, structured: bool = True, **changes: Any) -> Any:
    """Return the answer to a task of a type."""
    changes = {"labels": KINDS, **changes} if kind in ("multi-class", "multi-label") else changes
    shown = PromptRow("text", words=("use", "git"), blanks=1)
    return read_answer(
        wording_of(make_task("t", kind, **changes)), shown, text, structured=structured
    ).value


@pytest.mark.parametrize("name", BEHIND)
def test_what_stands_behind_a_thought_is_the_answer_of_every_kind(name: str) -> None:
    text = BEHIND[name]
    for structured in (True, False):
        assert read("multi-class", text.format("bug"), structured=structured) == "bug"
        assert read("multi-label", text.format("bug"), structured=structured) == ["bug"]
        assert read("regression", text.format("5"), structured=structured) == 5
        tags = read("ner", text.format("git: B-tool"), structured=structured)
        assert tags == ["O", "B-tool"]
    assert read("text-generation", text.format("Turn it off.")) == "Turn it off."
    assert read("multi-class", text.replace("{}", '{"label": "bug"}')) == "bug"


@pytest.mark.parametrize("text", CUT)
def test_a_thought_that_was_cut_is_no_answer(text: str) -> None:
    kinds: tuple[TaskType, ...] = ("multi-class", "multi-label", "regression", "ner")
    assert [read(kind, text) for kind in (*kinds, "text-generation")] == [None] * 5


@pytest.mark.parametrize(
    "text",
    [
        "Use `<think>` and `</think>` around it.",
        "if '</think>' in text:\n    pass\n",
        'marks = ("<think>", "</think>")',
        "std::vector<Thought> of Promise<Thinking>",
        "An analysis of it: <details>more</details>",
        "  indented\n",
    ],
)
def test_a_text_that_talks_of_thoughts_stays_whole(text: str) -> None:
    assert without_thoughts(text) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"label": "bug"}\n\nIt is not a documentation problem.',
        'It is no documentation problem:\n```json\n{"label": "bug"}\n```',
        '{"Label": "bug", "reason": "no documentation"}',
        "{'label': 'bug', 'reason': 'not documentation'}",
        "documentation? No: {label: bug}",
        '{label:"bug", "reason": "not documentation",}',
        "documentation? {“label”: “bug”}",
        '[{"label": "bug", "reason": "not documentation"}]',
        '{"answer": {"label": "bug"}, "reason": "not documentation"}',
        'Not "documentation", {here} don\'t {"label": "bug"}',
        '{"type": "object", "properties": {"label": {"enum": ["feature"]}}} {"label": "bug"}',
        '{"label": ["bug"], "reason": "not documentation"}',
        '{"reason": "{\\"label\\": \\"feature\\"}", "label": "bug"}',
    ],
)
def test_an_object_is_read_as_what_it_says_and_prose_does_not_override_it(text: str) -> None:
    assert read("multi-class", text) == "bug"
    assert read("multi-class", text, structured=False) == "bug"


@pytest.mark.parametrize(
    "text",
    [
        '{"label": "bug"} {"label": "feature"}',
        '[{"label": "bug"}, {"label": "feature"}]',
        '{"label": "bug", "label": "feature"}',
        "{'label': 'bug', 'label': 'feature'}",
        '{"Label": "bug", "label": "feature"}',
        "{\"label\": \"bug\"} or {'label': 'feature'}",
        '{"label": null}\nIt is a bug.',
        '{"label": "enhancement"}\nIt is a bug.',
        '{"label": ["bug", "feature"]}',
        '{"label": "bug or feature"}',
        "It is a bug, not a feature.",
    ],
)
def test_what_is_ambiguous_is_no_answer(text: str) -> None:
    assert read("multi-class", text) is None
    assert read("multi-class", text, structured=False) is None


def test_a_papers_rule_takes_the_longest_label() -> None:
    wording = wording_of(make_task("t", "multi-class", labels=KINDS))
    text = "It is a bug, not documentation."
    answer = read_answer(wording, PromptRow("x"), text, structured=False, longest=True)
    assert answer.value == "documentation"


def test_objects_of_other_kinds_are_read_beside_prose() -> None:
    assert read("regression", 'Of 13 I thought; {"value": 5}') == 5
    assert read("regression", "{'value': '5 points'} rather than 8") == 5
    assert read("regression", '{"value": 5} {"value": 8}') is None
    assert read("regression", '{"value": 1' + "0" * 400 + "}") is None
    assert read("multi-label", 'No feature: {"labels": ["Bug"]}') == ["bug"]
    assert read("multi-label", 'No feature: {"labels": []}') == []
    tagged = '[{"word": "git", "tag": "B-tool"}]'
    for text in (f'use: B-other\n{{"words": {tagged}}}', f"use: B-other\n{tagged}",
                 "{'words': [{'word': 'git', 'tag': 'B-tool'}]}\nuse: B-other"):  # fmt: skip
        assert read("ner", text) == ["O", "B-tool"]
    assert read("mlm", 'I fill in:\n{"words": ["run"]}') == ["run"]


def test_texts_keep_their_objects() -> None:
    assert read("text-generation", 'Set {"label": "bug"} there') == 'Set {"label": "bug"} there'


def test_a_review_is_read_beside_prose_in_a_fence_and_with_single_quotes() -> None:
    good = '{"evidence": ["a"], "reasons": ["x"], "verdict": "drop", "confidence": 0.5}'
    single = good.replace('"', "'")
    for text in (f"```json\n{good}\n```", f"Sure! {good} It is clear.", single,
                 good.replace("verdict", "Verdict"), f"{good} {good}"):  # fmt: skip
        assert parse_answer(text, ["x"]).confidence == 0.5
    for text in (f"{good} {good.replace('0.5', '0.9')}", f"{{}} {good[:-1]}"):
        with pytest.raises(ValueError, match=r"differ|evidence"):
            parse_answer(text, ["x"])


@pytest.mark.parametrize(
    "text",
    ["{" * 100_000, "{'a': " * 30_000, "{'a': {}}," * 9_000, '{"' * 50_001, "{" + "}" * 100_000,
     "{a, 'b" * 15_000, "{a:" + " " * 100_000, "[" * 100_000, "{&a [*a]}", "{? : }"],
)  # fmt: skip
def test_hostile_texts_hold_no_object_that_breaks_anything(text: str) -> None:
    assert all(isinstance(found, dict) for found in find_objects(text))
