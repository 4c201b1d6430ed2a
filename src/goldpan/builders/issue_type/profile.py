"""Profiles of issue-type datasets: which labels mean which class, and what is kept. Data, in TOML.

A profile of one's own may build on another, whose settings it changes and to whose labels it adds:

extends = "default"
split = "time:2023-01-01"

[labels]
bug = ["t: bug"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from goldpan.builders.issue_type.balance import Balance
from goldpan.core.errors import UsageError, cause_of
from goldpan.datasets.splits import SplitPlan

_SHIPPED = files("goldpan.builders.issue_type") / "profiles"
_CHOICES = {
    "detector": ("text", "prose"),
    "repeated_closings": ("keep", "last"),
    "near_duplicates": ("keep", "together", "first"),
}


@dataclass(frozen=True, slots=True)
class IssueTypeProfile:
    """What makes a row of an issue-type dataset."""

    name: str
    description: str
    task: str
    """The task of the registry whose rows come out."""
    labels: Mapping[str, tuple[str, ...]]
    """By class: the labels that mean it, in lower case."""
    other_labels: tuple[str, ...] = ()
    """Labels of none of the classes; beside one of a class they make the issue ambiguous."""
    language: str = "en"
    """ISO 639; empty for any."""
    detector: Literal["text", "prose"] = "prose"
    """`text`: what lid.176 says of the whole. `prose`: of what is neither code nor a trace; a text
    with too little prose to tell stays."""
    repeated_closings: Literal["keep", "last"] = "last"
    """Whether an issue that was closed again gives a row a closing, or one for the last."""
    near_duplicates: Literal["keep", "together", "first"] = "together"
    """`keep`: wherever they fall. `together`: on one side of the split. `first`: the earliest."""
    redact: bool = True
    """Whether addresses and secrets are made unreadable."""
    split: str = "random:0.8,0.1,0.1"
    balance: str = "none"
    synonyms: Mapping[str, str] = field(init=False, repr=False, compare=False)
    """The class that each label means, or an empty name."""

    def __post_init__(self) -> None:
        synonyms: dict[str, str] = {}
        for name, labels in (*self.labels.items(), ("", self.other_labels)):
            for label in labels:
                if synonyms.setdefault(label, name) != name:
                    raise UsageError(
                        f"Profile {self.name}: the label {label!r} means "
                        f"{synonyms[label] or 'no class'} and {name or 'no class'}",
                        "Let it mean one class",
                    )
        object.__setattr__(self, "synonyms", synonyms)

    def plain(self) -> dict[str, Any]:
        """Return the whole profile as plain data, for provenance."""
        plain = asdict(self)
        del plain["synonyms"]
        return plain


_SETTINGS = {setting.name for setting in fields(IssueTypeProfile)} - {
    "name",
    "labels",
    "other_labels",
    "synonyms",
}


def shipped_profiles() -> list[str]:
    """Return the names of the profiles that come with Goldpan."""
    return sorted(
        path.name.removesuffix(".toml")
        for path in _SHIPPED.iterdir()
        if path.name.endswith(".toml")
    )


def load_profile(name: str) -> IssueTypeProfile:
    """Load a shipped profile by name, or one's own from a path that ends in ``.toml``.

    Raises `UsageError` for an unknown profile or setting, or a value that makes no sense.
    """
    if name.endswith(".toml"):
        label = Path(name).stem
        if label in shipped_profiles():
            raise UsageError(
                f"The profile {name} has the name of one that ships with Goldpan",
                "Give the file another name",
            )
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"The profile {name} cannot be read: {cause_of(error)}", "Check it"
            ) from None
        values = _parsed(label, text)
    else:
        label, values = name, _shipped(name)
    if "extends" in values:
        values = _extended(label, values)
    return _read(label, values)


def _shipped(name: str) -> dict[str, Any]:
    profiles = shipped_profiles()
    if name not in profiles:
        raise UsageError(
            f"There is no profile {name!r}{_near(name, profiles)}",
            f"Choose {' or '.join(profiles)}, or give a path that ends in .toml",
        )
    return _parsed(name, (_SHIPPED / f"{name}.toml").read_text(encoding="utf-8"))


def _parsed(label: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The profile {label} is not valid TOML: {error}", "Correct it") from None


def _extended(label: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return a profile's values over those of the shipped one that it builds on."""
    below = _shipped(str(values.pop("extends")))
    if "extends" in below:
        below = _extended(label, below)
    added = values.get("labels", {})
    if isinstance(added, dict):
        labels = {name: list(names) for name, names in below["labels"].items()}
        for name, names in added.items():
            more = names if isinstance(names, list) else [None]  # which `_labels` refuses
            labels[name] = [*labels.get(name, ()), *more]
        values = {**values, "labels": labels}
    return {**below, **values}


def _read(label: str, values: dict[str, Any]) -> IssueTypeProfile:
    keys = [*sorted(_SETTINGS), "labels", "other_labels", "extends"]
    settings = dict(values)
    labels = _labels(label, settings.pop("labels", None))
    others = settings.pop("other_labels", [])
    if not _are_texts(others):
        raise UsageError(
            f"Profile {label}: other_labels is not a list of texts", "Correct the profile"
        )
    for key, value in settings.items():
        setting = f"Profile {label}: {key} = {value!r}"
        if key not in _SETTINGS:
            raise UsageError(
                f"Profile {label} has no setting {key!r}{_near(key, keys)}",
                f"It has {', '.join(keys)}",
            )
        if not isinstance(value, bool if key == "redact" else str):
            raise UsageError(f"{setting} is of the wrong type", "Correct the profile")
        if key in _CHOICES and value not in _CHOICES[key]:
            raise UsageError(f"{setting} is not a choice", f"Write {' or '.join(_CHOICES[key])}")
    if "task" not in settings:
        raise UsageError(f"Profile {label} names no task", 'Write task = "issue_type"')
    profile = IssueTypeProfile(
        name=label,
        labels=labels,
        other_labels=_lower(others),
        description=settings.pop("description", ""),
        **settings,
    )
    SplitPlan.parse(profile.split)
    Balance.parse(profile.balance)
    return profile


def _labels(label: str, aliases: object) -> dict[str, tuple[str, ...]]:
    right = isinstance(aliases, dict) and all(
        item and _are_texts(item) for item in aliases.values()
    )
    if not isinstance(aliases, dict) or not right or len(aliases) < 2 or "" in aliases:
        raise UsageError(
            f"Profile {label}: [labels] is not a list of labels for each of two classes or more",
            'Write [labels] with lines such as bug = ["bug", "type: bug"]',
        )
    return {name: _lower(labels) for name, labels in aliases.items()}


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _lower(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label.lower() for label in labels))


def _near(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
