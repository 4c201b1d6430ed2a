"""Filter profiles: which criteria decide, with which settings. Data, in TOML.

extends = "default"                     # optional, a name or a path; what is set here overrides it
description = "..."
decide = ["comment-scale", "bots"]   # in this order; the others are judged all the same

[comment-scale]                         # the settings that differ from the criterion's own
minimum = 200

Modules in `issues/` and `pairs/` hold the criteria; plugins register others.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import orjson

from goldpan._version import __version__
from goldpan.core.errors import UsageError, refuse_empty
from goldpan.core.plugins.loading import digests
from goldpan.core.plugins.registry import Registry, files_in
from goldpan.core.result import NOT_IN_JSON
from goldpan.core.settings.file import Source, read_toml
from goldpan.filters import issues, pairs
from goldpan.filters.criterion import KEYS, AnyCriterion, Criterion


@cache
def _shipped() -> dict[str, AnyCriterion]:
    shipped = {
        value.name: value
        for package in (issues, pairs)
        for module in iter_modules(package.__path__)
        for value in vars(import_module(f"{package.__name__}.{module.name}")).values()
        if isinstance(value, Criterion)
    }
    return dict(sorted(shipped.items(), key=lambda item: item[0].replace("-", "_")))


CRITERIA = Registry(
    "criterion",
    _shipped,
    "criterion",
    order=lambda item: list(KEYS).index(item[1].subject),
    remedy="Run goldpan filter --list to see all criteria",
)
"""All criteria; those that judge issues come first."""
criteria = CRITERIA.entries


_PAGE = "docs/filtering.md"
_OWN_KEYS = ("extends", "description", "decide")
"""Keys of a profile's file beside the settings of criteria."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Settings for every criterion, and the order of those that decide."""

    name: str
    description: str
    decide: tuple[str, ...]
    settings: Mapping[str, Any]
    """By criterion: an instance of its settings class."""
    extends: tuple[str, ...] = ()
    """The profiles that it is built on, the nearest first."""
    origin: str = field(default="", metadata=NOT_IN_JSON)
    """The value of --profile where that is not its name: the path of its file, or the profile whose
    settings it changes."""
    changed: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_IN_JSON)
    """Settings that --set changes in that profile, by CRITERION.KEY."""

    @property
    def option(self) -> str:
        """The options by which a command takes this profile."""
        settings = [f" --set {shlex.quote(text)}" for text in setting_texts(self.changed)]
        return f"--profile {shlex.quote(self.origin or self.name)}{''.join(settings)}"

    def digest(self, name: str) -> str:
        """Return a hash of a criterion's settings and version, which its verdicts bear."""
        criterion = criteria()[name]
        parts = [__version__, criterion.name, criterion.version] + [
            asdict(self.settings[name]) for name in (criterion.name, *criterion.uses)
        ]
        parts += digests(("criterion", criterion.name)).values()
        return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]

    def settings_of(self, name: str) -> dict[str, Any]:
        """Return a criterion's settings as plain data."""
        return asdict(self.settings[name])


PROFILES: Registry[Path | Traversable] = Registry(
    "profile",
    partial(files_in, files("goldpan.filters") / "profiles"),
    "profile",
    lambda item: item[0],
    remedy="Choose {names}, or give a path that ends in .toml",
)
"""The profiles that come with Goldpan, and those of plugins."""
shipped_profiles = PROFILES.names


def profile_name(name: str) -> str:
    """Return the name under which verdicts by a profile are stored, given by name or path."""
    return Path(name).stem if name.endswith(".toml") else name


def load_profile(name: str) -> Profile:
    """Load a shipped profile by name, or one's own from a path that ends in ``.toml``.

    It inherits the settings of a profile that it `extends`, one by one. Raises `UsageError` for an
    unknown profile, criterion or setting, a value of another type, or profiles that extend each
    other.
    """
    label, source = profile_name(name), _load(name)
    values = dict(source.values)
    chain: dict[Path | str, str] = {_identity(name): name}
    while "extends" in values:
        base = source.read(str, values.pop("extends"), ("extends",))
        if base.endswith(".toml"):
            base = str(Path(list(chain.values())[-1]).parent / base)
        if _identity(base) in chain:
            circle = " extends ".join([*chain.values(), base])
            raise UsageError(f"Profiles extend each other: {circle}", "Remove one extends")
        chain[_identity(base)] = base
        values = _merged(_load(base).values, values)
    extends = tuple(Path(parent).stem for parent in list(chain.values())[1:])
    source = replace(source, values=values)
    return _read(label, source, extends, name if name.endswith(".toml") else "")


def change_settings(profile: Profile, settings: Mapping[str, Any]) -> Profile:
    """Return a profile with other settings of criteria, by ``CRITERION.KEY``.

    Its name ends in their digest, so that its verdicts lie beside those by the profile itself,
    which is returned where nothing changes. Raises `UsageError` as `load_profile` does.
    """
    by_criterion: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        criterion, _, key = name.partition(".")
        if not key:
            raise UsageError(
                f"--set {name} names no setting of a criterion",
                "Write CRITERION.KEY=VALUE, such as comment-scale.minimum=50",
            )
        if criterion not in profile.settings:
            raise CRITERIA.unknown(criterion, [*profile.settings, *_OWN_KEYS], f"--set {name}")
        by_criterion.setdefault(criterion, {})[key] = value
    source = Source("--set", by_criterion, _PAGE)
    new = dict(profile.settings)
    for criterion, values in sorted(by_criterion.items()):
        whole = {**profile.settings_of(criterion), **values}
        new[criterion] = source.read(criteria()[criterion].settings, whole, (criterion,))
    changed = {
        f"{criterion}.{key}": value
        for criterion in by_criterion
        for key, value in asdict(new[criterion]).items()
        if value != profile.settings_of(criterion)[key]
    }
    if not changed:
        return profile
    digest = hashlib.sha256(orjson.dumps(changed, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]
    return Profile(
        f"{profile.name}+{digest}",
        f"{profile.name} with {', '.join(setting_texts(changed))}",
        profile.decide,
        new,
        (profile.name, *profile.extends),
        profile.origin or profile.name,
        changed,
    )


def setting_texts(changed: Mapping[str, Any]) -> list[str]:
    """Return settings as --set takes them: ``CRITERION.KEY=VALUE``."""
    return [
        f"{name}={value if isinstance(value, str) else orjson.dumps(value).decode()}"
        for name, value in sorted(changed.items())
    ]


def profile_of(plain: Mapping[str, Any]) -> Profile:
    """Return the profile of its JSON, as in a dataset's provenance and beside its verdicts.

    Raises `UsageError` where it names a criterion or a setting that is not known here.
    """
    values = {**plain["settings"], "description": plain["description"], "decide": plain["decide"]}
    name = str(plain["name"])
    return _read(name, Source(f"Profile {name}", values, _PAGE), tuple(plain.get("extends", ())))


def _identity(name: str) -> Path | str:
    return Path(name).resolve() if name.endswith(".toml") else name


def _merged(base: Mapping[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return a profile's values over those of its base, whose description is not inherited."""
    both = {**base, "description": "", **values}
    for name, settings in values.items():
        if isinstance(settings, dict) and isinstance(base.get(name), dict):
            both[name] = {**base[name], **settings}
    return both


def _load(name: str) -> Source:
    """Read the file of a profile."""
    if not name.endswith(".toml"):
        return read_toml(PROFILES.find(name), _PAGE)
    own = profile_name(name)
    if own in shipped_profiles() or "." in own:  # DEFAULT.REVIEW names the verdicts of a review
        reason = "a dot in its name" if "." in own else "the name of one that ships with Goldpan"
        raise UsageError(f"The profile {name} has {reason}", "Give the file another name")
    refuse_empty(Path(name), 'Write extends = "default" and what is to change into it')
    return read_toml(Path(name), _PAGE)


def _read(label: str, source: Source, extends: tuple[str, ...], origin: str = "") -> Profile:
    known = criteria()
    values = dict(source.values)
    description = str(values.pop("description", ""))
    decide = source.read(tuple[str, ...], values.pop("decide", list(known)), ("decide",))
    if repeated := sorted({name for name in decide if decide.count(name) > 1}):
        problem = f"{source.place('decide')}: decide names {repeated[0]} twice"
        raise UsageError(problem, "Name it once")
    for name in (*decide, *values):
        if name not in known:
            where = source.place(name if name in values else "decide")
            raise CRITERIA.unknown(name, [*known, *_OWN_KEYS], where)
    settings: dict[str, Any] = {
        name: source.read(criterion.settings, values[name], (name,))
        if name in values
        else criterion.settings()
        for name, criterion in known.items()
    }
    return Profile(label, description, decide, settings, extends, origin)
