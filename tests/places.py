"""Where the project and the real data lie, and what lies in a folder."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("GOLDPAN_REAL_DATA") or ROOT.parent / "shared" / "data")


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder, by its path from there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
