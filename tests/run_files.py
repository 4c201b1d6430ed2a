"""Files of runs in tests: as a crawl writes them, and in the first format."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import zstandard

from goldpan.core.archive import Archive

_PACKER = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)


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


def write_first_format(path: Path, records: Sequence[tuple[dict[str, Any], bytes]]) -> None:
    """Write a run as Goldpan did before headers had checksums."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for meta, body in records:
            frame = _PACKER.compress(body)
            sizes = {"size": len(body), "packed": len(frame)}
            head = orjson.dumps({**meta, **sizes, "sha256": hashlib.sha256(body).hexdigest()})
            file.write(struct.pack("<II", 0x184D2A5D, len(head)) + head + frame)


def first_format_run(path: Path, bodies: Sequence[bytes], *, end: bool = True) -> None:
    """Write what `write_run` writes in the first format."""
    about = {"run": int(path.stem[4:]), "keys": [], "at": ""}
    records: list[tuple[dict[str, Any], bytes]] = [
        ({**about, "part": "begin", "plan": {"n": 0}}, b"")
    ]
    records += [({**about, "part": "entries", "number": n}, body) for n, body in enumerate(bodies)]
    write_first_format(path, [*records, *([({**about, "part": "end"}, b"")] if end else [])])
