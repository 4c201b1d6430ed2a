"""From two versions of a file to the edits between them (FAUN-Eval, section 3.4.3)."""

from __future__ import annotations

from goldpan.code.edits.context import Block, Change
from goldpan.code.edits.diff import Hunk, diff_lines
from goldpan.code.edits.edit import Edit, FileEdits
from goldpan.code.edits.lines import MOST_CHARACTERS


def find_edits(before: str, after: str) -> tuple[Edit, ...]:
    """Return edits that turn `before` into `after`, in the order of the file; none if equal.

    Each `search` stands at one place of `before` only, even as plain text and not as whole
    lines, with no more lines of context than that takes. The places do not overlap or touch, so
    the order of the edits does not matter to `apply_edits`. The text that has been edited up to
    a block holds its `search` once as well, so tools that replace one after the other, in the
    given order, come to the same result.
    """
    if before == after:
        return ()
    if not before:
        return (Edit(before, after),)
    change = Change(before, after)
    if change.different_lines > MOST_CHARACTERS:
        return (Edit(before, after),)
    hunks = diff_lines(change.before.lines, change.after.lines)
    while True:
        blocks = [change.surround(hunk) for hunk in hunks]
        hunks = _join_touching(blocks)
        if len(hunks) == len(blocks):
            return tuple(_edit(change, block) for block in blocks)


def find_file_edits(path: str, before: str | None, after: str | None) -> FileEdits:
    """Return the edits of a file that may be new or go away, where a version is None.

    Its content stands as the one SEARCH or REPLACE, even where it is empty.
    """
    if before is None or after is None:
        whole = Edit(before or "", after or "")
        return FileEdits(path, (whole,), removes=after is None)
    return FileEdits(path, find_edits(before, after))


def _join_touching(blocks: list[Block]) -> list[Hunk]:
    """Return the hunks of the blocks, those whose contexts overlap or touch as one."""
    hunks: list[Hunk] = []
    reached = -1
    for block in blocks:
        hunk = block.hunk
        if block.start <= reached:
            above = hunks.pop()
            hunk = Hunk(above.start, hunk.end, above.new_start, hunk.new_end)
        hunks.append(hunk)
        reached = max(reached, block.end)
    return hunks


def _edit(change: Change, block: Block) -> Edit:
    """Return the block's lines before and after, context included.

    Where lines repeat, a change can be seen a line further up or down and need less context:
    lines that both versions begin or end with go where the rest is unique without them.
    """
    hunk, old, new = block.hunk, change.before, change.after
    start, end = block.start, block.end
    new_start, new_end = hunk.new_start - (hunk.start - start), hunk.new_end + (end - hunk.end)
    while (
        new_start < new_end
        and old.lines[start] == new.lines[new_start]
        and change.is_unique(hunk, start + 1, end)
    ):
        start, new_start = start + 1, new_start + 1
    while (
        new_start < new_end
        and old.lines[end - 1] == new.lines[new_end - 1]
        and change.is_unique(hunk, start, end - 1)
    ):
        end, new_end = end - 1, new_end - 1
    return Edit(old.cut(start, end), new.cut(new_start, new_end))
