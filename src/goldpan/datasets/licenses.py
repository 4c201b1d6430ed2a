"""Licenses and citations of sources: SPDX identifiers, the Hub's names, and BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from goldpan.core.errors import UsageError
from goldpan.miners.facts import MINED

_HEAD = re.compile(r"\s*+@([A-Za-z]+)\s*\{\s*([^\s,{}]+)\s*,")
_FIELD = re.compile(r"(?:^[^\S\n]*|,\s*)([A-Za-z]+)\s*=", re.M)
_NEEDED = ("title", "author", "year")


def bibtex_problem(text: str) -> str:
    """Return why a text is no BibTeX, or nothing where each of its entries looks like one.

    An entry has a type, a key, balanced braces, and the fields title, author and year.
    """
    text = text.strip()
    if not text:
        return "it is empty"
    end = -1
    while end + 1 < len(text):
        head = _HEAD.match(text, end + 1)
        if head is None:
            return f"{text[end + 1 :].lstrip()[:40]!r} begins no entry"
        end = _closing(text, text.index("{", head.start()))
        if end < 0:
            return f"the braces of {head[2]} are not balanced"
        fields = {name.lower() for name in _FIELD.findall(text[head.end() - 1 : end])}
        if missing := [name for name in _NEEDED if name not in fields]:
            return f"{head[2]} has no {missing[0]}"
    return ""


def _closing(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1


UNKNOWN = "unknown"
OTHER = "other"
# What GitHub recognizes, by SPDX identifier, with the name that the Hub documents for it.
_HUB_NAMES = {
    "0BSD": OTHER,
    "AFL-3.0": "afl-3.0",
    "AGPL-3.0": "agpl-3.0",
    "Apache-2.0": "apache-2.0",
    "Artistic-2.0": "artistic-2.0",
    "BlueOak-1.0.0": OTHER,
    "BSD-2-Clause": "bsd-2-clause",
    "BSD-2-Clause-Patent": OTHER,
    "BSD-3-Clause": "bsd-3-clause",
    "BSD-3-Clause-Clear": "bsd-3-clause-clear",
    "BSD-4-Clause": OTHER,
    "BSL-1.0": "bsl-1.0",
    "CC-BY-4.0": "cc-by-4.0",
    "CC-BY-SA-4.0": "cc-by-sa-4.0",
    "CC0-1.0": "cc0-1.0",
    "CECILL-2.1": OTHER,
    "CERN-OHL-P-2.0": OTHER,
    "CERN-OHL-S-2.0": OTHER,
    "CERN-OHL-W-2.0": OTHER,
    "ECL-2.0": "ecl-2.0",
    "EPL-1.0": "epl-1.0",
    "EPL-2.0": "epl-2.0",
    "EUPL-1.1": "eupl-1.1",
    "EUPL-1.2": OTHER,
    "GFDL-1.3": "gfdl",
    "GPL-2.0": "gpl-2.0",
    "GPL-3.0": "gpl-3.0",
    "ISC": "isc",
    "LGPL-2.1": "lgpl-2.1",
    "LGPL-3.0": "lgpl-3.0",
    "LPPL-1.3c": "lppl-1.3c",
    "MIT": "mit",
    "MIT-0": OTHER,
    "MPL-2.0": "mpl-2.0",
    "MS-PL": "ms-pl",
    "MS-RL": OTHER,
    "MulanPSL-2.0": OTHER,
    "NCSA": "ncsa",
    "ODbL-1.0": "odbl",
    "OFL-1.1": "ofl-1.1",
    "OSL-3.0": "osl-3.0",
    "PostgreSQL": "postgresql",
    "PSF-2.0": OTHER,
    "Python-2.0": OTHER,
    "Ruby": OTHER,
    "Unlicense": "unlicense",
    "UPL-1.0": OTHER,
    "Vim": OTHER,
    "W3C": OTHER,
    "WTFPL": "wtfpl",
    "Zlib": "zlib",
}
_BY_LOWER = {name.lower(): name for name in _HUB_NAMES}
HUB_LICENSES = frozenset(_HUB_NAMES.values()) | {OTHER, UNKNOWN}
"""The licenses that a card written by Goldpan may name."""


def spdx(license: str | None) -> str | None:
    """Return the SPDX identifier in its own spelling, or None where the license is not known.

    GitHub says NOASSERTION where it found a license that it cannot name; ``-only`` and
    ``-or-later`` are left out, as GitHub does.
    """
    if license is None:
        return None
    plain = license.lower().removesuffix("-only").removesuffix("-or-later")
    return _BY_LOWER.get(plain)


def stated_license(license: str | None) -> str | None:
    """Return a license that the user states in SPDX's spelling; ``mined`` stays as it is.

    Raises `UsageError` for another word, as nobody can look it up.
    """
    if license is None or license == MINED:
        return license
    identifier = spdx(license)
    if identifier is None:
        near = get_close_matches(license.lower(), _BY_LOWER, n=1, cutoff=0.5)
        hint = f" (did you mean {_BY_LOWER[near[0]]}?)" if near else ""
        raise UsageError(
            f"The license {license!r} is no SPDX identifier that Goldpan knows{hint}",
            f"Take one of https://spdx.org/licenses, or {MINED} for what was mined",
        )
    return identifier


def hub_licenses(licenses: Iterable[str | None]) -> list[str]:
    """Return the Hub's names of licenses, sorted: ``other`` for no name, ``unknown`` for null."""
    identifiers = set(map(spdx, licenses))
    return sorted({UNKNOWN if name is None else _HUB_NAMES[name] for name in identifiers})
