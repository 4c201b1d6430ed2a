"""Fault localization and code editing out of fix pairs (FAUN-Eval, sections 3.4 and 4.2, Figure 2).

Where to edit: issue and folder tree at the base state are the input, the changed path the answer.
The tree is pruned to files with code suffixes, without hidden files and folders.

What to edit: issue, pull request and the file before are the input; the answer is the patch as
SEARCH/REPLACE blocks. Applying the blocks to the file before gives the file after, byte for byte:
that is tried for every row. Files stay as they are, so a pair whose file holds a secret gives none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from goldpan.builders.context import PAIR_REASONS, BuildContext, fix_pairs, patched_pairs
from goldpan.code.edits.apply import Edit, apply_edits
from goldpan.code.edits.find import find_edits
from goldpan.code.edits.parse import format_edits
from goldpan.code.languages import CODE_SUFFIXES, language_of
from goldpan.code.paths import quote_path
from goldpan.core.errors import GitError
from goldpan.git.apply import text_hunks
from goldpan.git.objects import Objects
from goldpan.git.trees import diff_name
from goldpan.text.redaction import SECRETS_ONLY, find_private

# Folder trees of a repository, pruned and drawn (FAUN-Eval, section 3.4.2, Figure 2b).
#
# A tree is drawn as the program `tree` draws it under `LC_ALL=C`: names in the order of their
# code points, folders among files, and a last line of counts that leaves the root out.
#
#     .
#     ├── docs
#     │   └── conf.py
#     └── setup.py
#
#     1 directory, 2 files
#
# Two differences keep it plain: lines are indented by ordinary spaces, where `tree` has no-break
# spaces, and names that would break a line are quoted (`code/paths.py`).

_INDENT = ("│   ", "    ")
_CONNECTOR = ("├── ", "└── ")
_LONGEST = 4_096  # characters; Linux cannot check out longer paths, and deep ones draw wide
_Folder = dict[str, "_Folder"]


def prune(paths: Iterable[str], suffixes: frozenset[str]) -> tuple[str, ...]:
    """Return the paths of code files, none hidden, in the order in which they are drawn.

    `suffixes` are lower case with their dot; those of paths match in any case. Hidden is what
    has a dot before the name of the file or of a folder above it. Empty folders vanish because
    folders are there only for their files. Paths that no Linux can check out (over 4,096
    characters) are left out.
    """
    shown = {
        path
        for path in paths
        if path[path.rfind(".") :].lower() in suffixes
        and not path.startswith(".")
        and "/." not in path
        and len(path) <= _LONGEST
    }
    return tuple(sorted(shown, key=lambda path: path.replace("/", "\0")))  # folder by folder


def draw_tree(paths: Iterable[str]) -> tuple[str, int]:
    """Return files with their folders as a drawing, and the number of folders below the root."""
    top: _Folder = {}
    for path in paths:
        folder = top
        for name in path.split("/"):
            folder = folder.setdefault(name, {})
    files = directories = 0
    lines = ["."]
    open_folders = [("", sorted(top.items(), reverse=True))]
    while open_folders:
        indent, entries = open_folders[-1]
        if not entries:
            open_folders.pop()
            continue
        name, below = entries.pop()
        is_last = not entries
        lines.append(f"{indent}{_CONNECTOR[is_last]}{quote_path(name)}")
        directories += bool(below)
        files += not below
        open_folders.append((indent + _INDENT[is_last], sorted(below.items(), reverse=True)))
    counts = (
        f"{directories} director{'y' if directories == 1 else 'ies'}, "
        f"{files} file{'' if files == 1 else 's'}"
    )
    return "\n".join([*lines, "", counts, ""]), directories


EXPLAINED: dict[str, str] = {
    **PAIR_REASONS,
    "lost-tree": "the tree of the base state cannot be read",
    "not-in-tree": "the changed file is new, hidden or no code, so the pruned tree lacks it",
}


def rows(context: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield an example for each kept fix pair whose file stands in the base state's tree."""
    with context.view.objects() as objects:
        if objects is None:
            context.drop_all("no-history")
            return
        for pair, shared in fix_pairs(context, "fault-localization"):
            try:
                files = objects.files(pair["before_sha"])
            except GitError:
                context.dropped["lost-tree"] += 1
                continue
            paths = prune((file.path for file in files if file.kind == "file"), CODE_SUFFIXES)
            changed = pair["previous_path"] or pair["path"]
            if changed not in paths:
                context.dropped["not-in-tree"] += 1
                continue
            tree, directories = draw_tree(paths)
            yield {
                **shared,
                "base_sha": pair["before_sha"],
                "tree": tree,
                "paths": paths,
                "directories": directories,
                "files": len(paths),
                "changed_path": changed,
            }


EDIT_REASONS: dict[str, str] = {
    **PAIR_REASONS,
    "no-text": "the file is binary, a link, a submodule or an LFS pointer",
    "missing-file": "the history lacks a version of the file",
    "no-change": "the content of the file did not change",
    "secret-in-file": "the file holds what looks like a secret",
    "not-exact": "the blocks would not give the file after",
}


def edit_rows(context: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield an example for each kept fix pair that changes the content of one text file."""
    with context.view.objects() as objects:
        if objects is None:
            context.drop_all("no-history")
            return
        for pairs, patched in patched_pairs(context, "code-edit"):
            texts = _texts(objects, pairs)
            for pair, shared, patch in patched:
                change = _changed_file(pair, texts)
                if isinstance(change, str):
                    context.dropped[change] += 1
                    continue
                yield {
                    **shared,
                    **change,
                    "pull_title": context.text(pair["pull_title"]),
                    "pull_body": context.text(pair["pull_body"]),
                    "base_sha": pair["before_sha"],
                    "head_sha": pair["after_sha"],
                    "diff": _diff(patch.text, change),
                }


def _diff(diff: str | None, change: dict[str, Any]) -> str | None:
    """Return git's diff, with hunks in characters where the file is not UTF-8.

    Of such a file git shows bytes that are no text, or nothing.
    """
    if diff is None or change["encoding"].startswith("utf-8"):
        return diff
    head = re.split(r"\n(?=Binary files |--- )", diff, maxsplit=1)[0]
    before, edits = change["file_before"], change["edits"]
    after = apply_edits(before, [Edit(edit["search"], edit["replace"]) for edit in edits])
    old, new = change["previous_path"] or change["path"], change["path"]
    names = (
        diff_name("a", old) if change["blob_before"] else "/dev/null",
        diff_name("b", new) if change["blob_after"] else "/dev/null",
    )
    return f"{head}\n--- {names[0]}\n+++ {names[1]}\n{text_hunks(before, after)}"


def _is_text(pair: dict[str, Any]) -> bool:
    return pair["kind"] == "text" and bool(pair["encoding"])


def _texts(objects: Objects, pairs: Iterable[dict[str, Any]]) -> Iterator[bytes | None]:
    """Yield the file before and after of each pair with a text, as those are asked for.

    Git is asked for many at once. None stands for what it does not have.
    """
    blobs = [
        pair[name] for pair in pairs if _is_text(pair) for name in ("blob_before", "blob_after")
    ]
    read = objects.read(blob for blob in blobs if blob)
    for blob in blobs:
        if not blob:
            yield b""  # the file was added or deleted
            continue
        object_ = next(read)
        yield object_.data if object_ and object_.kind == "blob" else None


def _changed_file(pair: dict[str, Any], texts: Iterator[bytes | None]) -> dict[str, Any] | str:
    """Return the columns on the file, or why there is no example; `texts` has its two versions."""
    if not _is_text(pair):
        return "no-text"
    old, new = next(texts), next(texts)
    if old is None or new is None:
        return "missing-file"
    before, after = (data.decode(pair["encoding"]) for data in (old, new))
    edits = find_edits(before, after)
    if not edits:
        return "no-change"
    removes = not pair["blob_after"]
    if removes:
        edits = (Edit(before, ""),)
    if apply_edits(before, edits).encode(pair["encoding"]) != new:
        return "not-exact"
    if find_private(before, SECRETS_ONLY) or find_private(after, SECRETS_ONLY):
        return "secret-in-file"
    language = language_of(pair["path"])
    return {
        "path": pair["path"],
        "previous_path": pair["previous_path"],
        "code_language": language.name if language else None,
        "blob_before": pair["blob_before"],
        "blob_after": pair["blob_after"],
        "encoding": pair["encoding"],
        "line_ends": pair["line_ends"],
        "file_before": before,
        "edits": [{"search": edit.search, "replace": edit.replace} for edit in edits],
        # A patch is applied to the state before, where a renamed file has its old name.
        "patch": format_edits(pair["previous_path"] or pair["path"], edits, removes=removes),
    }
