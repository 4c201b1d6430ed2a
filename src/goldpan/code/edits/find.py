r"""From two versions of a file to the edits between them (FAUN-Eval, section 3.4.3).

Edits as text: SEARCH/REPLACE blocks (FAUN-Eval, section 3.4.3, Figure 2c).

    path/of/file.py
    <<<<<<< SEARCH
    old lines
    =======
    new lines
    >>>>>>> REPLACE

The grammar, where lines end with LF and SP is one space:

    text    = { path LF, block, { block } }
    block   = "<" at least seven times, SP "SEARCH" LF, content,
              "=" as many times, LF, content,
              ">" as many times, SP ( "REPLACE" | "DELETE" ) LF
    content = ""
            | any text that ends with LF
            | any text that does not, LF "\" SP "No newline at end of file" LF

- The lines of content stand as they are, with CR where they have it. A missing LF at the end is
  marked as in git's patches.
- Where a line of content looks like a marker or like that mark, the block takes longer markers,
  and the mark takes one more backslash for each character over seven.
- A block without a path belongs to the file of the block before it.
- An empty SEARCH makes a new file or fills an empty one.
- DELETE, after an empty REPLACE, says that the file goes away; REPLACE leaves an empty file.
- A path that could be taken for something else is quoted (`code/paths.py`).

`format_edits` writes exactly that. `parse_edits` also reads what language models make of it:
prose and code fences around blocks; the path in many dresses (`code/edits/parse.py`) or
missing; markers without their space or with white space behind them; and CRLF everywhere, whose
CR is taken off the content of a block if its first marker has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from goldpan.code.edits.context import EditBlock, TwoVersions
from goldpan.code.edits.diff import LineHunk, diff_lines
from goldpan.code.edits.edit import MOST_CHARACTERS, Edit, FileEdits, MalformedError
from goldpan.code.edits.parse import NO_NEWLINE, SHORTEST, read_marker, write_path


def format_edits(path: str | None, edits: Sequence[Edit], *, removes: bool = False) -> str:
    """Return the edits of a file as text, from which `parse_edits` reads the same again.

    No edits are no text. A file that `removes` has one edit with all of it as SEARCH.
    """
    if removes and [edit.replace for edit in edits] != [""]:
        raise MalformedError(
            f"The edits that remove {path!r} are not one SEARCH with an empty REPLACE",
            "Give the whole file as the SEARCH of one edit",
        )
    blocks = [_format_block(edit, "DELETE" if removes else "REPLACE") for edit in edits]
    heading = f"{write_path(path)}\n" if blocks and path is not None else ""
    return heading + "".join(blocks)


def _format_block(edit: Edit, verb: str) -> str:
    lines = (line for text in (edit.search, edit.replace) for line in text.split("\n"))
    lengths = {marker.length for marker in map(read_marker, lines) if marker}
    length = next(length for length in count(SHORTEST) if length not in lengths)
    search, replace = (_format_content(text, length) for text in (edit.search, edit.replace))
    return f"{'<' * length} SEARCH\n{search}{'=' * length}\n{replace}{'>' * length} {verb}\n"


def _format_content(text: str, length: int) -> str:
    mark = "\\" * (length - SHORTEST + 1)
    return text if not text or text.endswith("\n") else f"{text}\n{mark} {NO_NEWLINE}\n"


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
    change = TwoVersions(before, after)
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


def _join_touching(blocks: list[EditBlock]) -> list[LineHunk]:
    """Return the hunks of the blocks, those whose contexts overlap or touch as one."""
    hunks: list[LineHunk] = []
    reached = -1
    for block in blocks:
        hunk = block.hunk
        if block.start <= reached:
            above = hunks.pop()
            hunk = LineHunk(above.start, hunk.end, above.new_start, hunk.new_end)
        hunks.append(hunk)
        reached = max(reached, block.end)
    return hunks


def _edit(change: TwoVersions, block: EditBlock) -> Edit:
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
