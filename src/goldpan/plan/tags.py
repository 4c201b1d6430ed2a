"""The tag of a published dataset, in which a plan may leave the date and the content open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from goldpan.core.errors import DatasetError, UsageError

_DATES = ("year", "month", "day")
_UNDATED = ("code-comments", "crosscode")
"""Families that are made of a commit or of tasks, not of replies from GitHub."""


def check_tag(pattern: str, family: str) -> None:
    """Raise `UsageError` for a pattern that no dataset of the family can fill."""
    _fill(pattern, {"content": "0" * 8, **dict.fromkeys(_DATES, "00")})
    if family not in _UNDATED:
        return
    try:
        _fill(pattern, {"content": ""})
    except UsageError:
        raise UsageError(
            f"{pattern!r} has a date, which datasets of the family {family} do not tell",
            "Write {content} in its place, which differs with the rows",
        ) from None


def tag_of(directory: Path, pattern: str) -> str:
    """Return a tag in which {year}, {month} and {day} are those of the newest mined reply.

    {content} is the digest of the rows, which tells versions of one day apart. Raises
    `DatasetError` where the dataset does not tell when it was mined, `UsageError` for another
    word in braces.
    """
    from goldpan.datasets.diff.version import content_digest
    from goldpan.datasets.provenance import read_provenance

    if "{" not in pattern:
        return pattern
    provenance = read_provenance(directory)
    moments = [source.get("mined_until") for source in provenance["sources"]]
    newest = max((moment for moment in moments if moment), default=None)
    values = {"content": content_digest(provenance)[:8]}
    if newest is None and any(f"{{{word}}}" in pattern for word in _DATES):
        raise DatasetError(
            f"{directory} does not say when it was mined",
            "Write {content} into the plan's tag in place of the date",
        )
    if newest is not None:
        values |= zip(_DATES, newest[:10].split("-"), strict=True)
    return _fill(pattern, values)


def _fill(pattern: str, values: Mapping[str, str]) -> str:
    try:
        return pattern.format_map(values)
    except (LookupError, ValueError, AttributeError):
        raise UsageError(
            f"The tag {pattern!r} has an unknown word in braces",
            "Use {year}, {month}, {day} or {content}",
        ) from None
