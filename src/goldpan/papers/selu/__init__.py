"""SELU: seventeen tasks on the texts of software engineering that are not code."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent
_READERS = (
    "classes_by_file",
    "opinion_value",
    "requirement_verbs",
    "requirements",
    "sentiment",
    "stackoverflow_ner",
    "story_points",
)

register(
    Files("task", _HERE / "tasks"),
    Files("protocol", _HERE / "protocols"),
    Files("recipe", _HERE / "recipes"),
    *(Part("importer", name, f"goldpan.datasets.imports.{name}:read") for name in _READERS),
)
