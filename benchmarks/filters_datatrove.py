"""Filters by length, bots, events and participants in datatrove: see `benchmarks/filters.py`."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

from datatrove.executor import LocalPipelineExecutor  # type: ignore[import-not-found]
from datatrove.pipeline.filters import LambdaFilter  # type: ignore[import-not-found]
from datatrove.pipeline.readers import JsonlReader  # type: ignore[import-not-found]
from datatrove.pipeline.writers import JsonlWriter  # type: ignore[import-not-found]

_ROBOT = re.compile(r"\[bot\]$|(?:^|[-_])bot(?:$|[-_])|^(?:dependabot|codecov|stale)", re.I)


def _is_robot(author: str | None, kind: str | None) -> bool:
    return kind == "bot" or bool(author and _ROBOT.search(author))


def by_people(document: Any) -> bool:
    """Keep what a person opened."""
    metadata = document.metadata
    return not _is_robot(metadata["authors"][0], metadata["types"][0])


def scaled(document: Any) -> bool:
    """Keep 200 to 10 million characters, bots' left out."""
    metadata = document.metadata
    spoken = zip(metadata["authors"], metadata["types"], metadata["texts"], strict=True)
    size = sum(len(text) for author, kind, text in spoken if not _is_robot(author, kind))
    return 200 <= size <= 10_000_000


def few_events(document: Any) -> bool:
    """Keep at most ten comments and openings."""
    return len(document.metadata["texts"]) <= 10


def several_people(document: Any) -> bool:
    """Keep what at least two people wrote in."""
    metadata = document.metadata
    spoken = zip(metadata["authors"], metadata["types"], strict=True)
    return len({author for author, kind in spoken if not _is_robot(author, kind)}) >= 2


def main() -> None:
    """Filter the JSON lines of a directory and print the seconds and what was kept."""
    directory, workers = Path(sys.argv[1]), int(sys.argv[2])
    output = directory / "kept"
    executor = LocalPipelineExecutor(
        [
            JsonlReader(str(directory / "json")),
            *map(LambdaFilter, (scaled, few_events, by_people, several_people)),
            JsonlWriter(str(output), compression=None),
        ],
        tasks=workers,
        workers=workers,
        logging_dir=str(directory / "logs"),
    )
    begun = time.perf_counter()
    executor.run()
    seconds = time.perf_counter() - begun
    lines = sum(1 for path in output.glob("*") for _ in path.open("rb"))
    print(json.dumps({"seconds": seconds, "kept": lines}))


if __name__ == "__main__":
    main()
