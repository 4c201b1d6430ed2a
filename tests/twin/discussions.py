"""Discussions of the twin: what they are, what people do in them, and GraphQL's view of them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .editing import Editor
from .paging import Page, in_order, paginate
from .resolvers import Info, Resolver, attribute, last_edited_at, small, upper, world
from .store import World
from .world import (
    Account,
    Category,
    Discussion,
    DiscussionComment,
    Label,
    Ref,
    made_up_repository,
    node_id,
)
from .writing import MAINTAINER, VISITOR, Hand, with_edit

QUESTIONS = Category("Q&A", "q-a", True)
IDEAS = Category("Ideas", "ideas", False)
_START = "2024-02-01T08:00:00Z"
_FIRST_ID = 7_000_000
"""GitHub numbers discussions apart, and so far within 32 bits."""


class Forum(Hand):
    """Edits the discussions of a world's main repository, an hour after each other."""

    def __init__(self, world: World) -> None:
        super().__init__(world, None, _START, 3600)
        self._has_discussions(True)

    def discussion(self, number: int) -> Discussion:
        """Return a discussion as it stands."""
        return self.repository.discussions[number]

    def ask(
        self,
        title: str,
        body: str = "",
        *,
        author: Account | None = VISITOR,
        category: Category = QUESTIONS,
        labels: Sequence[str] = (),
    ) -> int:
        """Start a discussion; return its number, which no issue has."""
        now, identity, number = self.tick(), self._new_id(), self.new_number()
        self._put(
            Discussion(
                home=Ref(self.repo, number),
                id=identity,
                node_id=node_id("D", identity),
                title=title,
                body=body,
                author=author,
                association="NONE",
                created_at=now,
                updated_at=now,
                category=category,
                labels=tuple(map(Label, labels)),
            )
        )
        return number

    def say(
        self,
        number: int,
        body: str,
        *,
        author: Account | None = MAINTAINER,
        to: int | None = None,
        reactions: int = 0,
    ) -> int:
        """Comment on a discussion, or reply `to` a comment; return the comment's id."""
        now, identity = self.tick(), self._new_id()
        made = DiscussionComment(
            home=Ref(self.repo, number),
            id=identity,
            node_id=node_id("DC", identity),
            author=author,
            association="OWNER" if author == MAINTAINER else "NONE",
            body=body,
            created_at=now,
            updated_at=now,
            reply_to=to,
            reactions=reactions,
        )
        discussion = self.discussion(number)
        self._put(replace(discussion, comments=(*discussion.comments, made), updated_at=now))
        return made.id

    def revise(self, number: int, body: str, *, comment: int | None = None) -> None:
        """Edit the text of a discussion or of one of its comments."""
        discussion = self.discussion(number)
        if comment is None:
            edits = with_edit(discussion, body, self.tick(), discussion.author)
            self.change(number, body=body, edits=edits)
            return
        said = next(each for each in discussion.comments if each.id == comment)
        edits = with_edit(said, body, self.tick(), said.author)
        self.change_comment(number, comment, body=body, edits=edits)

    def accept(self, number: int, comment: int, *, by: Account | None = VISITOR) -> None:
        """Mark a comment as the answer."""
        now = self.tick()
        self.change(number, answer=comment, answer_chosen_at=now, answer_chosen_by=by)

    def change_comment(self, number: int, comment: int, **values: Any) -> None:
        """Change a comment, which leaves the discussion's time of update alone."""
        discussion = self.discussion(number)
        comments = tuple(
            replace(each, **values) if each.id == comment else each for each in discussion.comments
        )
        self._put(replace(discussion, comments=comments))

    def delete_comment(self, number: int, comment: int) -> None:
        """Delete a comment; one that has replies leaves a place without text."""
        discussion = self.discussion(number)
        if any(each.reply_to == comment for each in discussion.comments):
            self.change_comment(number, comment, body="", deleted_at=self.tick(), author=None)
        else:
            left = tuple(each for each in discussion.comments if each.id != comment)
            self._put(replace(discussion, comments=left))
        if discussion.answer == comment:
            self._put(replace(self.discussion(number), answer=None, updated_at=self.tick()))

    def change(self, number: int, **values: Any) -> None:
        """Change a discussion itself."""
        self._put(replace(self.discussion(number), **values, updated_at=self.tick()))

    def delete(self, number: int) -> None:
        """Delete a discussion."""
        del self.repository.discussions[number]
        self.world.put_repository(self.repository)

    def turn_off(self) -> None:
        """Turn the discussions of the repository off, which hides those there are."""
        self._has_discussions(False)

    def _has_discussions(self, has: bool) -> None:
        self.world.put_repository(replace(self.repository, has_discussions=has))

    def _put(self, discussion: Discussion) -> None:
        self.repository.discussions[discussion.home.number] = discussion
        self.world.put_repository(self.repository)

    def _new_id(self) -> int:
        used = [
            identity
            for repository in self.world.repositories
            for discussion in repository.discussions.values()
            for identity in (discussion.id, *(comment.id for comment in discussion.comments))
        ]
        return max(used, default=_FIRST_ID) + 1


def talk(forum: Forum) -> dict[str, int]:
    """Hold discussions of every kind; return their numbers by what they are good for."""
    helper = Account("ferry-n", 4_100_009)
    numbers = {}

    def ask(name: str, title: str, body: str, **more: Any) -> int:
        numbers[name] = forum.ask(title, body, **more)
        return numbers[name]

    number = ask(
        "by_asker",
        "How do I sieve a stream without reading all of it?",
        "My records come over a socket and never end. Which call stops after the first match?",
        labels=("help wanted",),
    )
    answer = forum.say(
        number,
        "Use `sluice.first(stream, want)`: it reads record by record and stops at the first match.",
        reactions=2,
    )
    forum.say(number, "Thank you, that was it.", author=VISITOR, to=answer)
    forum.accept(number, answer)
    number = ask(
        "by_maintainer",
        "Can two sieves share one buffer?",
        "I have two sieves over the same file and would like to read the file only once.",
    )
    first = forum.say(number, "Which version do you have in mind here?", author=helper)
    reply = forum.say(
        number,
        "Yes: give both of them `buffer=shared`, where `shared = sluice.Buffer(path)`.",
        author=helper,
        to=first,
    )
    forum.accept(number, reply, by=MAINTAINER)
    number = ask(
        "ghosts",
        "Where does the sieve keep what it has not matched?",
        "After a run of an hour the process is small, so it cannot all be in memory.",
        author=None,
    )
    answer = forum.say(
        number, "It keeps nothing: what does not match is dropped at once.", author=None
    )
    forum.accept(number, answer, by=None)
    number = ask("open", "Is there a way to count what was dropped?", "A number would be enough.")
    forum.say(number, "Not yet, sorry.", author=helper)
    number = ask(
        "deleted", "Why does the sieve not close its file?", "It stays open until the program ends."
    )
    answer = forum.say(number, "Call `close()`, or use it in a `with` block.")
    forum.accept(number, answer)
    forum.delete_comment(number, answer)
    number = ask(
        "minimized", "How do I install the newest version?", "The index still has the older one."
    )
    answer = forum.say(number, "Buy our cheap gold pans at the address in my profile.")
    forum.accept(number, answer)
    forum.change_comment(number, answer, minimized="spam")
    number = ask("idea", "Sieves that learn", "They could learn what is wanted.", category=IDEAS)
    forum.say(number, "That would be another library.")
    number = ask(
        "robot", "Does the sieve run on small machines?", "I have one with 64 MB of memory."
    )
    answer = forum.say(
        number, "This was answered in the manual.", author=Account("faq-helper", 4_100_010, "Bot")
    )
    forum.accept(number, answer, by=MAINTAINER)
    return numbers


def hold_long(forum: Forum, comments: int, replies: int) -> int:
    """Hold a discussion of so many comments, the second of which has so many replies."""
    number = forum.ask(
        "Which streams do you sieve?", "Tell how long yours are, in one comment each."
    )
    for at in range(comments):
        comment = forum.say(number, f"Mine has {at + 1} million records, and the sieve takes it.")
        for turn in range(replies if at == 1 else 0):
            forum.say(number, f"Reply {turn + 1}: how many match?", author=VISITOR, to=comment)
    return number


def forum_world() -> World:
    """Return a small library whose users rather ask in discussions than in issues."""
    world = World(made_up_repository("sluice", 61_000_003))
    editor = Editor(world, start="2024-01-01T09:00:00Z")
    number = editor.issue(
        "How do I sieve two columns at once?",
        "I would like to keep the rows where both columns match, in one pass over the file.",
    )
    editor.comment(
        number,
        "Give one predicate that asks for both columns, because a sieve calls it once for each row:"
        "\n\n```python\nsluice.sieve(rows, lambda row: heavy(row) and north(row))\n```\n",
    )
    editor.comment(number, "Thank you, that works.", author=VISITOR)
    editor.close(number)
    editor.issue(
        "The sieve loses its last record", "With an odd number of records the last is lost."
    )
    return world


def _discussions(source: Any, info: Info, **arguments: Any) -> Page:
    items = list(source.discussions.values()) if source.has_discussions else []
    return in_order(items, f"{source.id}:discussions", arguments)


def _comments(source: Discussion, info: Info, **arguments: Any) -> Page:
    items = [comment for comment in source.comments if comment.reply_to is None]
    return paginate(items, f"{source.node_id}:comments", arguments)


def _replies(source: DiscussionComment, info: Info, **arguments: Any) -> Page:
    items = [comment for comment in _own(source, info).comments if comment.reply_to == source.id]
    return paginate(items, f"{source.node_id}:replies", arguments)


def _labels(source: Discussion, info: Info, **arguments: Any) -> Page:
    return paginate(source.labels, f"{source.node_id}:labels", arguments)


def _reactions(source: Discussion | DiscussionComment, info: Info, **arguments: Any) -> Page:
    return paginate(range(source.reactions), f"{source.node_id}:reactions", arguments)


def _own(source: DiscussionComment, info: Info) -> Discussion:
    repository = world(info).repository(source.home.repo)
    assert repository is not None
    return repository.discussions[source.home.number]


def _comment_of(source: Discussion, identity: int | None) -> DiscussionComment | None:
    return next((comment for comment in source.comments if comment.id == identity), None)


_TEXT: dict[str, Resolver] = {
    "id": attribute("node_id"),
    "databaseId": lambda source, info: small(source.id),
    "authorAssociation": attribute("association"),
    "lastEditedAt": last_edited_at,
    "upvoteCount": attribute("upvotes"),
}
DISCUSSION_CONNECTIONS: dict[tuple[str, str], Resolver] = {
    ("Repository", "discussions"): _discussions,
    ("Discussion", "comments"): _comments,
    ("Discussion", "labels"): _labels,
    ("Discussion", "reactions"): _reactions,
    ("DiscussionComment", "replies"): _replies,
    ("DiscussionComment", "reactions"): _reactions,
}
DISCUSSION_FIELDS: dict[str, dict[str, Resolver]] = {
    "Discussion": {
        **_TEXT,
        "answer": lambda source, info: _comment_of(source, source.answer),
        "closed": lambda source, info: source.closed_at is not None,
        "isAnswered": lambda source, info: (
            source.answer is not None if source.category.is_answerable else None
        ),
        "number": attribute("home.number"),
        "repository": lambda source, info: world(info).repository(source.home.repo),
        "stateReason": upper("state_reason"),
    },
    "DiscussionCategory": {
        "id": lambda source, info: node_id("DIC", zlib.crc32(source.slug.encode()))
    },
    "DiscussionComment": {
        **_TEXT,
        "isAnswer": lambda source, info: _own(source, info).answer == source.id,
        "isMinimized": lambda source, info: source.minimized is not None,
        "minimizedReason": attribute("minimized"),
    },
}
