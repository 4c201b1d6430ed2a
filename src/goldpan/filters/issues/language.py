"""Keeps issues whose prose is in a wanted language."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from goldpan.filters.criterion import Criterion, answer_table
from goldpan.filters.repo_view import RepoView
from goldpan.text.language import LEAST_CHARACTERS, Detected, detect_languages


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """The wanted languages, and the treatment of doubt."""

    languages: tuple[str, ...] = ("en",)
    """ISO 639 codes."""
    least_characters: int = LEAST_CHARACTERS
    """Fewer letters of prose than this leave the language undecided."""
    unknown: bool = True
    """True where an issue whose language cannot be determined is kept."""


_QUERY = """
SELECT number AS issue, concat_ws(chr(10) || chr(10), title, body) AS text
FROM issues ORDER BY number
"""
_BATCH = 1_000


def _judge(view: RepoView, settings: LanguageSettings) -> pa.Table:
    rows = []
    for batch in view.connection.sql(_QUERY).to_arrow_reader(_BATCH):
        texts = batch["text"].to_pylist()
        languages = detect_languages(texts, least_characters=settings.least_characters)
        for issue, detected in zip(batch["issue"].to_pylist(), languages, strict=True):
            rows.append({"issue": issue, **_verdict(detected, settings)})
    return answer_table(rows, "issue")


def _verdict(detected: Detected, settings: LanguageSettings) -> dict[str, object]:
    reason = _reason(detected, settings)
    return {
        "keep": reason is None,
        "reason": reason,
        "value": detected.score,
        "evidence": f"{detected.language or detected.doubt}, {detected.characters} letters",
    }


def _reason(detected: Detected, settings: LanguageSettings) -> str | None:
    if detected.language is not None:
        return None if detected.language in settings.languages else "other-language"
    if detected.doubt == "mixed":
        return "mixed-languages"
    return None if settings.unknown else "unknown-language"


LANGUAGE = Criterion(
    name="language",
    subject="issue",
    definition="Keeps issues whose title and body are in a wanted language, which is English.",
    source="Goldpan: models and people are compared on one language",
    settings=LanguageSettings,
    judge=_judge,
    discussions=True,
    version=2,
)
