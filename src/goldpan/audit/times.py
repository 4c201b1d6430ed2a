"""When the texts of a row came to be, and how they stood before its fix was begun.

For questions: before they were answered. A text of a row may be made of several that people wrote,
as SWE-bench's statement is of title and body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from goldpan.audit.finding import Span, Text
from goldpan.miners.versions import WITHHELD, TextHistory, TextVersion, Work
from goldpan.text.redaction import redact

_PARTS: dict[str, tuple[str, ...]] = {
    "title": ("title",),
    "body": ("body",),
    "problem_statement": ("title", "body"),
    "hints_text": ("comment",),
}
_OF_PULL = {"pull_title": "title", "pull_body": "body"}
NOT_READ = "the repository was not mined"
_OTHER = "a text of the row is none that was mined"


@dataclass(frozen=True, slots=True)
class Times:
    """When a row's fix was begun, or its question answered, and the versions of its texts."""

    begun: datetime | None = None
    written: tuple[TextHistory, ...] = ()
    """Of the issue or discussion."""
    of_pull: tuple[TextHistory, ...] = ()
    work: Work | None = None
    lacks: str = ""
    """Why nothing can be told."""
    remedy: str = ""

    def before(self, text: Text) -> tuple[Text | None, str]:
        """Return how a text stood before the fix was begun, and why that cannot be told, if so.

        None is a text that was not written yet.
        """
        if self.begun is None or self.lacks:
            return text, self.lacks
        whole, why = text.text, ""
        for part in self._parts(text):
            earlier = part.before(self.begun)
            if earlier is part.versions[-1] and not part.lacks:
                continue
            shown = _shown(part, whole, text.source)
            if earlier is None:  # whatever it said, nothing of it was there
                whole = whole if shown is None else whole.replace(_public(shown), "", 1)
            elif part.lacks or earlier.text is None:
                why = part.lacks or WITHHELD
            elif shown is None:
                why = "" if part.source == "comment" else _OTHER
            elif shown.at > earlier.at:
                whole = whole.replace(_public(shown), _public(earlier), 1)
        stood = replace(text, text=whole)
        return (None if not whole.strip() else stood), why

    def first(self, text: Text, span: Span) -> datetime | None:
        """Return when a part of a text first appeared; None where that cannot be told."""
        said = _spaced(text.text[span.start : span.end])
        for part in self._parts(text):
            shown = _shown(part, text.text, text.source)
            if self.lacks or shown is None or said not in _spaced(_public(shown)):
                continue
            if part.lacks:
                return None
            for version in part.versions:
                if version.text is None:
                    return None
                if said in _spaced(_public(version)):
                    return version.at
        return None

    def _parts(self, text: Text) -> Iterator[TextHistory]:
        if source := _OF_PULL.get(text.source):
            yield from (part for part in self.of_pull if part.source == source)
        sources = _PARTS.get(text.source, ())
        yield from (part for part in self.written if part.source in sources)


def _shown(part: TextHistory, whole: str, source: str) -> TextVersion | None:
    """Return the version of a part that a row's text is, or holds beside others."""
    if part.lacks or len(part.versions) == 1:
        return part.versions[-1]
    holds = len(_PARTS.get(source, ())) > 1 or part.source == "comment"
    for version in reversed(part.versions):
        said = _public(version)
        if said and (said in whole if holds else said == whole.strip()):
            return version
    return None


def _public(version: TextVersion) -> str:
    """Return a version as datasets hold it."""
    return redact(version.text or "").text.strip()


def _spaced(text: str) -> str:
    return " ".join(text.split())


def joined(reasons: Sequence[str]) -> str:
    """Return what cannot be told of several texts, each reason once."""
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason))
