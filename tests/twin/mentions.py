"""Cross references rebuilt from texts, crudely and on purpose not with the product's extractor.

GitHub makes one event for each (source, target): at the source's first mention of the target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from .store import World
from .world import Account, Entry, Event, Ref, Repository, Review, node_id

_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)"
    r"|(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\2(?!`)",
    re.DOTALL | re.MULTILINE,
)
_MENTION = re.compile(
    r"https?://github\.com/(?P<url>[\w.-]+/[\w.-]+)/(?:issues|pull)/(?P<url_number>\d+)"
    r"|(?<![\w/.-])(?P<slug>[A-Za-z0-9][\w-]*/[\w.-]+)#(?P<slug_number>\d+)\b"
    r"|(?<![\w/#&])(?:#|GH-)(?P<number>\d+)\b",
    re.IGNORECASE,
)
_KEYWORD = re.compile(
    r"(?<![\w-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+\Z", re.IGNORECASE
)
_QUOTE = re.compile(r"^ {0,3}>.*$", re.MULTILINE)


class Mention(NamedTuple):
    """A reference in a text; `closes` tells that a closing keyword stands right before it."""

    target: Ref
    closes: bool


class _Said(NamedTuple):
    at: str
    author: Account | None
    text: str
    is_body: bool


def mentions(text: str, repo: str) -> Iterator[Mention]:
    """Yield the references of a text that stands in `repo`, outside code and HTML comments."""
    shown = _HIDDEN.sub(" ", text)
    quotes = [match.span() for match in _QUOTE.finditer(shown)]
    for match in _MENTION.finditer(shown):
        name = match["url"] or match["slug"] or repo
        number = match["url_number"] or match["slug_number"] or match["number"]
        if len(number) > 9:
            continue
        quoted = any(start <= match.start() < end for start, end in quotes)
        keyword = _KEYWORD.search(shown, max(0, match.start() - 12), match.start())
        yield Mention(Ref(name, int(number)), keyword is not None and not quoted)


def link(world: World) -> None:
    """Add to all timelines the cross references that their entries' texts make.

    Sets closing references too; an event that a timeline already holds is not added again.
    """
    by_name = {repository.full_name.lower(): repository for repository in world.repositories}
    incoming: dict[Ref, list[Event]] = {}
    for repository in by_name.values():
        for entry in list(repository.entries.values()):
            events, closes = _outgoing(entry, repository, by_name)
            for event in events:
                incoming.setdefault(event.home, []).append(event)
            if entry.pull is not None:
                linked = tuple(dict.fromkeys((*closes, *entry.pull.closes)))
                pull = replace(entry.pull, closes=linked)
                world.put(replace(entry, pull=pull))
    for target, events in incoming.items():
        world.put(_insert(by_name[target.repo.lower()].entries[target.number], events))


def _outgoing(
    entry: Entry, repository: Repository, by_name: Mapping[str, Repository]
) -> tuple[list[Event], tuple[Ref, ...]]:
    first: dict[Ref, _Said] = {}
    closes: list[Ref] = []
    for statement in _said(entry):
        for mention in mentions(statement.text, entry.repo):
            home = by_name.get(mention.target.repo.lower())
            if home is None or mention.target.number not in home.entries:
                continue
            target = Ref(home.full_name, mention.target.number)
            if target == entry.ref:
                continue
            first.setdefault(target, statement)
            closable = home.entries[target.number].pull is None
            if statement.is_body and mention.closes and closable and target not in closes:
                closes.append(target)
    if entry.pull is None or entry.pull.base_ref != repository.default_branch:
        closes = []
    made = [
        Event(
            home=target,
            kind="cross-referenced",
            id=None,
            node_id=node_id("CRE", entry.id, by_name[target.repo.lower()].id, target.number),
            actor=statement.author,
            created_at=statement.at,
            source=entry.ref,
            will_close=target in closes,
        )
        for target, statement in first.items()
    ]
    return made, tuple(closes)


def _said(entry: Entry) -> list[_Said]:
    texts = [_Said(entry.created_at, entry.author, entry.body or "", is_body=True)]
    for comment in (*entry.comments, *entry.reviews, *entry.review_comments()):
        at = comment.submitted_at if isinstance(comment, Review) else comment.created_at
        texts.append(_Said(at, comment.author, comment.body or "", is_body=False))
    return sorted(texts, key=lambda statement: statement.at)


def _insert(entry: Entry, events: list[Event]) -> Entry:
    present = {item.source for item in entry.timeline if isinstance(item, Event) and item.source}
    timeline = list(entry.timeline)
    for event in sorted(events, key=lambda event: event.created_at or ""):
        if event.source in present:
            continue
        position = len(timeline)
        while position and (getattr(timeline[position - 1], "created_at", "") or "") > (
            event.created_at or ""
        ):
            position -= 1
        timeline.insert(position, event)
    return replace(entry, timeline=tuple(timeline))
