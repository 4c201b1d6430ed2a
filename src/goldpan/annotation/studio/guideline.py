"""What annotators were asked, as words: the form of a project without its layout."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

from goldpan.annotation.studio.configuration import Configuration

_STATEMENTS = ("Header", "Text")


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a question."""

    value: str
    """As it is stored."""
    label: str
    """As annotators read it."""
    hint: str | None
    """What the mouse over it tells."""


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """One question of a form."""

    field: str
    words: str | None
    """What the form says of it."""
    required: bool
    multiple: bool
    choices: tuple[Choice, ...]
    """Empty where the answer is free text."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """All that a form tells annotators."""

    form: str
    configuration: str
    """Digest of what was asked."""
    shown: tuple[str, ...]
    """The texts of an item that stand on the page."""
    statements: tuple[str, ...]
    """Headings and sentences of the page."""
    questions: tuple[FormQuestion, ...]


def read_guideline(configuration: Configuration) -> Guideline:
    """Return what a configuration tells annotators, in the order of the page."""
    root = ET.fromstring(configuration.xml)  # noqa: S314 - parsed before, by `parse`
    statements, questions = [], []
    for node in root.iter():
        value = node.get("value", "")
        if node.tag in _STATEMENTS and value and not value.startswith("$"):
            statements.append(value)
        elif node.tag == "Choices":
            questions.append(
                FormQuestion(
                    node.attrib["name"],
                    node.get("requiredMessage"),
                    node.get("required") == "true",
                    node.get("choice") == "multiple",
                    tuple(
                        Choice(
                            choice.get("alias") or choice.attrib["value"],
                            choice.attrib["value"],
                            choice.get("hint"),
                        )
                        for choice in node.iter("Choice")
                    ),
                )
            )
        elif node.tag == "TextArea":
            questions.append(
                FormQuestion(node.attrib["name"], node.get("placeholder"), False, False, ())
            )
    return Guideline(
        configuration.name,
        configuration.digest,
        tuple(name.removesuffix("_panel") for name in configuration.panels),
        tuple(statements),
        tuple(questions),
    )
