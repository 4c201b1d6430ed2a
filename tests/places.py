"""Where the project and the real data lie, and what lies in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("GOLDPAN_REAL_DATA") or ROOT.parent / "shared" / "data")
SECP256K1 = DATA / "github" / "bitcoin-core__secp256k1"
"""A real repository: a backup of its entries, and a bundle of its history."""


def needs_data(*paths: Path) -> list[pytest.MarkDecorator]:
    """Return the marks of tests that read real data, which skip where these are missing."""
    missing = " and ".join(str(path) for path in paths if not path.exists())
    reason = f"{missing} is missing; set GOLDPAN_REAL_DATA to the real data's folder"
    return [pytest.mark.real_data, pytest.mark.skipif(bool(missing), reason=reason)]


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of each file below a folder, by its path from there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
