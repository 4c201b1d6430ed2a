"""Rows of tasks as text-to-text (CrossCodeBench, section III-A), and back.

Labels become their texts, several joined; a number its shortest decimal; tags of words lines of
``word: tag``; masked words blanks to fill in, answered a line each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from goldpan.core.plugins.registry import Registry
from goldpan.datasets.tasks.task import Task

# The seven ways to ask (CrossCodeBench, section IV-A).

Side = Literal["train", "evaluation"]


@dataclass(frozen=True, slots=True)
class Method:
    """A prompting method: the definition and examples that stand beside the input."""

    name: str
    instruct: bool
    """True for the definition, and examples with reasons; else for the description."""
    train_positive: int
    evaluation_positive: int
    negative: int = 0

    def positive(self, side: Side) -> int:
        """Return how many positive examples a prompt of that side shows."""
        return self.train_positive if side == "train" else self.evaluation_positive


METHODS = {
    method.name: method
    for method in (
        *(Method(f"{k}-shot", False, k, k) for k in (4, 3, 2, 1)),
        Method("zero-shot", False, 0, 0),
        Method("2/0-instruct", True, 2, 4),
        Method("2/2-instruct", True, 2, 2, negative=2),
    )
}
"""All methods by name."""
find_method = Registry("method", lambda: METHODS).find


MASK = "[MASK]"
_MASKS = re.compile(r"\[MASK([0-9]{0,18})\]")
_JOINERS = (", ", "; ", " | ", "\n")
_NOTHING = ("none", "no label", "-")
_LONGEST_LIST = 50


class WordingError(Exception):
    """A row and its text do not fit its task; the message names neither file nor row."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words for a task's answers."""

    task: Task
    texts: Mapping[str, str]
    """The text of each label, by its name; in the task's order."""
    names: Mapping[str, str]
    """The label of each text."""
    joiner: str
    """The separator of several labels, which is in none of their texts."""
    nothing: str
    """The word for no label at all."""


def wording_of(task: Task) -> Wording:
    """Return the wording of a task's answers.

    Labels are written as their texts, or as their names where two labels share a text.
    """
    texts = {label.name: label.text for label in task.labels}
    if len(set(texts.values())) < len(texts):
        texts = {name: name for name in texts}
    all_texts = "\0".join(texts.values())
    joiner = next((joiner for joiner in _JOINERS if joiner not in all_texts), _JOINERS[0])
    words = {text.casefold() for text in texts.values()}
    nothing = next((word for word in _NOTHING if word not in words), "")
    names = {text: name for name, text in texts.items()}
    return Wording(task, texts, names, joiner, nothing)


def input_text(wording: Wording, value: Any, target: Any) -> str:
    """Return the input as text: words joined by blanks, masked words replaced."""
    match wording.task.type:
        case "ner":
            return " ".join(value)
        case "mlm":
            return blanks(value, target)[0]
        case _:
            return str(value)


def output_text(wording: Wording, value: Any, target: Any) -> str:
    """Return the right answer as text; raises `WordingError` where the row does not fit."""
    match wording.task.type:
        case "binary" | "multi-class":
            return _label_text(wording, target)
        case "multi-label":
            texts = [_label_text(wording, name) for name in target]
            return wording.joiner.join(texts) if texts else wording.nothing
        case "regression":
            if not math.isfinite(target):
                raise WordingError(f"the answer {target} is not a finite number")
            return repr(float(target)).removesuffix(".0")
        case "ner":
            if len(value) != len(target):
                raise WordingError(f"{len(value)} words have {len(target)} tags")
            return "\n".join(f"{word}: {tag}" for word, tag in zip(value, target, strict=True))
        case "mlm":
            return "\n".join(blanks(value, target)[1])
        case _:
            return str(target)


def read_texts(wording: Wording, input_text: str, answer: str) -> tuple[Any, Any]:
    """Return the input and the target that were written as these texts.

    Raises `WordingError` where they are no input and answer of the task.
    """
    match wording.task.type:
        case "binary" | "multi-class":
            return input_text, _label_name(wording, answer)
        case "multi-label":
            if answer == wording.nothing:
                return input_text, []
            return input_text, [_label_name(wording, text) for text in answer.split(wording.joiner)]
        case "regression":
            return input_text, _number(answer)
        case "ner":
            return _tagged(input_text, answer)
        case "mlm":
            return _filled(input_text, answer)
        case _:
            return input_text, answer


def blanks(text: str, masks: Sequence[Mapping[str, int]]) -> tuple[str, list[str]]:
    """Return a text with character spans masked out, and the words that stood there.

    The mask is ``[MASK]``, or one like it that the text lacks.

    Raises `WordingError` for spans that overlap or are outside of the text.
    """
    numbers = {match.group(1) for match in _MASKS.finditer(text)}
    number = next(at for at in range(len(numbers) + 1) if str(at or "") not in numbers)
    mask = f"[MASK{number or ''}]"
    pieces, words = [], []
    end = 0
    for span in sorted(masks, key=lambda span: (span["start"], span["end"])):
        if not end <= span["start"] <= span["end"] <= len(text):
            raise WordingError(f"the masks overlap or are outside of the text: {dict(span)}")
        pieces.append(text[end : span["start"]])
        words.append(text[span["start"] : span["end"]])
        end = span["end"]
    return mask.join([*pieces, text[end:]]), words


def answer_form(task: Task) -> str:
    """Return what a task's definition does not say about the form of the answer; may be empty."""
    wording = wording_of(task)
    texts = [f"'{text}'" for text in wording.texts.values()]
    listed = ", ".join(texts[:_LONGEST_LIST]) + (", ..." if len(texts) > _LONGEST_LIST else "")
    one_of = "" if all(text in task.definition for text in texts) else listed
    match task.type:
        case "binary" | "multi-class":
            return f"The output is one of {one_of}." if one_of else ""
        case "multi-label":
            several = f"several are joined by '{wording.joiner}', and none is '{wording.nothing}'."
            return (f"The output is of {one_of}; " if one_of else "Of the outputs, ") + several
        case "regression":
            return "The output is a number."
        case "ner":
            return (
                "The output has a line for each word of the input: the word, a colon and its tag"
                + (f", which is one of {one_of}." if one_of else ".")
            )
        case "mlm":
            return (
                f"Missing words are masked by the symbol '{MASK}', which has a number where the "
                "input holds that symbol itself. The output has the missing words in order, a "
                "line each."
            )
        case _:
            return ""


def _label_text(wording: Wording, name: str) -> str:
    if name not in wording.texts:
        texts = ", ".join(wording.texts)
        raise WordingError(f"the label {name!r} is not one of the task's: {texts}")
    return wording.texts[name]


def _label_name(wording: Wording, text: str) -> str:
    if text not in wording.names:
        names = ", ".join(wording.names)
        raise WordingError(f"the output {text[:80]!r} is not one of the task's labels: {names}")
    return wording.names[text]


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise WordingError(f"the output {text[:80]!r} is not a number") from None
    if not math.isfinite(number):
        raise WordingError(f"the output {text[:80]!r} is not a finite number")
    return number


def _tagged(input_text: str, answer: str) -> tuple[list[str], list[str]]:
    words, tags = [], []
    for line in answer.split("\n") if answer else []:
        word, colon, tag = line.rpartition(": ")
        if not colon:
            raise WordingError(f"the output's line {line[:80]!r} is not 'word: tag'")
        words.append(word)
        tags.append(tag)
    if " ".join(words) != input_text:
        raise WordingError("the output's words are not those of the input")
    return words, tags


def _filled(input_text: str, answer: str) -> tuple[str, list[dict[str, int]]]:
    """Undo `blanks`: the mask is the one that stands in the text, or there is none."""
    numbers = {match.group(1) for match in _MASKS.finditer(input_text)}
    words = answer.split("\n")
    for number in sorted(numbers, key=lambda text: (len(text), text), reverse=True):
        pieces = input_text.split(f"[MASK{number}]")
        if len(pieces) - 1 == len(words):
            return _joined(pieces, words)
    if not answer and not numbers:
        return input_text, []
    raise WordingError(f"the output has {len(words)} words for the masks of the input")


def _joined(pieces: list[str], words: list[str]) -> tuple[str, list[dict[str, int]]]:
    text, spans = [pieces[0]], []
    at = len(pieces[0])
    for word, piece in zip(words, pieces[1:], strict=True):
        spans.append({"start": at, "end": at + len(word)})
        text += [word, piece]
        at += len(word) + len(piece)
    return "".join(text), spans
