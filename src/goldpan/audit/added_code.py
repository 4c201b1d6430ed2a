"""What a diff adds to code: names with their uses, numbers and strings, with their places in it.

Signs tell what a line does with a name in most languages: behind `def` or before `=` it is defined;
one that is called, reached by a dot, imported, or named as an argument or a field is needed. Both
are guesses, as no grammar reads parts of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from goldpan.code.grammar import read
from goldpan.code.languages import Language, language_of
from goldpan.code.lexer import Stripped, strip
from goldpan.code.patch import HunkLine, read_hunks, split_patch

_NEW = re.compile(r"^--- /dev/null$", re.M)
_QUOTED = re.compile(r"(\"\"\"|'''|[\"'`])(.*?)(?<!\\)\1", re.S)
_LONGEST, _MOST = 200_000, 2_000
"""Characters of a hunk, and its strings, that are read: longer ones are generated."""
_NUMBER = re.compile(r"(?<![\w.])\d(?:\w|\.(?=\d))*")
_FUNCTION = re.compile(r"\b(?:def|func|fn|function|fun|sub|constructor)\b")
_DECLARED = re.compile(
    r"\b(?:def|func|fn|function|fun|sub|class|interface|struct|enum|trait|type|module|const|let|var"
    r"|val|define|typedef|protocol|object|record|mod|union|namespace)\s+(?:\(\)\s*)?(\w+)"
)
_TYPED = re.compile(
    r"\s*(?!(?:return|else|new|throw|await|yield|if|elif|unless|until|while|for|switch|catch|case"
    r"|del|raise|assert|with|print|lambda|typeof|delete|goto|not|and|or|in|is)\b)"
    r"(?:(?:[\w<>:\[\],]+[\s*&]+)+(\w+)\(\)[^=]*|(\w+)\(\)\s*\{)"
)
"""A function behind its type, or a method; parameters are left out."""
_ASSIGNED = re.compile(r"(\w+)\s*(?:=(?![=>])|:=)")
_FIELD = re.compile(
    r"\s*[{,]?\s*(?:(\w+)\s*:(?!:).*|(\w+)(?:\s+[\w*.\[\]]+)?,?|[\w<>*]+\s+\**(\w+);)\s*"
)
_PARAMETER = re.compile(r"[(,]\s*[*&]*(?:[\w<>*&]+\s+)*[*&]*(\w+)\s*(?=[,)=:])")
_IMPORT = re.compile(r"\s*(?:import|from|#\s*include|using|require|use|package|export \{)\b")
_REACHED = re.compile(
    r"(?<!\bself)(?<!\bthis)(?<!\bcls)(?:\?\.|\.|->|::)\s*(\w+)"
    r"|[(,]\s*(\w+)\s*=(?!=)|[{,]\s*(\w+)\s*:(?!:)|@(\w+)"
)
_CALLED = re.compile(r"(?<![\w.>:])(?:(\w+)\s*\(|([A-Z]\w+))")
_NAME = re.compile(r"(?!(?:self|this|cls|Self)\Z)[^\W\d]\w{2,}")


@dataclass(slots=True)
class AddedCode:
    """What a diff adds; places are in the diff."""

    paths: list[str] = field(default_factory=list)
    """The files of code, by their old names where they were renamed."""
    defined: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Names that are defined, and the base names, without suffix, of new files."""
    needed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Names that are reached, or called and not defined here."""
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    strings: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Strings without their quotes, each with the place of its first line, with quotes."""
    kept: str = ""
    """The lines that it removes or leaves, which show the code before."""


def read_added(diff: str) -> AddedCode:
    """Return what a git diff with line feeds adds in languages that Goldpan reads.

    Raises `ValueError` for text that is no git diff, and `UsageError` where a grammar is not
    installed.
    """
    added = AddedCode()
    called: dict[str, tuple[int, int]] = {}
    own: set[str] = set()
    offset = 0
    for part in split_patch(diff):
        language = language_of(part.path)
        if language and (language.grammar or language.lexis) and not part.is_binary:
            added.paths.append(part.moved_from or part.path)
            if _NEW.search(part.text.partition("\n@@ ")[0]):
                stem = part.path.rpartition("/")[2].partition(".")[0]
                start = offset + max(0, part.text.find(stem))
                added.defined.setdefault(stem, (start, start + len(stem)))
            for hunk in read_hunks(part.text):
                placed = [line._replace(start=offset + line.start) for line in hunk]
                added.kept += "".join(f"{line.text}\n" for line in placed if line.mark != "+")
                lines = [line for line in placed if line.mark != "-"]
                _read(added, lines, language, called, own)
        offset += len(part.text)
    for name in called.keys() - own:
        added.needed.setdefault(name, called[name])
    return added


def _read(
    added: AddedCode,
    lines: Sequence[HunkLine],
    language: Language,
    called: dict[str, tuple[int, int]],
    own: set[str],
) -> None:
    """Read the lines after a change; `called` and `own` gain names that are called and defined."""
    text = "\n".join(line.text for line in lines)
    if len(text) > _LONGEST or not any(line.mark == "+" for line in lines):
        return
    stripped = _strip(text, language)
    code = stripped.code.decode("utf-8", "replace").split("\n")[: len(lines)]
    for line, whole, outer in zip(lines, code, _outside(code), strict=True):
        if line.mark != "+":
            continue
        defined = set(_defined(whole, outer))
        for name in defined:
            added.defined[name] = _place(line, name)
        # A function within a class of tests may be one that the fix calls.
        is_hook = line.text[:1].isspace() and _FUNCTION.search(whole)
        own |= set() if is_hook else defined
        for name in [*_names(_REACHED, whole), *(_names(_DECLARED, outer) if is_hook else ())]:
            added.needed.setdefault(name, _place(line, name))
        for name in _NAME.findall(whole) if _IMPORT.match(whole) else ():
            added.needed.setdefault(name, _place(line, name))
        for name in _names(_CALLED, whole):
            called.setdefault(name, _place(line, name))
        for number in _NUMBER.findall(whole):
            added.numbers.setdefault(number, _place(line, number))
    for raw in stripped.strings[:_MOST]:
        literal = raw.decode("utf-8", "replace")
        first = literal.partition("\n")[0]
        holding = (line for line in lines if line.mark == "+" and first in line.text)
        for line in islice(holding, 1):
            parts = [match[2] for match in _QUOTED.finditer(literal)]
            start = line.start + line.text.find(first)
            added.strings.setdefault("".join(parts), (start, start + len(first)))


def _strip(text: str, language: Language) -> Stripped:
    if language.lexis:
        return strip(text.encode("utf-8", "replace"), language.lexis)
    assert language.grammar is not None
    return read(text.encode("utf-8", "replace"), language.grammar).stripped


def _outside(code: Sequence[str]) -> Iterator[str]:
    """Yield lines without what stands within parentheses and brackets, maybe over lines."""
    depth = 0
    for line in code:
        kept = []
        for sign in line:
            depth -= sign in ")]" and depth > 0
            if not depth:
                kept.append(sign)
            depth += sign in "(["
        yield "".join(kept)


def _defined(line: str, outer: str) -> Iterator[str]:
    """Yield the names that a line defines; `outer` is it without what is in parentheses."""
    if _IMPORT.match(line):
        return
    yield from _names(_DECLARED, outer)
    yield from _names(_ASSIGNED, outer)
    typed = _TYPED.fullmatch(outer)
    yield from _names(_TYPED, outer if typed else "")
    yield from _names(_FIELD, outer if _FIELD.fullmatch(outer) else "")
    if typed or _FUNCTION.search(line):
        yield from _names(_PARAMETER, line)


def _names(pattern: re.Pattern[str], line: str) -> Iterator[str]:
    for match in pattern.finditer(line):
        yield from (name for name in match.groups() if name and _NAME.fullmatch(name))


def _place(line: HunkLine, part: str) -> tuple[int, int]:
    found = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", line.text)
    start = line.start + (found.start() if found else 0)
    return start, start + len(part)
