"""Keeps issues of repositories whose license allows others to share them."""

from __future__ import annotations

from dataclasses import dataclass

from goldpan.filters.criterion import Criterion, query_judge


@dataclass(frozen=True, slots=True)
class LicenseSettings:
    """Which licenses are allowed."""

    allowed: tuple[str, ...] = (
        "0BSD",
        "AFL-3.0",
        "Apache-2.0",
        "Artistic-2.0",
        "BlueOak-1.0.0",
        "BSD-2-Clause",
        "BSD-2-Clause-Patent",
        "BSD-3-Clause",
        "BSD-3-Clause-Clear",
        "BSD-4-Clause",
        "BSL-1.0",
        "CC-BY-4.0",
        "CC0-1.0",
        "CDDL-1.0",
        "CDDL-1.1",
        "ECL-2.0",
        "EPL-1.0",
        "EPL-2.0",
        "ISC",
        "LGPL-2.1",
        "LGPL-3.0",
        "MIT",
        "MIT-0",
        "MPL-2.0",
        "MS-PL",
        "MulanPSL-2.0",
        "NCSA",
        "PostgreSQL",
        "Python-2.0",
        "Unicode-3.0",
        "Unlicense",
        "UPL-1.0",
        "Vim",
        "WTFPL",
        "X11",
        "Zlib",
    )
    """SPDX identifiers: permissive licenses and those whose copyleft ends at files or libraries.
    An identifier covers its `-only` and `-or-later` forms."""


_QUERY = """
SELECT i.number AS issue, coalesce(known IN (SELECT lower(unnest($allowed))), false) AS keep,
       CASE WHEN known IS NULL OR known IN ('noassertion', 'other', 'none') THEN 'no-known-license'
            WHEN known NOT IN (SELECT lower(unnest($allowed))) THEN 'license-not-allowed'
       END AS reason,
       coalesce(license || ', ' || license_source, license, 'no license is known') AS evidence
FROM issues i LEFT JOIN (
  SELECT license, license_source, regexp_replace(lower(license), '-(only|or-later)$', '') AS known
  FROM repositories LIMIT 1
) ON true
"""


LICENSE = Criterion(
    name="license",
    subject="issue",
    definition="Keeps issues of repositories under a permissive or weak copyleft license.",
    source="Goldpan: a published dataset quotes the repository's code",
    settings=LicenseSettings,
    judge=query_judge(_QUERY),
    discussions=True,
)
