"""The tables that come out of GH Archive, and the events that there are.

One Parquet file an hour holds the events that were asked for; `hours.parquet` says of each hour
how it went. A null says that the event does not tell the value, never that it is zero.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from goldpan.core.errors import UsageError
from goldpan.core.registry import unknown_name
from goldpan.core.schemas import Table

_TEXT = pa.string()
_COUNT = pa.int64()
_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))

ARCHIVE_EVENTS = Table(
    "archive_events",
    pa.schema(
        [
            ("hour", _TIME),  # of the file; events lie up to some hours beside it until 2014
            ("line", _COUNT),  # in the hour's file, from 1; objects joined on a line count each
            ("event_id", _TEXT),  # null from 2012 to 2014
            ("type", _TEXT),
            ("action", _TEXT),  # lower case
            ("at", _TIME),
            ("repo", _TEXT),
            ("repo_id", _COUNT),
            ("number", _COUNT),
            ("issue_id", _COUNT),
            ("kind", _TEXT),  # issue | pull
            ("title", _TEXT),
            ("body", _TEXT),
            ("state", _TEXT),  # open | closed
            ("labels", _TEXTS),
            ("author", _TEXT),  # who wrote the issue; who wrote the comment is the actor
            ("author_type", _TEXT),
            ("author_association", _TEXT),
            ("actor", _TEXT),
            ("created_at", _TIME),
            ("updated_at", _TIME),
            ("closed_at", _TIME),
            ("comment_id", _COUNT),
            ("comment_body", _TEXT),
        ]
    ),
    order=("hour", "line"),
    key=("hour", "line"),
)

ARCHIVE_HOURS = Table(
    "archive_hours",
    pa.schema(
        [
            ("hour", _TIME),
            ("file", _TEXT),
            ("state", _TEXT),  # whole | truncated | damaged | unreadable | missing | failed
            ("reason", _TEXT),  # why it is not whole
            ("bytes", _COUNT),  # of the file as it is on the server or disk
            ("sha256", _TEXT),
            ("lines", _COUNT),
            ("events", _COUNT),  # kept
            ("corrupt", _COUNT),  # lines that are no event
            ("types", _TEXTS),  # the events that were asked for
            ("reader", _COUNT),  # the version of the reader
        ]
    ),
    order=("hour",),
    key=("hour",),
)

ISSUES = "IssuesEvent"
COMMENTS = "IssueCommentEvent"
PULLS = "PullRequestEvent"

TYPES = (
    "CommitCommentEvent",
    "CreateEvent",
    "DeleteEvent",
    "DiscussionCommentEvent",
    "DiscussionEvent",
    "DownloadEvent",
    "FollowEvent",
    "ForkApplyEvent",
    "ForkEvent",
    "GistEvent",
    "GollumEvent",
    COMMENTS,
    ISSUES,
    "MemberEvent",
    "PublicEvent",
    PULLS,
    "PullRequestReviewCommentEvent",
    "PullRequestReviewEvent",
    "PullRequestReviewThreadEvent",
    "PushEvent",
    "ReleaseEvent",
    "SponsorshipEvent",
    "TeamAddEvent",
    "WatchEvent",
)
"""Every type of event that GH Archive holds or once held."""


def event_types(names: Iterable[str]) -> tuple[str, ...]:
    """Return the named types, each once and sorted; raises `UsageError` for unknown ones."""
    types = sorted({name.strip() for name in names if name.strip()})
    if not types:
        raise UsageError("--event names no type of event", f"Give --event {ISSUES}")
    for name in types:
        if name not in TYPES:
            raise unknown_name("event", name, TYPES)
    return tuple(types)
