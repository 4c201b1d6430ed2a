"""Criteria on what issues hold: no secrets, under a license to share, in a wanted language."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import resources

import pyarrow as pa

from goldpan.core.settings.file import read_toml
from goldpan.filters.criterion import Criterion, answer_table, query_judge
from goldpan.filters.repo_view import RepoView
from goldpan.text.language import LEAST_CHARACTERS, Detected, detect_languages
from goldpan.text.redaction import (
    ALLOWED_EMAILS,
    PrivateKind,
    PrivateRules,
    find_private,
    may_be_private,
)


@dataclass(frozen=True, slots=True)
class PrivateSettings:
    """The kinds of private data that drop an issue."""

    drop: tuple[PrivateKind, ...] = ("secret",)
    """Kinds that drop an issue: secret, email, ip-address. The others are not looked for here:
    what is published is redacted in any case."""
    allowed_emails: tuple[str, ...] = ALLOWED_EMAILS
    """Addresses that are nobody's, as patterns of the shell's kind."""


_QUERY = "SELECT number, coalesce(comment_id::VARCHAR, source) AS place, text FROM texts"
_BATCH = 8_192
_FINDINGS = pa.schema(
    [("number", pa.int64()), ("place", pa.string()), ("kind", pa.string()), ("n", pa.int64())]
)

_ANSWER = """
SELECT i.number AS issue, n IS NULL AS keep, reason, coalesce(n, 0) AS value, evidence
FROM issues i LEFT JOIN (
  SELECT number, sum(n)::BIGINT AS n, max(split_part(kind, ':', 1)) AS reason,
         left(string_agg(kind || ' in ' || place, ', ' ORDER BY kind DESC, place), 200) AS evidence
  FROM private_findings GROUP BY number
) USING (number)
"""


def _judge(view: RepoView, settings: PrivateSettings) -> pa.Table:
    rules = PrivateRules(settings.drop, settings.allowed_emails)
    counts: Counter[tuple[int, str, str]] = Counter()
    for batch in view.connection.sql(_QUERY).to_arrow_reader(_BATCH):
        suspicious = batch.filter(may_be_private(batch["text"], rules))
        for row in suspicious.to_pylist():
            for finding in find_private(row["text"], rules):
                counts[row["number"], row["place"], finding.kind] += 1
    rows = [
        {"number": number, "place": place, "kind": kind, "n": count}
        for (number, place, kind), count in counts.items()
    ]
    findings = pa.Table.from_pylist(rows, _FINDINGS)
    return view.sql_over("private_findings", findings, _ANSWER)


PRIVATE = Criterion(
    name="private",
    subject="issue",
    definition="Keeps issues that hold no passwords, keys or tokens.",
    source="Goldpan: a secret that was published once must not be published again",
    settings=PrivateSettings,
    judge=_judge,
    discussions=True,
    version=3,
)


_ALLOWED = tuple(read_toml(resources.files("goldpan.filters") / "licenses.toml").values["allowed"])


@dataclass(frozen=True, slots=True)
class LicenseSettings:
    """The allowed licenses."""

    allowed: tuple[str, ...] = _ALLOWED
    """SPDX identifiers: permissive licenses and those whose copyleft ends at files or libraries.
    An identifier covers its `-only` and `-or-later` forms."""


UNKNOWN = ("noassertion", "other", "none")
"""Names of licenses that tell none."""
_LICENSED = f"""
SELECT i.number AS issue, coalesce(known IN (SELECT lower(unnest($allowed))), false) AS keep,
       CASE WHEN known IS NULL OR known IN {UNKNOWN} THEN 'no-known-license'
            WHEN known NOT IN (SELECT lower(unnest($allowed))) THEN 'license-not-allowed'
       END AS reason,
       coalesce(license || ', ' || license_source, license, 'no license is known') AS evidence
FROM issues i LEFT JOIN (
  SELECT license, license_source, regexp_replace(lower(license), '-(only|or-later)$', '') AS known
  FROM repositories LIMIT 1
) ON true
"""  # noqa: S608 - no value of a user is part of it


LICENSE = Criterion(
    name="license",
    subject="issue",
    definition="Keeps issues of repositories under a permissive or weak copyleft license.",
    source="Goldpan: a published dataset quotes the repository's code",
    settings=LicenseSettings,
    judge=query_judge(_LICENSED),
    discussions=True,
)


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """The wanted languages, and the treatment of doubt."""

    languages: tuple[str, ...] = ("en",)
    """ISO 639 codes."""
    least_characters: int = LEAST_CHARACTERS
    """Fewer letters of prose than this leave the language undecided."""
    unknown: bool = True
    """True where an issue whose language cannot be determined is kept."""


_PROSE = """
SELECT number AS issue, concat_ws(chr(10) || chr(10), title, body) AS text
FROM issues ORDER BY number
"""
_DETECTED = 1_000


def _judge_language(view: RepoView, settings: LanguageSettings) -> pa.Table:
    rows = []
    for batch in view.connection.sql(_PROSE).to_arrow_reader(_DETECTED):
        texts = batch["text"].to_pylist()
        languages = detect_languages(texts, least_characters=settings.least_characters)
        for issue, detected in zip(batch["issue"].to_pylist(), languages, strict=True):
            rows.append({"issue": issue, **_language_verdict(detected, settings)})
    return answer_table(rows, "issue")


def _language_verdict(detected: Detected, settings: LanguageSettings) -> dict[str, object]:
    reason = _language_reason(detected, settings)
    return {
        "keep": reason is None,
        "reason": reason,
        "value": detected.score,
        "evidence": f"{detected.language or detected.doubt}, {detected.characters} letters",
    }


def _language_reason(detected: Detected, settings: LanguageSettings) -> str | None:
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
    judge=_judge_language,
    discussions=True,
    version=3,
)
