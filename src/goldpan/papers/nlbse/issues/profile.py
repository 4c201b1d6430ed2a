"""Profiles of issue-type datasets: which labels mean which class, and what is kept. Data, in TOML.

A profile of one's own may build on another, whose settings it changes and to whose labels it adds:

extends = "default"
split = "time:2023-01-01"

[labels]
bug = ["t: bug"]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

from goldpan.plugins import data

_MARKS = re.compile(r"\A[^a-z0-9]+|(?<![^a-z0-9])[^a-z0-9]++\Z")
_FORM = re.compile(r"(project|project-label):([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Balance:
    """At most `most` rows of a project, or exactly `most` of each label in each project.

    Projects that have fewer of a label are then left out, so that all give the same.
    """

    kind: Literal["none", "project", "project-label"] = "none"
    most: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``project:300`` and the like; raises `UsageError` where it is none."""
        if text == "none":
            return cls()
        if (found := _FORM.fullmatch(text)) is None:
            raise data.UsageError(
                f"{text!r} is not a way to balance projects",
                "Write none, project:300 or project-label:100",
            )
        return cls("project" if found[1] == "project" else "project-label", int(found[2]))

    def __str__(self) -> str:
        return "none" if self.kind == "none" else f"{self.kind}:{self.most}"


@dataclass(frozen=True, slots=True)
class IssueTypeProfile:
    """The rules for rows of an issue-type dataset."""

    name: str
    task: str
    """The task of the registry whose rows come out."""
    labels: Mapping[str, tuple[str, ...]]
    """By class: the labels that mean it, in lower case."""
    description: str = ""
    prefixes: tuple[str, ...] = ()
    """Words before a label that say nothing of it: with `type`, `Type: bug` and `[type] Bug` mean
    what `bug` does, and so do marks and pictures around a label."""
    other_labels: tuple[str, ...] = ()
    """Labels of none of the classes; beside one of a class they make the issue ambiguous."""
    language: str = "en"
    """ISO 639; empty for any."""
    detector: Literal["text", "prose"] = "prose"
    """`text`: what lid.176 says of the whole. `prose`: of what is neither code nor a trace; a text
    with too little prose to tell stays."""
    repeated_closings: Literal["keep", "last"] = "last"
    """`keep` for a row a closing, `last` for one row of an issue that was closed again."""
    near_duplicates: Literal["keep", "together", "first"] = "together"
    """`keep`: wherever they fall. `together`: on one side of the split. `first`: the earliest."""
    redact: bool = True
    """True to make addresses and secrets unreadable."""
    split: str = "random:0.8,0.1,0.1"
    balance: str = "none"
    synonyms: Mapping[str, str] = field(
        init=False, repr=False, compare=False, metadata=data.NOT_IN_JSON
    )
    """The class that each label means, or an empty name."""
    _prefix: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        synonyms: dict[str, str] = {}
        for name, labels in (*self.labels.items(), ("", self.other_labels)):
            for label in labels:
                if synonyms.setdefault(label, name) != name:
                    raise data.UsageError(
                        f"Profile {self.name}: the label {label!r} means "
                        f"{synonyms[label] or 'no class'} and {name or 'no class'}",
                        "Let it mean one class",
                    )
        object.__setattr__(self, "synonyms", synonyms)
        words = "|".join(map(re.escape, self.prefixes))
        object.__setattr__(self, "_prefix", re.compile(rf"\A(?:{words})[^a-z]+(?=[a-z])"))

    def class_of(self, label: str) -> str | None:
        """Return the class that a label means, an empty name for another thing, None for nothing.

        What is left of a label without marks and prefix counts where the label itself is not named.
        """
        label = label.lower()
        if label in self.synonyms or not self.prefixes:
            return self.synonyms.get(label)
        bare = _MARKS.sub("", label)
        rest = self._prefix.sub("", bare)
        forms = (form for text in (bare, rest) for form in (text, text.replace("-", " ")))
        return next((self.synonyms[form] for form in forms if form in self.synonyms), None)


PROFILES = data.Registry(
    "profile",
    partial(data.files_in, files("goldpan.papers.nlbse.issues") / "profiles"),
    remedy="Choose {names}, or give a path that ends in .toml",
)
"""The profiles that come with Goldpan."""
shipped_profiles = PROFILES.names


def load_profile(name: str) -> IssueTypeProfile:
    """Load a shipped profile by name, or one's own from a path that ends in ``.toml``.

    Raises `UsageError` for an unknown profile or setting, or a value that makes no sense.
    """
    label = Path(name).stem if name.endswith(".toml") else name
    if label != name and label in shipped_profiles():
        raise data.UsageError(
            f"The profile {name} has the name of one that ships with Goldpan",
            "Give the file another name",
        )
    source = data.read_toml(
        PROFILES.find(name) if label == name else Path(name), "docs/reference/files.md"
    )
    profile = source.read(IssueTypeProfile, _extended(source.named(label), source))
    labels = {key: _lower(labels) for key, labels in profile.labels.items()}
    if len(labels) < 2 or "" in labels or not all(labels.values()):
        raise data.UsageError(
            f"{source.place('labels')}: [labels] is not a list of labels for each of two classes "
            "or more",
            'Write [labels] with lines such as bug = ["bug", "type: bug"]',
        )
    data.SplitPlan.parse(profile.split)
    Balance.parse(profile.balance)
    return replace(profile, labels=labels, other_labels=_lower(profile.other_labels))


def profile_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole profile that a build is by, for plans."""
    return {"profile": data.json_data(load_profile(str(options["profile"])))}


def _extended(values: dict[str, Any], source: data.Source) -> dict[str, Any]:
    """Return a profile's values over those of the shipped one that it builds on, if any."""
    if "extends" not in values:
        return values
    base = source.read(str, values.pop("extends"), ("extends",))
    shipped = data.read_toml(PROFILES.find(base, where=source.place("extends")))
    below = _extended(dict(shipped.values), shipped)
    added = values.get("labels", {})
    if isinstance(added, dict):
        labels = {name: list(names) for name, names in below["labels"].items()}
        for name, names in added.items():
            labels[name] = [*labels.get(name, ()), *names] if isinstance(names, list) else names
        values = {**values, "labels": labels}
    return {**below, **values}


def _lower(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label.lower() for label in labels))
