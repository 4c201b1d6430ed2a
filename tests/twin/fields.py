"""Which resolver answers which field, for the fields that are not attributes of that name."""

from __future__ import annotations

import re
import zlib

from .discussions import DISCUSSION_FIELDS
from .resolvers import (
    Info,
    Resolver,
    attribute,
    closer,
    comment_pull,
    commit,
    constant,
    detail,
    edges,
    entry_state,
    event_assignee,
    event_label,
    find_node,
    find_repository,
    has_edits,
    head_repository,
    html_url,
    key,
    last_edited_at,
    linked,
    merge_ref,
    numbered,
    own_review,
    parts,
    person,
    pinned_comment,
    reply_to,
    repository,
    small,
    state_reason,
    thread_path,
    ties,
    world,
)
from .store import merge_commit, repository_node_id
from .world import Account, Comment, Commit, node_id


def _first_line(source: Commit, info: Info) -> str:
    return source.message.partition("\n")[0]


def _further_lines(source: Commit, info: Info) -> str:
    return source.message.partition("\n")[2].lstrip("\n")


def _itself(source: object, info: Info, **_: object) -> object:
    return source


def _full_id(source: Comment, info: Info) -> str:
    return str(source.id)


def _small_id(source: Comment, info: Info) -> int | None:
    return small(source.id)


def _body(source: Comment, info: Info) -> str:
    return source.body or ""


_STATUS = {"removed": "DELETED"}

_COMMENT: dict[str, Resolver] = {
    "fullDatabaseId": _full_id,
    "databaseId": _small_id,
    "body": _body,
    "authorAssociation": attribute("association"),
    "publishedAt": attribute("created_at"),
    "lastEditedAt": last_edited_at,
    "includesCreatedEdit": has_edits,
    "id": attribute("node_id"),
    "repository": repository,
    "url": html_url,
    "isMinimized": constant(False),
    "minimizedReason": constant(None),
    "pullRequest": comment_pull,
}
_ENTRY: dict[str, Resolver] = {
    **_COMMENT,
    "state": entry_state,
    "closed": lambda source, info: source.state == "closed",
    "activeLockReason": constant(None),
    "stateReason": state_reason,
    "issueType": attribute("issue_type"),
    "parent": linked("parent"),
    "duplicateOf": linked("duplicate_of"),
    "pinnedIssueComment": pinned_comment,
    "subIssuesSummary": parts,
    "issueDependenciesSummary": ties,
}
_ACCOUNT: dict[str, Resolver] = {
    "databaseId": _small_id,
    "id": lambda source, info: node_id("U", source.id),
    "createdAt": constant("2012-01-01T00:00:00Z"),
    "name": constant(None),
}
_EVENT: dict[str, Resolver] = {
    "id": attribute("node_id"),
    "isCrossRepository": lambda source, info: bool(
        source.source and source.source.repo != source.home.repo
    ),
    "referencedAt": attribute("created_at"),
    "willCloseTarget": attribute("will_close"),
    "source": linked("source"),
    "target": linked("home"),
    "subject": linked("subject"),
    "canonical": linked("canonical"),
    "duplicate": linked("duplicate"),
    "issue": linked("home"),
    "closer": closer,
    "commit": commit,
    "stateReason": lambda source, info: (
        str(source.details["state_reason"]).upper() if source.details.get("state_reason") else None
    ),
    "fromRepository": lambda source, info: (
        world(info).repository(source.from_repo) if source.from_repo else None
    ),
    "label": event_label,
    "assignee": event_assignee,
    "currentTitle": detail("rename", "to"),
    "previousTitle": detail("rename", "from"),
    "milestoneTitle": detail("milestone", "title"),
    "mergeRefName": lambda source, info: merge_ref(source, info),
}


def _pull(names: str) -> dict[str, Resolver]:
    return {
        re.sub(r"_(\w)", lambda m: m[1].upper(), name): attribute(f"pull.{name}")
        for name in names.split()
    }


FIELDS: dict[str, dict[str, Resolver]] = {
    "Query": {
        "repository": find_repository,
        "node": lambda source, info, id: find_node(world(info), id),
        "nodes": lambda source, info, ids: [find_node(world(info), identity) for identity in ids],
        "rateLimit": lambda source, info, **_: info.context.rate,
    },
    "RateLimit": {
        name: key(name) for name in ("cost", "limit", "nodeCount", "remaining", "resetAt", "used")
    },
    "PageInfo": {
        "endCursor": attribute("end"),
        "hasNextPage": attribute("has_next"),
        "hasPreviousPage": attribute("has_previous"),
        "startCursor": attribute("start"),
    },
    **dict.fromkeys(
        ("User", "Bot", "Mannequin", "Organization", "EnterpriseUserAccount"), _ACCOUNT
    ),
    "Repository": {
        "id": lambda source, info: repository_node_id(source),
        "databaseId": _small_id,
        "nameWithOwner": attribute("full_name"),
        "owner": lambda source, info: Account(source.owner, source.id, "Organization"),
        "updatedAt": attribute("pushed_at"),
        "isPrivate": attribute("private"),
        "isArchived": attribute("archived"),
        **dict.fromkeys(("isEmpty", "isDisabled", "isLocked", "isMirror"), constant(False)),
        "hasIssuesEnabled": constant(True),
        "hasDiscussionsEnabled": attribute("has_discussions"),
        "discussion": lambda source, info, number: source.discussions.get(number),
        "diskUsage": constant(None),
        "stargazerCount": attribute("stars"),
        "forkCount": attribute("forks"),
        "defaultBranchRef": lambda source, info: source.default_branch or None,
        "primaryLanguage": attribute("language"),
        "licenseInfo": attribute("license"),
        "issue": numbered("an Issue", pull=False),
        "pullRequest": numbered("a PullRequest", pull=True),
        "issueOrPullRequest": numbered("an issue or pull request", pull=None),
        "url": html_url,
    },
    "Ref": {"id": _itself, "name": _itself, "prefix": constant("refs/heads/")},
    "Language": {"id": _itself, "name": _itself},
    "Milestone": {
        "id": lambda source, info: node_id("MI", zlib.crc32(source.encode())),
        "number": lambda source, info: zlib.crc32(source.encode()) % 100,
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
    "SubIssuesSummary": {name: key(name) for name in ("completed", "percentCompleted", "total")},
    "IssueDependenciesSummary": {
        name: key(name) for name in ("blockedBy", "blocking", "totalBlockedBy", "totalBlocking")
    },
    "License": {
        "id": _itself,
        "name": _itself,
        "spdxId": _itself,
        "key": lambda source, info: source.lower(),
    },
    **DISCUSSION_FIELDS,
    "Issue": _ENTRY,
    "PullRequest": {
        **_ENTRY,
        **_pull("merged merged_at merged_by additions deletions changed_files"),
        "isDraft": attribute("pull.draft"),
        "isCrossRepository": lambda source, info: source.pull.head_repo != source.repo,
        "baseRefName": attribute("pull.base_ref"),
        "baseRefOid": attribute("pull.base_sha"),
        "baseRepository": repository,
        "headRefName": attribute("pull.head_ref"),
        "headRefOid": attribute("pull.head_sha"),
        "headRepository": head_repository,
        "headRepositoryOwner": lambda source, info: (
            Account(source.pull.head_repo.partition("/")[0], source.id)
            if source.pull.head_repo
            else None
        ),
        "mergeCommit": lambda source, info: merge_commit(source),
        "potentialMergeCommit": constant(None),
        "totalCommentsCount": lambda source, info: len(source.comments) + len(source.reviews),
    },
    "IssueComment": {**_COMMENT, "issue": linked("home")},
    "PullRequestReview": {**_COMMENT, "commit": commit},
    "PullRequestReviewComment": {
        **_COMMENT,
        "replyTo": reply_to,
        "pullRequestReview": own_review,
        "commit": constant(None),
        "originalCommit": constant(None),
        "originalLine": attribute("line"),
        "startLine": constant(None),
        "outdated": constant(False),
    },
    "PullRequestReviewThread": {
        "id": attribute("node_id"),
        "path": thread_path,
        "line": constant(None),
        "isResolved": constant(False),
        "isOutdated": constant(False),
        "repository": repository,
        "pullRequest": comment_pull,
    },
    "PullRequestChangedFile": {
        "changeType": lambda source, info: _STATUS.get(source.status, source.status.upper()),
    },
    "PullRequestCommit": {
        "id": lambda source, info: f"PURC_{source.sha}_{source.home.number}",
        "commit": _itself,
        "pullRequest": comment_pull,
    },
    "Commit": {
        "id": lambda source, info: f"C_{source.sha}",
        "oid": attribute("sha"),
        "abbreviatedOid": lambda source, info: source.sha[:7],
        "messageHeadline": _first_line,
        "messageBody": _further_lines,
        "authoredDate": attribute("authored_at"),
        "committedDate": attribute("committed_at"),
        "author": person("author"),
        "committer": person("committer"),
    },
    "UserContentEdit": {
        "id": attribute("node_id"),
        "createdAt": attribute("at"),
        "updatedAt": lambda source, info: source.deleted_at or source.at,
        "editedAt": attribute("at"),
        "diff": attribute("body"),
        "deletedBy": lambda source, info: source.editor if source.deleted_at else None,
    },
    "GitActor": {name: key(name) for name in ("name", "email", "date", "user")},
    "Label": {
        "id": lambda source, info: node_id("LA", source.id),
        "description": constant(None),
        "isDefault": constant(False),
    },
    "_Event": _EVENT,
    "_Connection": {
        "edges": edges,
        "pageInfo": _itself,
        "totalCount": attribute("total"),
        "filteredCount": attribute("filtered"),
        "pageCount": lambda source, info: len(source.nodes),
    },
    "_Edge": {"cursor": key("cursor"), "node": key("node")},
}
"""Resolvers by type; `_Event`, `_Connection` and `_Edge` stand for all types named so."""
