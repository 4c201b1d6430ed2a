"""What papers and plugins add to the report on a comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from goldpan.evaluation.comparison_result import ComparisonResult
from goldpan.report.document import Section


@dataclass(frozen=True, slots=True)
class Extra:
    """A section of its own, with what the summary and JSON say of it."""

    section: Section
    """Follows the ranking; its tables stand among those for papers."""
    plain: Any
    """What ``goldpan evaluate compare --json`` has under the name of the extra."""
    sentence: str = ""
    """For the summary; empty where there is nothing to say."""


MakeExtra = Callable[[ComparisonResult], Extra | None]
"""Returns None where the runs give it nothing to say."""
_MODULES = {"nlbse23": "goldpan.papers.nlbse.nlbse23", "nlbse24": "goldpan.papers.nlbse.nlbse24"}


def find_extras(compared: ComparisonResult) -> dict[str, Extra]:
    """Return by name what there is to add."""
    makers: dict[str, MakeExtra] = {
        name: import_module(module).report_extra for name, module in _MODULES.items()
    }
    made = {name: make(compared) for name, make in makers.items()}
    return {name: extra for name, extra in made.items() if extra is not None}
