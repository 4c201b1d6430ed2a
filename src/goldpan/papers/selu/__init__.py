"""SELU: seventeen tasks on the texts of software engineering that are not code."""

from pathlib import Path

from goldpan.plugins import Files, Part, register

_HERE = Path(__file__).parent
_READERS = ("requirement_verbs", "stackoverflow_ner")

register(
    Files("task", _HERE / "tasks"),
    Files("protocol", _HERE / "protocols"),
    Files("recipe", _HERE / "recipes"),
    *(Part("importer", name, f"goldpan.papers.selu.{name}:read") for name in _READERS),
)
