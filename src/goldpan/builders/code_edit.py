"""Code editing out of fix pairs (FAUN-Eval, sections 3.4.3 and 4.2, Figure 2c).

Issue, pull request and the file before are the input; the answer is the patch as SEARCH/REPLACE
blocks. Applying the blocks to the file before gives the file after, byte for byte: that is tried
for every row. Files stay as they are, so a pair whose file holds a secret gives no row.

A fix that its tests prove changes these too. Such rows are made of those of `issue-resolution`
whose fix changes one file, so `goldpan evaluate resolved` can score what models answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from goldpan.builders import issue_resolution
from goldpan.builders.context import PAIR_REASONS, BuildContext, PatchedPairs, patched_pairs
from goldpan.builders.request import VERIFIED
from goldpan.code.edits.apply import Edit, apply_edits
from goldpan.code.edits.find import find_edits
from goldpan.code.edits.parse import format_edits
from goldpan.code.languages import language_of
from goldpan.code.patch import split_patch
from goldpan.git.apply import text_hunks
from goldpan.git.objects import Objects
from goldpan.git.trees import diff_name
from goldpan.text.redaction import SECRETS_ONLY, find_private

FAMILY = "code-edit"
EXPLAINED: dict[str, str] = {
    **issue_resolution.EXPLAINED,
    **PAIR_REASONS,
    "no-text": "the file is binary, a link, a submodule or an LFS pointer",
    "missing-file": "a version of the file is missing from the history",
    "no-change": "the content of the file did not change",
    "secret-in-file": "the file holds what looks like a secret",
    "not-exact": "the blocks would not give the file after",
}
_FIX = """
SELECT c.* EXCLUDE (repo, number), p.title AS pull_title, p.body AS pull_body,
       r.before_sha, r.after_sha
FROM changes c JOIN pulls p USING (number) JOIN revisions r USING (number)
WHERE number = $number AND list_contains($paths, c.path)
"""


def rows(context: BuildContext) -> Iterator[dict[str, Any]]:
    """Yield an example for each kept fix pair that changes the content of one text file."""
    with context.view.objects() as objects:
        if objects is None:
            context.drop_all("no-history")
            return
        proved = VERIFIED in context.request.reviews
        for pairs, patched in _proved(context) if proved else patched_pairs(context, FAMILY):
            texts = _texts(objects, pairs)
            for pair, shared, patch in patched:
                change = _change(pair, texts)
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
                    "diff": _diff(patch, change),
                }


def _proved(context: BuildContext) -> Iterator[PatchedPairs]:
    """Yield the proved fixes of one file, their tests aside, as `patched_pairs` yields pairs."""
    for row in issue_resolution.rows(context):
        paths = [part.path for part in split_patch(row["patch"])]
        changes = list(context.rows(_FIX, number=row["pull"], paths=paths))
        if len(changes) != 1:
            context.dropped["several-files"] += 1
            continue
        name = row["id"].replace(issue_resolution.FAMILY, FAMILY, 1)
        shared = {**row, "id": name, "created_at": row["issue_created_at"]}
        yield changes, iter([(changes[0], shared, row["patch"])])


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


def _change(pair: dict[str, Any], texts: Iterator[bytes | None]) -> dict[str, Any] | str:
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
