"""The code and the strings of the lines that a diff adds, with their places in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from goldpan.code.grammar import read
from goldpan.code.languages import Language, language_of
from goldpan.code.lexer import Stripped, strip
from goldpan.code.patch import split_patch

_HUNK = re.compile(r"@@ -\d")
_NEW = re.compile(r"^--- /dev/null$", re.M)
_QUOTED = re.compile(r"(\"\"\"|'''|[\"'`])(.*?)(?<!\\)\1", re.S)
_LONGEST, _MOST = 200_000, 2_000
"""Characters of a hunk, and its strings, that are read: longer ones are generated."""
_NUMBER = re.compile(r"(?<![\w.])\d(?:\w|\.(?=\d))*")


@dataclass(frozen=True, slots=True)
class AddedLine:
    """A line of a diff after the change."""

    mark: str
    text: str
    start: int
    """The offset of the text in the diff."""

    def place(self, part: str) -> tuple[int, int]:
        """Return the place of a part of the line in the diff."""
        found = re.search(rf"(?<!\w){re.escape(part)}(?!\w)", self.text)
        start = self.start + (found.start() if found else 0)
        return start, start + len(part)


@dataclass(frozen=True, slots=True)
class PlacedUse:
    """A name of an added line."""

    use: Use
    line: AddedLine

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the diff."""
        return self.line.place(self.use.name)


@dataclass(slots=True)
class AddedCode:
    """The names, literals and files that a diff adds to code."""

    wanted: Collection[str]
    """The names that are looked for."""
    paths: list[str] = field(default_factory=list)
    """The files, by their old names where they were renamed."""
    uses: list[PlacedUse] = field(default_factory=list)
    numbers: dict[str, AddedLine] = field(default_factory=dict)
    """Literals, each with the first line that has it."""
    strings: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Strings without their quotes, each with the place of its first line, with quotes."""
    new_files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The base names, without suffix, of new files."""
    kept: str = ""
    """The lines that it removes or leaves, which show the code before."""

    def read(self, lines: Sequence[AddedLine], language: Language) -> None:
        """Read the lines after a change."""
        text = "\n".join(line.text for line in lines)
        if len(text) > _LONGEST or not any(line.mark == "+" for line in lines):
            return
        stripped = _strip(text, language)
        code = stripped.code.decode("utf-8", "replace").split("\n")[: len(lines)]
        for use in read_uses(code, self.wanted):
            line = lines[use.line]
            if line.mark == "+" and use.name in self.wanted:
                self.uses.append(PlacedUse(use, line))
        for line, tokens in zip(lines, code, strict=False):
            for number in _NUMBER.findall(tokens) if line.mark == "+" else ():
                self.numbers.setdefault(number, line)
        self._read_strings(lines, stripped)

    def _read_strings(self, lines: Sequence[AddedLine], stripped: Stripped) -> None:
        for raw in stripped.strings[:_MOST]:
            literal = raw.decode("utf-8", "replace")
            first = literal.partition("\n")[0]
            line = next((x for x in lines if x.mark == "+" and first in x.text), None)
            if line is not None:
                parts = [match[2] for match in _QUOTED.finditer(literal)]
                start = line.start + line.text.find(first)
                self.strings.setdefault("".join(parts), (start, start + len(first)))


def read_added(diff: str, wanted: Collection[str]) -> AddedCode:
    """Return the code that a git diff with line feeds adds in languages that Goldpan reads.

    Names are those that are `wanted`, and functions that are defined. Raises `ValueError` for text
    that is no git diff, and `UsageError` where a grammar is not installed.
    """
    added = AddedCode(wanted)
    offset = 0
    for part in split_patch(diff):
        language = language_of(part.path)
        if language and (language.grammar or language.lexis) and not part.is_binary:
            added.paths.append(part.moved_from or part.path)
            if _NEW.search(part.text.partition("\n@@ ")[0]):
                stem = part.path.rpartition("/")[2].partition(".")[0]
                start = offset + max(0, part.text.find(stem))
                added.new_files.setdefault(stem, (start, start + len(stem)))
            for hunk in _hunks(part.text, offset):
                added.kept += "".join(f"{line.text}\n" for line in hunk if line.mark != "+")
                added.read([line for line in hunk if line.mark != "-"], language)
        offset += len(part.text)
    return added


def _hunks(part: str, offset: int) -> Iterator[list[AddedLine]]:
    lines: list[AddedLine] = []
    is_hunk = False
    for line in part.split("\n"):
        if _HUNK.match(line):
            yield lines
            lines, is_hunk = [], True
        elif is_hunk and (mark := line[:1] or " ") in "+- ":
            lines.append(AddedLine(mark, line[1:], offset + 1))
        offset += len(line) + 1
    yield lines


def _strip(text: str, language: Language) -> Stripped:
    if language.lexis:
        return strip(text.encode("utf-8", "replace"), language.lexis)
    assert language.grammar is not None
    return read(text.encode("utf-8", "replace"), language.grammar).stripped


# Which names lines of code define, and which they need from elsewhere, by their tokens alone.
# Signs tell the two apart in most languages: a name behind `def`, before `=` or among parameters is
# defined; one that is called, reached by a dot, imported, or named as an argument or a field is
# needed. Both are guesses, as no grammar is used.

_TOKEN = re.compile(r"\w+|[=!<>]=|=>|->|::|:=|\?\.|[^\w\s]")
_NAME = re.compile(r"[^\W\d]\w{2,}")
_IMPORT = re.compile(r"\s*(?:import|from|#\s*include|using|require|use|package|export \{)\b")
_FUNCTION = re.compile(r"def|func|fn|function|fun|sub|constructor")
_DECLARES = re.compile(
    rf"{_FUNCTION.pattern}|class|interface|struct|enum|trait|type|module|const|let|var|val|define"
    r"|typedef|protocol|object|record|mod|union|namespace"
)
_STATEMENT = re.compile(
    r"return|else|new|throw|await|yield|in|not|and|or|if|while|raise|assert|del|print|case|import"
    r"|from|is|lambda|elif|until|unless|when|typeof|delete|goto|with"
)
_BEFORE_METHOD = (")", "*", ".", "get", "set")
_OWN = frozenset({"self", "this", "cls", "Self"})
_ACCESS = frozenset({".", "->", "::", "?."})
_OPEN, _CLOSE = "([{", ")]}"
_PARAMETERS, _IMPORTED = "parameters", "imported"


@dataclass(frozen=True, slots=True)
class Use:
    """A name where it stands in code."""

    name: str
    line: int
    """The line's index among those that were read, from 0."""
    defines: bool
    is_bare: bool
    """True where it stands for itself, not as a part of another object."""
    is_reached: bool
    """True where it is imported, or is an attribute, argument or field of something else."""
    is_called: bool
    """True where it is called, or written as classes and constants are."""
    is_function: bool
    """True where it is a function that is defined or declared here."""


def read_uses(code: Sequence[str], wanted: Collection[str]) -> Iterator[Use]:
    """Yield these names, and functions that are defined, in lines of code without comments."""
    around: list[str] = []
    for number, line in enumerate(code):
        tokens = _TOKEN.findall(line)
        is_import = bool(_IMPORT.match(line)) or around[-1:] == [_IMPORTED]
        function = _defined_function(tokens, around)
        for at, token in enumerate(tokens):
            if token in _OPEN:
                kind = _PARAMETERS if function >= 0 and at == function + 1 else token
                around.append(_IMPORTED if is_import else kind)
            elif token in _CLOSE:
                del around[-1:]
            elif at == function or (token in wanted and _NAME.fullmatch(token)):
                inner = around[-1] if around else ""
                yield _use(token, number, tokens, at, inner, is_import, at == function)


def _defined_function(tokens: Sequence[str], around: Sequence[str]) -> int:
    """Return the index of the function that a line defines or declares, -1 for none."""
    if "(" not in tokens or (around and around[-1] != "{"):
        return -1
    has_keyword = any(_FUNCTION.fullmatch(token) for token in tokens)
    for at in range(1, len(tokens) - 1):
        before = tokens[at - 1]
        if tokens[at + 1] != "(" or not _NAME.fullmatch(tokens[at]):
            continue
        if has_keyword and (_FUNCTION.fullmatch(before) or before in _BEFORE_METHOD):
            return at
        is_typed = before in ("*", "&", ">", "]") or _NAME.fullmatch(before)
        ends = tokens[-1] in ("{", ")", ";", ",", "(")
        if is_typed and not _STATEMENT.fullmatch(before) and ends and "=" not in tokens[:at]:
            return at
    return -1


def _use(
    name: str,
    number: int,
    tokens: Sequence[str],
    at: int,
    inner: str,
    is_import: bool,
    is_function: bool,
) -> Use:
    before = tokens[at - 1] if at else ""
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    is_access = before in _ACCESS and not is_function
    is_own = is_access and at > 1 and tokens[at - 2] in _OWN
    is_bare = not is_access or is_own
    is_free = inner in ("", "{", _PARAMETERS)
    begins = before in ("", "{", ",", "(")
    is_typed = bool(_NAME.fullmatch(before)) and not _STATEMENT.fullmatch(before)
    defines = is_bare and bool(
        is_function
        or _DECLARES.fullmatch(before)
        or (after in ("=", ":=") and is_free)
        or (after == ":" and is_free and (begins or is_own))
        or (inner == _PARAMETERS and after in (",", ")", "=", ""))
        or (after == ";" and is_typed)
        or (inner == "{" and not at and (after in (",", "") or _NAME.fullmatch(after)))
    )
    is_named = begins and ((inner == "(" and after == "=") or (inner == "{" and after == ":"))
    is_reached = not is_own and (is_access or is_named or is_import or before == "@")
    is_called = is_bare and not is_own and not is_function and not _DECLARES.fullmatch(before)
    is_called = is_called and (after == "(" or name[0].isupper())
    defines = defines and not is_import
    return Use(name, number, defines, is_bare, is_reached, is_called, is_function)
