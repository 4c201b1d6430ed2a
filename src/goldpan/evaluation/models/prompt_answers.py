"""The form of answers, and the answer to a task read from a model's reply.

A JSON object with the answer's key is read as what it says, whatever stands beside it. Where there
is none, words are read: of a label or a number, the only one there is; of tags, lines of
``word: tag``. A text is taken as it is. Thoughts are no answer, and neither are two that differ:
what gives no answer is null, and counts as wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from goldpan.datasets.tasks.task import TaskType
from goldpan.datasets.tasks.wording import Wording
from goldpan.evaluation.model import Answer
from goldpan.llm.answer_text import find_objects, without_thoughts
from goldpan.llm.parts import PromptPart

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_MINUS = "\u2212"
_BULLET = re.compile(r"\A(?:\d{1,4}[.)]|[-*])\s+")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?![\d,])")
_DENIED = re.compile(
    r"""(?<![^\n,;:={])[^\n,;:={]*[:=][\s"'`*]*(?:no|false|0)(?![\w.])"""
    r"|\bnone of\b(?:(?!\b(?:except|but|other than|apart from)\b)[^.;\n])*",
    re.I,
)
"""A label that is answered one by one, as in `bug: no`, or several that are denied."""
_TAGGED = {"word", "tag"}
_AHEAD = 50
"""Words that a model may leave out between two that it tags."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A row as a model sees it."""

    text: str
    parts: tuple[PromptPart, ...] = ()
    """Instead of the text, where the row keeps parts of its input apart."""
    words: tuple[str, ...] = ()
    """The words to tag."""
    blanks: int = 0
    """How many words are masked."""
    shortened: bool = False

    def texts(self) -> tuple[PromptPart, ...]:
        """Return all that is from the row."""
        return self.parts or (PromptPart("text", self.text),)


@dataclass(frozen=True, slots=True)
class Read:
    """Answer that was read from a model's words."""

    value: Answer
    note: str = ""
    """Reason why there is no value, or how it was found."""


def read_answer(
    wording: Wording, shown: PromptRow, reply: str, *, structured: bool, longest: bool = False
) -> Read:
    """Return the answer in the type of the task's target; never fails.

    `longest` takes the longest of several labels that words name (SELU, section IV-C).
    """
    text = without_thoughts(reply)
    if not text.strip():
        return Read(None, "empty")
    task_type = wording.task.type
    if task_type == "text-generation":
        return Read(text)
    objects = find_objects(text)
    stated = [value for found in objects for value in _stated(KEYS[task_type], found)]
    if task_type == "ner" and not stated and any(found.keys() >= _TAGGED for found in objects):
        stated = [objects]
    if stated:
        answers = [_of_json(wording, shown, value) for value in stated]
        agree = all(answer == answers[0] for answer in answers)
        return Read(answers[0]) if agree and answers[0] is not None else Read(None, "no-answer")
    value = _of_words(wording, shown, text, longest=longest)
    if value is None and task_type in ("binary", "multi-class", "regression"):
        named = re.findall(rf"""(?i)\b{KEYS[task_type]}\b["'`*]*\s*[:=]([^\n,]*)""", text)
        value = _of_words(wording, shown, named[0]) if len(named) == 1 else None
    if value is None:
        return Read(None, "no-answer")
    return Read(value, "no-json" if structured else "")


def find_labels(texts: Sequence[str], reply: str, *, within: bool = False) -> list[str]:
    """Return all of the texts that a reply holds, longer ones first, each part read once.

    One of two letters is a word, unlike "no" in "note", but for `within`.
    """
    folded = reply.casefold()
    labels = []
    for text in sorted(texts, key=lambda candidate: (-len(candidate), candidate)):
        label = re.escape(text.casefold())
        if len(text) < 3 and not within:
            label = rf"(?<![a-z0-9]){label}(?![a-z0-9])"
        folded, count = re.subn(label, "\0", folded)
        labels += [text] if count else []
    return labels


def align(words: Sequence[str], answered: Sequence[tuple[str, str]], outside: str) -> list[str]:
    """Return a tag for each word from tagged words that should be the same, in order.

    Tagged words that do not come are passed over, and words without a tag are outside. Takes time
    in proportion to the words.
    """
    tags = [outside] * len(words)
    at = 0
    for word, tag in answered:
        for index in range(at, min(at + _AHEAD, len(words))):
            if words[index] == word:
                tags[index] = tag
                at = index + 1
                break
    return tags


def _stated(key: str, value: object) -> Iterator[object]:
    """Yield what stands under a key, in any case, in an object or in those within it.

    A schema that a model repeats has an object there, which states nothing.
    """
    if isinstance(value, list):
        for item in value:
            yield from _stated(key, item)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if str(name).strip().casefold() == key and not isinstance(inner, dict):
                yield inner
            else:
                yield from _stated(key, inner)


def _of_json(wording: Wording, shown: PromptRow, value: object) -> Answer:
    """Return the answer that a value of JSON states; a text within it is read as words."""
    match wording.task.type:
        case "binary" | "multi-class":
            return _label(wording, value)
        case "regression":
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            return _of_words(wording, shown, value) if isinstance(value, str) else _finite(value)
        case "multi-label":
            if isinstance(value, str):
                return _of_words(wording, shown, value)
            items = value if isinstance(value, list) else [None]
            labels = [_label(wording, item) for item in items if item != wording.nothing]
            return None if None in labels else _ordered(wording, [str(name) for name in labels])
        case "ner":
            items = value if isinstance(value, list) else []
            pairs = [
                (" ".join(str(item["word"]).split()), str(item["tag"]))
                for item in items
                if isinstance(item, dict) and item.keys() >= _TAGGED
            ]
            return _tags(wording, shown, pairs)
        case _:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                return None
            return value if len(value) == shown.blanks else None


def _label(wording: Wording, value: object) -> str | None:
    """Return the label that a value names, exactly or as the only one in its words."""
    if isinstance(value, list):
        return _label(wording, value[0]) if len(value) == 1 else None
    if type(value) not in (str, int):
        return None
    text = str(value)
    found = [text] if text in wording.names else find_labels(tuple(wording.names), text)
    return wording.names[found[0]] if len(found) == 1 else None


def _of_words(wording: Wording, shown: PromptRow, text: str, *, longest: bool = False) -> Answer:
    match wording.task.type:
        case "binary" | "multi-class":
            found = find_labels(tuple(wording.names), text, within=longest)
            return wording.names[found[0]] if len(found) == 1 or (found and longest) else None
        case "regression":
            plain = _THOUSANDS.sub(lambda number: re.sub(r"\D", "", number[0]), text)
            numbers = {float(number) for number in _NUMBER.findall(plain.replace(_MINUS, "-"))}
            return _finite(numbers.pop()) if len(numbers) == 1 else None
        case "multi-label":
            several = find_labels(tuple(wording.names), _DENIED.sub("", text))
            if several:
                return _ordered(wording, [wording.names[text_] for text_ in several])
            nothing = rf"(?<!\w){re.escape(wording.nothing or 'none')}(?!\w)|\bno labels?\b|\bn/a\b"
            denied = re.search(nothing, text, re.I) or find_labels(tuple(wording.names), text)
            return [] if denied or text.strip() in ("", "[]") else None
        case "ner":
            lines = (line.strip().strip("`*").rpartition(":") for line in text.splitlines())
            pairs = [
                (" ".join(_BULLET.sub("", word).split()), tag.strip().strip("`*"))
                for word, colon, tag in lines
                if colon
            ]
            return _tags(wording, shown, pairs)
        case _:
            lines_of_words = [line.strip() for line in text.splitlines() if line.strip()]
            if len(lines_of_words) != shown.blanks:
                return None
            return [_BULLET.sub("", line) for line in lines_of_words]


def _tags(wording: Wording, shown: PromptRow, pairs: Sequence[tuple[str, str]]) -> list[str] | None:
    """Return a tag for each word, None where no tagged word is one of the row's.

    A tag that the task does not know names no entity.
    """
    outside = wording.names.get("O", "O")
    words = set(shown.words)
    if not any(word in words for word, _ in pairs):
        return None
    tagged = [(word, wording.names.get(tag, outside)) for word, tag in pairs]
    return align(shown.words, tagged, outside)


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _ordered(wording: Wording, names: Sequence[str]) -> list[str]:
    return [name for name in wording.task.label_names if name in names]


KEYS: Mapping[TaskType, str] = {
    "binary": "label",
    "multi-class": "label",
    "multi-label": "labels",
    "regression": "value",
    "ner": "words",
    "mlm": "words",
}
"""Under which name the answer stands; texts have no form."""


def answer_schema(wording: Wording) -> dict[str, Any] | None:
    """Return the JSON schema of a task's answers, None for texts."""
    text, labels = {"type": "string"}, {"type": "string", "enum": list(wording.texts.values())}
    tagged = _object({"word": text, "tag": labels})
    shapes: Mapping[TaskType, dict[str, Any]] = {
        "binary": labels,
        "multi-class": labels,
        "multi-label": {"type": "array", "items": labels, "maxItems": len(wording.texts)},
        "regression": {"type": "number"},
        "ner": {"type": "array", "items": tagged},
        "mlm": {"type": "array", "items": text},
    }
    kind = wording.task.type
    return _object({KEYS[kind]: shapes[kind]}) if kind in KEYS else None


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def asked_form(wording: Wording) -> str:
    """Return the sentence that tells a model the form; without it, models fight the schema."""
    shapes: Mapping[TaskType, str] = {
        "multi-label": '["...", ...]',
        "regression": "...",
        "ner": '[{"word": "...", "tag": "..."}, ...]',
        "mlm": '["...", ...]',
    }
    shape = shapes.get(wording.task.type, '"..."')
    return f'Give the answer as JSON: {{"{KEYS[wording.task.type]}": {shape}}}'


def written_answer(wording: Wording, row_value: Any, target: Any) -> str:
    """Return a right answer in that form, as an example shows it; a text as it is."""
    texts = wording.texts
    match wording.task.type:
        case "text-generation":
            return str(target)
        case "binary" | "multi-class":
            value: Any = texts[target]
        case "multi-label":
            value = [texts[name] for name in target]
        case "regression":
            value = int(target) if float(target).is_integer() else target
        case "ner":
            tags = (texts.get(tag, tag) for tag in target)
            value = [{"word": word, "tag": tag} for word, tag in zip(row_value, tags, strict=True)]
        case _:
            value = [row_value[span["start"] : span["end"]] for span in target]
    return orjson.dumps({KEYS[wording.task.type]: value}).decode()
