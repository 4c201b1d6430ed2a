"""Rows as a model sees them: plain text, cut to what fits, with its parts between fences.

Texts from GitHub are hostile: characters that nobody sees are taken out and tokens of chat formats
are broken (`sanitize.py`). So a text may talk to a model, but it cannot begin a
message of its own, nor a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from goldpan.core.errors import EvaluationError
from goldpan.core.sanitize import for_prompt, without_tokens
from goldpan.datasets.task import Task, TaskType
from goldpan.datasets.wording import Wording, blanks
from goldpan.evaluation.task_input import FILE, PATH, built_family
from goldpan.llm.parts import PartKind, PromptPart, cut

# Why a prompted run is not done yet.


class UnansweredError(EvaluationError):
    """Some rows have no answer yet: the same command goes on, and pays for nothing twice."""

    exit_code = 3


# The form that an answer takes where the server holds a model to it: JSON by a schema.

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


_KINDS: Mapping[str, PartKind] = {FILE: "code", PATH: "code", "tree": "code"}
_TITLES = {
    "title": "issue title",
    "body": "issue body",
    "pull_title": "pull request title",
    "pull_body": "pull request description",
    "tree": "folder tree",
    PATH: "file path",
    FILE: "file before the change",
}


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


def show_row(task: Task, row: Mapping[str, Any], most: int) -> PromptRow:
    """Return what a model sees of a row, with at most about `most` characters.

    Words to tag and texts with blanks stay whole: every word has to be answered. A part that was
    taken out of the rows is not shown at all.
    """
    if task.type == "ner":
        words = tuple(" ".join(_clean(word).split()) for word in row["tokens"])
        return PromptRow(" ".join(words), words=words)
    if task.type == "mlm":
        masked = blanks(row["text"], row["masks"])
        return PromptRow(_clean(masked.text), blanks=len(masked.words))
    names = part_names(task, row)
    if not names:
        (part,), shortened = _cut([PromptPart("text", _clean(row["text"]))], most)
        return PromptRow(part.text, shortened=shortened)
    parts = [
        PromptPart(_TITLES[name], _clean(row[name]), _KINDS.get(name, "text")) for name in names
    ]
    shown, shortened = _cut([part for part in parts if part.text], most)
    return PromptRow("", shown, shortened=shortened)


def show_text(text: str) -> PromptRow:
    """Return what a model sees of an example's input."""
    return PromptRow(_clean(text))


def part_names(task: Task, row: Mapping[str, Any]) -> list[str]:
    """Return the columns of the parts that a row keeps apart, in the order to show them."""
    family = built_family(task)
    if family is None or not all(name in row for name in family.inputs):
        return []
    names = list(family.inputs)
    if FILE in names:
        names.insert(names.index(FILE), PATH)
    return names


def _cut(parts: Sequence[PromptPart], most: int) -> tuple[tuple[PromptPart, ...], bool]:
    shown = cut(parts, most)
    return shown, shown != tuple(parts)


def _clean(text: str) -> str:
    return without_tokens(for_prompt(text))
