"""Demanding tests: they need names, literals or messages that only the fix knows.

A demand is what an added line of the tests needs and the fix introduces: the changed files did not
have it before. It is stated where the texts of the row have it, determined where the code before
the fix has the same elsewhere, and otherwise open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from goldpan.audit.added_code import AddedCode, read_added
from goldpan.audit.finding import Finding, FindingName, Span, Verdict, span_of
from goldpan.audit.fixes import Fix
from goldpan.audit.rows import Row, TokenText, text_of, tokens_of
from goldpan.core.errors import UsageError

NAME: FindingName = "demanding-tests"
State = Literal["open", "determined", "stated"]
_STATES: tuple[State, ...] = get_args(State)
_MOST = 12
"""Demands whose evidence is kept; open ones come first."""
_NAMED = 5
_MOST_STRINGS = 1_000
_LEAST_DIGITS = 3
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{3}")
_HOLES = re.compile(
    r"\$?#?\{[^{}]*\}|%\(\w+\)[a-z]|%[-+ #0]?[\d.*]*[a-zA-Z]\b|\\[nrtdwsSDW][+*]?|\.[+*]\??|\n"
)
"""The placeholders of a message, and the wildcards of a pattern that it is compared with."""
_ENDS = " \t.,:;!?"
_ESCAPED = re.compile(r"\\([^\w\s])")


@dataclass(frozen=True, slots=True)
class Demand:
    """A name or literal that the tests need from the fix."""

    kind: Literal["name", "literal"]
    text: str
    needed: tuple[int, int]
    """Where it stands in the test patch."""
    introduced: tuple[int, int]
    """Where it stands in the patch."""


@dataclass(frozen=True, slots=True)
class _Judged:
    demand: Demand
    state: State
    span: Span | None
    """Where it is stated, or stands in the code before."""


def find_demands(row: Row, fix: Fix | None) -> Finding:
    """Return whether the added tests need what neither the texts nor the code before tell."""
    remedy = "Give rows with patch and test_patch as git diffs"
    if not row.column("test_patch") or not row.column("patch"):
        why = "the row has no test patch beside its patch"
        return Finding(NAME, "cannot-tell", why, remedy=remedy)
    try:
        fixed = read_added(text_of(row, "patch").text)
        tested = read_added(text_of(row, "test_patch").text)
    except ValueError:
        return Finding(NAME, "cannot-tell", "its patches are not git diffs", remedy=remedy)
    except UsageError as error:
        return Finding(NAME, "cannot-tell", error.problem, remedy=error.remedy)
    if not fixed.paths or not tested.paths:
        why = "its patches change no code in a language that Goldpan reads"
        return Finding(NAME, "cannot-tell", why, remedy="Read the row")
    before = "\n".join((fixed.kept, tested.kept, *(fix.before.values() if fix else ())))
    demands = tuple(_demands(fixed, tested, before))
    streams = [TokenText(text.text) for text in row.texts if demands]
    stated = {demand: _stated(demand, row, streams) for demand in demands}
    judged = [_Judged(demand, "stated", span) for demand, span in stated.items() if span]
    others = [demand for demand, span in stated.items() if not span]
    spans = fix.precedents([*map(_forms, others)]) if fix and others else None
    if others and spans is None:
        why = "not every demand is stated, and the code before the fix is not available"
        remedy = f"Run goldpan clone --repo {row.repo}" if row.repo else "Give rows with a repo"
        return Finding(NAME, "cannot-tell", why, remedy=remedy)
    for demand, span in zip(others, spans or (), strict=True):
        judged.append(_Judged(demand, "determined" if span else "open", span))
    return _finding(row, judged)


def _forms(demand: Demand) -> tuple[str, ...]:
    """Return the forms in which code has what is demanded: a single word stands in quotes."""
    text = demand.text
    if demand.kind == "name" or text[0].isdigit() or len(text.split()) > 1:
        return (text,)
    return tuple(f"{sign}{text}{sign}" for sign in "\"'`")


def _finding(row: Row, judged: Sequence[_Judged]) -> Finding:
    if not judged:
        return Finding(NAME, "not-found", "the tests need nothing that the fix introduces")
    counts = Counter(each.state for each in judged)
    states = [state for state in _STATES if counts[state]]
    ordered = sorted(judged, key=lambda each: _STATES.index(each.state))
    evidence = tuple(span for each in ordered[:_MOST] for span in _evidence(row, each))
    named = [each.demand.text for each in ordered if each.state == "open"][:_NAMED]
    sums = ", ".join(f"{counts[state]:,} {state}" for state in states)
    why = f"demands: {sums}{'; ' if named else ''}{', '.join(named)}"
    verdict: Verdict = "found" if counts["open"] else "not-found"
    return Finding(NAME, verdict, why, evidence, states[0], value=counts["open"] / len(judged))


def _evidence(row: Row, judged: _Judged) -> Iterator[Span]:
    demand = judged.demand
    yield span_of(text_of(row, "test_patch"), f"{judged.state}-{demand.kind}", *demand.needed)
    yield span_of(text_of(row, "patch"), "introduced", *demand.introduced)
    if judged.span:
        yield judged.span


def _demands(fixed: AddedCode, tested: AddedCode, before: str) -> Iterator[Demand]:
    old = frozenset(_WORD.findall(before))
    for name, place in tested.needed.items():
        if name in fixed.defined and name not in old and not name.startswith("__"):
            yield Demand("name", name, place, fixed.defined[name])
    for number in sorted(fixed.numbers.keys() & tested.numbers.keys()):
        if number not in before and sum(map(str.isdigit, number)) >= _LEAST_DIGITS:
            yield Demand("literal", number, tested.numbers[number], fixed.numbers[number])
    yield from _strings(fixed, tested, before)


def _strings(fixed: AddedCode, tested: AddedCode, before: str) -> Iterator[Demand]:
    """Yield literals that both sides have, and the parts of messages that they share."""
    theirs, needed = (dict(islice(_pieces(code), _MOST_STRINGS)) for code in (fixed, tested))
    whole = {text: text for text in needed if text in theirs}
    long = [text for text in needed if len(text.split()) > 1]
    joined = "\n".join(theirs)
    inner = {text: next(t for t in theirs if text in t) for text in long if text in joined}
    joined = "\n".join(long)
    outer = [text for text in theirs if len(text.split()) > 1 and text in joined]
    shared = {text: (needed[text], theirs[t]) for text, t in {**inner, **whole}.items()}
    for text in outer:
        shared.setdefault(text, (needed[next(t for t in long if text in t)], theirs[text]))
    for text, (need, introduced) in shared.items():
        if text not in before and not any(text != t and text in t for t in shared):
            yield Demand("literal", text, need, introduced)


def _pieces(code: AddedCode) -> Iterator[tuple[str, tuple[int, int]]]:
    for literal, place in code.strings.items():
        pieces = _HOLES.split(_ESCAPED.sub(r"\1", literal))
        for piece in pieces:
            text = piece.strip(_ENDS if len(pieces) == 1 else f"{_ENDS}'\"`()[]=")
            if _LETTERS.search(text):
                yield text, place


def _stated(demand: Demand, row: Row, streams: Sequence[TokenText]) -> Span | None:
    """Return where the texts of the row state a demand."""
    for text, stream in zip(row.texts, streams, strict=True):
        if demand.kind == "literal" and not _WORD.fullmatch(demand.text):
            if place := stream.find(tokens_of(demand.text)):
                return span_of(text, "stated", *place)
            continue
        if found := re.search(rf"(?<!\w){re.escape(demand.text)}(?!\w)", text.text):
            return span_of(text, "stated", *found.span())
    return None
