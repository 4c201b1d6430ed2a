r"""Edits as text: SEARCH/REPLACE blocks (FAUN-Eval, section 3.4.3, Figure 2c).

    path/of/file.py
    <<<<<<< SEARCH
    old lines
    =======
    new lines
    >>>>>>> REPLACE

The grammar, where lines end with LF and SP is one space:

    text    = { path LF, block, { block } }
    block   = "<" at least seven times, SP "SEARCH" LF, content,
              "=" as many times, LF, content,
              ">" as many times, SP ( "REPLACE" | "DELETE" ) LF
    content = ""
            | any text that ends with LF
            | any text that does not, LF "\" SP "No newline at end of file" LF

- The lines of content stand as they are, with CR where they have it. A missing LF at the end is
  marked as in git's patches.
- Where a line of content looks like a marker or like that mark, the block takes longer markers, and
  the mark takes one more backslash for each character over seven.
- A block without a path belongs to the file of the block before it.
- An empty SEARCH makes a new file or fills an empty one.
- DELETE, after an empty REPLACE, says that the file goes away; REPLACE leaves an empty file.
- A path that could be taken for something else is quoted (`code/paths.py`).

`format_edits` writes exactly that. `parse_edits` also reads what language models make of it:
prose and code fences around blocks; the path in many dresses or missing; markers without their
space, in small letters, of five or six characters, as Cline (`------- SEARCH`, `+++++++
REPLACE`) and gptme (`ORIGINAL`, `UPDATED`) have them, or with a colon, a path, a fence or white
space behind them; RooCode's `:start_line:7`, `:end_line:9` and `-------` above a SEARCH, with
backslashes before what looks like a marker; and CRLF everywhere, whose CR is taken off the content
of a block if its first marker has one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from goldpan.code.edits.apply import Edit, FileEdits, MalformedError
from goldpan.code.languages import CODE_SUFFIXES, suffix_of
from goldpan.code.paths import quote_path, unquote_path

SHORTEST = 7
NO_NEWLINE = "No newline at end of file"
_END = r"\b(?:[:>]? ?(?=\S*[/.])[^\s:>]++|[:>]?`*+)"
_MARKER = re.compile(
    rf"(?:(?P<open><{{5,}}+|-{{7,}}+) ?(?i:SEARCH|ORIGINAL){_END}|(?P<middle>={{5,}}+)"
    rf"|(?P<replace>>{{5,}}+|\+{{7,}}+) ?(?i:REPLACE|UPDATED){_END}|(?P<delete>>{{5,}}+) ?DELETE"
    rf"|(?P<mark>\\++) {NO_NEWLINE}|(?P<place>:start_line:) ?\d{{1,9}})[ \t\r]*"
)
_FIRST = frozenset("<=>-+\\:")


@dataclass(frozen=True, slots=True)
class Marker:
    """The role of a line as a marker, in a block whose markers have this length."""

    kind: str  # open | middle | replace | delete | mark | place
    length: int


def read_marker(line: str) -> Marker | None:
    """Return what a line without its LF marks, or None where it is content in any block."""
    match = _MARKER.fullmatch(line) if line[:1] in _FIRST else None
    if not match or not match.lastgroup:
        return None
    length = SHORTEST if match.lastgroup == "place" else len(match[match.lastgroup])
    return Marker(match.lastgroup, length + (SHORTEST - 1) * (match.lastgroup == "mark"))


# Finds the path of a file above a block, as Goldpan, people and language models write it.
#
#     src/a.py        "with space.py"      `src/a.py`      **src/a.py**:      ### src/a.py
#     File: src/a.py        ```python src/a.py        ```python:src/a.py
#     <path>src/a.py</path>       <<<<<<< SEARCH src/a.py       src/a.py:12
#     In `src/a.py`, the loop has to go:
#
# A path that is labeled so, or alone on the line right above the block or its fence, may be any
# word (`Makefile`); elsewhere it needs a slash or a suffix.

_MOST_LINES = 3
"""Lines of prose above a block in which a path is looked for."""
_FENCE = re.compile(r"(?:`{3,}+|~{3,}+)(.*)")
_NOTE = re.compile(r"""(?:[\w+#.-]{1,30}[:=])?["']?([^"']*)["']?""")
_LEAD = re.compile(r"(?:#{1,6}|[-*+>]|//|\d{1,3}[.)])\s++(?=\S)")
_LABEL = re.compile(
    r"(?:\**(?:file|path|file ?name|file ?path)\**:\**|(?:<{5,}+|-{7,}+) ?(?:SEARCH|ORIGINAL)[:>]?"
    r"|<(?:file|path)(?:_?name|_?path)?(?: (?:name|path)=|>))\s*+(?=\S)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s<>`*:]*[\w\])+~-]")
_SUFFIX = re.compile(r".*\w\.\w{1,12}")
_CODE = re.compile(r"`([^`\s]++)`")
_REMARK = re.compile(r"(?:\s++\([^()]{1,60}+\)|:\d++(?:-\d++)?|</\w{1,20}>|(?<=[\"'])>)\Z")
"""What follows a path, as (new), a line's number or the end of a tag."""
_NO_PROSE = ("```", "~~~", "<", "-------")
"""How fences, tags and markers begin."""


def write_path(path: str) -> str:
    """Return the line for a path: as it is where it is read so, else in quotation marks."""
    written = quote_path(path)
    return written if find_path([written]) == path else quote_path(path, always=True)


def find_path(above: Sequence[str]) -> str | None:
    """Return the path in the lines above a block, the nearest first, or None."""
    is_next = True
    lines = 0
    for line in reversed(above):
        text = line.strip()
        path = _read(text, is_next=is_next) if text else None
        if path is not None:
            return path
        if not text.startswith(_NO_PROSE):
            is_next = False
            lines += bool(text)
        if lines == _MOST_LINES:
            return None
    return None


def _read(text: str, *, is_next: bool) -> str | None:
    """Return the path in one line, or None."""
    unquoted = unquote_path(text)
    if unquoted != text:
        return unquoted
    text = text.replace("\\", "/")
    fence = _FENCE.fullmatch(text)
    if fence:
        note = _NOTE.fullmatch(fence[1].rpartition(" ")[2].strip("{}"))
        return note[1] if note and _is_path(note[1]) else None
    if is_next and _WORD.fullmatch(text):
        return text
    bare = _unwrap(text)
    if _is_path(bare) or (_LABEL.match(text) and _WORD.fullmatch(bare)):
        return bare
    codes = filter(_is_path, _CODE.findall(text))
    named = {code for code in codes if "/" in code or suffix_of(code) in CODE_SUFFIXES}
    return named.pop() if len(named) == 1 else None


def _unwrap(text: str) -> str:
    text = _REMARK.sub("", text.removeprefix("<!-- ").removesuffix(" -->").rstrip(":"))
    for lead in (_LEAD, _LABEL):
        match = lead.match(text)
        text = text[match.end() :] if match else text
    return text.strip("*`'\":")


def _is_path(text: str) -> bool:
    return bool(_WORD.fullmatch(text)) and ("/" in text or bool(_SUFFIX.fullmatch(text)))


_PLACE = re.compile(
    r":start_line: ?(\d{1,9})[ \t\r]*\n(?::end_line:[^\n]*\n)?(?:-{7,}+[ \t\r]*\n)?"
)
_ESCAPE = re.compile(r"^\\(?=<{7}|={7}|>{7}|-{7}|:(?:start|end)_line:)", re.MULTILINE)
_MIDDLE = frozenset({"middle"})
_ENDS = frozenset({"replace", "delete"})
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class _Opening:
    """The first line of a block."""

    line: int
    length: int
    drops_cr: bool


def parse_edits(text: str) -> tuple[FileEdits, ...]:
    """Return the edits of each file in the order in which the files first appear.

    Text without any block gives nothing. Raises `MalformedError` naming the line, from 1, where
    a block breaks off or has a marker that does not belong there.
    """
    lines = text.split("\n")
    edits: dict[str | None, list[Edit]] = {}
    removed: set[str | None] = set()
    path: str | None = None
    free = at = 0  # the line after the last block, the line that is looked at
    while at < len(lines):
        marker = read_marker(lines[at])
        if marker and marker.kind in _ENDS:
            raise _malformed(at, f"{lines[at].strip()[:_SHOWN]} ends no block")
        if not marker or marker.kind != "open":
            at += 1
            continue
        opening = _Opening(at, marker.length, lines[at].endswith("\r"))
        named = find_path(lines[free : at + 1])
        path = path if named is None else named
        line, start = _read_place(lines, at + 1, opening)
        search, middle = _read_content(lines, start, opening, _MIDDLE)
        replace, end = _read_content(lines, middle + 1, opening, _ENDS)
        deletes = read_marker(lines[end]) == Marker("delete", opening.length)
        if path in removed or (deletes and (replace or path in edits)):
            raise _malformed(end, "DELETE takes one block for a file, and that an empty REPLACE")
        if deletes:
            removed.add(path)
        if line is not None:
            search, replace = (_ESCAPE.sub("", content) for content in (search, replace))
        edits.setdefault(path, []).append(Edit(search, replace, line))
        free = at = end + 1
    return tuple(FileEdits(path, tuple(edits_), path in removed) for path, edits_ in edits.items())


def _read_place(lines: list[str], at: int, opening: _Opening) -> tuple[int | None, int]:
    """Return the line of the file at which RooCode says a SEARCH is, and where it begins here."""
    header = _PLACE.match("\n".join(lines[at : at + 3]) + "\n")
    if header is None or opening.length != SHORTEST:
        return None, at
    return int(header[1]), at + header[0].count("\n")


def _read_content(
    lines: list[str], start: int, opening: _Opening, ends: frozenset[str]
) -> tuple[str, int]:
    """Return the content from line `start` on, and the line of the marker that ends it."""
    for at in range(start, len(lines)):
        marker = read_marker(lines[at])
        if not marker or marker.length != opening.length:
            continue
        if marker.kind in ends:
            return _join(lines[start:at], opening), at
        if marker.kind != "mark":
            raise _malformed(
                at,
                f"{lines[at].strip()[:_SHOWN]} stands inside the block of line {opening.line + 1}",
            )
    missing = "=" if ends == _MIDDLE else ">"
    raise _malformed(
        opening.line, f"the block that begins there lacks its line of {opening.length} {missing!r}"
    )


def _join(lines: list[str], opening: _Opening) -> str:
    if opening.drops_cr:
        lines = [line.removesuffix("\r") for line in lines]
    if lines and read_marker(lines[-1]) == Marker("mark", opening.length):
        return "\n".join(lines[:-1])
    return "".join(f"{line}\n" for line in lines)


def _malformed(line: int, problem: str) -> MalformedError:
    return MalformedError(
        f"Line {line + 1} of the patch is malformed: {problem}",
        "Write a block as <<<<<<< SEARCH, =======, >>>>>>> REPLACE, each alone on its line, all "
        "with more characters where a line between them looks like one of them",
    )


def format_edits(path: str | None, edits: Sequence[Edit], *, removes: bool = False) -> str:
    """Return the edits of a file as text, from which `parse_edits` reads the same again.

    No edits are no text. A file that `removes` has one edit with all of it as SEARCH.
    """
    if removes and [edit.replace for edit in edits] != [""]:
        raise MalformedError(
            f"The edits that remove {path!r} are not one SEARCH with an empty REPLACE",
            "Give the whole file as the SEARCH of one edit",
        )
    blocks = [_format_block(edit, "DELETE" if removes else "REPLACE") for edit in edits]
    heading = f"{write_path(path)}\n" if blocks and path is not None else ""
    return heading + "".join(blocks)


def _format_block(edit: Edit, verb: str) -> str:
    lines = (line for text in (edit.search, edit.replace) for line in text.split("\n"))
    lengths = {marker.length for marker in map(read_marker, lines) if marker}
    length = next(length for length in count(SHORTEST) if length not in lengths)
    search, replace = (_format_content(text, length) for text in (edit.search, edit.replace))
    return f"{'<' * length} SEARCH\n{search}{'=' * length}\n{replace}{'>' * length} {verb}\n"


def _format_content(text: str, length: int) -> str:
    mark = "\\" * (length - SHORTEST + 1)
    return text if not text or text.endswith("\n") else f"{text}\n{mark} {NO_NEWLINE}\n"
