"""The pages of the filter criteria and of the profiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from docs.generate.markdown import attribute_docs, page, table, value
from goldpan.filters.criterion import AnyCriterion, Subject
from goldpan.filters.profile import PROFILES, Profile, criteria, load_profile, shipped_profiles

_INTRODUCTION = """\
Every criterion with its source and settings, and the values that the profiles `faun-eval` and
`default` give them. [Filtering](../filtering.md) says how criteria and profiles work."""
_PROFILES = """\
The criteria that decide, in the order of the funnel. All others are judged as well, and drop
nothing."""
_SUBJECTS: tuple[tuple[Subject, str], ...] = (
    ("issue", "Criteria for issues"),
    ("discussion", "Criteria for discussions"),
    ("pair", "Criteria for fix pairs"),
)


def criteria_page() -> str:
    """Return the page of criteria with their settings."""
    profiles = [load_profile(name) for name in ("faun-eval", "default")]
    parts = []
    for subject, title in _SUBJECTS:
        parts.append(f"## {title}")
        for criterion in criteria().values():
            if criterion.subject == subject:
                parts += _criterion(criterion, profiles)
    return page("Filter criteria", _INTRODUCTION, *parts)


def _criterion(criterion: AnyCriterion, profiles: list[Profile]) -> Iterator[str]:
    deciding = [f"`{profile.name}`" for profile in profiles if criterion.name in profile.decide]
    decides = f"Decides in {' and '.join(deciding)}." if deciding else "Decides in neither."
    yield f"### {criterion.name}"
    yield criterion.definition
    also = " Judges discussions, too." if criterion.discussions else ""
    yield f"Source: {criterion.source}. {decides}{also}"
    about = attribute_docs(criterion.settings)
    rows = [
        (
            f"`{field.name}`",
            *(value(getattr(profile.settings[criterion.name], field.name)) for profile in profiles),
            about.get(field.name, ""),
        )
        for field in fields(criterion.settings)
    ]
    if rows:
        names = [f"`{profile.name}`" for profile in profiles]
        yield table(("setting", *names, ""), rows)


def profiles_page() -> str:
    """Return the page of the profiles: which criteria decide, and the settings that differ."""
    parts = []
    for name in shipped_profiles():
        profile = load_profile(name)
        parts += [f"## {name}", f"{profile.description}.", _order(profile)]
        text = PROFILES.find(name).read_text(encoding="utf-8")
        parts.append(f"The file, with the reason for each setting:\n\n```toml\n{text}```")
    return page("Filter profiles", _PROFILES, *parts)


def _order(profile: Profile) -> str:
    by_name = criteria()
    rows = []
    for name in profile.decide:
        criterion = by_name[name]
        settings, defaults = profile.settings[name], criterion.settings()
        changed = [
            f"`{field.name}` = {value(getattr(settings, field.name))}"
            for field in fields(criterion.settings)
            if getattr(settings, field.name) != getattr(defaults, field.name)
        ]
        link = f"[{name}](criteria.md#{name})"
        rows.append((link, criterion.definition, "; ".join(changed)))
    return table(("criterion", "", "settings that differ from the criterion's own"), rows)
