"""Licenses and citations of sources: SPDX identifiers, the Hub's names, and BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from goldpan.core.errors import UsageError
from goldpan.miners.journal_state import MINED

_HEAD = re.compile(r"@[A-Za-z]+\s*\{\s*([^\s,{}]+)\s*,")
_FIELD = re.compile(r"(?:^[^\S\n]*|,\s*)([A-Za-z]+)\s*=", re.M)
_NEEDED = ("title", "author", "year")


def bibtex_problem(text: str) -> str:
    """Return why a text is no BibTeX, or nothing where each of its entries looks like one.

    An entry has a type, a key, balanced braces, and the fields title, author and year.
    """
    if not text.strip():
        return "it is empty"
    for entry in re.split(r"(?<=\n)(?=[ \t]*+@)", text.strip()):
        entry = entry.strip()
        head = _HEAD.match(entry)
        if head is None:
            return f"{entry[:40]!r} begins no entry"
        if entry.count("{") != entry.count("}") or not entry.endswith("}"):
            return f"the braces of {head[1]} are not balanced"
        fields = {name.lower() for name in _FIELD.findall(entry[head.end() - 1 :])}
        if missing := [name for name in _NEEDED if name not in fields]:
            return f"{head[1]} has no {missing[0]}"
    return ""


UNKNOWN = "unknown"
OTHER = "other"
# What GitHub recognizes, by SPDX identifier: those whose name on the Hub is the same in lower case,
# and those that the Hub has no name for.
_ON_HUB = (
    "AFL-3.0 AGPL-3.0 Apache-2.0 Artistic-2.0 BSD-2-Clause BSD-3-Clause BSD-3-Clause-Clear "
    "BSL-1.0 CC-BY-4.0 CC-BY-SA-4.0 CC0-1.0 ECL-2.0 EPL-1.0 EPL-2.0 EUPL-1.1 GPL-2.0 GPL-3.0 ISC "
    "LGPL-2.1 LGPL-3.0 LPPL-1.3c MIT MPL-2.0 MS-PL NCSA OFL-1.1 OSL-3.0 PostgreSQL Unlicense "
    "WTFPL Zlib"
)
_NOT_ON_HUB = (
    "0BSD BlueOak-1.0.0 BSD-2-Clause-Patent BSD-4-Clause CECILL-2.1 CERN-OHL-P-2.0 CERN-OHL-S-2.0 "
    "CERN-OHL-W-2.0 EUPL-1.2 MIT-0 MS-RL MulanPSL-2.0 PSF-2.0 Python-2.0 Ruby UPL-1.0 Vim W3C"
)
_HUB_NAMES = {
    **{name: name.lower() for name in _ON_HUB.split()},
    **dict.fromkeys(_NOT_ON_HUB.split(), OTHER),
    "GFDL-1.3": "gfdl",
    "ODbL-1.0": "odbl",
}
_BY_LOWER = {name.lower(): name for name in _HUB_NAMES}


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
            f"The license {license!r} is not an SPDX identifier that Goldpan knows{hint}",
            f"Take one of https://spdx.org/licenses, or {MINED} for what was mined",
        )
    return identifier


def hub_licenses(licenses: Iterable[str | None]) -> list[str]:
    """Return the Hub's names of licenses, sorted: ``other`` for no name, ``unknown`` for null."""
    identifiers = set(map(spdx, licenses))
    return sorted({UNKNOWN if name is None else _HUB_NAMES[name] for name in identifiers})
