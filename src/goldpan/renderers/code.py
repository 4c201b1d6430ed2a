"""What people see of edits."""

from __future__ import annotations

from collections.abc import Iterator

from goldpan.code.edits.files import Applied
from goldpan.core.result import Block, Line, count, renders


@renders(Applied)
def applied(result: Applied) -> Iterator[Block]:
    """Yield which files were changed, and what was ignored for that."""
    for file in result.files:
        yield Line(f"{file.action} {file.path} ({count(file.blocks, 'block')})")
        for forgiven in file.forgiven:
            yield Line(f"  ignored: {forgiven}")
    verb = "changed" if result.written else "would change"
    yield Line(f"{count(len(result.files), 'file')} {verb}")
