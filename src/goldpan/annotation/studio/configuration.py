"""Labeling configurations: the questions to annotators, and checks of their answers.

Label Studio itself accepts choices that do not exist, names that are unknown, and answers that
leave out what is required; so every answer is checked here.
"""

from __future__ import annotations

import hashlib
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from goldpan.core.errors import UsageError
from goldpan.core.imports import load as load_extra
from goldpan.core.sanitize import line

_FOLDER = files("goldpan.annotation.studio") / "configs"
_MOST_TEXT = 10_000
NONE = "none"
"""The choice that goes with no other."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a configuration."""

    field: str
    """The name under which its answer is stored."""
    words: str | None
    """The sentence that the form asks."""
    labels: Mapping[str, str]
    """What annotators read for each stored choice, in order; empty for an answer in free text."""
    required: bool = False
    multiple: bool = False


@dataclass(frozen=True, slots=True)
class Configuration:
    """A labeling configuration: panels to look at, and questions."""

    name: str
    xml: str
    questions: tuple[Question, ...]
    panels: tuple[str, ...]
    """The keys of a task's data that are shown."""

    @property
    def digest(self) -> str:
        """Return a short hash of the configuration."""
        return digest(self.xml)

    def question(self, field: str) -> Question:
        """Return a question by the name of its field."""
        return next(question for question in self.questions if question.field == field)


@cache
def load(name: str, file: Path | None = None) -> Configuration:
    """Return the configuration of a form that ships, or of a plugin's file."""
    path = file or _FOLDER / f"{name}.xml"
    return complete(name, path.read_text(encoding="utf-8"))


def complete(name: str, xml: str) -> Configuration:
    """Return a configuration with the style and the definitions of choices put in."""
    style = _FOLDER.joinpath("style.css").read_text(encoding="utf-8")
    xml = parse(name, xml).xml.replace("<Style/>", f"<Style>\n{style}</Style>")
    return parse(name, xml.replace("<Definitions/>", _definitions(xml)))


def _definitions(xml: str) -> str:
    """Return the hints of all choices as a list that is always visible."""
    choices = [choice.attrib for choice in ET.fromstring(xml).iter("Choice")]  # noqa: S314 - made here
    hints = [f"{choice['value']}: {choice['hint']}" for choice in choices if "hint" in choice]
    lines = [f'<Header size="6" value={quoteattr(hint)}/>' for hint in hints]
    return f'<View className="gp-key">{"".join(lines)}</View>'


def parse(name: str, xml: str) -> Configuration:
    """Return the configuration in an XML text; raises `UsageError` for one that is invalid."""
    try:
        root = ET.fromstring(xml)  # noqa: S314 - our own file, or our copy of it
        questions = tuple(_questions(root))
    except ET.ParseError as error:
        raise UsageError(f"The configuration {name} is not XML ({error})", "Correct it") from None
    except KeyError as error:
        problem = f"The configuration {name} has a question or a choice without {error.args[0]}"
        raise UsageError(problem, "Add it") from None
    panels = tuple(
        node.attrib["value"].removeprefix("$")
        for node in root.iter("HyperText")
        if node.get("value")
    )
    return Configuration(name, xml, questions, panels)


def _questions(root: ET.Element) -> Iterator[Question]:
    for node in root.iter():
        if node.tag == "Choices":
            choices = [choice.attrib for choice in node.iter("Choice")]
            labels = {choice.get("alias") or choice["value"]: choice["value"] for choice in choices}
            multiple, required = node.get("choice") == "multiple", node.get("required") == "true"
            words = node.get("requiredMessage")
            yield Question(node.attrib["name"], words, labels, required, multiple)
        elif node.tag == "TextArea":
            yield Question(node.attrib["name"], node.get("placeholder"), {})


def check_form(configuration: Configuration) -> None:
    """Raise `UsageError` for a configuration that Label Studio would refuse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the SDK's own code
            interface = load_extra("label_studio_sdk.label_interface", "Annotation in Label Studio")
            interface.LabelInterface(configuration.xml).validate()
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - the SDK raises whatever its checks meet
        raise UsageError(
            f"Label Studio cannot show the form {configuration.name} ({line(str(error), 200)})",
            "Correct its configuration",
        ) from None


def digest(xml: str) -> str:
    """Return a short hash of a configuration, without the white space around it."""
    return hashlib.sha256(xml.strip().encode()).hexdigest()[:16]


Values = Mapping[str, tuple[str, ...]]
"""An answer by field; empty where the annotator left one out."""


def check(configuration: Configuration, result: object) -> tuple[Values, str | None]:
    """Return the values of an annotation, and the problem that it has, if any.

    Problems are unknown-name, unknown-choice, several-choices, contradiction, malformed and
    missing-answer.
    """
    questions = {question.field: question for question in configuration.questions}
    values: dict[str, tuple[str, ...]] = dict.fromkeys(questions, ())
    problems: list[str | None] = []
    for part in result if isinstance(result, list) else [None]:
        name = part.get("from_name") if isinstance(part, dict) else None
        if not isinstance(part, dict) or not isinstance(name, str):
            problems.append("malformed")
        elif name not in questions:
            problems.append("unknown-name")
        elif (answered := _values(part, questions[name])) is None:
            problems.append("malformed")
        else:
            values[name] = tuple(dict.fromkeys((*values[name], *answered)))
    problems += [_problem(question, values[name]) for name, question in questions.items()]
    return values, next(filter(None, problems), None)


def _values(part: dict[str, Any], question: Question) -> tuple[str, ...] | None:
    kind, key = ("choices", "choices") if question.labels else ("textarea", "text")
    value = part.get("value")
    values = value.get(key) if isinstance(value, dict) else None
    if isinstance(values, str):
        values = [values]
    if part.get("type") not in (None, kind) or not isinstance(values, list):
        return None
    if not all(isinstance(item, str) for item in values):
        return None
    return tuple(item[:_MOST_TEXT] for item in values)


def _problem(question: Question, values: tuple[str, ...]) -> str | None:
    if question.labels:
        if not set(values) <= question.labels.keys():
            return "unknown-choice"
        if len(values) > 1 and not question.multiple:
            return "several-choices"
        if len(values) > 1 and NONE in values:
            return "contradiction"
        if question.required and not values:
            return "missing-answer"
    return None
