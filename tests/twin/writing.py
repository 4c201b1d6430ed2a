"""Adding to a world: entries, comments, reviews and events, at fixed times."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from .store import World
from .world import (
    Account,
    Comment,
    Commit,
    Edit,
    Entry,
    Event,
    File,
    Item,
    Label,
    Pull,
    Ref,
    Repository,
    Review,
    ReviewComment,
    node_id,
)

MAINTAINER = Account("wheelwright", 4_100_001)
VISITOR = Account("marlow-k", 4_100_002)
_FIRST_ID = 3_000_000_000
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def sha(text: str) -> str:
    """Return a commit hash made from a text."""
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def with_edit(text: Any, body: str | None, at: str, editor: Account | None) -> tuple[Edit, ...]:
    """Return the versions of an entry, a comment or a discussion once it is edited."""
    first = Edit(node_id("UCE", text.id, 0), text.created_at, text.author, text.body)
    edits = text.edits or (first,)
    return (*edits, Edit(node_id("UCE", text.id, len(edits)), at, editor, body))


class Hand:
    """Acts in one repository of a world.

    Everything happens `step` seconds after the edit before unless it is told when (`at`), so
    the same edits make the same world.
    """

    def __init__(self, world: World, repo: str | None, start: str | None, step: int) -> None:
        self.world = world
        self.repo = repo or world.main.full_name
        entries = self.repository.entries.values()
        newest = max((entry.updated_at for entry in entries), default=self.repository.created_at)
        self._now = datetime.strptime(start or newest, _FORMAT).replace(tzinfo=UTC)
        self._step = timedelta(seconds=step)

    @property
    def repository(self) -> Repository:
        """Return the repository as it stands."""
        repository = self.world.repository(self.repo)
        if repository is None:
            raise LookupError(f"no repository {self.repo}")
        return repository

    def new_number(self) -> int:
        """Return the number of the next entry or discussion, which share one space."""
        repository = self.repository
        used = {*repository.entries, *repository.deleted, *repository.moved}
        return max(used | repository.discussions.keys(), default=0) + 1

    def tick(self, at: str | None = None) -> str:
        """Return the time of the next edit."""
        if at is not None:
            return at
        self._now += self._step
        return self._now.strftime(_FORMAT)


class Writer(Hand):
    """Adds to one repository of a world; ids go on after the largest one there is."""

    def __init__(
        self, world: World, repo: str | None = None, *, start: str | None = None, step: int = 3600
    ) -> None:
        super().__init__(world, repo, start, step)
        first = _FIRST_ID + self.repository.id % 1000 * 10_000_000
        self._id = max((first, *map(_largest_id, self.repository.entries.values())))

    def entry(self, number: int) -> Entry:
        """Return an entry as it stands."""
        return self.repository.entries[number]

    def _new_id(self) -> int:
        self._id += 1
        return self._id

    def issue(
        self,
        title: str,
        body: str | None = "",
        *,
        author: Account | None = VISITOR,
        association: str = "NONE",
        labels: Sequence[str] = (),
        at: str | None = None,
        pull: Pull | None = None,
        timeline: Sequence[Commit] = (),
    ) -> int:
        """Open an issue; return its number."""
        now, identity, number = self.tick(at), self._new_id(), self.new_number()
        home = Ref(self.repo, number)
        self.world.put(
            Entry(
                repo=self.repo,
                number=number,
                id=identity,
                node_id=node_id("PR" if pull else "I", identity),
                title=title,
                body=body,
                state="open",
                author=author,
                association=association,
                created_at=now,
                updated_at=now,
                labels=tuple(map(Label, labels)),
                timeline=tuple(replace(commit, home=home) for commit in timeline),
                pull=pull,
            )
        )
        return number

    def pull(
        self,
        title: str,
        body: str | None = "",
        *,
        author: Account | None = VISITOR,
        association: str = "CONTRIBUTOR",
        labels: Sequence[str] = (),
        base: str | None = None,
        head: str = "topic",
        head_repo: str | None = "marlow-k/sluice",
        commits: Sequence[str] = (),
        files: Sequence[File] = (),
        draft: bool = False,
        at: str | None = None,
    ) -> int:
        """Open a pull request; return its number."""
        now = self.tick(at)
        made = [
            Commit(
                home=Ref(self.repo, 0),
                sha=sha(f"{self.repo} {title} {index} {message}"),
                message=message,
                authored_at=now,
                committed_at=now,
                name="Marlow K",
                email="marlow@example.org",
            )
            for index, message in enumerate(commits or (title,))
        ]
        pull = Pull(
            base_ref=base or self.repository.default_branch,
            base_sha=sha(f"base of {title}"),
            head_ref=head,
            head_sha=made[-1].sha,
            head_repo=head_repo,
            draft=draft,
            additions=sum(file.additions for file in files),
            deletions=sum(file.deletions for file in files),
            changed_files=len(files),
            files=tuple(files),
        )
        return self.issue(
            title,
            body,
            author=author,
            association=association,
            labels=labels,
            at=now,
            pull=pull,
            timeline=made,
        )

    def _comment_fields(
        self,
        number: int,
        prefix: str,
        body: str | None,
        author: Account | None,
        now: str,
        association: str | None = None,
    ) -> dict[str, Any]:
        identity = self._new_id()
        return {
            "home": Ref(self.repo, number),
            "id": identity,
            "node_id": node_id(prefix, identity),
            "author": author,
            "association": association or ("OWNER" if author == MAINTAINER else "NONE"),
            "body": body,
            "created_at": now,
            "updated_at": now,
        }

    def comment(
        self,
        number: int,
        body: str,
        *,
        author: Account | None = MAINTAINER,
        association: str | None = None,
        at: str | None = None,
    ) -> int:
        """Write a comment; return its id."""
        now = self.tick(at)
        made = Comment(**self._comment_fields(number, "IC", body, author, now, association))
        self.append(number, made, now)
        return made.id

    def review(
        self,
        number: int,
        state: str = "APPROVED",
        body: str = "",
        comments: Sequence[tuple[str, str]] = (),
        *,
        author: Account | None = MAINTAINER,
        association: str | None = None,
        at: str | None = None,
    ) -> int:
        """Review a pull request, with (path, body) comments on lines; return the review's id."""
        now = self.tick(at)
        common = self._comment_fields(number, "PRR", body, author, now, association)
        pull = self.entry(number).pull
        made = Review(
            **common,
            state=state,
            submitted_at=now,
            commit_sha=pull.head_sha if pull else None,
            comments=tuple(
                self._line_comment(number, path, text, author, now, common["id"])
                for path, text in comments
            ),
        )
        self.append(number, made, now)
        return made.id

    def _line_comment(
        self,
        number: int,
        path: str,
        body: str,
        author: Account | None,
        now: str,
        review: int | None,
        reply_to: int | None = None,
    ) -> ReviewComment:
        return ReviewComment(
            **self._comment_fields(number, "PRRC", body, author, now),
            path=path,
            review=review,
            reply_to=reply_to,
            line=1,
        )

    def reply(
        self,
        number: int,
        to: int,
        body: str,
        *,
        author: Account | None = VISITOR,
        at: str | None = None,
    ) -> int:
        """Answer a review comment, which makes a review that timelines do not show."""
        now, entry = self.tick(at), self.entry(number)
        path = next(comment.path for comment in entry.review_comments() if comment.id == to)
        common = self._comment_fields(number, "PRR", "", author, now)
        answer = self._line_comment(number, path, body, author, now, common["id"], to)
        review = Review(**common, state="COMMENTED", submitted_at=now, comments=(answer,))
        self.world.put(replace(entry, replies=(*entry.replies, review), updated_at=now))
        return answer.id

    def old_thread(self, number: int, path: str, bodies: Sequence[str]) -> None:
        """Comment on a line as one did before there were reviews."""
        now = self.tick()
        first = self._line_comment(number, path, bodies[0], MAINTAINER, now, None)
        rest = [
            self._line_comment(number, path, body, VISITOR, now, None, first.id)
            for body in bodies[1:]
        ]
        self.event(number, "line-commented", at=now, comments=(first, *rest))

    def event(
        self,
        number: int,
        kind: str,
        *,
        actor: Account | None = MAINTAINER,
        at: str | None = None,
        touch: bool = True,
        **fields: Any,
    ) -> None:
        """Add any other event; `touch` False leaves `updated_at` alone."""
        now, identity = self.tick(at), self._new_id()
        made = Event(
            home=Ref(self.repo, number),
            kind=kind,
            id=identity,
            node_id=node_id("EV", identity),
            actor=actor,
            created_at=now,
            **fields,
        )
        self.append(number, made, now if touch else None)

    def append(self, number: int, item: Item, touched: str | None) -> None:
        """Add a finished timeline item; `touched` becomes the time of the last update."""
        entry = self.entry(number)
        timeline = (*entry.timeline, item)
        self.world.put(replace(entry, timeline=timeline, updated_at=touched or entry.updated_at))


def _largest_id(entry: Entry) -> int:
    ids = [
        item.id or 0 for item in (*entry.timeline, *entry.replies) if not isinstance(item, Commit)
    ]
    return max([entry.id, *ids, *(comment.id for comment in entry.review_comments())])
