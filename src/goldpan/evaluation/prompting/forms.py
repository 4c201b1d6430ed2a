"""The form that an answer takes where the server holds a model to it: JSON by a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from goldpan.datasets.task import TaskType
from goldpan.datasets.wording import Wording

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
