"""Edits of files, as models and people write them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goldpan.code.edits.files import Applied


def apply_edit(
    patch: Path | str, *, root: Path | str = Path(), check: bool = False, lenient: bool = False
) -> Applied:
    """Apply SEARCH/REPLACE blocks or a unified diff to files: all changes or none.

    The patch may use other line endings than the file; the file's are kept. The output says for
    each block which differences were ignored.

    Args:
        patch (FILE): A file with SEARCH/REPLACE blocks, or a unified diff.
        root: The directory of the files.
        check: Only check; change nothing.
        lenient: Accept different white space at the ends of lines.
    """
    from goldpan.code.edits.files import apply_patch

    return apply_patch(Path(patch), Path(root), write=not check, lenient=lenient)
