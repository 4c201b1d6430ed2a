"""Unified diffs on text files: `git apply`, and what may differ between a diff and a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product

from goldpan.code.edits.apply import (
    LINE_ENDS,
    FileError,
    Forgiveness,
    MalformedError,
    NoMatchError,
)
from goldpan.git.apply import (
    Diff,
    DiffError,
    FileState,
    MalformedDiffError,
    apply_diff,
    read_diff,
)
from goldpan.git.objects import Encoding, encodings, line_ends
from goldpan.git.trees import SYMLINK

SPACE = "white space"
_DIFF = re.compile(r"^(?:diff --git |--- [^\n]*\n\+\+\+ )", re.M)
_ENDS = {"crlf": "\r\n", "cr": "\r"}
_IGNORE_SPACE = ("--ignore-whitespace",)


def is_unified(patch: str) -> bool:
    """Return whether a text is a unified diff, or holds one after some prose."""
    return _DIFF.search(patch.replace("\r\n", "\n")) is not None


def as_diff(patch: str, strip: int = 1) -> Diff:
    """Return a text as a diff; raises `DiffError` where git cannot read it."""
    text = patch if patch.endswith("\n") else f"{patch}\n"
    if all(line.endswith("\r") for line in text.split("\n")[:-1]):
        text = text.replace("\r\n", "\n")  # the diff's own ends, not those of the files
    return read_diff(text.encode("utf-8", "surrogateescape"), strip)


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
    white space. Names without `a/` and `b/` are those of files that are there. Raises `EditError`
    with git's first reason.
    """
    try:
        return _change(as_diff(patch), read, forgive)
    except DiffError as error:
        with suppress(DiffError):
            return _change(as_diff(patch, 0), read, forgive)
        kind = NoMatchError if error.unfit else FileError
        kind = MalformedError if isinstance(error, MalformedDiffError) else kind
        raise kind(error.problem, error.remedy) from None


def _change(
    diff: Diff, read: Callable[[bytes], FileState | None], forgive: Forgiveness
) -> ChangedFiles:
    files = {path: state for path in diff.paths if (state := read(path)) is not None}
    if not diff.strip and not files:
        raise DiffError("The diff has no prefixes")
    first: DiffError | None = None
    for form, options, note in _attempts(diff, files, forgive):
        try:
            after = apply_diff(form.diff, form.files, *options)
        except DiffError as error:
            first = first or error
            if error.unfit:
                continue
            break
        unfit = first.unfit if first and note else ()
        restored = {path: form.restore(path, state) for path, state in after.items()}
        forgiven = {path: note for path in files if path.decode(errors="replace") in unfit}
        return ChangedFiles(diff, files, restored, forgiven)
    assert first is not None
    raise first


class _Form:
    """A diff and its files in one form: as they are, or as UTF-8 whose lines end in LF."""

    def __init__(
        self, diff: Diff, files: Mapping[bytes, FileState], choice: int | None, *, ends: bool
    ) -> None:
        self.diff, self.files = diff, dict(files)
        self._as_it_was: dict[bytes, tuple[Encoding, str]] = {}
        if ends:
            self.diff = replace(diff, text=diff.text.replace(b"\r\n", b"\n"))
        for path, state in files.items():
            known = encodings(state.data)
            if state.mode == SYMLINK or not known or (choice is None and not ends):
                continue
            encoding = known[choice or 0]
            end = _ENDS.get(line_ends(state.data, encoding), "") if ends else ""
            text = state.data.decode(encoding)
            if encoding == "utf-8-sig":
                encoding, text = "utf-8", state.data.decode()
            data = (text.replace(end, "\n") if end else text).encode()
            self.files[path] = replace(state, data=data)
            self._as_it_was[path] = encoding, end

    def restore(self, path: bytes, state: FileState) -> FileState:
        """Return a file after the diff in the encoding, and with the ends, that it had before."""
        old = next((old for old in (path, self.diff.renames.get(path)) if old in self._as_it_was), None)
        if old is None or state.mode == SYMLINK:
            return state
        encoding, end = self._as_it_was[old]
        text = state.data.decode("utf-8", "surrogateescape")
        return replace(state, data=encode(text.replace("\n", end) if end else text, encoding))


def _attempts(
    diff: Diff, files: Mapping[bytes, FileState], forgive: Forgiveness
) -> Iterator[tuple[_Form, tuple[str, ...], str]]:
    """Yield the forms to try, each once, with git's options and what they forgive."""
    tried = []
    for space, ends, choice in product(
        (False, True)[: 1 + forgive.spaces], (False, True)[: 1 + forgive.line_ends], (None, 0, -1)
    ):
        form = _Form(diff, files, choice, ends=ends)
        attempt = (form.diff.text, form.files, space)
        if attempt not in tried:
            tried.append(attempt)
            note = SPACE if space else LINE_ENDS if ends else ""
            yield form, _IGNORE_SPACE if space else (), note


def encode(text: str, encoding: Encoding) -> bytes:
    """Return the bytes of a text; raises `FileError` where the encoding lacks a character."""
    try:
        return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeEncodeError as error:
        raise FileError(
            f"The file is {encoding}, which lacks {error.object[error.start]!r}",
            "Leave it out of the patch, or save the file as UTF-8 first",
        ) from None
