"""Files of runs in tests: as a crawl writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldpan.core.archive import Archive


def write_run(directory: Path, bodies: Sequence[bytes], *, end: bool = True) -> Path:
    """Write a run as a crawl does: its begin, a record a body, its end."""
    with Archive(directory) as archive:
        number = archive.begin(resume=False)
        archive.append({"part": "begin", "run": number, "keys": [], "at": "", "plan": {"n": 0}})
        for index, body in enumerate(bodies):
            meta = {"part": "entries", "run": number, "keys": [f"{number}|{index}"], "at": ""}
            archive.append({**meta, "number": index, "nodes": [], "more": []}, body)
        if end:
            archive.append({"part": "end", "run": number, "keys": [], "at": ""})
    return directory / f"run-{number:04}.zst"
