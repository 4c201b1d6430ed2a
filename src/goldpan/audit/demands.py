"""Demanding tests: they need names, literals or messages that only the fix knows.

A demand is what an added line of the tests needs and the fix introduces: the changed files did not
have it before. It is stated where the texts of the row have it. It is determined where the code
before the fix has the same elsewhere, or two names that differ from it in a single word, which the
texts or the changed files have. Otherwise it is open.
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
from goldpan.audit.precedents import find_literal, find_name, parts_of
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
    spans: tuple[Span, ...]


def find_demands(row: Row, fix: Fix | None) -> Finding:
    """Return whether the added tests need what neither the texts nor the code before tell."""
    remedy = "Give rows with patch and test_patch as git diffs"
    if not row.column("test_patch") or not row.column("patch"):
        why = "the row has no test patch beside its patch"
        return Finding(NAME, "cannot-tell", why, remedy=remedy)
    patch, tests = text_of(row, "patch").text, text_of(row, "test_patch").text
    old = frozenset[str]().union(*(file.old for file in (fix.files if fix else ())))
    shared = (set(_WORD.findall(patch)) & set(_WORD.findall(tests))) - old
    try:
        fixed, tested = read_added(patch, shared), read_added(tests, shared)
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
    judged = [_Judged(demand, "stated", (span,)) for demand, span in stated.items() if span]
    others = [demand for demand, span in stated.items() if not span]
    code = fix.code() if fix and others else None
    if others and code is None:
        why = "not every demand is stated, and the code before the fix is not available"
        remedy = f"Run goldpan clone --repo {row.repo}" if row.repo else "Give rows with a repo"
        return Finding(NAME, "cannot-tell", why, remedy=remedy)
    if code is not None:
        known = parts_of("\n".join((before, *(text.text for text in row.texts))))
        for demand in others:
            if demand.kind == "name":
                spans = find_name(code, demand.text, fixed.paths, known)
            else:
                spans = find_literal(code, demand.text, fixed.paths)
            judged.append(_Judged(demand, "determined" if spans else "open", spans))
    return _finding(row, judged)


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
    yield from judged.spans


def _demands(fixed: AddedCode, tested: AddedCode, before: str) -> Iterator[Demand]:
    kept = frozenset(_WORD.findall(f"{fixed.kept}\n{tested.kept}"))
    yield from _names(fixed, tested, kept)
    for number in sorted(fixed.numbers.keys() & tested.numbers.keys()):
        if number not in before and sum(map(str.isdigit, number)) >= _LEAST_DIGITS:
            needed, introduced = (code.numbers[number] for code in (tested, fixed))
            yield Demand("literal", number, needed.place(number), introduced.place(number))
    yield from _strings(fixed, tested, before)


def _names(fixed: AddedCode, tested: AddedCode, old: frozenset[str]) -> Iterator[Demand]:
    own = {placed.use.name for placed in tested.uses if placed.use.defines and placed.use.is_bare}
    defined = dict(fixed.new_files)
    for placed in reversed(fixed.uses):
        if placed.use.defines:
            defined[placed.use.name] = placed.place
    seen = set(old)
    for placed in tested.uses:
        name = placed.use.name
        is_hook = placed.use.is_function and placed.line.text[:1].isspace()
        is_needed = placed.use.is_reached or (placed.use.is_called and name not in own)
        is_needed = (is_needed or is_hook) and not name.startswith("__")
        if name not in seen and is_needed and name in defined:
            seen.add(name)
            yield Demand("name", name, placed.place, defined[name])


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
