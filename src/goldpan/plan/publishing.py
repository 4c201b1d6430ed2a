"""Publishes datasets of a plan, under tags in which the file may leave date and content open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldpan.core.commands import find_builder
from goldpan.core.errors import DatasetError, PublishError, TagTakenError, UsageError
from goldpan.core.workspace import size_of
from goldpan.plan.context import files_below
from goldpan.plan.record import digests_of
from goldpan.plan.step import OperationStep
from goldpan.plan.unit import Cost, Outcome

_DATES = ("year", "month", "day")


@dataclass(frozen=True, kw_only=True)
class PublishStep(OperationStep):
    """Publishes a dataset, as goldpan publish does."""

    @property
    def stays(self) -> bool:
        """Tell that it needs a token of the Hub."""
        return True

    def settings(self) -> Mapping[str, Any]:
        """Return where it goes, and under which conditions."""
        from goldpan.datasets.hub import endpoint

        values = {name: v for name, v in self.section.values().items() if name != "overwrite"}
        return {"hub": endpoint(), **values}

    def inputs(self) -> Mapping[str, str]:
        """Return the digests of the dataset's files, and of the findings that its card states."""
        digests = digests_of(self._directory, files_below(self._directory))
        return {**digests, **self.context.audits([self.unit.subject])}

    def values(self) -> dict[str, Any]:
        """Return where it goes, with the tag filled in."""
        values = {**super().values(), "dataset": self._directory}
        if (tag := self.section.get("tag")) is not None:
            values["tag"] = tag_of(self._directory, tag)
        return values

    def run(self) -> Outcome:
        """Publish it."""
        try:
            return super().run()
        except TagTakenError as error:
            remedy = "Write {content} into the plan's tag, which differs with the rows"
            raise PublishError(error.problem, f"{error.remedy}. {remedy}") from None

    def outcome(self, results: Sequence[Any], lines: Sequence[str]) -> Outcome:
        """Return where it is, and what was sent."""
        (result,) = results
        what = f"{len(result.changes):,} files sent" if result.changes else "the same content"
        tagged = f", tag {result.tag}" if result.tag else ""
        return replace(
            super().outcome(results, lines),
            said=f"{result.url}: {what}{tagged}",
            facts={"commit": result.commit or ""},
        )

    def price(self) -> Cost:
        """Return how many bytes are there to be sent."""
        if not self._directory.is_dir():
            return Cost(note="what is sent, as the dataset is not built yet")
        return Cost(bytes=size_of([self._directory]))

    @property
    def _directory(self) -> Path:
        return self.context.lab.layout.dataset(self.unit.subject)


def check_tag(pattern: str, family: str) -> None:
    """Raise `UsageError` for a pattern that no dataset of the family can fill."""
    _fill(pattern, {"content": "0" * 8, **dict.fromkeys(_DATES, "00")})
    builder = find_builder(family)
    if builder is None or builder.reads not in ("cloned", "tasks"):  # which are made of replies
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
