"""How many rows a project may give, lest a few large ones drown the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self

from goldpan.core.errors import UsageError

_FORM = re.compile(r"(project|project-label):([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Balance:
    """At most `most` rows of a project, or exactly so many of each label in each project.

    Projects that have fewer of a label are then left out, so that all give the same.
    """

    kind: Literal["none", "project", "project-label"] = "none"
    most: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``project:300`` and the like; raises `UsageError` where it is none."""
        if text == "none":
            return cls()
        match _FORM.fullmatch(text):
            case re.Match() as found:
                kind: Literal["project", "project-label"] = (
                    "project" if found[1] == "project" else "project-label"
                )
                return cls(kind, int(found[2]))
            case _:
                raise UsageError(
                    f"{text!r} is not a way to balance projects",
                    "Write none, project:300 or project-label:100",
                )

    def __str__(self) -> str:
        return "none" if self.kind == "none" else f"{self.kind}:{self.most}"
