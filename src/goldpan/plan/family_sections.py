"""What a plan may say of datasets that are not built of issues and pairs."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field
from pydantic_core import PydanticCustomError

from goldpan.plan.section import Section


class IssueType(Section):
    """Issues and their types, of the mined repositories, as by goldpan build issue-type."""

    balance: str | None = None
    """none, project:300 or project-label:100; the profile's without it."""
    corrections: tuple[str, ...] = Field(default=(), strict=False)
    """Annotation projects whose decisions replace labels."""


class CodeComments(Section):
    """Sentences of class comments, of the clones, as by goldpan build code-comments."""

    languages: tuple[str, ...] = Field(default=(), strict=False)
    """All that are known without it."""
    kinds: tuple[Literal["class", "module", "function"], ...] = Field(
        default=("class",), strict=False
    )
    lines: Literal["cut", "join"] = "cut"
    annotations: tuple[str, ...] = Field(default=(), strict=False)
    """Annotation projects whose decisions become labels."""
    required: tuple[str, ...] = Field(default=(), strict=False)
    """Annotation projects of which one has to have decided about every row."""
    timeout: float = Field(default=20.0, ge=0.1)
    """The limit for one file, in seconds of processor time."""


class CrossCode(Section):
    """Prompts of unseen tasks, as by goldpan build crosscode export and split."""

    tasks: tuple[str, ...] = Field(strict=False, min_length=1)
    """Of the registry, whose rows are in the workspace."""
    split: str
    """Such as Sub-Inter-ML."""
    method: str = "2/0-instruct"
    train_cap: int = Field(default=10_000, ge=1)
    evaluation_cap: int = Field(default=500, ge=1)


FAMILIES: dict[str, type[Section]] = {
    "issue-type": IssueType,
    "code-comments": CodeComments,
    "crosscode": CrossCode,
}
"""By the family's name; the table of the file has that name, too."""
_NOT_THEIRS = ("rules", "limit", "require", "answer", "gold", "since")
"""Keys that say how issues and pairs become rows."""
_OF_REPOSITORIES = ("split", "profile", "repositories", "leave_out")
"""Keys that mean nothing for crosscode, which is made of tasks."""


def check_family(dataset: BaseModel, family: str) -> None:
    """Refuse keys that mean nothing for a family; raises `PydanticCustomError`."""
    written = dataset.model_fields_set
    strange = [name for name in FAMILIES if name.replace("-", "_") in written and name != family]
    if family in FAMILIES:
        strange += [name for name in _NOT_THEIRS if name in written]
    if family == "crosscode":
        strange += [name for name in _OF_REPOSITORIES if name in written]
        if "crosscode" not in written:
            raise PydanticCustomError(
                "no_crosscode",
                "the table crosscode is missing",
                {"remedy": "Write [dataset.crosscode] with tasks and split"},
            )
    if strange:
        raise PydanticCustomError(
            "not_of_family",
            "{key} means nothing for the family {family}",
            {"key": strange[0], "family": family, "remedy": "Remove it"},
        )
