"""What a stage made, as digests that can be compared with those of an undisturbed run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from goldpan.evaluation.record import RESULT

Picture = Mapping[str, str]
"""The digest of each file, by its name below the workspace."""

_OF_THE_RUN = ("costs", "test_opened", "goldpan.sha256")
"""What a result tells of the run itself: seconds, and how often the test was opened."""


def picture_of(home: Path, patterns: Iterable[str]) -> Picture:
    """Return what the files of these patterns hold."""
    paths = {path for pattern in patterns for path in home.glob(pattern) if path.is_file()}
    return {str(path.relative_to(home)): _digest(path) for path in sorted(paths)}


def differing(first: Picture, second: Picture) -> list[str]:
    """Return the names of files that are not the same in both."""
    return sorted(
        name for name in first.keys() | second.keys() if first.get(name) != second.get(name)
    )


def _digest(path: Path) -> str:
    data = path.read_bytes()
    made_of = path.suffix == ".json" and {"tables", "verdicts"} & set(path.parts)
    if path.name == RESULT or made_of:
        data = _lasting(path.name, data)
    return hashlib.sha256(data).hexdigest()


def _lasting(name: str, data: bytes) -> bytes:
    """Leave out what no two runs share; a file that is damaged is taken as it is."""
    try:
        content: dict[str, Any] = orjson.loads(data)
    except orjson.JSONDecodeError:
        return data
    if name == RESULT:
        content = {key: value for key, value in content.items() if key not in _OF_THE_RUN}
    else:  # what tables and verdicts were made of: of replies, the digests hold their times
        content = content.get("outputs", content)
    return orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
