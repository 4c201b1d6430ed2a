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
from goldpan.core.errors import GitError, GoldpanError

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
_Folder = dict[str, "_Folder | None"]


class TreeError(GoldpanError):
    """Paths that make no tree."""


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


def draw_tree(paths: Iterable[str], root: str = ".") -> str:
    """Draw files with their folders below `root`, with the line of counts at the end.

    Raises `TreeError` where a path is a file and a folder at once, or has an empty component.
    """
    top, files = _nest(paths)
    directories = 0
    lines = [quote_path(root)]
    open_folders = [("", _last_first(top))]
    while open_folders:
        indent, entries = open_folders[-1]
        if not entries:
            open_folders.pop()
            continue
        name, below = entries.pop()
        is_last = not entries
        lines.append(f"{indent}{_CONNECTOR[is_last]}{quote_path(name)}")
        if below is not None:
            directories += 1
            open_folders.append((indent + _INDENT[is_last], _last_first(below)))
    return "\n".join([*lines, "", _counts(directories, files), ""])


def count_directories(paths: Iterable[str]) -> int:
    """Return how many folders the paths have, as the line of counts says: without the root."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return len(folders)


def _nest(paths: Iterable[str]) -> tuple[_Folder, int]:
    """Return the folders and files below the root, files as None, and the number of files."""
    top: _Folder = {}
    files = 0
    for path in dict.fromkeys(paths):
        *folders, name = path.split("/")
        node: _Folder | None = top
        for folder in folders:
            node = node.setdefault(folder, {}) if node is not None and folder else None
        if node is None or not name or node.setdefault(name, None) is not None:
            raise TreeError(
                f"{path!r} cannot be drawn: a file is where a folder should be, or a name is empty",
                "Give the paths of files as git lists them",
            )
        files += 1
    return top, files


def _last_first(folder: _Folder) -> list[tuple[str, _Folder | None]]:
    return sorted(folder.items(), key=lambda entry: entry[0], reverse=True)


def _counts(directories: int, files: int) -> str:
    return (
        f"{directories} director{'y' if directories == 1 else 'ies'}, "
        f"{files} file{'' if files == 1 else 's'}"
    )


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
            yield {
                **shared,
                "base_sha": pair["before_sha"],
                "tree": draw_tree(paths),
                "paths": paths,
                "directories": count_directories(paths),
                "files": len(paths),
                "changed_path": changed,
            }
