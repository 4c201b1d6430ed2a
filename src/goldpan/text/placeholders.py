"""Whether a value that stands where a secret would is one, or only shows where one belongs."""

from __future__ import annotations

import re

from detect_secrets.filters.heuristic import is_sequential_string, is_templated_secret
from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString
from detect_secrets.plugins.jwt import JwtTokenDetector

_LEAST_ENTROPY = 3.4  # bits a character; 16 different ones have 4
_FEWEST_CHARACTERS = 6  # different ones, among the last 16
_SHORTEST_PASSWORD = 6

_ENTROPY = Base64HighEntropyString()
_CHANGES = re.compile(r"(?:[0-9]++[A-Za-z+/_=-]++){3}|(?:[A-Za-z+/_=-]++[0-9]++){3}")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_FILE = re.compile(r"[~.]{0,2}/(?:[^/]+/){2}")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{40}")
_SHOWN = re.compile(
    r"example|xxxx|your|dummy|sample|redacted|secret|password|changeme|placeholder|insert"
    r"|0000000|1234567|abcdefg|\*\*\*|\.\.\.",
    re.I,
)
_WEAK_WORDS = """
passwd username testing postgres rabbitmq oauth2 x-oauth-basic foobar qwerty 123456 abc123
access-token api-key apikey
"""
_WEAK = frozenset(_WEAK_WORDS.split())


def is_real(value: str) -> bool:
    """Say whether a token is none that documentation shows in place of one."""
    tail = value[-16:]
    return (
        len(set(tail)) >= _FEWEST_CHARACTERS
        and not _SHOWN.search(value, 0, 64)
        and not is_templated_secret(value)
        and not is_sequential_string(tail)
    )


def is_random(value: str) -> bool:
    """Say whether a value looks drawn and not written: digits and letters that often change."""
    return (
        _CHANGES.search(value) is not None
        and not _FILE.match(value)
        and _ENTROPY.calculate_shannon_entropy(value) >= _LEAST_ENTROPY
        and is_real(value)
    )


def is_random_but_hex(value: str) -> bool:
    """Say whether a value is random and no hexadecimal number.

    Secret keys in hexadecimal are test vectors in every text about cryptography.
    """
    return not _HEX.fullmatch(value) and is_random(value)


def is_password(value: str) -> bool:
    """Say whether the password of a URL is none that everyone uses in examples."""
    return (
        len(value) >= _SHORTEST_PASSWORD
        and value.lower() not in _WEAK
        and not _SHOWN.search(value)
        and not is_templated_secret(value)
    )


def is_token_header(value: str) -> bool:
    """Say whether a value begins with the header of a JSON Web Token."""
    return JwtTokenDetector.is_formally_valid(value.partition(".")[0])


def is_key_block(value: str) -> bool:
    """Say whether the block of a private key holds a key, and not dots in its place."""
    return _KEY_BODY.search(value) is not None
