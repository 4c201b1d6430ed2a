"""Finds the closings of one unit that may become rows: one class, a body, the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.papers.nlbse.issues.closings import CLOSINGS, EventSource, Unit
from goldpan.papers.nlbse.issues.profile import IssueTypeProfile
from goldpan.plugins.core import Writer, file_digest
from goldpan.plugins.filters import DuplicateSettings, replacing, sketch_file, sketches
from goldpan.plugins.text import detect_languages, may_be_private, model_languages, redact

_TEXT = pa.string()
CANDIDATES = pa.schema(
    [
        ("unit", pa.int32()),  # its number
        *CLOSINGS,
        ("label", _TEXT),  # the class
        ("redacted", pa.list_(_TEXT)),  # the kind of each thing that was made unreadable
        ("id", _TEXT),
    ]
)

EXPLAINED = {
    "incomplete": "the event names no repository, number or title",
    "no-body": "the issue has no body",
    "no-class": "no label means one of the classes",
    "several-classes": "labels mean more than one class",
    "other-language": "the text is in another language",
    "mixed-languages": "the text is in several languages",
}
"""Why a closing of an issue is no candidate, in the order in which it is asked."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and the directory for what is found."""

    source: EventSource
    profile: IssueTypeProfile
    directory: Path

    def candidates(self, unit: Unit) -> Path:
        """Return the file of a unit's candidates."""
        return self.directory / f"{unit.name.replace('/', '+')}.rows.parquet"

    def sketches(self, unit: Unit) -> Path:
        """Return the file of their sketches, where near duplicates matter."""
        return self.directory / f"{unit.name.replace('/', '+')}.sketches"


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit gave."""

    unit: Unit
    sha256: str
    """Of the file that was read."""
    closings: int
    dropped: Mapping[str, int]
    """By reason."""


def find_candidates(search: Search, unit: Unit) -> UnitResult:
    """Write the candidates of a unit and their sketches; the same each time, by renames."""
    dropped: Counter[str] = Counter()
    closings = 0
    with ExitStack() as stack:
        path = stack.enter_context(replacing(search.candidates(unit)))
        target = stack.enter_context(Writer(path, CANDIDATES))
        sketched = None
        if search.profile.near_duplicates != "keep":
            sketched = stack.enter_context(sketch_file(search.sketches(unit)))
        for batch in search.source.read(unit):
            closings += len(batch)
            rows = _select(batch, search.profile, dropped)
            if len(rows):
                if sketched is not None:
                    for sketch in sketches(rows["text"].to_pylist(), DuplicateSettings()):
                        sketched.append(sketch)
                target.write_table(_published(rows, search.profile, unit))
    return UnitResult(unit, file_digest(unit.path), closings, dict(dropped))


def _select(batch: pa.RecordBatch, profile: IssueTypeProfile, dropped: Counter[str]) -> pa.Table:
    """Return the rows of a batch that pass, with their class and text; count the others."""
    rows = pa.Table.from_batches([batch])
    classes = [_classes(labels, profile.synonyms) for labels in rows["labels"].to_pylist()]
    names = [max(meant, default="") for meant in classes]
    rows = rows.append_column("label", pa.array(names, _TEXT))
    parts = ("repo", "number", "title", "body")
    present = zip(*(pc.is_valid(rows[name]).to_pylist() for name in parts), strict=True)
    reasons = [_unfit(*found) for found in zip(present, classes, strict=True)]
    rows = _keep(rows, reasons, dropped)
    for name in ("title", "body"):
        rows = _replaced(rows, name, pc.replace_substring(rows[name], "\0", ""))
    rows = rows.append_column("text", given_text(rows))
    return _keep(rows, _foreign(rows, profile), dropped) if profile.language else rows


def _keep(rows: pa.Table, reasons: list[str | None], dropped: Counter[str]) -> pa.Table:
    """Return the rows without a reason against them, and count the reasons."""
    dropped.update(filter(None, reasons))
    return rows.filter(pa.array([reason is None for reason in reasons], pa.bool_()))


def _unfit(present: Sequence[bool], classes: set[str]) -> str | None:
    """Return why a closing is no candidate, whatever its text says."""
    if not all(present):
        return "no-body" if all(present[:-1]) else "incomplete"
    if not any(classes):
        return "no-class"
    return "several-classes" if len(classes) > 1 else None


def _classes(labels: Sequence[str | None] | None, synonyms: Mapping[str, str]) -> set[str]:
    """Return the classes that labels mean, and an empty name where one means another thing."""
    lower = (label.lower() for label in labels or () if label)
    return {synonyms[label] for label in lower if label in synonyms}


def _replaced(rows: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, column)


def given_text(rows: pa.Table | pa.RecordBatch) -> pa.Array:
    """Return what a model is given: title, blank line, body."""
    both = pc.binary_join_element_wise(rows["title"], rows["body"], "\n\n")
    return pc.if_else(pc.equal(rows["body"], ""), rows["title"], both)


def _foreign(rows: pa.Table, profile: IssueTypeProfile) -> list[str | None]:
    """Return for each row why its language is not the wanted one, or None."""
    expected = profile.language
    if profile.detector == "text":
        joined = pc.binary_join_element_wise(rows["title"], rows["body"], " ").to_pylist()
        return [
            None if language == expected else "other-language"
            for language in model_languages(joined)
        ]
    reasons: list[str | None] = []
    for language in detect_languages(rows["text"].to_pylist()):
        if language.language is not None:
            reasons.append(None if language.language == expected else "other-language")
        else:
            reasons.append("mixed-languages" if language.doubt == "mixed" else None)
    return reasons


def _published(rows: pa.Table, profile: IssueTypeProfile, unit: Unit) -> pa.Table:
    """Return rows as `CANDIDATES`, with their names, and without what is private if so wanted."""
    kinds: list[list[str]] = [[] for _ in range(len(rows))]
    if profile.redact:
        for name in ("title", "body"):
            rows = _replaced(rows, name, _redacted(rows[name], kinds))
    rows = rows.append_column("unit", pa.repeat(pa.scalar(unit.number, pa.int32()), len(rows)))
    rows = rows.append_column("redacted", pa.array(kinds, pa.list_(_TEXT)))
    issue = pc.binary_join_element_wise(rows["repo"], rows["number"].cast(_TEXT), "#")
    event = pc.binary_join_element_wise(issue, rows["event"], "@")
    names = pc.binary_join_element_wise(profile.task, pc.coalesce(event, issue), ":")
    return rows.append_column("id", names).select(CANDIDATES.names).cast(CANDIDATES)


def _redacted(texts: pa.ChunkedArray, kinds: list[list[str]]) -> pa.Array:
    cleaned = texts.to_pylist()
    marks = may_be_private(texts).to_pylist()
    for row, marked in enumerate(marks):
        if marked:
            redacted = redact(cleaned[row])
            cleaned[row] = redacted.text
            for kind, count in redacted.counts.items():
                kinds[row] += [kind] * count
    return pa.array(cleaned, _TEXT)
