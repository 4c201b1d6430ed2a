"""The labels that a dataset gives its rows, kept beside a project to compare people with.

They never go to the server, where an annotator could find them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from goldpan.annotation.studio.client import StudioError
from goldpan.annotation.studio.project import Project


class DatasetLabels:
    """A project's `given.jsonl`: a line for each batch, the last word on a subject counts."""

    def __init__(self, project: Project) -> None:
        self._path: Path = project.path("given.jsonl")
        self.labels: dict[str, tuple[str, ...]] = {}
        """By subject."""
        if self._path.exists():
            self._read()

    def add(self, labels: Mapping[str, tuple[str, ...]]) -> None:
        """Keep labels that are not known yet, or changed."""
        new = {
            subject: names
            for subject, names in labels.items()
            if self.labels.get(subject, ()) != names
        }
        if new:
            with self._path.open("ab") as file:
                file.write(orjson.dumps(new) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self.labels |= new

    def _read(self) -> None:
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # the last line was cut by a kill
            os.truncate(self._path, len(whole))
        try:
            for line in whole.splitlines():
                for subject, names in orjson.loads(line).items():
                    self.labels[subject] = tuple(names)
        except (ValueError, AttributeError, TypeError) as error:
            raise StudioError(
                f"{self._path} is damaged ({error})", "Remove it and push the same dataset again"
            ) from None
