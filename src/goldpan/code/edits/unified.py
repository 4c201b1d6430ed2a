"""Reads unified diffs as patches for files, and applies their hunks to a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from goldpan.code.edits.edit import (
    LINE_ENDS,
    SPACES,
    FileError,
    Forgiveness,
    MalformedError,
    NoMatchError,
    line_end,
    split_lines,
)
from goldpan.code.patch import FileDiff, Hunk, parse_diff

_FILES = re.compile(r"^(?:diff --git |--- [^\n]*\n\+\+\+ [^\n]*\n@@ -)", re.M)
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_NAME = re.compile(r"[-+]{3} (?:[ab]/)?([^\t]*)")
_NOTHING = "/dev/null"
_SHOWN = 80
_ANEW = "Make the diff again from the file as it is"


def is_unified(patch: str) -> bool:
    """Say whether a text is a unified diff, or holds one after some prose."""
    return _FILES.search(patch.replace("\r\n", "\n")) is not None


def parse_unified(patch: str) -> list[FileDiff]:
    """Return what a diff says of each file; raises `MalformedError` where it breaks off.

    Where every line of the diff ends in CRLF the carriage returns are the diff's own, not those
    of the files.
    """
    lines = patch.split("\n")
    if all(line.endswith("\r") for line in lines[:-1]):
        lines = [line.removesuffix("\r") for line in lines]
    try:
        return parse_diff("".join(f"{line}\n" for line in _with_heads(lines)).encode())
    except ValueError as error:
        raise MalformedError(
            f"The diff cannot be read: {error}", "Give it as git diff writes it"
        ) from None


def _with_heads(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the diff, each file led by the line that git writes above it."""
    if lines and not lines[-1]:
        lines = lines[:-1]
    old = new = 0
    begun = headed = False
    for at, line in enumerate(lines):
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if old > 0 or new > 0:
            old -= line[:1] in (" ", "-")
            new -= line[:1] in (" ", "+")
            yield line
            continue
        if head := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in head.groups())
            headed = False
        elif line.startswith("diff --git "):
            begun = headed = True
        elif line.startswith("--- ") and following.startswith("+++ ") and not headed:
            begun = True
            yield from _head(line, following)
        elif not begun:
            continue
        yield line.split("\t")[0] if line.startswith(("--- ", "+++ ")) else line


def _head(before: str, after: str) -> Iterator[str]:
    old, new = (match[1] if (match := _NAME.match(line)) else "" for line in (before, after))
    name = new if old == _NOTHING else old
    yield f"diff --git a/{name} b/{name}"
    if old == _NOTHING:
        yield "new file mode 100644"
    if new == _NOTHING:
        yield "deleted file mode 100644"


def apply_hunks(before: str, hunks: Sequence[Hunk], forgive: Forgiveness) -> tuple[str, list[str]]:
    """Return the text after, and what was forgiven in which hunk.

    Hunks apply at the lines that they name. Where a line differs in its end alone, and `forgive`
    allows for that, lines that are added end as those of the file. Raises `NoMatchError`.
    """
    old = split_lines(before)
    new: list[str] = []
    forgiven: list[str] = []
    line = 0
    for number, hunk in enumerate(hunks, 1):
        name = f"Hunk {number} of {len(hunks)}"
        if not line <= hunk.after <= len(old):
            raise NoMatchError(
                f"{name} begins at line {hunk.after + 1} of a file of {len(old)} lines, of which "
                f"{line} are behind it",
                _ANEW,
            )
        new += old[line : hunk.after]
        line, result, noted = _apply(old, hunk, forgive, name)
        new += result
        forgiven += [f"hunk {number}: {what}" for what in noted]
    return "".join([*new, *old[line:]]), forgiven


def _apply(
    old: Sequence[str], hunk: Hunk, forgive: Forgiveness, name: str
) -> tuple[int, list[str], list[str]]:
    """Return the line of the file after a hunk, the lines in its place, and what was forgiven."""
    index, forgiven = hunk.after, dict.fromkeys((LINE_ENDS, SPACES), False)
    result: list[tuple[str, bool]] = []
    for mark, content in _lines(hunk):
        if mark == "+":
            result.append((content, True))
            continue
        if index == len(old):
            raise NoMatchError(f"{name} reaches over the end of the file", _ANEW)
        line = old[index]
        if line != content:
            forgiven[_difference(line, content, forgive, f"{name} does not match", index)] = True
        if mark == " ":
            result.append((line, False))
        index += 1
    if forgiven[LINE_ENDS] or forgiven[SPACES]:
        end = line_end(old[hunk.after]) or "\n"
        result = [(_ending(content, end) if added else content, added) for content, added in result]
    return (
        index,
        [content for content, _ in result],
        [what for what, is_so in forgiven.items() if is_so],
    )


def _ending(line: str, end: str) -> str:
    """Return a line with another end, or as it is where it has none."""
    return line.removesuffix(line_end(line)) + end if line_end(line) else line


def _lines(hunk: Hunk) -> Iterator[tuple[str, str]]:
    lines = [line.decode() for line in hunk.lines]
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        if not line.startswith("\\"):
            yield line[:1], line[1:] + ("" if following.startswith("\\") else "\n")


def _difference(line: str, content: str, forgive: Forgiveness, name: str, index: int) -> str:
    """Return what two lines differ in; raises `NoMatchError` where that is not forgiven."""
    if forgive.line_ends and line.rstrip("\r\n") == content.rstrip("\r\n"):
        return LINE_ENDS
    if forgive.spaces and line.rstrip() == content.rstrip():
        return SPACES
    raise NoMatchError(
        f"{name}: line {index + 1} of the file is {line[:_SHOWN]!r}, where it has "
        f"{content[:_SHOWN]!r}",
        _ANEW,
    )


def refuse_binary(file: FileDiff) -> None:
    """Raise `FileError` for a file of which a diff holds no lines."""
    if file.is_binary:
        raise FileError("The diff holds no lines of a binary file", "Leave the file out of it")
