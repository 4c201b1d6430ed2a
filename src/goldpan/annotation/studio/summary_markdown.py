"""Writes a summary of rounds of annotation as Markdown, and as JSON beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from goldpan._version import __version__
from goldpan.annotation.studio.gold import GoldSet
from goldpan.annotation.studio.summary import Answers, Summary
from goldpan.core.errors import UsageError
from goldpan.core.proportions import Estimate
from goldpan.core.result import Block, Line, Result
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.storage.workspace import write_whole
from goldpan.datasets.card import RawMarkdown, markdown

MARKDOWN, JSON = "annotation.md", "annotation.json"
_MOST = 100
"""Items of a round that are listed; the JSON holds all."""


@dataclass(frozen=True, slots=True)
class AnnotationExport(Result):
    """Files for a paper: a summary of rounds of annotation, or a gold set."""

    summary: Summary | None
    files: tuple[Path, ...]
    gold: GoldSet | None
    gold_file: Path | None
    labels: Mapping[str, int]

    def plain(self) -> dict[str, Any]:
        """Return the rounds and the labels of the gold set."""
        value: dict[str, Any] = {}
        if self.summary is not None:
            value["files"] = [str(path) for path in self.files]
            value["rounds"] = [
                {
                    "project": annotated.project,
                    "items": annotated.items,
                    "agreed": annotated.agreed,
                    "adjudicated": len(annotated.adjudicated),
                    "conflicts": len(annotated.conflicts),
                }
                for annotated in self.summary.rounds
            ]
        if self.gold is not None:
            value["gold"] = str(self.gold_file)
            value |= {"labels": dict(self.labels), "undecided": self.gold.undecided}
        return value

    def blocks(self) -> Iterator[Block]:
        """Yield a line a round, and what the gold set holds."""
        if self.summary is not None:
            for annotated in self.summary.rounds:
                yield Line(
                    f"{annotated.project}: {annotated.items:,} items, {annotated.agreed:,} agreed, "
                    f"{len(annotated.adjudicated):,} adjudicated, "
                    f"{len(annotated.conflicts):,} open conflicts"
                )
            yield Line(f"Wrote {' and '.join(map(str, self.files))}")
        if self.gold is not None:
            counts = ", ".join(f"{label} {count:,}" for label, count in self.labels.items())
            yield Line(f"{self.gold_file}: {len(self.gold.items):,} items ({counts})")
            if self.gold.undecided:
                undecided = f"{self.gold.undecided:,} more are not decided"
                yield Line(f"{undecided}: adjudicate them, then pull")


def write_summary(summary: Summary, directory: Path) -> tuple[Path, Path]:
    """Write `annotation.md` and `annotation.json`; raises `UsageError` where that fails."""
    guidelines = [
        {
            "form": asked.name,
            "configuration": asked.digest,
            "shown": asked.shown,
            "statements": asked.statements,
            "questions": asked.questions,
        }
        for asked in summary.guidelines
    ]
    facts = {"goldpan": __version__, "guidelines": guidelines, "rounds": summary.rounds}
    summary_json = orjson.dumps(facts, option=orjson.OPT_INDENT_2)
    content = {
        directory / MARKDOWN: render(summary),
        directory / JSON: for_json(summary_json.decode()) + "\n",
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in content.items():
            write_whole(path, mask(text.encode()))
    except OSError as error:
        raise UsageError(
            f"{directory} cannot be written: {error.strerror}", "Choose another --output"
        ) from None
    return directory / MARKDOWN, directory / JSON


def render(summary: Summary) -> str:
    """Return a summary as Markdown."""
    text = markdown(
        "annotation.md.jinja",
        "goldpan.annotation.studio",
        version=__version__,
        guidelines=summary.guidelines,
        rounds=summary.rounds,
        most=_MOST,
        estimate=_estimate,
        answers=_answers,
        more=lambda lists: sum(max(0, len(items) - _MOST) for items in lists),
    )
    return text.strip() + "\n"


def _answers(answers: Answers) -> str:
    return "; ".join(f"{who}: {', '.join(said) or 'nothing'}" for who, said in answers.items())


def _estimate(value: Estimate) -> RawMarkdown:
    """Return the cells of an estimate and its interval."""
    if value.value is None:
        return RawMarkdown("not defined | -")
    if value.low is None or value.high is None:
        return RawMarkdown(f"{value.value:.3f} | -")
    return RawMarkdown(f"{value.value:.3f} | {value.low:.3f} to {value.high:.3f}")
