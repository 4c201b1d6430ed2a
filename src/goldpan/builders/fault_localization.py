"""Fault localization out of fix pairs (FAUN-Eval, sections 3.4.2 and 4.2, Figure 2b).

The issue and the folder tree at the base state are the input, the changed path the answer. The
tree is pruned to files with code suffixes, without hidden files and folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from goldpan.builders.context import PAIR_REASONS, BuildContext, fix_pairs
from goldpan.code.languages import CODE_SUFFIXES
from goldpan.code.paths import quote_path
from goldpan.core.errors import GitError

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
    "not-in-tree": "the changed file is new, hidden or not code, so the tree does not list it",
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
