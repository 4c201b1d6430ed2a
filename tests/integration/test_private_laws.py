"""What holds of all findings and replacements of private data."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.text.redaction import (
    ALLOWED_EMAILS,
    EMAIL,
    IP_ADDRESS,
    SECRETS_ONLY,
    PrivateRules,
    find_private,
    may_be_private,
    redact,
)
from tests.integration.test_private import BASE64, EMAILS, GITHUB, HEX40, IPS, KEY, SECRETS
from tests.real_texts import needs_real_texts, real_texts


def test_rules_say_what_counts() -> None:
    text = f"{GITHUB} alice@gmail.com 93.184.216.34"
    assert redact(text, SECRETS_ONLY).counts == {"secret:github-token": 1}
    assert redact(text, PrivateRules((EMAIL, IP_ADDRESS))).counts == {"email": 1, "ip-address": 1}
    assert redact(text, PrivateRules(())).text == text
    ours = PrivateRules(allowed_emails=(*ALLOWED_EMAILS, "*@gmail.com"))
    assert "email" not in redact(text, ours).counts
    assert redact("noreply@github.com", PrivateRules(allowed_emails=())).counts == {"email": 1}


def test_findings_do_not_tell_the_secret() -> None:
    findings = find_private(f"my key is {GITHUB} or {KEY} of alice@gmail.com")
    assert len(findings) == 3
    assert all(word not in repr(findings) for word in (GITHUB, BASE64, "alice"))
    assert [finding.start for finding in findings] == sorted(finding.start for finding in findings)


def test_what_a_replacement_uncovers_is_replaced_too() -> None:
    """Without the address, the key is no longer a part of a longer word."""
    redacted = redact("SK" + HEX40[:32] + "a" * 64 + "@gmail.com")
    assert redacted.text == "<SECRET:twilio-key><EMAIL>"
    assert redacted.counts == {"email": 1, "secret:twilio-key": 1}


PRIVATE = st.sampled_from([*(secret for _, secret in SECRETS), *EMAILS, *IPS])
PARTS = st.sampled_from([*"@.:-_=/ \n'\"<>()[]", "\r\n", "> "])
OPENINGS = "password token= ://u: ://: bearer https:// eyJ AKIA ghp_ com a B7 1 2001: 1.2.3.4 xoxb-"
HINTS = st.sampled_from(
    [*OPENINGS.split(), "api_key: ", "curl -u a:", "Basic ", '"auth": "', "Secret Key=", HEX40]
) | st.sampled_from("éKſ中\0")


MADE = st.lists(PRIVATE | PARTS | HINTS, max_size=14).map("".join)


DRAWN_BY_FORMAT = st.from_regex(r"(pass|api_key|token|SECRET KEY)[:=] ?[A-Za-z0-9+/]{14,40}")


UTF8 = MADE | DRAWN_BY_FORMAT | st.text(st.characters(codec="utf-8"), max_size=60)


@given(st.lists(UTF8, max_size=5))
def test_no_finding_without_a_mark(texts: list[str]) -> None:
    for rules in (PrivateRules(), SECRETS_ONLY, PrivateRules((EMAIL, IP_ADDRESS))):
        marks = may_be_private(pa.array(texts, pa.string()), rules).to_pylist()
        for text, mark in zip(texts, marks, strict=True):
            assert mark or not find_private(text, rules)


@given(UTF8 | st.text(st.characters(), max_size=60))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
    assert find_private(once.text) == ()
    assert once.text.count("\n") == text.count("\n")
    assert bool(once.counts) == (once.text != text) == bool(find_private(text))


@given(UTF8)
def test_findings_are_ordered_and_apart(text: str) -> None:
    at = 0
    for finding in find_private(text):
        assert at <= finding.start < finding.end <= len(text)
        at = finding.end


def test_marks_of_nulls_and_chunks() -> None:
    chunks = pa.chunked_array([["a@b.org", None], ["nothing"]], pa.string())
    assert may_be_private(chunks).to_pylist() == [True, False, False]
    assert may_be_private(pa.array([], pa.string())).to_pylist() == []
    nothing = PrivateRules(())
    assert may_be_private(chunks, nothing).to_pylist() == [False] * 3


class TestRealTexts:
    pytestmark = needs_real_texts

    @pytest.mark.nightly
    def test_all_findings_were_read_and_are_right(self) -> None:
        """Hashes, keys and signatures are everywhere here, and none passes for a secret."""
        texts = real_texts()
        marks = may_be_private(pa.array(texts)).to_pylist()
        counts: Counter[str] = Counter()
        for text, mark in zip(texts, marks, strict=True):
            findings = find_private(text)
            assert mark or not findings
            counts.update(finding.kind for finding in findings)
        assert sum(marks) < 0.01 * len(texts)
        assert counts == {"email": 28, "ip-address": 8}
