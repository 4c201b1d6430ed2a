"""Prompts for the inputs of tasks (CrossCodeBench, section IV-A).

    Description, or for m/n-instruct: Definition: ...

    Example 1 -                 (Positive Example 1 -, Negative Example 1 -)
    Input: ...
    Output: ...
    Explanation: ...            (m/n-instruct alone, where there is one)

    Now complete the following example -
    Input: ...
    Output:

The paper shows these parts, not how they are joined. The authors' code (src/benchmark/data.py)
joins them on one line and escapes nothing, so a text may imitate the structure; lines keep it
unambiguous.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldpan.papers.crosscodebench.meta import Meta, TaskExample
from goldpan.papers.crosscodebench.splits import Spooled, TaskFiles
from goldpan.plugins import data

SHARDS: dict[data.Side, str] = {"train": "train", "evaluation": "test"}
"""The splits of the two sides."""
TRAIN_CAP = 10_000
"""The most instances to take from a training task."""


class LineLayout:
    """Parts on lines of their own; texts that look like a part are escaped."""

    gap = "\n"
    """The text between the number of an example and the example."""

    def head(self, meta: Meta, instruct: bool) -> str:
        """Return the description, or for instructions the definition."""
        if instruct:
            return f"Definition: {data.escaped(meta.definition.strip())}"
        return data.escaped(meta.description.strip())

    def example(self, example: TaskExample, instruct: bool) -> str:
        """Return an example without its number."""
        text = f"Input: {data.escaped(example.input)}\nOutput: {data.escaped(example.output)}"
        if instruct and example.reason:
            return f"{text}\nExplanation: {data.escaped(example.reason)}"
        return text

    def whole(self, head: str, examples: Sequence[str], input_text: str, instruct: bool) -> str:
        """Return the prompt for an input, with examples that have their numbers."""
        end = f"Now complete the following example -\nInput: {data.escaped(input_text)}\nOutput:"
        return "\n\n".join([head, *examples, end])


class OneLine(LineLayout):
    """Parts joined by `; `, as the authors' code does."""

    gap = " "

    def head(self, meta: Meta, instruct: bool) -> str:
        """Return the description, or for instructions the definition."""
        return f"Definition: {meta.definition}; " if instruct else f"{meta.description}: "

    def example(self, example: TaskExample, instruct: bool) -> str:
        """Return an example without its number."""
        text = f"input: {example.input}; output: {example.output}"
        return f"{text}, explanation: {example.reason}" if instruct else text

    def whole(self, head: str, examples: Sequence[str], input_text: str, instruct: bool) -> str:
        """Return the prompt for an input, with examples that have their numbers."""
        if not (instruct or examples):
            return f"{head}{input_text}"
        # The authors write a minus sign (U+2212) here, and a hyphen before the examples.
        end = f"Now complete the following example \u2212 input: {input_text}; output:"
        return head + "; ".join([*examples, end])


LAYOUTS: dict[str, LineLayout] = {"lines": LineLayout(), "authors": OneLine()}
"""All layouts by name, the usual one first."""


find_layout = data.Registry("layout", lambda: LAYOUTS).find


@dataclass(frozen=True, slots=True)
class CrossSettings:
    """How the prompts of a split are made."""

    method: data.Method
    seed: int = 0
    train_cap: int = TRAIN_CAP
    """Instances of a training task (section IV-D)."""
    evaluation_cap: int = 500
    duplicates: data.DuplicateSettings = field(default_factory=data.DuplicateSettings)
    layout: str = "lines"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for a model."""

    text: str
    positive: int
    """Positive examples that it shows."""
    negative: int


def make_prompt(
    meta: Meta, side: data.Side, settings: CrossSettings, input_text: str, name: str
) -> Prompt:
    """Return the prompt for an input of a task.

    The examples are drawn by the seed and `name`, which tells instances of the task apart.
    """
    method, layout = settings.method, find_layout(settings.layout)

    def drawn(examples: Sequence[TaskExample], count: int) -> list[str]:
        order = sorted(
            range(len(examples)),
            key=lambda at: data.draw_number(settings.seed, meta.stem, name, str(at)),
        )
        return [layout.example(examples[at], method.instruct) for at in order[:count]]

    positive = drawn(meta.positive, method.positive(side))
    negative = drawn(meta.negative, method.negative)
    word = "Positive Example" if method.instruct else "Example"
    examples = [
        *(f"{word} {at} -{layout.gap}{text}" for at, text in enumerate(positive, 1)),
        *(f"Negative Example {at} -{layout.gap}{text}" for at, text in enumerate(negative, 1)),
    ]
    head = layout.head(meta, method.instruct)
    text = layout.whole(head, examples, input_text, method.instruct)
    return Prompt(text, len(positive), len(negative))


def prompt_rows(
    side: data.Side,
    tasks: Sequence[TaskFiles],
    spooled: Spooled,
    dropped: Collection[int],
    settings: CrossSettings,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a side, in the order of its tasks.

    `dropped` has the places of instances in `spooled` that are left out.
    """
    for index, drawn in enumerate(spooled.read()):
        if index in dropped:
            continue
        meta = tasks[drawn.task].meta
        prompt = make_prompt(meta, side, settings, drawn.input, drawn.name)
        yield {
            "id": f"{meta.stem}/{drawn.name}",
            data.GROUP: SHARDS[side],
            "task": meta.name,
            "type": meta.kind.type,
            "subtype": meta.kind.subtype or None,
            "category": meta.category or None,
            "source": meta.source,
            "work": meta.work,
            "repo": drawn.repo,
            "license": drawn.license,
            "created_at": drawn.created_at,
            "prompt": prompt.text,
            "input": drawn.input,
            "output": drawn.output,
            "positive": prompt.positive,
            "negative": prompt.negative,
        }


CROSSCODE = data.read_family(Path(__file__).with_name("crosscode.toml"))
"""The prompts of a split of CrossCodeBench; the group of a row is its split."""
