"""Knows all secrets of this process, and takes them out of whatever is written or printed.

A server may echo what it was sent: in an error page, in a header, in the address of a redirect,
and in whatever spelling. So nobody who writes has to know who talked to whom: what was registered
is found plain, percent-encoded, escaped as in JSON or HTML, and within any base64.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar, overload
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "***"
SHORTEST = 8
"""Shorter ones stand in for secrets, as ``any`` and ``none`` do, and are words of real texts."""
PLACEHOLDERS = frozenset(("no-key-required", "sk-no-key-required", "not-needed", "placeholder"))
"""Values that manuals of local servers have people set where no key is needed."""

_NAMES = re.compile(
    r"(?:^|_)(?:TOKENS?|PAT|PASSWORD|PASSWD|SECRET|(?:API|ACCESS|SECRET|PRIVATE|AUTH)_?KEY)$", re.I
)
_ADDRESSES = re.compile(r"(?:_PROXY|_URL|_URI|_DSN|ENDPOINT|_INDEX|_FIND_LINKS)$", re.I)
_known: set[str] = set()

Meta = TypeVar("Meta", bound=Mapping[str, Any])


def register(*secrets: str | None) -> None:
    """Learn secrets; from now on they stay inside."""
    for secret in secrets:
        if secret and len(secret) >= SHORTEST and secret not in PLACEHOLDERS:
            _known.add(secret)


def register_environment(environment: Mapping[str, str] | None = None) -> None:
    """Learn the tokens, keys and passwords of the environment, those in addresses too."""
    for name, value in (os.environ if environment is None else environment).items():
        register(*_secrets_of(name, value))


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a program that needs none of our secrets."""
    return {name: value for name, value in environment.items() if not _NAMES.search(name)}


@overload
def mask(text: str) -> str: ...
@overload
def mask(text: bytes) -> bytes: ...
def mask(text: str | bytes) -> str | bytes:
    """Return a text with `HIDDEN` in the place of every secret that it holds."""
    spellings = _all_spellings(frozenset(_known))
    if isinstance(text, bytes):
        for spelling in spellings:
            text = text.replace(spelling.encode(), HIDDEN.encode())
        return text
    for spelling in spellings:
        text = text.replace(spelling, HIDDEN)
    return text


def mask_record(meta: Meta, body: bytes) -> tuple[Meta, bytes]:
    """Return what is known of a reply and its bytes, with no secret in either."""
    import orjson  # which takes long to import

    text = orjson.dumps(meta)
    masked = mask(text)
    return (meta if masked == text else orjson.loads(masked)), mask(body)


@lru_cache(maxsize=4)
def _all_spellings(secrets: frozenset[str]) -> tuple[str, ...]:
    """Return how secrets may be written, the longest first: one may be a part of another."""
    spellings = {spelling for secret in secrets for spelling in _spellings(secret)}
    return tuple(sorted(spellings, key=lambda spelling: (-len(spelling), spelling)))


def _spellings(secret: str) -> Iterator[str]:
    import html  # which help does without
    import json

    data = secret.encode("utf-8", "surrogatepass")
    quoted = quote(data, safe="")
    yield from (secret, quoted, quote(data, safe="/"))
    yield re.sub("%..", lambda code: code[0].lower(), quoted)
    octets = data.hex()
    pairs = [octets[at : at + 2] for at in range(0, len(octets), 2)]
    yield from ("".join(f"%{pair}" for pair in pairs), octets)
    yield "".join(f"%{pair.upper()}" for pair in pairs)
    spelled = json.dumps(secret)[1:-1]
    yield from (
        spelled,
        spelled.replace("/", "\\/"),
        html.escape(secret),
        html.escape(secret, False),
    )
    yield "".join(f"\\u{ord(char):04x}" for char in secret)
    yield from _in_base64(data)


def _in_base64(data: bytes) -> Iterator[str]:
    """Yield what base64 makes of a secret whatever stands around it, as in basic authorization."""
    import base64

    for before in range(3):
        coded = base64.b64encode(bytes(before) + data + bytes(-(before + len(data)) % 3)).decode()
        # The signs at both ends depend on the neighbors too.
        first = -(-before * 8 // 6)
        last = (before + len(data)) * 8 // 6
        yield coded[first:last]
        yield coded[first:last].replace("+", "-").replace("/", "_")


def _secrets_of(name: str, value: str) -> Iterable[str]:
    if _NAMES.search(name):
        return [] if value.startswith(("/", "~")) else [part.strip() for part in value.split(",")]
    if _ADDRESSES.search(name) and "@" in value:
        passwords: list[str] = []
        for address in value.split():  # uv takes several, each perhaps with a name before it
            start = address.rfind("=", 0, max(0, address.find("://"))) + 1
            try:
                password = urlsplit(address[start:]).password
            except ValueError:  # whatever it is, it is no address
                continue
            passwords += [] if password is None else [password, unquote(password)]
        return passwords
    return []


register_environment()
