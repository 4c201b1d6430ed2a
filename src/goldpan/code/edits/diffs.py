"""Unified diffs on text files: `git apply`, and what may differ between a diff and a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product

from goldpan.code.edits.apply import (
    LINE_ENDS,
    SPACES,
    FileError,
    Forgiveness,
    MalformedError,
    NoMatchError,
    as_characters,
    number_lines,
    split_lines,
)
from goldpan.code.edits.diff import diff_lines
from goldpan.git.apply import (
    FIX_SPACES,
    NO_PREFIX,
    Diff,
    DiffError,
    FileState,
    MalformedDiffError,
    apply_diff,
    read_diff,
)
from goldpan.git.objects import Encoding, encodings, line_ends
from goldpan.git.trees import SYMLINK

_DIFF = re.compile(r"^(?:diff --git |--- [^\n]*\n\+\+\+ )", re.M)
_COLORED = re.compile(r"^\x1b\[[\d;]*m(?:diff --git |--- )", re.M)
_COLOR = re.compile(r"\x1b\[[\d;]*[mK]")
_HUNK = re.compile(r"^@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@", re.M)
_AROUND = re.compile(r"^(?: |\r?$)", re.M)
_CONTEXT = 3
"""Lines around a change that git diff writes."""
_ENDS = {"crlf": "\r\n", "cr": "\r"}
_MARK = "\ufeff"
"""The byte-order mark, which some diffs of a file have and some have not."""


def is_unified(patch: str) -> bool:
    """Return whether a text is a unified diff, or holds one after some prose."""
    return _DIFF.search(_plain(patch).replace("\r\n", "\n")) is not None


def _plain(patch: str) -> str:
    """Return a diff without the colors that `git diff --color` gives it."""
    return _COLOR.sub("", patch) if _COLORED.search(patch) else patch


def as_diff(patch: str, *options: str) -> Diff:
    """Return a text as a diff; raises `DiffError` where git cannot read it."""
    text = _plain(patch if patch.endswith("\n") else f"{patch}\n")
    if all(line.endswith("\r") for line in text.split("\n")[:-1]):
        text = text.replace("\r\n", "\n")  # the diff's own ends, not those of the files
    return read_diff(_with_last_blanks(text).encode("utf-8", "surrogateescape"), *options)


def _with_last_blanks(text: str) -> str:
    """Return a diff with the blank lines of its last hunk that stripping its end took off."""
    heads = [*_HUNK.finditer(text)]
    if not heads:
        return text
    marks = [line[:1] for line in text[heads[-1].end() :].split("\n")[1:-1]]
    old, new = (int(count or 1) for count in heads[-1].groups())
    lost = old - sum(mark not in ("+", "\\") for mark in marks)
    lost_after = new - sum(mark not in ("-", "\\") for mark in marks)
    return text + " \n" * lost if 0 < lost == lost_after <= _CONTEXT else text


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """The files of a diff that it changes, by their paths."""

    diff: Diff
    before: Mapping[bytes, FileState]
    after: Mapping[bytes, FileState]
    forgiven: Mapping[bytes, str]
    """What the lines of a file differ in from those of the diff, where that was forgiven."""


def change_files(
    patch: str, read: Callable[[bytes], FileState | None], forgive: Forgiveness
) -> ChangedFiles:
    """Return what a diff does to files.

    `read` gives a file before. Where git refuses the diff as it is, files are read in their
    encodings and, as far as `forgive` says, with the line ends of the diff or without regard to
    white space at the ends of lines. Names without `a/` and `b/` are those of files that are
    there. Raises `EditError` with git's first reason.
    """
    try:
        return _change(as_diff(patch), read, forgive)
    except DiffError as error:
        with suppress(DiffError):
            return _change(as_diff(patch, NO_PREFIX), read, forgive)
        if isinstance(error, MalformedDiffError):
            raise MalformedError(error.problem, error.remedy) from None
        kind = NoMatchError if error.unfit else FileError
        remedy = error.remedy
        if error.unfit and not _AROUND.search(patch.rstrip("\r\n")):
            remedy = "Its hunks have no lines of context: make it with git diff -U3"
        raise kind(error.problem, remedy) from None


def _change(
    diff: Diff, read: Callable[[bytes], FileState | None], forgive: Forgiveness
) -> ChangedFiles:
    files = {path: state for path in diff.paths if (state := read(path)) is not None}
    if diff.options and not files:
        raise DiffError("The diff has no prefixes")
    first: DiffError | None = None
    for form in _attempts(diff, files, forgive):
        try:
            after = form.apply()
        except DiffError as error:
            first = first or error
            if error.unfit:
                continue
            break
        unfit = first.unfit if first and form.note else ()
        forgiven = {path: form.note for path in files if path.decode(errors="replace") in unfit}
        return ChangedFiles(diff, files, after, forgiven)
    assert first is not None
    raise first


class _Form:
    """A diff and its files in one form: as they are, or as UTF-8 whose lines end in LF."""

    def __init__(
        self,
        diff: Diff,
        files: Mapping[bytes, FileState],
        choice: int | None,
        *,
        ends: bool,
        space: bool,
    ) -> None:
        self.diff, self.files = diff, dict(files)
        self.options = (FIX_SPACES,) if space else ()
        self.note = SPACES if space else LINE_ENDS if ends else ""
        self._as_it_was: dict[bytes, tuple[Encoding, str, str]] = {}
        if ends:
            self.diff = replace(diff, text=diff.text.replace(b"\r\n", b"\n"))
        for path, state in files.items():
            known = encodings(state.data)
            if state.mode == SYMLINK or not known or (choice is None and not ends):
                continue
            encoding = known[choice or 0]
            end = _ENDS.get(line_ends(state.data, encoding), "") if ends else ""
            encoding = "utf-8" if encoding == "utf-8-sig" else encoding  # its mark is a character
            text = state.data.decode(encoding)
            mark = _MARK if choice == 0 and text.startswith(_MARK) else ""
            text = text.removeprefix(mark)
            data = (text.replace(end, "\n") if end else text).encode()
            self.files[path] = replace(state, data=data)
            self._as_it_was[path] = encoding, end, mark

    def apply(self) -> dict[bytes, FileState]:
        """Return the files after, as they were before but for the change; raises `DiffError`."""
        after = apply_diff(self.diff, self.files, *self.options)
        return {path: self._restore(path, state) for path, state in after.items()}

    def _restore(self, path: bytes, state: FileState) -> FileState:
        old = self.diff.renames.get(path, path)
        if old not in self.files or state.mode == SYMLINK:
            return state
        encoding, end, mark = self._as_it_was.get(old, (None, "", ""))
        if encoding is None and not self.options:
            return state
        text = state.data.decode("utf-8", "surrogateescape")
        if self.options:
            before = self.files[old].data.decode("utf-8", "surrogateescape")
            text = _with_spaces(before, text)
        text = mark + (text.replace("\n", end) if end else text)
        return replace(state, data=encode(text, encoding or "utf-8"))


def _with_spaces(before: str, after: str) -> str:
    """Return a text in which lines that stay have the white space at their ends again."""
    old, new = split_lines(before), split_lines(after)
    bare, bare_new = ([line.rstrip() for line in lines] for lines in (old, new))
    characters = number_lines(bare, bare_new)
    result: list[str] = []
    at = 0
    for hunk in diff_lines(as_characters(bare, characters), as_characters(bare_new, characters)):
        result += [*old[at : hunk.start], *new[hunk.new_start : hunk.new_end]]
        at = hunk.end
    return "".join([*result, *old[at:]])


def _attempts(
    diff: Diff, files: Mapping[bytes, FileState], forgive: Forgiveness
) -> Iterator[_Form]:
    """Yield the forms to try, each once."""
    tried = []
    for space, ends, choice in product(
        (False, True)[: 1 + forgive.spaces], (False, True)[: 1 + forgive.line_ends], (None, 0, -1)
    ):
        form = _Form(diff, files, choice, ends=ends, space=space)
        attempt = (form.diff.text, form.files, space)
        if attempt not in tried:
            tried.append(attempt)
            yield form


def encode(text: str, encoding: Encoding) -> bytes:
    """Return the bytes of a text; raises `FileError` where the encoding lacks a character."""
    try:
        return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeEncodeError as error:
        raise FileError(
            f"The file is {encoding}, which lacks {error.object[error.start]!r}",
            "Leave it out of the patch, or save the file as UTF-8 first",
        ) from None
