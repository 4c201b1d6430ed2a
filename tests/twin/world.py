"""What the twin serves: repositories, entries and all that happened to them, for both APIs."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

GHOST_ID = 10137
"""The REST id of the account that stands for deleted authors."""
FILES_LIMIT = 3000
SITE = "https://github.com"


def node_id(prefix: str, *parts: int) -> str:
    """Return an opaque global id in GitHub's style."""
    packed = b"".join(part.to_bytes(8, "big") for part in parts)
    return f"{prefix}_{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


@dataclass(frozen=True, slots=True)
class Account:
    """Someone who acts; `login` is GraphQL's spelling, which has no suffix for bots."""

    login: str
    id: int
    kind: str = "User"
    shown: str | None = None
    """REST's spelling where it is one of its own."""

    @property
    def rest_login(self) -> str:
        """Return REST's spelling of the login."""
        return self.shown or (f"{self.login}[bot]" if self.kind == "Bot" else self.login)


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The address of an issue or pull request."""

    repo: str
    number: int


@dataclass(frozen=True, slots=True)
class Label:
    """A label with its colour in hexadecimal."""

    name: str
    color: str = "ededed"

    @property
    def id(self) -> int:
        """Return the stable database id."""
        return 1_000_000 + zlib.crc32(self.name.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Edit:
    """A version of a text: what it was once it was written or edited; None where deleted since."""

    node_id: str
    at: str
    editor: Account | None
    body: str | None
    deleted_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A text under an entry; `author` is None for a deleted account."""

    home: Ref
    id: int
    node_id: str
    author: Account | None
    association: str
    body: str | None
    created_at: str
    updated_at: str
    edits: tuple[Edit, ...] = ()
    """With the text as it was first, the oldest first; none where it was never edited."""
    minimized: str | None = None
    """Why it was hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment(Comment):
    """A comment on a line of a pull request; `review` is None for those older than reviews."""

    path: str
    review: int | None
    reply_to: int | None
    diff_hunk: str = "@@ -1 +1 @@"
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Comment):
    """A review with the comments that belong to it; `state` is upper case."""

    state: str
    submitted_at: str
    commit_sha: str | None = None
    comments: tuple[ReviewComment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit as it stands on a pull request's timeline."""

    home: Ref
    sha: str
    message: str
    authored_at: str
    committed_at: str
    name: str = "Nobody"
    email: str = "nobody@example.org"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Any other timeline item, `kind` being REST's name of it.

    `closer` is the pull request (`Ref`) or commit (hash) that closed the entry; `details` holds
    the keys that only this kind has in REST; `comments` those of a `line-commented` thread.
    """

    home: Ref
    kind: str
    id: int | None
    node_id: str
    actor: Account | None
    created_at: str | None
    source: Ref | None = None
    subject: Ref | None = None
    canonical: Ref | None = None
    duplicate: Ref | None = None
    closer: Ref | str | None = None
    commit_sha: str | None = None
    will_close: bool = False
    from_repo: str | None = None
    assignee: Account | None = None
    comments: tuple[ReviewComment, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict)


Item = Comment | Review | Commit | Event


@dataclass(frozen=True, slots=True)
class File:
    """A file changed by a pull request; `status` is REST's word."""

    path: str
    status: str
    additions: int
    deletions: int
    previous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """What only a pull request has; `merge_sha` is the test merge while it is not merged."""

    base_ref: str
    base_sha: str
    head_ref: str
    head_sha: str
    head_repo: str | None
    merge_sha: str | None = None
    merged_at: str | None = None
    draft: bool = False
    additions: int = 0
    deletions: int = 0
    changed_files: int = 0
    files: tuple[File, ...] = ()
    closes: tuple[Ref, ...] = ()

    @property
    def merged(self) -> bool:
        """Return whether the pull request was merged."""
        return self.merged_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An issue, or a pull request when `pull` is set.

    `replies` are reviews that hold nothing but answers: GitHub lists them as reviews, but
    leaves them out of the timeline.
    """

    repo: str
    number: int
    id: int
    node_id: str
    title: str
    body: str | None
    state: str
    author: Account | None
    association: str
    created_at: str
    updated_at: str
    closed_at: str | None = None
    state_reason: str | None = None
    locked: bool = False
    labels: tuple[Label, ...] = ()
    assignees: tuple[Account, ...] = ()
    milestone: str | None = None
    issue_type: str | None = None
    parent: Ref | None = None
    sub_issues: tuple[Ref, ...] = ()
    blocked_by: tuple[Ref, ...] = ()
    blocking: tuple[Ref, ...] = ()
    duplicate_of: Ref | None = None
    pinned_comment: int | None = None
    timeline: tuple[Item, ...] = ()
    replies: tuple[Review, ...] = ()
    pull: Pull | None = None
    edits: tuple[Edit, ...] = ()

    @property
    def ref(self) -> Ref:
        """Return the entry's address."""
        return Ref(self.repo, self.number)

    @property
    def comments(self) -> list[Comment]:
        """Return the plain comments in timeline order."""
        return [item for item in self.timeline if type(item) is Comment]

    @property
    def reviews(self) -> list[Review]:
        """Return the reviews in order of time."""
        shown = [item for item in self.timeline if type(item) is Review]
        return sorted((*shown, *self.replies), key=lambda review: (review.submitted_at, review.id))

    @property
    def commits(self) -> list[Commit]:
        """Return the commits in timeline order."""
        return [item for item in self.timeline if type(item) is Commit]

    def review_comments(self) -> Iterator[ReviewComment]:
        """Yield all comments on lines, those of reviews and those older than reviews."""
        for item in self.timeline:
            if isinstance(item, Review | Event):
                yield from item.comments
        for review in self.replies:
            yield from review.comments


ORDERS: Mapping[str, Callable[[Any], tuple[Any, ...]]] = {
    "created": lambda entry: (entry.created_at, entry.id),
    "updated": lambda entry: (entry.updated_at, entry.id),
    "comments": lambda entry: (len(entry.comments), entry.id),
}
"""What entries and discussions are sorted by."""


@dataclass(frozen=True, slots=True)
class Category:
    """A category of discussions."""

    name: str
    slug: str
    is_answerable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscussionComment(Comment):
    """A comment on a discussion, or a reply to one."""

    reply_to: int | None = None
    deleted_at: str | None = None
    upvotes: int = 1
    reactions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Discussion:
    """A discussion with its comments and their replies, in order of time."""

    home: Ref
    id: int
    node_id: str
    title: str
    body: str
    author: Account | None
    association: str
    created_at: str
    updated_at: str
    category: Category
    edits: tuple[Edit, ...] = ()
    closed_at: str | None = None
    state_reason: str | None = None
    locked: bool = False
    labels: tuple[Label, ...] = ()
    upvotes: int = 1
    reactions: int = 0
    answer: int | None = None
    answer_chosen_at: str | None = None
    answer_chosen_by: Account | None = None
    comments: tuple[DiscussionComment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository; edits change `entries` and `discussions`, both by number, in place."""

    owner: str
    name: str
    id: int
    created_at: str
    pushed_at: str
    description: str | None = None
    default_branch: str = "main"
    language: str | None = None
    license: str | None = None
    stars: int = 0
    forks: int = 0
    is_fork: bool = False
    archived: bool = False
    private: bool = False
    blocked: int = 0
    """REST's status where it was taken down: 451 by law, 403 by GitHub's own rules."""
    entries: dict[int, Entry] = field(default_factory=dict)
    deleted: frozenset[int] = frozenset()
    moved: Mapping[int, Ref] = field(default_factory=dict)
    unlisted_files: frozenset[int] = frozenset()
    has_issues: bool = True
    has_discussions: bool = False
    discussions: dict[int, Discussion] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return f"{self.owner}/{self.name}"


def made_up_repository(name: str, identity: int, **facts: Any) -> Repository:
    """Return one of the repositories of `prospector`, by default in Python and under MIT."""
    common = {"language": "Python", "license": "MIT", "created_at": "2023-01-02T09:00:00Z"}
    known: dict[str, Any] = {**common, "pushed_at": "2024-06-01T12:00:00Z", **facts}
    return Repository(owner="prospector", name=name, id=identity, **known)


def stub_repository(full_name: str) -> Repository:
    """Return a plausible fork for a name of which the world knows nothing else."""
    owner, _, name = full_name.partition("/")
    return Repository(
        owner=owner,
        name=name,
        id=2_000_000_000 + zlib.crc32(full_name.encode()) % 1_000_000_000,
        created_at="2015-01-01T00:00:00Z",
        pushed_at="2015-01-01T00:00:00Z",
        is_fork=True,
    )


def threads(entry: Entry) -> list[Event]:
    """Return the review threads: those older than reviews, then one for each first comment."""
    recorded = [item for item in entry.timeline if isinstance(item, Event) and item.comments]
    roots: dict[int, list[ReviewComment]] = {}
    for review in entry.reviews:
        for comment in review.comments:
            root = comment.reply_to if comment.reply_to in roots else comment.id
            roots.setdefault(root or comment.id, []).append(comment)
    made = [
        Event(
            home=entry.ref,
            kind="line-commented",
            id=None,
            node_id=f"PRRT_{comments[0].node_id}",
            actor=None,
            created_at=comments[0].created_at,
            comments=tuple(comments),
        )
        for comments in roots.values()
    ]
    return recorded + made
