"""Keeps issues of repositories whose license allows others to share them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from goldpan.core.settings.file import read_toml
from goldpan.filters.criterion import Criterion, query_judge

_ALLOWED = tuple(read_toml(resources.files("goldpan.filters") / "licenses.toml").values["allowed"])


@dataclass(frozen=True, slots=True)
class LicenseSettings:
    """The allowed licenses."""

    allowed: tuple[str, ...] = _ALLOWED
    """SPDX identifiers: permissive licenses and those whose copyleft ends at files or libraries.
    An identifier covers its `-only` and `-or-later` forms."""


UNKNOWN = ("noassertion", "other", "none")
"""Names of licenses that tell none."""
_QUERY = f"""
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
    judge=query_judge(_QUERY),
    discussions=True,
)
