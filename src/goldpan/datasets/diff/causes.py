"""What the provenance of two versions tells otherwise: settings, rules, dates, versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from goldpan.datasets.diff.result import Cause
from goldpan.datasets.diff.version import Version

_SETTINGS = ("profile", "settings", "plugins", "versions")
_OF_SOURCES = ("rules", "mined_from", "mined_until")
_NOT_SETTINGS = ("profile.description", "settings.since")
_LONGEST = 200
"""Characters of a value that are shown."""

_Value = str | list[str]


def find_causes(old: Version, new: Version) -> tuple[Cause, ...]:
    """Return what differs, in the order in which it acts on the rows."""
    return (
        *_different(_sources(old), _sources(new)),
        *_different(_settings(old), _settings(new)),
        *_criteria(old, new),
    )


def _different(old: Mapping[str, _Value], new: Mapping[str, _Value]) -> Iterator[Cause]:
    for what in sorted({*old, *new}):
        before, after = old.get(what), new.get(what)
        if isinstance(before, list) and isinstance(after, list) and set(before) != set(after):
            left = [item for item in before if item not in after]
            added = [item for item in after if item not in before]
            yield Cause(f"{what}, where they differ", _text(left), _text(added))
        elif before != after:
            yield Cause(what, _text(before), _text(after))


def _text(value: _Value | None) -> str | None:
    text = ", ".join(value) if isinstance(value, list) else value
    if not text:
        return None
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _sources(version: Version) -> dict[str, _Value]:
    values: dict[str, _Value] = {}
    for source in version.sources.values():
        for name in _OF_SOURCES:
            if source.get(name) is not None:
                values[f"{source['repo']}: {name}"] = str(source[name])
    return values


def _settings(version: Version) -> dict[str, _Value]:
    values: dict[str, _Value] = {
        "goldpan": str(version.provenance.get("goldpan", {}).get("version"))
    }
    for name in _SETTINGS:
        values |= _flat(name, version.provenance.get(name, {}))
    return {name: value for name, value in values.items() if name not in _NOT_SETTINGS}


def _flat(name: str, value: Any) -> dict[str, _Value]:
    if isinstance(value, Mapping):
        inner = [_flat(f"{name}.{key}", item) for key, item in value.items()]
        return {key: item for values in inner for key, item in values.items()}
    if isinstance(value, list):
        return {name: [_plain(item) for item in value]}
    return {name: _plain(value)}


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _criteria(old: Version, new: Version) -> Iterator[Cause]:
    """Tell which criteria judge otherwise though their settings are the same."""
    settings = [version.provenance.get("profile", {}).get("settings", {}) for version in (old, new)]
    digests = [version.provenance.get("digests", {}) for version in (old, new)]
    for name in sorted(digests[0].keys() & digests[1].keys()):
        same = settings[0].get(name) == settings[1].get(name)
        if same and digests[0][name] != digests[1][name]:
            yield Cause(f"method of the criterion {name}", digests[0][name], digests[1][name])
