"""Writes a summary of rounds of annotation as Markdown, and as JSON beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import orjson

from goldpan import __version__
from goldpan.annotation.studio.guideline import Guideline, Question
from goldpan.annotation.studio.summary import Answers, Round, Summary, Times
from goldpan.core.errors import UsageError
from goldpan.core.sanitize import for_json
from goldpan.core.secrets import mask
from goldpan.core.shares import Estimate
from goldpan.core.workspace import write_whole
from goldpan.datasets.card import escape

MARKDOWN, JSON = "annotation.md", "annotation.json"
_MOST = 100
"""Items of a round that are listed; the JSON holds all."""


def write_summary(summary: Summary, directory: Path) -> tuple[Path, Path]:
    """Write `annotation.md` and `annotation.json`; raises `UsageError` where that fails."""
    told = orjson.dumps({"goldpan": __version__, **asdict(summary)}, option=orjson.OPT_INDENT_2)
    content = {
        directory / MARKDOWN: render(summary),
        directory / JSON: for_json(told.decode()) + "\n",
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


def _guideline(one: Guideline) -> str:
    lines = [
        f"### {escape(one.form)}",
        "",
        f"Form `{one.configuration}`. On the page: {escape(', '.join(one.shown))}. "
        "Who adjudicated saw the annotators' answers above them, without names.",
        "",
    ]
    lines += [f"> {escape(said)}\n" for said in one.statements]
    for question in one.questions:
        lines.append(f"- **{escape(question.field)}** ({_kind(question)})")
        if question.words:
            lines[-1] += f": {escape(question.words)}"
        for choice in question.choices:
            hint = f": {escape(choice.hint)}" if choice.hint else ""
            lines.append(f"  - {escape(choice.label)} ({escape(choice.value)}){hint}")
    return "\n".join(lines)


def _kind(question: Question) -> str:
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
                one.project,
                one.form,
                one.items,
                one.wanted,
                one.finished,
                one.agreed,
                len(one.adjudicated),
                len(one.conflicts),
                one.answers,
                f"{one.first_at:%Y-%m-%d}" if one.first_at else "-",
                f"{one.last_at:%Y-%m-%d}" if one.last_at else "-",
            )
            for one in rounds
        ),
    )
    for one in rounds:
        if not one.blind:
            yield (
                f"{escape(one.project)} was not blind: {one.accepted:,} of {one.filled_in:,} "
                "suggestions were left as they were, so agreement in it is no proof."
            )
        if one.not_counted:
            told = ", ".join(f"{count:,} {reason}" for reason, count in one.not_counted.items())
            yield f"Answers in {escape(one.project)} that do not count: {escape(told)}."


def _agreement(rounds: Sequence[Round]) -> Iterator[str]:
    yield (
        "Of the annotators' own answers, before anything was adjudicated. Intervals hold 95 % of "
        "1,000 bootstrap samples of the items."
    )
    rows: list[Sequence[object]] = []
    categories: list[Sequence[object]] = []
    for one in rounds:
        for field in one.agreement:
            place = (one.project, field.field)
            rows.append((*place, "raw agreement", field.items, *_estimate(field.raw)))
            for pair in field.pairs:
                name = f"Cohen's kappa, {' and '.join(pair.raters)}"
                rows.append((*place, name, pair.items, *_estimate(pair.kappa)))
            rows.append((*place, "Fleiss' kappa", field.fleiss_items, *_estimate(field.fleiss)))
            rows.append((*place, "Krippendorff's alpha", field.items, *_estimate(field.alpha)))
            categories += [
                (*place, each.category, each.chosen, *_estimate(each.alpha))
                for each in field.categories
            ]
    yield _table(("round", "field", "measure", "items", "value", "95 % interval"), rows)
    yield "Krippendorff's alpha of each category against all others:"
    columns = ("round", "field", "category", "chosen", "alpha", "95 % interval")
    yield _table(columns, categories)


def _adjudicated(rounds: Sequence[Round]) -> Iterator[str]:
    if not any(one.adjudicated for one in rounds):
        yield "None."
        return
    yield _table(
        ("round", "adjudicated", "of a conflict", "of a doubt", "as an annotator said"),
        (
            (
                one.project,
                len(one.adjudicated),
                sum(not each.doubt for each in one.adjudicated),
                sum(each.doubt for each in one.adjudicated),
                sum(each.decided in each.answers.values() for each in one.adjudicated),
            )
            for one in rounds
        ),
    )
    columns = ("round", "item", "answers", "decided", "by")
    yield from _listed(
        columns,
        [
            [
                (one.project, each.item, _answers(each.answers), _values(each.decided), each.by)
                for each in one.adjudicated
            ]
            for one in rounds
        ],
    )


def _conflicts(rounds: Sequence[Round]) -> Iterator[str]:
    if not any(one.conflicts for one in rounds):
        yield "None."
        return
    items = [
        [(one.project, each.item, _answers(each.answers)) for each in one.conflicts]
        for one in rounds
    ]
    yield from _listed(("round", "item", "answers"), items)


def _times(rounds: Sequence[Round]) -> Iterator[str]:
    yield (
        "Seconds an item was open before its answer, as Label Studio counted; pauses are in it, "
        "so quartiles say more than means."
    )
    columns = ("round", "annotator", "items", "lower quartile", "median", "upper quartile")
    rows = [row for one in rounds for row in _timed(one.project, one.times)]
    rows += [
        row
        for one in rounds
        for row in _timed(f"{one.project}, adjudication", one.adjudication_times)
    ]
    yield _table(columns, rows)


def _timed(title: str, times: Iterable[Times]) -> Iterator[Sequence[object]]:
    for one in times:
        known = (one.lower, one.median, one.upper)
        told = ("-" if each is None else f"{each:.1f}" for each in known)
        yield (title, one.annotator or "all", one.answers, *told)


def _listed(columns: Sequence[str], items: Sequence[Sequence[Sequence[object]]]) -> Iterator[str]:
    """Yield a table with the first items of each round, and how many more there are."""
    yield _table(columns, (row for rows in items for row in rows[:_MOST]))
    more = sum(max(0, len(rows) - _MOST) for rows in items)
    if more:
        yield f"{more:,} more stand in {JSON}."


def _answers(answers: Answers) -> str:
    return "; ".join(f"{who}: {_values(said)}" for who, said in answers.items())


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
