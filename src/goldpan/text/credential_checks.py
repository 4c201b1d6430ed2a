"""Checks that tell secrets from the examples that stand in their place."""

from __future__ import annotations

import base64
import binascii
import re

from detect_secrets.filters.heuristic import is_sequential_string, is_templated_secret
from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString
from detect_secrets.plugins.jwt import JwtTokenDetector

_LEAST_ENTROPY = 3.2  # bits a character; 32 random hexadecimal digits have 3.7
_FEWEST_CHARACTERS = 6  # different ones, among the last 16
_SHORTEST_PASSWORD = 6
_FEWEST_IN_PASSWORD = 3  # different characters
_ENTROPY = Base64HighEntropyString()
_CHANGES = re.compile(r"(?:[0-9]++[A-Za-z+/_=-]++){3}|(?:[A-Za-z+/_=-]++[0-9]++){3}")
_WORDS = re.compile(r"[A-Z]?[a-z]{2,}")
_LARGEST_SHARE_OF_WORDS = 0.6
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_FILE = re.compile(r"[~.]{0,2}/(?:[^/]+/){2}")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=]{40}")
_SHOWN = re.compile(
    r"example|xxxx|your|dummy|sample|redacted|secret|password|changeme|placeholder|insert"
    r"|0000000|1234567|abcdefg|\*\*\*|\.\.\.",
    re.I,
)
_VARIABLE = re.compile(
    r"[$#@%]*(?:\{.*\}|\(.*\)[ds]?|\[.*\]|<.*>)|%.*%"
    r"|\$+(?:[a-z_]+|[A-Z_][A-Z0-9_]*|[a-z]+(?:[A-Z][a-z]+)+)",
    re.S,
)
_WEAK_WORDS = """
passwd username testing postgres rabbitmq oauth2 x-oauth-basic foobar qwerty 123456 abc123
access-token api-key apikey
"""
_WEAK = frozenset(_WEAK_WORDS.split())


def is_real(value: str) -> bool:
    """Return whether a token is real, and not an example from documentation."""
    tail = value[-16:]
    return (
        len(set(tail)) >= _FEWEST_CHARACTERS
        and not _SHOWN.search(value, 0, 64)
        and not is_templated_secret(value)
        and not is_sequential_string(tail)
    )


def is_random(value: str) -> bool:
    """Return whether a value looks random: digits and letters alternate often, or both cases."""
    return (
        (_CHANGES.search(value) is not None or _is_scrambled(value))
        and not _FILE.match(value)
        and _ENTROPY.calculate_shannon_entropy(value) >= _LEAST_ENTROPY
        and is_real(value)
    )


def _is_scrambled(value: str) -> bool:
    """Return whether digits and letters of both cases make no words, as they do in names."""
    in_words = sum(map(len, _WORDS.findall(value)))
    has_digits = any(map(str.isdigit, value))
    is_mixed_case = min(sum(map(str.isupper, value)), sum(map(str.islower, value))) > 1
    return has_digits and is_mixed_case and in_words < _LARGEST_SHARE_OF_WORDS * len(value)


def is_random_but_hex(value: str) -> bool:
    """Return whether a value is random and not hexadecimal, as published test vectors are."""
    return not _HEX.fullmatch(value) and is_random(value)


def is_password(value: str) -> bool:
    """Return whether a password is not one that examples use, nor the name of a variable."""
    return (
        len(value) >= _SHORTEST_PASSWORD
        and len(set(value)) >= _FEWEST_IN_PASSWORD
        and value.lower() not in _WEAK
        and not _SHOWN.search(value)
        and not _VARIABLE.fullmatch(value)
    )


def is_mixed(value: str) -> bool:
    """Return whether a password mixes digits, cases and signs, and is no attribute of code."""
    kinds = (str.islower, str.isupper, lambda sign: not sign.isalnum() and sign not in "._-")
    mixed = sum(any(map(kind, value)) for kind in kinds) >= 2
    return mixed and any(map(str.isdigit, value)) and "." not in value and is_password(value)


def is_login(value: str) -> bool:
    """Return whether a value is the Base64 of a user, a colon and a password."""
    try:
        login = base64.b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), "-_")
        user, colon, password = login.decode().partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(colon) and (user + password).isprintable() and is_password(password)


def is_token_header(value: str) -> bool:
    """Return whether a value begins with the header of a JSON Web Token."""
    try:
        return JwtTokenDetector.is_formally_valid(value.partition(".")[0])
    except RecursionError:  # no header is nested that deeply
        return False


def is_key_block(value: str) -> bool:
    """Return whether the block of a private key holds a key, and not dots in its place."""
    return _KEY_BODY.search(value) is not None
