"""Secrets and personal data in a text: where they stand, and the text without them.

Findings have a kind and a place alone, so nothing private reaches a log or a table. Phone numbers
and names are not looked for: technical texts are full of numbers and words that look like them.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.text.credentials import SECRET_HINT, Span, find_secrets

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

# Addresses of people and machines in a text: e-mail and public IP.
#
# The two `..._HINT` expressions hold for every text in which something can be found; they are
# written for both `re` and RE2.

_LATIN = "A-Za-z0-9À-ɏ"
EMAIL_HINT = f"[{_LATIN}_%+-](?:@|%40)[{_LATIN}]"
IP_HINT = r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[23][0-9A-Fa-f]{3}:(?:[0-9A-Fa-f]{0,4}:){1,6}"
_AT = re.compile(EMAIL_HINT)
_LOCAL = "".join(map(chr, range(0xC0, 0x250))) + (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-"
)
_DOMAIN = re.compile(
    rf"(?:[{_LATIN}](?:[{_LATIN}-]{{0,61}}[{_LATIN}])?\.){{1,8}}(xn--[A-Za-z0-9-]{{2,59}}|[A-Za-z]{{2,24}})(?![{_LATIN}_(])"
)
# Top level domains that stand behind a matrix product or in names of files far more often.
_NOT_DOMAINS = "bz call data java map mov open prod select shell so target total zip"
_NO_DOMAINS = frozenset(_NOT_DOMAINS.split())
_RESERVED = re.compile(r"(?:.*\.)?example\.(?:com|net|org)\Z", re.I)
_IP4 = re.compile(
    r"(?<![\w.:-])(?P<ip>[0-9]{1,3}(?:\.[0-9]{1,3}){3})(?![\w-]|\.[\w])(?P<port>:[0-9]{2,5})?"
)
_IP6 = re.compile(
    r"(?<![\w:.])[23][0-9A-Fa-f]{3}:(?:[0-9A-Fa-f]{0,4}:){1,6}[0-9A-Fa-f]{0,4}(?![\w:.])"
)
_VERSION_BEFORE = re.compile(
    r"(?:\b(?:v|ver|version|release|rev|section|sec|oid|identifier|chapter|clause|agent|build)"
    r"|[§=~^>#/@_-])[\s:=\"'(]{0,3}\Z",
    re.I,
)
_IP_BEFORE = re.compile(
    r"(?:://|@|\bip|address|host|server|peer|from|to|->)[\s:=\"'(\[]{0,3}\Z", re.I
)
_SMALL = 20  # three parts below make a version number, were there no other sign


def find_emails(text: str, allowed: tuple[str, ...] = ()) -> Iterator[Span]:
    """Yield the spans of e-mail addresses, except those that match an `allowed` pattern.

    Patterns are of the shell's kind (`*@example.org`). Names of users in URLs and in remote
    addresses (`git@github.com:owner/name` where `git@*` is allowed) are no e-mail addresses.
    """
    for anchor in _AT.finditer(text):
        at = anchor.start() + 1
        domain = _DOMAIN.match(text, anchor.end() - 1)
        if not domain or not _is_top_level(domain[1]) or _RESERVED.match(domain[0]):
            continue
        before = text[max(0, at - 64) : at]
        local = before[len(before.rstrip(_LOCAL)) :].lstrip(".-+%")
        start = at - len(local)
        if not local or _in_url(text, start):
            continue
        if not _allowed(allowed).match(f"{local}@{domain[0]}".lower()):
            yield start, domain.end()


@lru_cache(maxsize=4096)
def _is_top_level(name: str) -> bool:
    """Tell whether a top level domain is in the public list, and not written as code is: `mT`."""
    is_written_so = name in (name.lower(), name.upper(), name.title())
    return (
        is_written_so and name.lower() not in _NO_DOMAINS and bool(_suffixes().publicsuffix(name))
    )


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # it reads its list at once

    return PublicSuffixList(accept_unknown=False, only_icann=True)


def _in_url(text: str, start: int) -> bool:
    scheme = text.rfind("://", max(0, start - 100), start)
    return scheme >= 0 and not re.search(r"[\s/@?&,;'\"]", text[scheme + 3 : start])


@lru_cache(maxsize=16)
def _allowed(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.lower()) for pattern in patterns) or r"(?!)")


def find_ip_addresses(text: str) -> Iterator[Span]:
    """Yield the spans of public IPv4 and IPv6 addresses that do not look like version numbers.

    Private, local, reserved and documentation ranges are left out, and so are `PUBLIC_SERVICES`.
    """
    for match in _IP4.finditer(text):
        if _is_public(match["ip"]) and not _is_version(text, match):
            yield match.span("ip")
    for match in _IP6.finditer(text):
        if _is_public(match[0]):
            yield match.span()


_SERVERS = """
1.1.1.1 1.0.0.1 8.8.8.8 8.8.4.4 9.9.9.9 149.112.112.112 208.67.222.222 208.67.220.220
114.114.114.114 223.5.5.5 2001:4860:4860::8888 2606:4700:4700::1111
"""
PUBLIC_SERVICES = frozenset(_SERVERS.split())
"""Addresses of name servers that everyone knows and nobody lives at."""


def _is_public(written: str) -> bool:
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return False
    return address.is_global and not address.is_multicast and str(address) not in PUBLIC_SERVICES


def _is_version(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - 24) : match.start()]
    if match["port"] or _IP_BEFORE.search(before):
        return False
    parts = [int(part) for part in match["ip"].split(".")]
    return (
        sum(part < _SMALL for part in parts) >= 3
        or parts[2:] == [0, 0]
        or _VERSION_BEFORE.search(before) is not None
    )


PrivateKind = Literal["secret", "email", "ip-address"]
KINDS: tuple[PrivateKind, ...] = get_args(PrivateKind)
SECRET, EMAIL, IP_ADDRESS = KINDS
_HINTS = dict(zip(KINDS, (SECRET_HINT, EMAIL_HINT, IP_HINT), strict=True))
_ASSIGNED = f"{SECRET}:assigned"
_URL_PASSWORD = f"{SECRET}:url-password"
_MOST_ROUNDS = 4  # real texts take one; each costs as much as the first
ALLOWED_EMAILS = (
    "*@users.noreply.github.com",
    "noreply@*",
    "no-reply@*",
    "notifications@github.com",
    "support@github.com",
    "git@*",
)


@dataclass(frozen=True, slots=True)
class PrivateRules:
    """Rules for private data: its kinds, and e-mail addresses that are not private."""

    kinds: tuple[PrivateKind, ...] = KINDS
    allowed_emails: tuple[str, ...] = ALLOWED_EMAILS  # patterns of the shell's kind


SECRETS_ONLY = PrivateRules((SECRET,))
"""For code files, which must stay byte for byte: a file with a finding is left out as a whole."""


@dataclass(frozen=True, slots=True)
class PrivateSpan:
    """Private data: its kind (`email`, `ip-address`, `secret:...`) and code point offsets."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without private data, and how many findings of each kind were replaced."""

    text: str
    counts: dict[str, int]


def find_private(text: str, rules: PrivateRules = PrivateRules()) -> tuple[PrivateSpan, ...]:
    """Find private data, in reading order, none overlapping."""
    findings: list[PrivateSpan] = []
    if SECRET in rules.kinds:
        findings += [PrivateSpan(f"{SECRET}:{kind}", *span) for kind, span in find_secrets(text)]
    if EMAIL in rules.kinds:
        findings += [PrivateSpan(EMAIL, *span) for span in find_emails(text, rules.allowed_emails)]
    if IP_ADDRESS in rules.kinds:
        findings += [PrivateSpan(IP_ADDRESS, *span) for span in find_ip_addresses(text)]
    return tuple(_merge(findings))


def _merge(findings: Iterable[PrivateSpan]) -> list[PrivateSpan]:
    """Join findings that overlap under the more specific kind: that of a format, or the first."""
    merged: list[PrivateSpan] = []
    for finding in sorted(findings, key=lambda item: (item.start, -item.end, item.kind)):
        if merged and finding.start < merged[-1].end:
            last = merged.pop()
            if {last.kind, finding.kind} == {EMAIL, _URL_PASSWORD}:
                # What follows the last @ is the host.
                merged.append(last if last.kind == _URL_PASSWORD else finding)
                continue
            kind = finding.kind if last.kind == _ASSIGNED else last.kind
            finding = PrivateSpan(kind, last.start, max(last.end, finding.end))
        merged.append(finding)
    return merged


def redact(text: str, rules: PrivateRules = PrivateRules()) -> Redacted:
    """Replace private data by `<EMAIL>`, `<IP_ADDRESS>` or `<SECRET:...>`.

    The number of lines stays. Redacting again changes nothing: a replacement may expose a finding
    beside it, so this goes on until there is none. After `_MOST_ROUNDS` rounds, which only a text
    made for that needs, the whole text is replaced.
    """
    counts: Counter[str] = Counter()
    rounds = 0
    while findings := find_private(text, rules):
        rounds += 1
        if rounds > _MOST_ROUNDS:
            findings = (PrivateSpan(findings[0].kind, 0, len(text)),)
        counts.update(finding.kind for finding in findings)
        text = _replaced(text, findings)
    return Redacted(text, dict(sorted(counts.items())))


def _replaced(text: str, findings: Iterable[PrivateSpan]) -> str:
    parts: list[str] = []
    at = 0
    for finding in findings:
        parts += (text[at : finding.start], _placeholder(finding.kind))
        parts += _LINE_HEADS.findall(text, finding.start, finding.end)
        at = finding.end
    return "".join(parts) + text[at:]


_NOTHING = r"[^\s\S]"
_LINE_HEADS = re.compile(r"\r?\n[ \t>]*")


def _placeholder(kind: str) -> str:
    name, _, detail = kind.partition(":")
    return f"<{name.upper().replace('-', '_')}{':' + detail if detail else ''}>"


def may_be_private(
    texts: pa.Array | pa.ChunkedArray, rules: PrivateRules = PrivateRules()
) -> pa.Array:
    """Mark the texts in which `find_private` could find something, at memory speed.

    No text without a mark has a finding. About one text in a hundred gets one. Nulls have none.
    """
    hints = "|".join(_HINTS[kind] for kind in rules.kinds) or _NOTHING
    return pc.fill_null(pc.match_substring_regex(texts, hints), False)
