"""Reads the paper's logs: for each commit, its name with what two labellers say, and its message.

k01 fix fix
    Stop the pump when the tank is empty
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldpan.plugins.data import DatasetError, Task, open_text, stem_of

PURPOSES = ("add", "fix", "document", "tidy")


@dataclass(frozen=True)
class Message:
    """A commit message with its two labels."""

    name: str
    labels: tuple[str, str]
    text: str

    @property
    def agreed(self) -> bool:
        """Whether both labellers say the same."""
        return self.labels[0] == self.labels[1]


def messages(path: Path) -> Iterator[Message]:
    """Yield the messages of a log; raises `DatasetError` that names file and line."""
    head: list[str] = []
    lines: list[str] = []
    with open_text(path) as file:
        for number, line in enumerate([*file, "end"], 1):
            if line.startswith(" ") and head:
                lines.append(line.strip())
            elif line.strip():
                if head:
                    yield Message(head[0], (head[1], head[2]), "\n".join(lines))
                head, lines = line.split(), []
                if line != "end" and (len(head) != 3 or not set(head[1:]) <= set(PURPOSES)):
                    raise DatasetError(
                        f"{path}, line {number}: {line.strip()[:60]!r} is no commit and two labels",
                        f"Write its name and two of {', '.join(PURPOSES)}, as in the paper's data",
                    )


def read(task: Task, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the messages on which both labellers agree."""
    for path in files:
        for message in filter(lambda message: message.agreed, messages(path)):
            yield {
                "id": f"{task.name}:{stem_of(path)}:{message.name}",
                "repo": f"example/{stem_of(path)}",
                "source": f"{path.name}:{message.name}",
                "text": message.text,
                "label": message.labels[0],
            }
