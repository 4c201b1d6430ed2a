"""Fault localization out of fix pairs (FAUN-Eval, sections 3.4.2 and 4.2, Figure 2b).

The issue and the folder tree at the base state are the input, the changed path the answer. The
tree is pruned to files with code suffixes, without hidden files and folders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from goldpan.builders.context import BuildContext
from goldpan.builders.fix_pairs import PAIR_REASONS, fix_pairs
from goldpan.builders.tree import count_directories, draw_tree, prune
from goldpan.code.languages import CODE_SUFFIXES
from goldpan.core.errors import GitError

EXPLAINED = {
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
