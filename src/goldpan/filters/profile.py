"""Filter profiles: which criteria decide, with which settings. Data, in TOML.

description = "..."
decide = ["comment-scale", "bots"]   # in this order; the others are judged all the same

[comment-scale]                         # the settings that differ from the criterion's own
minimum = 200
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, get_type_hints

import orjson

from goldpan import __version__
from goldpan.core.errors import UsageError
from goldpan.core.plugins import digests
from goldpan.filters.catalogue import criteria
from goldpan.filters.criterion import AnyCriterion

_SHIPPED = files("goldpan.filters") / "profiles"


@dataclass(frozen=True, slots=True)
class Profile:
    """Settings for every criterion, and the order of those that decide."""

    name: str
    description: str
    decide: tuple[str, ...]
    settings: Mapping[str, Any]
    """By criterion: an instance of its settings class."""

    def digest(self, criterion: AnyCriterion) -> str:
        """Return what tells verdicts of other settings or another version apart."""
        parts = [__version__, criterion.name, criterion.version] + [
            asdict(self.settings[name]) for name in (criterion.name, *criterion.uses)
        ]
        parts += digests(("criterion", criterion.name)).values()
        return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]

    def plain(self) -> dict[str, Any]:
        """Return the whole profile as plain data, for provenance."""
        return {
            "name": self.name,
            "description": self.description,
            "decide": list(self.decide),
            "settings": {name: asdict(value) for name, value in self.settings.items()},
        }


def shipped_profiles() -> list[str]:
    """Return the names of the profiles that come with Goldpan."""
    return sorted(
        path.name.removesuffix(".toml")
        for path in _SHIPPED.iterdir()
        if path.name.endswith(".toml")
    )


def load_profile(name: str) -> Profile:
    """Load a shipped profile by name, or one's own from a path that ends in ``.toml``.

    Raises `UsageError` for an unknown profile, criterion or setting, or a value of another type.
    """
    if name.endswith(".toml"):
        path = Path(name)
        label = path.stem
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"The profile {name} cannot be read: {error}", "Check it") from None
        if label in shipped_profiles():
            raise UsageError(
                f"The profile {name} bears the name of one that ships with Goldpan",
                "Give the file another name",
            )
    elif name in shipped_profiles():
        label = name
        text = (_SHIPPED / f"{name}.toml").read_text(encoding="utf-8")
    else:
        raise UsageError(
            f"There is no profile {name!r}{_near(name, shipped_profiles())}",
            f"Choose {' or '.join(shipped_profiles())}, or give a path that ends in .toml",
        )
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"The profile {name} is not valid TOML: {error}", "Mend it") from None
    return _read(label, values)


def _read(label: str, values: dict[str, Any]) -> Profile:
    known = criteria()
    description = str(values.pop("description", ""))
    decide = values.pop("decide", list(known))
    if not isinstance(decide, list):
        raise UsageError(f"Profile {label}: decide is not a list", 'Write decide = ["bots", ...]')
    if twice := sorted({str(one) for one in decide if decide.count(one) > 1}):
        raise UsageError(f"Profile {label}: decide names {twice[0]} twice", "Name it once")
    for name in (*decide, *values):
        if name not in known:
            raise UsageError(
                f"Profile {label}: there is no criterion {name!r}{_near(str(name), list(known))}",
                "Run goldpan filter --list for those there are",
            )
    settings = {
        name: _settings(label, criterion, values.get(name, {})) for name, criterion in known.items()
    }
    return Profile(label, description, tuple(decide), settings)


def _settings(label: str, criterion: AnyCriterion, given: object) -> Any:
    if not isinstance(given, dict):
        raise UsageError(
            f"Profile {label}: {criterion.name} is not a table", f"Write [{criterion.name}]"
        )
    kinds = get_type_hints(criterion.settings)
    names = [field.name for field in fields(criterion.settings)]
    values = {}
    for key, value in given.items():
        if key not in names:
            raise UsageError(
                f"Profile {label}: {criterion.name} has no setting {key!r}{_near(key, names)}",
                f"It has {', '.join(names) or 'none'}",
            )
        values[key] = _typed(f"Profile {label}: {criterion.name}.{key}", value, kinds[key])
    return criterion.settings(**values)


def _typed(place: str, value: object, kind: object) -> object:
    """Return a TOML value as the type of its setting: bool, int, float, str or a tuple of str."""
    if kind == tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return tuple(value)
        raise UsageError(f"{place} is not a list of strings", "Mend the profile")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        name = getattr(kind, "__name__", kind)
        raise UsageError(f"{place} = {value!r} is no {name}", "Mend the profile")
    return value


def _near(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
