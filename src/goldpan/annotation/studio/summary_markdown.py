"""Writes a summary of rounds of annotation as Markdown, and as JSON beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from goldpan._version import __version__
from goldpan.annotation.studio.configuration import FormQuestion, Guideline
from goldpan.annotation.studio.gold import GoldSet
from goldpan.annotation.studio.summary import AnnotationTimes, Answers, Round, Summary
from goldpan.core.errors import UsageError
from goldpan.core.proportions import Estimate
from goldpan.core.result import Block, Line, Result
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.workspace import write_whole
from goldpan.datasets.card import escape

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
    summary_json = orjson.dumps(
        {"goldpan": __version__, **asdict(summary)}, option=orjson.OPT_INDENT_2
    )
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
    parts = ["# Annotation", f"Written by Goldpan {__version__} of the answers that were pulled."]
    parts += ["## What annotators were shown", *map(_guideline, summary.guidelines)]
    parts += ["## Rounds", *_rounds(summary.rounds)]
    parts += ["## Agreement by round", *_agreement(summary.rounds)]
    parts += ["## Items adjudicated", *_adjudicated(summary.rounds)]
    parts += ["## Open conflicts", *_conflicts(summary.rounds)]
    parts += ["## Time per item", *_times(summary.rounds)]
    return "\n\n".join(parts) + "\n"


def _guideline(guideline: Guideline) -> str:
    lines = [
        f"### {escape(guideline.form)}",
        "",
        f"Form `{guideline.configuration}`. On the page: {escape(', '.join(guideline.shown))}. "
        "Who adjudicated saw the annotators' answers above them, without names.",
        "",
    ]
    lines += [f"> {escape(statement)}\n" for statement in guideline.statements]
    for question in guideline.questions:
        lines.append(f"- **{escape(question.field)}** ({_kind(question)})")
        if question.words:
            lines[-1] += f": {escape(question.words)}"
        for choice in question.choices:
            hint = f": {escape(choice.hint)}" if choice.hint else ""
            lines.append(f"  - {escape(choice.label)} ({escape(choice.value)}){hint}")
    return "\n".join(lines)


def _kind(question: FormQuestion) -> str:
    if not question.choices:
        kind = "free text"
    elif len(question.choices) == 1:
        kind = "a mark"
    else:
        kind = "one or more choices" if question.multiple else "one choice"
    return kind if question.required else f"{kind}, not required"


def _rounds(rounds: Sequence[Round]) -> Iterator[str]:
    columns = ("round", "form", "items", "people an item", "finished", "agreed", "adjudicated")
    yield _table(
        (*columns, "open conflicts", "answers", "first answer", "last answer"),
        (
            (
                annotated.project,
                annotated.form,
                annotated.items,
                annotated.wanted,
                annotated.finished,
                annotated.agreed,
                len(annotated.adjudicated),
                len(annotated.conflicts),
                annotated.answers,
                f"{annotated.first_at:%Y-%m-%d}" if annotated.first_at else "-",
                f"{annotated.last_at:%Y-%m-%d}" if annotated.last_at else "-",
            )
            for annotated in rounds
        ),
    )
    for annotated in rounds:
        if not annotated.blind:
            yield (
                f"{escape(annotated.project)} was not blind: {annotated.accepted:,} of "
                f"{annotated.filled_in:,} suggestions were left as they were, so agreement in it "
                "is no proof."
            )
        if annotated.not_counted:
            reasons = ", ".join(
                f"{count:,} {reason}" for reason, count in annotated.not_counted.items()
            )
            yield f"Answers in {escape(annotated.project)} that do not count: {escape(reasons)}."


def _agreement(rounds: Sequence[Round]) -> Iterator[str]:
    yield (
        "Of the annotators' own answers, before anything was adjudicated. Intervals hold 95 % of "
        "1,000 bootstrap samples of the items."
    )
    rows: list[Sequence[object]] = []
    categories: list[Sequence[object]] = []
    for annotated in rounds:
        for field in annotated.agreement:
            key = (annotated.project, field.field)
            rows.append((*key, "raw agreement", field.items, *_estimate(field.raw)))
            for pair in field.pairs:
                name = f"Cohen's kappa, {' and '.join(pair.raters)}"
                rows.append((*key, name, pair.items, *_estimate(pair.kappa)))
            rows.append((*key, "Fleiss' kappa", field.fleiss_items, *_estimate(field.fleiss)))
            rows.append((*key, "Krippendorff's alpha", field.items, *_estimate(field.alpha)))
            categories += [
                (*key, category.category, category.chosen, *_estimate(category.alpha))
                for category in field.categories
            ]
    yield _table(("round", "field", "measure", "items", "value", "95 % interval"), rows)
    yield "Krippendorff's alpha of each category against all others:"
    columns = ("round", "field", "category", "chosen", "alpha", "95 % interval")
    yield _table(columns, categories)


def _adjudicated(rounds: Sequence[Round]) -> Iterator[str]:
    if not any(annotated.adjudicated for annotated in rounds):
        yield "None."
        return
    yield _table(
        ("round", "adjudicated", "of a conflict", "of a doubt", "as an annotator said"),
        (
            (
                annotated.project,
                len(annotated.adjudicated),
                sum(not decision.doubt for decision in annotated.adjudicated),
                sum(decision.doubt for decision in annotated.adjudicated),
                sum(
                    decision.decided in decision.answers.values()
                    for decision in annotated.adjudicated
                ),
            )
            for annotated in rounds
        ),
    )
    columns = ("round", "item", "answers", "decided", "by")
    yield from _listed(
        columns,
        [
            [
                (
                    annotated.project,
                    decision.item,
                    _answers(decision.answers),
                    _values(decision.decided),
                    decision.by,
                )
                for decision in annotated.adjudicated
            ]
            for annotated in rounds
        ],
    )


def _conflicts(rounds: Sequence[Round]) -> Iterator[str]:
    if not any(annotated.conflicts for annotated in rounds):
        yield "None."
        return
    items = [
        [
            (annotated.project, conflict.item, _answers(conflict.answers))
            for conflict in annotated.conflicts
        ]
        for annotated in rounds
    ]
    yield from _listed(("round", "item", "answers"), items)


def _times(rounds: Sequence[Round]) -> Iterator[str]:
    yield (
        "Seconds an item was open before its answer, as Label Studio counted; pauses are in it, "
        "so quartiles say more than means."
    )
    columns = ("round", "annotator", "items", "lower quartile", "median", "upper quartile")
    rows = [row for annotated in rounds for row in _timed(annotated.project, annotated.times)]
    rows += [
        row
        for annotated in rounds
        for row in _timed(f"{annotated.project}, adjudication", annotated.adjudication_times)
    ]
    yield _table(columns, rows)


def _timed(title: str, times: Iterable[AnnotationTimes]) -> Iterator[Sequence[object]]:
    for spread in times:
        times_of = (spread.lower, spread.median, spread.upper)
        shown = ("-" if seconds is None else f"{seconds:.1f}" for seconds in times_of)
        yield (title, spread.annotator or "all", spread.answers, *shown)


def _listed(columns: Sequence[str], items: Sequence[Sequence[Sequence[object]]]) -> Iterator[str]:
    """Yield a table with the first items of each round, and how many more there are."""
    yield _table(columns, (row for rows in items for row in rows[:_MOST]))
    more = sum(max(0, len(rows) - _MOST) for rows in items)
    if more:
        yield f"{more:,} more are in {JSON}."


def _answers(answers: Answers) -> str:
    return "; ".join(f"{who}: {_values(values)}" for who, values in answers.items())


def _values(values: Sequence[str]) -> str:
    return ", ".join(values) or "nothing"


def _estimate(value: Estimate) -> tuple[str, str]:
    if value.value is None:
        return "not defined", "-"
    if value.low is None or value.high is None:
        return f"{value.value:.3f}", "-"
    return f"{value.value:.3f}", f"{value.low:.3f} to {value.high:.3f}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns)]
    lines += [[f"{x:,}" if isinstance(x, int) else escape(x) for x in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
