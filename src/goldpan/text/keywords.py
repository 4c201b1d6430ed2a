"""Closing keywords: the texts by which a pull request says that it fixes an issue.

A keyword is followed by one of the four references of Algorithm 1 (FAUN-Eval, section 3.2.2),
in what a reader sees: code, quotes and comments do not count. Markup may stand between the two
but not inside either: "**Fixes** #1", not "fi**xes** #1" or "fixes #<b></b>1".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from goldpan.text.markdown import MarkdownBlock, blocks, paragraphs

# Mentions of issues and pull requests in a text: the candidates of Algorithm 1.
#
# Where GitHub's rule is not known the wider reading is taken, and code is not excluded, because
# cross references confirm candidates later (FAUN-Eval, section 3.2.1). So boundaries are ASCII: a
# number may touch CJK text.

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
# As in GitHub's own links, marks at the end of what follows belong to the sentence.
_OF_URL = r"^\s<>()\[\]{}\"'`|,;\ufffc"
_URL_TAIL = re.compile(rf"(?:[/?#][{_OF_URL}]*[{_OF_URL}?!.:*_~]|/)?")


@dataclass(frozen=True, slots=True)
class Mention:
    """One reference in a text; `start` and `end` are code point offsets.

    `repo` is "owner/name" as written, or None for the repository in which the text stands. An
    address may go on behind its number, as `?plain=1` or `#issuecomment-2`.
    """

    repo: str | None
    number: int
    pattern: Pattern
    start: int
    number_end: int
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
    last_end = 0
    for anchor in anchors.finditer(text):
        if anchor.start() < last_end:
            continue
        mention = _mention_at(text, anchor, hosts)
        if mention is None or mention.start < last_end or mention.number > LARGEST_NUMBER:
            continue
        mentions.append(mention)
        last_end = mention.end
    return mentions


def leading_mention(text: str, hosts: tuple[str, ...] = GITHUB) -> Mention | None:
    """Return the mention with which a text begins, such as an address, whatever follows it."""
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
                return Mention(slug[0], number, "slug", slug.start(), end, end)
            return None if _GLUED.match(before) else Mention(None, number, "hash", start, end, end)
        case "/":
            url, length = _url_before(hosts)
            address = url.search(text, max(0, start - length), start)
            if not address:
                return None
            tail = _URL_TAIL.match(text, end)
            whole = tail.end() if tail else end
            return Mention(address[1], number, "url", address.start(), end, whole)
        case _:
            return None if _GLUED_GH.match(before) else Mention(None, number, "gh", start, end, end)


@lru_cache(maxsize=16)
def _url_before(hosts: tuple[str, ...]) -> tuple[re.Pattern[str], int]:
    """Return the expression for the part of a URL before "/issues/", and its greatest length."""
    names = "|".join(map(re.escape, hosts))
    pattern = re.compile(rf"(?i:https?://(?:www\.)?(?:{names}))/({_OWNER}/{_NAME})\Z")
    return pattern, len("https://www./") + max(map(len, hosts), default=0) + _SLUG_LENGTH


_WORD = r"(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)"
_STEMS = ("fix", "clos", "resolv")
_KEYWORD = re.compile(rf"(?<!\w)(?ai:({_WORD}))(?::\s*|\s+)")
# What raw Markdown in lower case must hold for a keyword to show up. Between keyword and reference
# stand only characters that may vanish or be white space; "<[]&" may hide anything, a backslash may
# stand before any punctuation mark, and a numeric entity may be any letter.
_CANDIDATE = re.compile(
    rf"(?<![A-Za-z0-9]){_WORD}[\s:*_~\\]*+"
    r"(?:[<\[\]&]|#[1-9]|gh\\?-[1-9]|https?[:\\&]"
    r"|[a-z0-9][\w\\-]{0,78}(?:&|/[\w.\\-]{1,200}(?:&|#[1-9])))"
)
Stance = Literal["stated", "partial", "supposed", "asked", "negated"]
"""How a text says that something is fixed: plainly, in part ("half-fixes #1"), as a guess or a hope
("might fix #1"), as a question ("does this fix #1?"), or not at all ("does not fix #1")."""
STANCES: tuple[Stance, ...] = ("stated", "partial", "supposed", "asked", "negated")
"""From the strongest claim to none."""
_CLAUSE_END = re.compile(r"[.!?;](?=\s)|\b(?:and|but)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"(?:\b(?:not|cannot|never|without|no\s+longer|(?:unable|fail(?:s|ed|ing)?)\s+to)|n['’]t)\b"
    r"(?!\s+(?:only|just|merely)\b)",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"(?:fully|completely|entirely|quite|really|wholly|totally)\s*\Z", re.IGNORECASE
)
_WHOLE_AFTER = re.compile(r"\s*(?:fully|completely|entirely|wholly|totally)\b", re.IGNORECASE)
_PART = re.compile(
    r"\b(?:part(?:s|ly|ial(?:ly)?)?(?!(?:\s+of)?\s+\S*[#/]\d)(?:\s+of)?|(?:half|semi|mostly"
    r"|almost|nearly|some\s+of|one\s+of|(?:first|next|another|a|one)\s+(?:step|part|half)"
    r"|toward?s?|helps?))\b",
    re.IGNORECASE,
)
_PART_AFTER = re.compile(
    r"\s*(?:[,(\[-]\s*)?(?:(?:but\s+)?(?:only\s+|at\s+least\s+)?(?:partial(?:ly)?|partly|in\s+part|mostly)\b"
    r"|(?:1st|first|second|third|last)\s+(?:part|half|point|item|bullet)\b)",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:might|may|maybe|could|would|perhaps|possib(?:le|ly)|potential(?:ly)?"
    r"|hop(?:e[ds]?|efully|ing)|probably"
    r"|likely|attempt(?:s|ing|ed)?|tr(?:y|ies|ying|ied)\s+to|supposed(?:ly)?|suspects?|think|guess|believe"
    r"|wonder(?:ing)?|unsure|sure\s+(?:if|whether)|see\s+(?:if|whether)|(?:if|whether)\s+(?:this|it"
    r"|that|the|we|you|i))\b"
    # A task for others, as in "somebody should fix #1": it is not done yet.
    r"|\b(?:some(?:one|body)|any(?:one|body)|we|you|they)(?:\s+still)?"
    r"\s+(?:should|must|(?:needs?|has|have|ought)\s+to)\Z",
    re.IGNORECASE,
)
_SUPPOSED_AFTER = re.compile(
    r"\s*[,(\[-]?\s*(?:hopefully|probably|possibly|perhaps|maybe|i\s+(?:hope|think|guess))\b",
    re.IGNORECASE,
)
# "Like #100, which fixed #1" or "once #100 fixes #1": another did it.
_BY_ANOTHER = re.compile(
    r"(?:(?:#|/(?:pull|issues)/)\d+\W{0,3} (?:which|that)"
    r"|\b(?:once|since|after|when|until|because|pr|pull request) (?:#|\S*/(?:pull|issues)/)\d+)"
    r"(?: (?:already|also|has))*\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"(?:^|\W)(?:(?:do|does|did|will|would|could|can|should|is|are|has|have|may|might)\s+(?:this|it"
    r"|that|these|you|we|they|i|the|#\d+)|(?:what|which|why|how|when|who|whether))\b",
    re.IGNORECASE,
)
_REVERTED = re.compile(r"\brevert(?:s|ed|ing)?\b", re.IGNORECASE)
# How git names the commit that takes another back: its quoted title closes what is now open again.
_REVERTS = re.compile(r'\brevert:?\s+"(?:revert\s+")*', re.IGNORECASE)
# "I was hoping that this would fix #1, but this does not help"; of what another reference follows,
# as in "fixes #1, but it does not fix #2", it may say nothing.
_DENIED_AFTER = re.compile(
    r"[^.!?;\n]{0,20}\b(?:but|however|unfortunately|sadly)[,\s]+(?:this|it|that)(?:\s+\w+)?\s+"
    r"(?:(?:does|did|do|is|was)(?:\s+not|n['’]t)|fail(?:s|ed))\b(?![^.!?;\n]{0,80}(?:#|/)[0-9])",
    re.IGNORECASE,
)
_QUOTES = ('"', "'", "“", "”", "‘", "’", "«", "»")
_QUESTION = re.compile(r"[^.!?;\n]{0,200}\?")
ADDRESS = re.compile(r"https?://\S*[^\s?!.,;:)]")
"""May hold any word and mark, which say nothing of the sentence around it."""
_NEAR = 200
_EXCERPT_BEFORE = 60
_EXCERPT = 160


@dataclass(frozen=True, slots=True)
class ClosingKeyword:
    """A keyword with its reference; GitHub closes whatever the `stance` ("does not fix #1").

    `repo` is None for the repository in which the text stands, `line` the source line, from 1,
    on which the block begins, `start` the keyword's offset in the block's visible text.
    """

    keyword: str
    repo: str | None
    number: int
    stance: Stance
    line: int
    start: int
    excerpt: str


def find_closing_keywords(
    text: str, *, markdown: bool = True, hosts: tuple[str, ...] = GITHUB
) -> list[ClosingKeyword]:
    """Find each keyword that directly precedes a reference (FAUN-Eval, section 3.2.2).

    `markdown=False` is for titles and commit messages. Each issue needs its own keyword.
    """
    if markdown:
        source = blocks(text) if may_close(text) else iter(())
    else:
        lower = text.lower()
        source = paragraphs(text) if any(stem in lower for stem in _STEMS) else iter(())
    return [keyword for block in source for keyword in closing_keywords(block, hosts)]


def may_close(text: str) -> bool:
    """Return whether a Markdown text may hold a closing keyword; cheap, and False is certain."""
    if "&#" in text:
        return True
    lower = text.lower()
    if not ("#" in lower or "/" in lower or "&" in lower or "gh" in lower):
        return False  # whatever the markup, a reference shows one of these
    for stem in _STEMS:  # plain searches are many times as fast as the expression
        at = lower.find(stem)
        while at >= 0:
            if _CANDIDATE.match(lower, at):
                return True
            at = lower.find(stem, at + 1)
    return False


def closing_keywords(
    block: MarkdownBlock, hosts: tuple[str, ...] = GITHUB
) -> Iterator[ClosingKeyword]:
    """Yield the closing keywords of one block in reading order."""
    words = list(_KEYWORD.finditer(block.text))
    if not words:
        return
    mentions = {mention.start: mention for mention in find_mentions(block.text, hosts)}
    end_before = 0
    for word in words:
        start, end = word.span(1)
        if end > block.node_at(start).end or word.end() == len(block.text):
            continue
        target = _target(block, start, word.end(), mentions, hosts)
        if target is None:
            continue
        target_end = _end_of_target(block, word.end(), mentions)
        yield ClosingKeyword(
            keyword=word[1].lower(),
            repo=target.repo,
            number=target.number,
            stance=_stance(
                block.text[max(end_before, start - _NEAR) : start],
                word[1],
                block.text[target_end:][:_NEAR],
                _reverts(block.text, start),
            ),
            line=block.line,
            start=start,
            excerpt=_excerpt(block.text, start, word.end()),
        )
        end_before = target_end


def _target(
    block: MarkdownBlock,
    keyword: int,
    offset: int,
    mentions: dict[int, Mention],
    hosts: tuple[str, ...],
) -> Mention | None:
    """Return the target of the reference at `offset`; a link's address outranks its text."""
    node = block.node_at(offset)
    mention = mentions.get(offset)
    if node.href is None:
        return mention if mention and mention.number_end <= node.end else None
    if mention is None and node.start <= keyword:
        return None
    address = leading_mention(node.href, hosts)
    return address if address and address.pattern == "url" else None


def _end_of_target(block: MarkdownBlock, offset: int, mentions: dict[int, Mention]) -> int:
    """Return where the reference at `offset` ends, be it a link or plain."""
    node, mention = block.node_at(offset), mentions.get(offset)
    return node.end if node.href is not None or mention is None else mention.end


def _reverts(text: str, at: int) -> int:
    """Return how many reverts quote a place, each taking back the one within."""
    first, last = max(0, at - _NEAR), at + _NEAR
    opening = _REVERTS.search(text, max(first, text.rfind("\n", first, at) + 1), at)
    rest = text[at:last].partition("\n")[0]
    if not opening or '"' not in rest or text.count('"', opening.end(), at) % 2:
        return 0
    return opening[0].count('"')


def _stance(before: str, keyword: str, after: str, reverts: int) -> Stance:
    """Return how a keyword is meant, by the text before it and after its reference."""
    if reverts % 2:
        return "negated"
    after = ADDRESS.sub("/0", after)
    own_line = keyword.istitle() and before.rstrip(" \t").endswith("\n")
    # A line of its own says nothing of the one before, as after "Do not merge yet".
    clause = "" if own_line else _CLAUSE_END.split(ADDRESS.sub("", before))[-1]
    words = clause.split()
    near = " ".join(words[-4:])
    if (not reverts and _REVERTED.search(clause)) or _DENIED_AFTER.match(after):
        return "negated"
    negations = list(_NEGATION.finditer(near))
    if negations:
        end = negations[-1].end()
        is_partial = (
            _WHOLE.search(near, end) or _PART.search(near, end) or _WHOLE_AFTER.match(after)
        )
        return "partial" if is_partial else "negated"
    if not reverts and before[-1:] in _QUOTES and after[:1] in _QUOTES:
        return "supposed"  # it tells of a text that says so
    question = _QUESTION.match(after)
    if question and (question[0].strip() == "?" or _ASKED.search(clause)):
        return "asked"
    hopes = _SUPPOSED.search(" ".join(words[-6:])) or _SUPPOSED_AFTER.match(after)
    if hopes or _BY_ANOTHER.search(near):
        return "supposed"
    if _PART.search(near) or near.endswith("half-") or _PART_AFTER.match(after):
        return "partial"
    return "stated"


def _excerpt(text: str, start: int, end: int) -> str:
    before = text[max(0, start - _EXCERPT_BEFORE) : start]
    after = text[start : end + _EXCERPT]
    gap = " " if before[-1:].isspace() else ""
    return (" ".join(before.split()) + gap + " ".join(after.split()))[:_EXCERPT].strip()
