"""The form of answers, and the answer to a task read from a model's reply.

JSON is read where it was asked for. Else, and where a server did not hold the model to it, words
are read: of a label, the longest one that stands in the text (SELU, section IV-C); of a number,
the only one there is; of tags, lines of ``word: tag``. A text is taken as it is. What gives no
answer is null, and counts as wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from goldpan.datasets.tasks.task import TaskType
from goldpan.datasets.tasks.wording import Wording
from goldpan.evaluation.model import Answer

if TYPE_CHECKING:
    from goldpan.evaluation.models.prompts import PromptRow

_THOUGHT_START, _THOUGHT_END = "<think>", "</think>"
_FENCE = re.compile(r"\A\s*```[a-z]{0,10}\n(.*)\n```\s*\Z", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MINUS = "\u2212"
_BULLET = re.compile(r"\A(?:\d{1,4}[.)]|[-*])\s+")
_AHEAD = 50
"""Words that a model may leave out between two that it tags."""


@dataclass(frozen=True, slots=True)
class Read:
    """Answer that was read from a model's words."""

    value: Answer
    note: str = ""
    """Reason why there is no value, or how it was found."""


def read_answer(wording: Wording, shown: PromptRow, reply: str, *, structured: bool) -> Read:
    """Return the answer in the type of the task's target; never fails."""
    text = without_thought(reply)
    if not text.strip():
        return Read(None, "empty")
    if wording.task.type == "text-generation":
        return Read(text)
    note = ""
    if structured:
        parsed = _json(text)
        value = None if parsed is None else _of_json(wording, shown, parsed)
        if value is not None:
            return Read(value)
        note = "no-json"
    value = _of_words(wording, shown, text)
    if value is None:
        return Read(None, "no-answer")
    return Read(value, note)


def without_thought(text: str) -> str:
    """Return the reply after a model's thoughts, which some local servers send along."""
    if not text.lstrip().startswith(_THOUGHT_START):
        return text
    _, end, reply = text.partition(_THOUGHT_END)
    return reply.lstrip("\n") if end else ""


def find_labels(texts: Sequence[str], reply: str) -> list[str]:
    """Return all of the texts that a reply holds, longer ones first, each part read once."""
    folded = reply.casefold()
    labels = []
    for text in sorted(texts, key=lambda candidate: (-len(candidate), candidate)):
        if text.casefold() in folded:
            labels.append(text)
            folded = folded.replace(text.casefold(), "\0")
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


def _json(text: str) -> Mapping[str, Any] | None:
    fence = _FENCE.match(text)
    try:
        data = orjson.loads(fence[1] if fence else text)
    except orjson.JSONDecodeError:
        return None
    return data if isinstance(data, dict) else None


def _of_json(wording: Wording, shown: PromptRow, data: Mapping[str, Any]) -> Answer:
    value = data.get(KEYS[wording.task.type])
    names = wording.names
    match wording.task.type:
        case "binary" | "multi-class":
            return names.get(value) if isinstance(value, str) else None
        case "regression":
            return _finite(value)
        case "multi-label":
            values = _strings(value)
            if values is None or any(text not in names for text in values):
                return None
            return _ordered(wording, [names[text] for text in values])
        case "ner":
            items = value if isinstance(value, list) else []
            pairs = [
                (" ".join(str(item["word"]).split()), str(item["tag"]))
                for item in items
                if isinstance(item, dict) and {"word", "tag"} <= item.keys()
            ]
            return _tags(wording, shown, pairs)
        case _:
            values = _strings(value)
            return values if values is not None and len(values) == shown.blanks else None


def _of_words(wording: Wording, shown: PromptRow, text: str) -> Answer:
    texts = tuple(wording.texts.values())
    match wording.task.type:
        case "binary" | "multi-class":
            found = find_labels(texts, text)
            return wording.names[found[0]] if found else None
        case "regression":
            numbers = {float(number) for number in _NUMBER.findall(text.replace(_MINUS, "-"))}
            return _finite(numbers.pop()) if len(numbers) == 1 else None
        case "multi-label":
            several = find_labels(texts, text)
            if several:
                return _ordered(wording, [wording.names[text_] for text_ in several])
            nothing = wording.nothing
            return [] if nothing and nothing in text.casefold() else None
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
    return float(value) if math.isfinite(value) else None


def _strings(value: object) -> list[str] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    return list(value)


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
    key = KEYS.get(wording.task.type)
    if key is None:
        return None
    return _object({key: _value(wording)})


def asked_form(wording: Wording) -> str:
    """Return the sentence that tells a model the form; without it, models fight the schema."""
    key = KEYS[wording.task.type]
    shapes: Mapping[TaskType, str] = {
        "multi-label": '["...", ...]',
        "regression": "...",
        "ner": '[{"word": "...", "tag": "..."}, ...]',
        "mlm": '["...", ...]',
    }
    shape = shapes.get(wording.task.type, '"..."')
    return f'Give the answer as JSON: {{"{key}": {shape}}}'


def written_answer(wording: Wording, row_value: Any, target: Any) -> str:
    """Return a right answer in that form, as an example shows it."""
    texts = wording.texts
    match wording.task.type:
        case "binary" | "multi-class":
            value: Any = texts[target]
        case "multi-label":
            value = [texts[name] for name in target]
        case "regression":
            value = int(target) if float(target).is_integer() else target
        case "ner":
            value = [
                {"word": word, "tag": texts.get(tag, tag)}
                for word, tag in zip(row_value, target, strict=True)
            ]
        case _:
            value = [row_value[span["start"] : span["end"]] for span in target]
    return orjson.dumps({KEYS[wording.task.type]: value}).decode()


def _value(wording: Wording) -> dict[str, Any]:
    labels = {"type": "string", "enum": list(wording.texts.values())}
    text = {"type": "string"}
    match wording.task.type:
        case "binary" | "multi-class":
            return labels
        case "multi-label":
            return {"type": "array", "items": labels, "maxItems": len(wording.texts)}
        case "regression":
            return {"type": "number"}
        case "ner":
            return {"type": "array", "items": _object({"word": text, "tag": labels})}
        case _:
            return {"type": "array", "items": text}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
