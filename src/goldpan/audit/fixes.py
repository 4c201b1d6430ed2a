"""The change that a row's fix makes, from its columns or from the history in the workspace."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from goldpan.audit.finding import Span, Text, span_of
from goldpan.audit.rows import Row, tokens_of
from goldpan.code.languages import language_of
from goldpan.code.patch import FilePatch, HunkLine, read_hunks, split_patch
from goldpan.code.paths import is_test_file
from goldpan.code.substance import LARGEST
from goldpan.core.errors import GitError
from goldpan.core.storage.parquet import read_table
from goldpan.core.storage.workspace import WorkspaceLayout
from goldpan.git.clone import read_heads
from goldpan.git.objects import Objects
from goldpan.git.refs import verify_clone
from goldpan.git.trees import CommitPair, patches

_GIT = "diff --git "
_COMMENT = re.compile(
    r"#(?!\s*(?:include|define|undef|if|ifn?def|el|endif|pragma|error)\b)|//|/\*|\*(?:[\s/]|$)|--\s"
)
_ENDS = re.compile(r"\r\n?")
_REVISIONS = ("number", "merge_base", "after_sha")


Precedents = Callable[[Sequence[Sequence[str]]], list[Span | None] | None]
"""Finds for each of several forms of a text where the code before the fix has one of them; None
where no history in the workspace has that code."""


@dataclass(frozen=True, slots=True)
class FileFix:
    """The change that a fix makes to a file that is no test."""

    path: str
    """Its name before the fix."""
    added: tuple[str, ...]
    """Lines that are neither blank nor comments, and whose tokens no line had before: neither of
    this file, nor one that the fix removes from another."""
    old: frozenset[str]
    """Tokens that the file is known to have had."""
    places: tuple[int, ...]
    """The lines of the old file that were removed, or before which others were added, from 1."""


@dataclass(frozen=True, slots=True)
class Fix:
    """The fix of a row."""

    files: tuple[FileFix, ...]
    before: Mapping[str, str] = field(default_factory=dict)
    """Whole files before the fix by path, where they are available."""
    precedents: Precedents = field(default=lambda _: None, compare=False)


class Fixes(ExitStack):
    """The fixes of rows; opens the histories of their repositories on demand."""

    def __init__(self, workspace: WorkspaceLayout) -> None:
        self._workspace = workspace
        super().__init__()
        self._objects: dict[str, Objects | None] = {}
        self._revisions: dict[str, dict[int, CommitPair]] = {}

    def of(self, rows: Sequence[Row]) -> list[Fix | None]:
        """Return the fix of each row; None where it is not available."""
        missing = [row for row in rows if row.has_fix and not _own_diff(row)]
        diffs = self._from_histories(missing)
        return [self._fix(row, _own_diff(row) or diffs.get(row.id, "")) for row in rows]

    def read(self) -> dict[str, str]:
        """Return the digests of the histories that were read, by repository."""
        used = sorted(repo for repo, objects in self._objects.items() if objects)
        return {f"git {repo}": read_heads(self._workspace.clone(repo)).refs for repo in used}

    def _fix(self, row: Row, diff: str) -> Fix | None:
        if not diff:
            return None
        try:
            parts = split_patch(diff)
        except ValueError:
            return None
        changed = [part for part in parts if not part.is_binary and not is_test_file(part.path)]
        changed = [part for part in changed if language_of(part.path)] or changed
        before = {}
        for part in changed:
            old = part.moved_from or part.path
            if text := row.column("file_before") or self._file(row, old):
                before[old] = text
        lines = (line for part in changed for line in _lines(part))
        removed = {tokens_of(line.text) for line in lines if line.mark == "-"}
        files = tuple(_file_fix(part, before, removed) for part in changed)
        return Fix(files, before, partial(self._precedents, row))

    def _precedents(self, row: Row, wanted: Sequence[Sequence[str]]) -> list[Span | None] | None:
        objects = self._history(row.repo)
        if objects is None or not row.base:
            return None
        try:
            files = [file for file in objects.files(row.base) if language_of(file.path)]
        except GitError:
            return None
        found: list[Span | None] = [None for _ in wanted]
        for file, object_ in zip(files, objects.read(file.id for file in files), strict=True):
            data = object_.data if object_ and object_.size <= LARGEST else None
            text = Text(file.path, _ENDS.sub("\n", (data or b"").decode("utf-8", "replace")))
            for at, forms in enumerate(wanted):
                if found[at] is None:
                    found[at] = find_word(text, forms)
        return found

    def _file(self, row: Row, path: str) -> str:
        objects = self._history(row.repo)
        if objects is None or not row.base:
            return ""
        entry = objects.find(row.base, path.encode("utf-8", "surrogateescape"))
        data = objects.blob(entry.id) if entry else None
        return (data or b"").decode("utf-8", "replace")

    def _history(self, repo: str) -> Objects | None:
        if repo not in self._objects:
            clone = self._workspace.clone(repo)
            if not repo or not clone.is_dir():
                self._objects[repo] = None
            else:
                verify_clone(clone)
                self._objects[repo] = self.enter_context(Objects(clone))
        return self._objects[repo]

    def _from_histories(self, rows: Sequence[Row]) -> dict[str, str]:
        diffs: dict[str, str] = {}
        for repo in sorted({row.repo for row in rows}):
            if self._history(repo) is None:
                continue
            states = self._states(repo)
            known = [row for row in rows if row.repo == repo and row.pull in states]
            found = patches(self._workspace.clone(repo), [states[row.pull or 0] for row in known])
            diffs |= {row.id: patch or "" for row, patch in zip(known, found, strict=True)}
        return diffs

    def _states(self, repo: str) -> dict[int, CommitPair]:
        """Return the commits before and after each pull request, by its number."""
        if repo not in self._revisions:
            path = self._workspace.table(repo, "revisions")
            table = read_table(path, _REVISIONS).to_pylist() if path.exists() else []
            self._revisions[repo] = {
                row["number"]: CommitPair(row["merge_base"], row["after_sha"])
                for row in table
                if row["merge_base"] and row["after_sha"]
            }
        return self._revisions[repo]


def find_word(text: Text, forms: Sequence[str]) -> Span | None:
    """Return where a text first has one of these forms as a word."""
    for form in forms:
        if form in text.text and (
            place := re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text.text)
        ):
            return span_of(text, "precedent", *place.span())
    return None


def _own_diff(row: Row) -> str:
    """Return the git diff that a row has; SEARCH/REPLACE blocks are none."""
    columns = (row.column(name) for name in ("diff", "patch"))
    return next((text for text in columns if text.startswith(_GIT)), "")


def _file_fix(part: FilePatch, before: Mapping[str, str], removed: Set[tuple[str, ...]]) -> FileFix:
    path = part.moved_from or part.path
    lines = _lines(part)
    known = [line.text for line in lines if line.mark != "+"]
    old = {tokens_of(line) for line in (*known, *before.get(path, "").split("\n"))}
    added = [
        line.text
        for line in lines
        if line.mark == "+"
        and (tokens := tokens_of(line.text)) not in old
        and tokens not in removed
        and not _COMMENT.match(line.text.lstrip())
    ]
    return FileFix(
        path,
        tuple(line for line in dict.fromkeys(added) if line.strip()),
        frozenset[str]().union(*old),
        tuple(dict.fromkeys(line.old for line in lines if line.mark in "+-")),
    )


def _lines(part: FilePatch) -> list[HunkLine]:
    return [*chain.from_iterable(read_hunks(part.text))]
