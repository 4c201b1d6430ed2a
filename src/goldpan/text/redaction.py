"""Secrets and personal data in a text: where they stand, and the text without them.

What is found is told by kind and place only, so nothing private reaches a log or a table.
Phone numbers and names are not looked for: in technical texts they cannot be told from other
numbers and words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from goldpan.text.addresses import EMAIL_HINT, IP_HINT, find_emails, find_ip_addresses
from goldpan.text.credentials import SECRET_HINT, find_secrets

EMAIL, IP_ADDRESS, SECRET = "email", "ip-address", "secret"

_ASSIGNED = f"{SECRET}:assigned"
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
    """What counts as private."""

    emails: bool = True
    ip_addresses: bool = True
    secrets: bool = True
    allowed_emails: tuple[str, ...] = ALLOWED_EMAILS  # patterns of the shell's kind


SECRETS_ONLY = PrivateRules(emails=False, ip_addresses=False)
"""For code files, which must stay byte for byte: a file with a finding is left out as a whole."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something private: its kind (`email`, `ip-address`, `secret:...`) and code point offsets."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without what is private, and how many findings of each kind were replaced."""

    text: str
    counts: dict[str, int]


def find_private(text: str, rules: PrivateRules | None = None) -> tuple[Finding, ...]:
    """Find what is private, in reading order, none overlapping."""
    rules = rules or PrivateRules()
    findings: list[Finding] = []
    if rules.secrets:
        findings += [
            Finding(f"{SECRET}:{kind}", start, end) for kind, start, end in find_secrets(text)
        ]
    if rules.emails:
        findings += [Finding(EMAIL, *span) for span in find_emails(text, rules.allowed_emails)]
    if rules.ip_addresses:
        findings += [Finding(IP_ADDRESS, *span) for span in find_ip_addresses(text)]
    return tuple(_merge(findings))


def _merge(findings: Iterable[Finding]) -> list[Finding]:
    """Join findings that overlap under the kind that says most: of a format, or the first."""
    merged: list[Finding] = []
    for finding in sorted(
        findings, key=lambda finding_: (finding_.start, -finding_.end, finding_.kind)
    ):
        if merged and finding.start < merged[-1].end:
            last = merged.pop()
            kind = finding.kind if last.kind == _ASSIGNED else last.kind
            finding = Finding(kind, last.start, max(last.end, finding.end))
        merged.append(finding)
    return merged


def redact(text: str, rules: PrivateRules | None = None) -> Redacted:
    """Replace what is private by `<EMAIL>`, `<IP_ADDRESS>` or `<SECRET:...>`.

    The number of lines stays, and what stays of a line keeps its place in it. Redacting again
    changes nothing. What is replaced may bare something else beside it; a text that goes on like
    that was made to, and is replaced as a whole after `_MOST_ROUNDS` rounds.
    """
    counts: Counter[str] = Counter()
    rounds = 0
    while findings := find_private(text, rules):
        rounds += 1
        if rounds > _MOST_ROUNDS:
            findings = (Finding(findings[0].kind, 0, len(text)),)
        counts.update(finding.kind for finding in findings)
        text = _replaced(text, findings)
    return Redacted(text, dict(sorted(counts.items())))


def _replaced(text: str, findings: Iterable[Finding]) -> str:
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
    texts: pa.Array | pa.ChunkedArray, rules: PrivateRules | None = None
) -> pa.Array:
    """Mark the texts in which `find_private` could find something, at memory speed.

    No text without a mark has a finding. About one text in a hundred gets one. Nulls have none.
    """
    rules = rules or PrivateRules()
    hints = [
        hint
        for is_on, hint in (
            (rules.emails, EMAIL_HINT),
            (rules.ip_addresses, IP_HINT),
            (rules.secrets, SECRET_HINT),
        )
        if is_on
    ]
    marks = pc.match_substring_regex(texts, "|".join(hints or [_NOTHING]))
    return pc.fill_null(marks, False)
