"""Which resolver answers which field, for the fields that are not attributes of that name."""

from __future__ import annotations

import re
import zlib

from . import resolvers
from .discussions import DISCUSSION_FIELDS
from .resolvers import Resolver, attribute, key, linked, world
from .store import merge_commit, repository_node_id
from .world import Account, node_id


def _itself(source: object, info: object, **_: object) -> object:
    return source


_STATUS = {"removed": "DELETED"}

_COMMENT: dict[str, Resolver] = {
    "fullDatabaseId": lambda source, info: str(source.id),
    "body": lambda source, info: source.body or "",
    "authorAssociation": attribute("association"),
    "lastEditedAt": resolvers.last_edited_at,
    "isMinimized": lambda source, info: source.minimized is not None,
    "minimizedReason": attribute("minimized"),
    "id": attribute("node_id"),
    "repository": resolvers.repository,
}
_ENTRY: dict[str, Resolver] = {
    **_COMMENT,
    "state": resolvers.entry_state,
    "stateReason": resolvers.state_reason,
    "issueType": attribute("issue_type"),
    "parent": linked("parent"),
    "duplicateOf": linked("duplicate_of"),
    "pinnedIssueComment": resolvers.pinned_comment,
    "subIssuesSummary": lambda source, info: {"total": len(source.sub_issues)},
    "issueDependenciesSummary": lambda source, info: {
        "totalBlockedBy": len(source.blocked_by),
        "totalBlocking": len(source.blocking),
    },
}
_ACCOUNT: dict[str, Resolver] = {
    "databaseId": lambda source, info: resolvers.small(source.id),
    "id": lambda source, info: node_id("U", source.id),
}
_EVENT: dict[str, Resolver] = {
    "id": attribute("node_id"),
    "willCloseTarget": attribute("will_close"),
    "source": linked("source"),
    "subject": linked("subject"),
    "canonical": linked("canonical"),
    "duplicate": linked("duplicate"),
    "closer": resolvers.closer,
    "fromRepository": lambda source, info: (
        world(info).repository(source.from_repo) if source.from_repo else None
    ),
    "label": resolvers.event_label,
    "assignee": resolvers.event_assignee,
    "currentTitle": resolvers.detail("rename", "to"),
    "previousTitle": resolvers.detail("rename", "from"),
    "milestoneTitle": resolvers.detail("milestone", "title"),
}


def _pull(names: str) -> dict[str, Resolver]:
    return {
        re.sub(r"_(\w)", lambda m: m[1].upper(), name): attribute(f"pull.{name}")
        for name in names.split()
    }


FIELDS: dict[str, dict[str, Resolver]] = {
    "Query": {
        "repository": resolvers.find_repository,
        "node": lambda source, info, id: resolvers.find_node(world(info), id),
        "nodes": lambda source, info, ids: [
            resolvers.find_node(world(info), identity) for identity in ids
        ],
        "rateLimit": lambda source, info, **_: info.context.rate,
    },
    "RateLimit": {
        name: key(name) for name in ("cost", "limit", "nodeCount", "remaining", "resetAt", "used")
    },
    "PageInfo": {"endCursor": attribute("end"), "hasNextPage": attribute("has_next")},
    **dict.fromkeys(("User", "Bot", "Mannequin", "Organization"), _ACCOUNT),
    "Repository": {
        "id": lambda source, info: repository_node_id(source),
        "nameWithOwner": attribute("full_name"),
        "owner": lambda source, info: Account(source.owner, source.id, "Organization"),
        "isPrivate": attribute("private"),
        "isArchived": attribute("archived"),
        "hasDiscussionsEnabled": attribute("has_discussions"),
        "discussion": lambda source, info, number: source.discussions.get(number),
        "stargazerCount": attribute("stars"),
        "forkCount": attribute("forks"),
        "defaultBranchRef": lambda source, info: source.default_branch or None,
        "primaryLanguage": attribute("language"),
        "licenseInfo": attribute("license"),
        "issue": resolvers.numbered("an Issue", pull=False),
        "issueOrPullRequest": resolvers.numbered("an issue or pull request", pull=None),
    },
    "Ref": {"id": _itself, "name": _itself},
    "Language": {"id": _itself, "name": _itself},
    "Milestone": {
        "id": lambda source, info: node_id("MI", zlib.crc32(source.encode())),
        "title": _itself,
    },
    "IssueType": {
        "id": lambda source, info: node_id("IT", zlib.crc32(source.encode())),
        "name": _itself,
    },
    "PinnedIssueComment": {
        "id": lambda source, info: node_id("PIC", source.id),
        "issueComment": _itself,
    },
    "SubIssuesSummary": {name: key(name) for name in ("total",)},
    "IssueDependenciesSummary": {name: key(name) for name in ("totalBlockedBy", "totalBlocking")},
    "License": {"id": _itself, "spdxId": _itself},
    **DISCUSSION_FIELDS,
    "Issue": _ENTRY,
    "PullRequest": {
        **_ENTRY,
        **_pull("merged merged_at additions deletions changed_files"),
        "isDraft": attribute("pull.draft"),
        "baseRefName": attribute("pull.base_ref"),
        "baseRefOid": attribute("pull.base_sha"),
        "headRefName": attribute("pull.head_ref"),
        "headRefOid": attribute("pull.head_sha"),
        "headRepository": resolvers.head_repository,
        "mergeCommit": lambda source, info: merge_commit(source),
    },
    "IssueComment": _COMMENT,
    "PullRequestReview": _COMMENT,
    "PullRequestReviewComment": {
        **_COMMENT,
        "replyTo": resolvers.reply_to,
        "pullRequestReview": resolvers.own_review,
    },
    "PullRequestReviewThread": {"id": attribute("node_id")},
    "PullRequestChangedFile": {
        "changeType": lambda source, info: _STATUS.get(source.status, source.status.upper())
    },
    "PullRequestCommit": {
        "id": lambda source, info: f"PURC_{source.sha}_{source.home.number}",
        "commit": _itself,
    },
    "Commit": {
        "id": lambda source, info: f"C_{source.sha}",
        "oid": attribute("sha"),
        "authoredDate": attribute("authored_at"),
        "committedDate": attribute("committed_at"),
    },
    "UserContentEdit": {
        "id": attribute("node_id"),
        "editedAt": attribute("at"),
        "diff": attribute("body"),
    },
    "Label": {"id": lambda source, info: node_id("LA", source.id)},
    "_Event": _EVENT,
    "_Connection": {
        "pageInfo": _itself,
        "totalCount": attribute("total"),
        "filteredCount": attribute("filtered"),
    },
}
"""Resolvers by type; `_Event` and `_Connection` stand for all types named so."""
