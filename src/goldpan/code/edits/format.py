r"""Edits as text: SEARCH/REPLACE blocks (FAUN-Eval, section 3.4.3, Figure 2c).

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
- A path that could be taken for something else is quoted (`code/path_names.py`).

`format_edits` writes exactly that. `parse_edits` also reads what language models make of it:
prose and code fences around blocks; the path in many dresses (`code/edits/headings.py`) or
missing; markers without their space or with white space behind them; and CRLF everywhere, whose
CR is taken off the content of a block if its first marker has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from goldpan.code.edits.edit import Edit, MalformedError
from goldpan.code.edits.headings import write_path
from goldpan.code.edits.markers import NO_NEWLINE, SHORTEST, read_marker


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
