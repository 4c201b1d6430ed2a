"""Mentions of issues and pull requests in a text: the candidates of Algorithm 1.

Where GitHub's rule is not known the wider reading is taken, and code is not excluded, because
cross references confirm candidates later (FAUN-Eval, section 3.2.1). So boundaries are ASCII:
a number may touch CJK text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Pattern = Literal["url", "hash", "gh", "slug"]

GITHUB = ("github.com",)
LARGEST_NUMBER = 2**31 - 1

_OWNER = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}"
_NAME = r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}"
_SLUG_LENGTH = 39 + 1 + 100
_NUMBER_LENGTH = len("/issues/") + 10 + 1  # and what follows, which must belong to no word

# Searching for the rare part of each pattern and looking back from it is many times as fast as
# one expression for whole mentions, which would try an owner at every word of the text. A group
# around the alternatives would cost the matcher its scan for their first characters.
_ANCHOR = re.compile(r"(?:#|GH-|gh-|/(?:issues|pulls?)/)([1-9][0-9]{0,9}+)(?![A-Za-z_\d])")
_HASH = re.compile(r"#([1-9][0-9]{0,9}+)(?![A-Za-z_\d])")  # where no other anchor can be
_SLUG = re.compile(rf"(?<![A-Za-z0-9_./&#-]){_OWNER}/{_NAME}\Z")
_GLUED = re.compile(r"[A-Za-z0-9_/&#]")
_GLUED_GH = re.compile(r"[A-Za-z0-9_/&#.-]")
_URL_TAIL = re.compile(r"(?:[/?#][^\s<>()\[\]{}\"'`|,;\ufffc]*)?")


@dataclass(frozen=True, slots=True)
class Mention:
    """One reference in a text; `start` and `end` are code point offsets, `end` after the number.

    `repo` is "owner/name" as written, or None for the repository in which the text stands.
    """

    repo: str | None
    number: int
    pattern: Pattern
    start: int
    end: int


def find_mentions(text: str, hosts: tuple[str, ...] = GITHUB) -> list[Mention]:
    """Find all references in reading order, none overlapping (ExtractCandidates, Algorithm 1).

    `hosts` are the host names whose URLs count, for GitHub Enterprise.
    """
    # Plain searches are many times as fast as the expressions.
    if "/pull" in text or "/issues/" in text or "GH-" in text or "gh-" in text:
        anchors = _ANCHOR
    elif "#" in text:
        anchors = _HASH
    else:
        return []
    mentions: list[Mention] = []
    free = 0
    for anchor in anchors.finditer(text):
        if anchor.start() < free:
            continue
        mention = _mention_at(text, anchor, hosts)
        if mention is None or mention.start < free or mention.number > LARGEST_NUMBER:
            continue
        mentions.append(mention)
        free = mention.end
        if mention.pattern == "url":
            tail = _URL_TAIL.match(text, free)
            free = tail.end() if tail else free
    return mentions


def leading_mention(text: str, hosts: tuple[str, ...] = GITHUB) -> Mention | None:
    """Return the mention with which a text begins, such as an address; the rest is not read."""
    _, longest = _url_before(hosts)
    mentions = find_mentions(text[: longest + _NUMBER_LENGTH], hosts)
    return mentions[0] if mentions and not mentions[0].start else None


def _mention_at(text: str, anchor: re.Match[str], hosts: tuple[str, ...]) -> Mention | None:
    start, end = anchor.span()
    number = int(anchor[1])
    before = text[start - 1 : start]
    match text[start]:
        case "#":
            slash = text.rfind("/", max(0, start - 101), start)
            slug = _SLUG.search(text, max(0, slash - 39), start) if slash > 0 else None
            if slug:
                return Mention(slug[0], number, "slug", slug.start(), end)
            return None if _GLUED.match(before) else Mention(None, number, "hash", start, end)
        case "/":
            url, length = _url_before(hosts)
            address = url.search(text, max(0, start - length), start)
            return Mention(address[1], number, "url", address.start(), end) if address else None
        case _:
            return None if _GLUED_GH.match(before) else Mention(None, number, "gh", start, end)


@lru_cache(maxsize=16)
def _url_before(hosts: tuple[str, ...]) -> tuple[re.Pattern[str], int]:
    """Return the expression for the part of a URL before "/issues/", and its greatest length."""
    names = "|".join(map(re.escape, hosts))
    pattern = re.compile(rf"(?i:https?://(?:www\.)?(?:{names}))/({_OWNER}/{_NAME})\Z")
    return pattern, len("https://www./") + max(map(len, hosts), default=0) + _SLUG_LENGTH
