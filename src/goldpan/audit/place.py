"""The place is in the question: which files, classes and functions of the fix the issue names.

Fully where it names each changed file, partly where it names some of them, or a class or function
that is changed (Kochhar et al., ASE 2014). A file is named by its path or the end of it, by a base
name that no other file is likely to have, as a module of Python or Lua, or by a stem that is no
plain word or the scope of a commit's title.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from goldpan.audit.finding import Finding, FindingName, Span, Text, Verdict, span_of
from goldpan.audit.fixes import Fix
from goldpan.audit.rows import Row
from goldpan.code.grammar import Symbol, symbols_around
from goldpan.code.languages import language_of
from goldpan.code.substance import LARGEST
from goldpan.core.errors import UsageError
from goldpan.text.lines import LineKind, classify

NAME: FindingName = "place-in-issue"
_COMMON = re.compile(
    r"(?:__init__|__main__|index|main|mod|lib|setup|utils?|helpers?|common|types?|constants|config"
    r"|base|core|app|test|tests|models?|views?)\.\w+|[A-Z]+(?:\.\w+)?|package-info\.java"
)
"""Base names that many projects have several times."""
_SHAPED = re.compile(r"[a-z0-9][A-Z]|\w_\w|[A-Za-z]\d|[A-Z][a-z]+[A-Z]")
_AFTER = r"(?![\w-]|\.\w)"
_BELOW = r"(?<![\w-])"
_ALONE = r"(?:(?<![\w./-])|(?<=(?<![\w.])\./))"
"""Lookbehinds for a path, below any folder, and for a name, below none but the current one."""
_WITH_MORE = r"(?![\w-])"
"""The lookahead for a name that a member or a suffix may follow."""
_SCOPE = r"^\w+\("
_SCOPED = r"\)!?:"
"""Patterns around the scope in a commit's title, as in `fix(parser): ...`."""
_MODULES = frozenset({"py", "lua"})


@dataclass(frozen=True, slots=True)
class _Place:
    """A gold file with the definitions that the fix changes in it."""

    path: str
    symbols: tuple[Symbol, ...]


def find_place(row: Row, fix: Fix | None) -> Finding:
    """Return how many of the places that the fix changes are named in the texts of a row."""
    places, undecided = _places(row, fix)
    if not places:
        why = "the changed files are not known"
        return Finding(NAME, "cannot-tell", why, remedy="Give rows with a git diff")
    several = _several(row)
    traces = {text.source: _trace_lines(text) for text in row.texts}
    files: dict[str, Span] = {}
    symbols: dict[Symbol, Span] = {}
    for place in places:
        for text in row.texts:
            if place.path not in files and (span := _file(text, place.path, several)):
                files[place.path] = _in_trace(text, span, traces)
            for symbol in place.symbols:
                if symbol not in symbols and (span := _symbol(text, symbol)):
                    symbols[symbol] = _in_trace(text, span, traces)
    gold = {symbol for place in places for symbol in place.symbols}
    case = "fully" if len(files) == len(places) else "partly" if files or symbols else "not-named"
    why = (
        f"{case.replace('-', ' ')}: {len(files):,} of {len(places):,} files, "
        f"{len(symbols):,} of {len(gold):,} classes and functions"
    )
    why += f"; {undecided}" if undecided else ""
    if undecided and case == "not-named":
        remedy = f"Run goldpan clone --repo {row.repo}" if row.repo else "Read the row"
        return Finding(NAME, "cannot-tell", why, case=case, remedy=remedy)
    evidence = (*files.values(), *symbols.values())
    verdict: Verdict = "not-found" if case == "not-named" else "found"
    return Finding(NAME, verdict, why, evidence, case, value=len(files) / len(places))


def _places(row: Row, fix: Fix | None) -> tuple[list[_Place], str]:
    """Return the places, and why their classes and functions cannot be identified."""
    if fix is None:
        path = row.column("changed_path")
        undecided = "classes and functions cannot be identified without the change"
        return ([_Place(path, ())], undecided) if path else ([], "")
    places, undecided = [], ""
    for file in fix.files:
        language, before = language_of(file.path), fix.before.get(file.path)
        symbols: tuple[Symbol, ...] = ()
        if before and len(before) > LARGEST:
            undecided = "classes and functions of a large file cannot be identified"
        elif before and language and language.grammar:
            try:
                symbols = symbols_around(before.encode(), language.grammar, file.places)
            except UsageError as error:
                undecided = f"{error.problem}: classes and functions cannot be identified"
        elif language and not before and file.old:
            undecided = "classes and functions cannot be identified without the file before"
        places.append(_Place(file.path, symbols))
    return places, undecided


def _several(row: Row) -> frozenset[str] | None:
    """Return the base names that several files have; None where the row has no tree."""
    paths = row.columns.get("paths")
    if not isinstance(paths, list):
        return None
    names = Counter(str(path).rpartition("/")[2] for path in paths)
    return frozenset(name for name, files in names.items() if files > 1)


def _file(text: Text, path: str, several: frozenset[str] | None) -> Span | None:
    for kind, before, name, after in _names(path, several):
        pattern = before + re.escape(name) + after
        if name in text.text and (found := re.search(pattern, text.text, re.M)):
            return span_of(text, kind, *found.span())
    return None


def _names(path: str, several: frozenset[str] | None) -> Iterator[tuple[str, str, str, str]]:
    """Yield the names of a file, the longest first: kind, pattern before, name, pattern after."""
    folders, _, base = path.rpartition("/")
    parts = folders.split("/") if folders else []
    yield "path", _BELOW if parts else _ALONE, path, _AFTER
    for start in range(1, len(parts)):
        yield "path-end", _BELOW, "/".join([*parts[start:], base]), _AFTER
    stem, _, suffix = base.rpartition(".")
    is_shared = bool(_COMMON.fullmatch(base)) if several is None else base in several
    if not is_shared:
        yield "base-name", _ALONE, base, _AFTER
        if _SHAPED.search(stem):
            yield "stem", _ALONE, stem, _WITH_MORE
        if stem:
            yield "stem", _SCOPE, stem, _SCOPED
    if suffix in _MODULES and parts:
        modules = [*parts, stem] if stem != "__init__" else parts
        # What follows the name of a package, or of a table in Lua, may be a module of its own.
        after = _WITH_MORE if suffix == "py" and stem != "__init__" else _AFTER
        for start in range(len(modules) - 1):
            yield "module", _ALONE, ".".join(modules[start:]), after


def _symbol(text: Text, symbol: Symbol) -> Span | None:
    """Return where a definition is named: as a word if its shape is that of a name, or as code."""
    name = re.escape(symbol.name)
    if symbol.name not in text.text:
        return None
    if _SHAPED.search(symbol.name):
        pattern = rf"(?<!\w){name}(?!\w)"
    else:
        pattern = rf"(?<!\w){name}(?=\(\)?)|(?<=`){name}(?=`)|(?<=\w[.:#]){name}(?!\w)"
    found = re.search(pattern, text.text)
    return span_of(text, symbol.kind, *found.span()) if found else None


def _trace_lines(text: Text) -> frozenset[int]:
    return frozenset(
        number for number, line in enumerate(classify(text.text)) if line.kind is LineKind.TRACE
    )


def _in_trace(text: Text, span: Span, traces: dict[str, frozenset[int]]) -> Span:
    line = text.text.count("\n", 0, span.start)
    kind = f"{span.kind}-in-trace" if line in traces[text.source] else span.kind
    return span_of(text, kind, span.start, span.end)
