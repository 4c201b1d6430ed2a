"""Demanding tests: they need names, literals, messages or signatures that only the fix knows.

A demand is what an added line of the tests needs and the fix introduces: the changed files did not
have it before. It is stated where the texts of the row have it. It is determined where the code
before the fix leaves one way: it has the same name or literal elsewhere, or two names or one
message that differ in a single word, which the texts or the changed files have. Otherwise it is
open, also where the code has that name or message in another wording and so leaves several ways.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

from goldpan.audit.added_code import (
    AddedCode,
    Call,
    parameter_names,
    positional,
    read_added,
    read_arguments,
)
from goldpan.audit.finding import Finding, FindingName, Span, Text, Verdict, span_of
from goldpan.audit.fixes import Fix
from goldpan.audit.precedents import CodeBefore, find_literal, find_name, find_signature, parts_of
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
    """A name, literal or signature that the tests need from the fix."""

    kind: Literal["name", "literal", "signature"]
    text: str
    needed: tuple[int, int]
    """Where it stands in the test patch."""
    introduced: tuple[int, int]
    """Where it stands in the patch."""
    arguments: tuple[str, ...] = ()
    """The parameters of a signature that the tests pass by position."""


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
        return Finding(NAME, "cannot-tell", "its patches are no git diffs", remedy=remedy)
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
        why = "not every demand is stated, and the code before is not at hand"
        remedy = f"Run goldpan clone --repo {row.repo}" if row.repo else "Give rows with a repo"
        return Finding(NAME, "cannot-tell", why, remedy=remedy)
    if code is not None:
        known = parts_of("\n".join((before, *(text.text for text in row.texts))))
        judged += [_precedented(demand, code, fixed.paths, known) for demand in others]
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
    yield from _signatures(fixed, tested, before)
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


def _signatures(fixed: AddedCode, tested: AddedCode, before: str) -> Iterator[Demand]:
    """Yield functions that tests call with several positional arguments, more than before."""
    calls: dict[str, Call] = {}
    for call in tested.calls:
        longest = calls.get(call.name)
        if not longest or positional(call.arguments) > positional(longest.arguments):
            calls[call.name] = call
    for definition in fixed.calls:
        if not definition.is_definition or definition.name not in calls:
            continue
        call = calls[definition.name]
        count = positional(call.arguments)
        names = parameter_names(definition.arguments)
        if not max(2, _most_before(definition.name, before) + 1) <= count <= len(names):
            continue
        del calls[definition.name]
        text = f"{call.name}({', '.join(names[:count])})"
        needed, introduced = (found.line.place(call.name) for found in (call, definition))
        yield Demand("signature", text, needed, introduced, arguments=names[:count])


def _most_before(name: str, before: str) -> int:
    """Return the most parameters or arguments that a function had in definitions and calls."""
    places = re.finditer(rf"(?<!\w){re.escape(name)}\(", before)
    return max((len(read_arguments(before, found.end() - 1)) for found in places), default=0)


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
        name = demand.text.partition("(")[0]
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text.text):
            if not demand.arguments or _states_arguments(demand, row, text, found.end()):
                return span_of(text, "stated", *found.span())
    return None


def _states_arguments(demand: Demand, row: Row, text: Text, end: int) -> bool:
    """Tell whether a call is written out, or all parameters are named."""
    written = read_arguments(text.text, end) if text.text.startswith("(", end) else ()
    if len(written) >= len(demand.arguments):
        return True
    words = {word for other in row.texts for word in _WORD.findall(other.text)}
    return words.issuperset(demand.arguments)


def _precedented(
    demand: Demand, code: CodeBefore, near: Sequence[str], known: Collection[str]
) -> _Judged:
    """Judge a demand that is not stated."""
    match demand.kind:
        case "name":
            found = find_name(code, demand.text, near, known)
        case "signature":
            name = demand.text.partition("(")[0]
            found = find_signature(code, name, len(demand.arguments), near)
        case "literal":
            found = find_literal(code, demand.text, near, known)
    state: State = "determined" if found.determine else "open"
    return _Judged(demand, state, (*found.spans, *found.rivals))
