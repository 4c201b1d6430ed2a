"""REST's view of the world: the JSON objects, with GitHub's names for every field."""

from __future__ import annotations

import zlib
from typing import Any

from .store import World, repository_node_id
from .world import (
    GHOST_ID,
    SITE,
    Account,
    Comment,
    Commit,
    Entry,
    Event,
    File,
    Item,
    Label,
    Ref,
    Repository,
    Review,
    ReviewComment,
    node_id,
    stub_repository,
)

Json = dict[str, Any]
_GHOST = Account("ghost", GHOST_ID)


def _fields(value: object, *names: str) -> Json:
    """Return fields that REST names as the world does."""
    return {name: getattr(value, name) for name in names}


def account_json(account: Account | None, api: str) -> Json:
    """Return a user; texts of deleted accounts are ghost's."""
    person = account or _GHOST
    return {
        "login": person.rest_login,
        "id": person.id,
        "node_id": node_id("U", person.id),
        "url": f"{api}/users/{person.rest_login}",
        "html_url": f"{SITE}/{person.login}",
        "type": person.kind,
    }


def maybe_account(account: Account | None, api: str) -> Json | None:
    """Return a user where GitHub answers null for deleted accounts."""
    return None if account is None else account_json(account, api)


def repository_json(repository: Repository, api: str) -> Json:
    """Return a repository."""
    license_id = repository.license
    return {
        **_fields(repository, "id", "name", "full_name", "private", "description", "created_at"),
        **_fields(repository, "pushed_at", "language", "archived", "default_branch"),
        "node_id": repository_node_id(repository),
        "owner": account_json(Account(repository.owner, repository.id, "Organization"), api),
        "html_url": f"{SITE}/{repository.full_name}",
        "fork": repository.is_fork,
        "url": f"{api}/repos/{repository.full_name}",
        "updated_at": repository.pushed_at,
        "stargazers_count": repository.stars,
        "forks_count": repository.forks,
        "has_issues": repository.has_issues,
        "license": license_id
        and {"key": license_id.lower(), "name": license_id, "spdx_id": license_id},
    }


def label_json(label: Label) -> Json:
    """Return a label."""
    return {**_fields(label, "id", "name", "color"), "node_id": node_id("LA", label.id)}


def _entry_json(entry: Entry, api: str) -> Json:
    return {
        **_fields(entry, "id", "node_id", "number", "title", "state", "locked"),
        **_fields(entry, "created_at", "updated_at", "closed_at"),
        "user": account_json(entry.author, api),
        "labels": [label_json(label) for label in entry.labels],
        "assignees": [account_json(account, api) for account in entry.assignees],
        "milestone": entry.milestone and {"title": entry.milestone},
        "author_association": entry.association,
        "body": entry.body or None,
    }


def issue_json(entry: Entry, api: str) -> Json:
    """Return an entry as the issue endpoints show it: pull requests are issues there too."""
    home = f"{api}/repos/{entry.repo}"
    made = {
        **_entry_json(entry, api),
        "url": f"{home}/issues/{entry.number}",
        "repository_url": home,
        "html_url": f"{SITE}/{entry.repo}/{'pull' if entry.pull else 'issues'}/{entry.number}",
        "comments": len(entry.comments),
        "state_reason": entry.state_reason,
    }
    if entry.pull is not None:
        made["draft"] = entry.pull.draft
        made["pull_request"] = {
            "url": f"{home}/pulls/{entry.number}",
            "html_url": made["html_url"],
            "merged_at": entry.pull.merged_at,
        }
        return made
    pinned = [comment for comment in entry.comments if comment.id == entry.pinned_comment]
    made |= {
        "type": entry.issue_type and {"name": entry.issue_type},
        "sub_issues_summary": {"total": len(entry.sub_issues)},
        "issue_dependencies_summary": {
            "total_blocked_by": len(entry.blocked_by),
            "total_blocking": len(entry.blocking),
        },
        "pinned_comment": comment_json(pinned[0], api) if pinned else None,
    }
    if entry.parent is not None:
        parent = entry.parent
        made["parent_issue_url"] = f"{api}/repos/{parent.repo}/issues/{parent.number}"
    return made


def _branch(world: World, repo: str | None, ref: str, sha: str, api: str) -> Json:
    repository = None if repo is None else world.repository(repo) or stub_repository(repo)
    owner = Account(repository.owner, repository.id) if repository else None
    return {
        "label": f"{repository.owner if repository else 'unknown repository'}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": maybe_account(owner, api),
        "repo": repository and repository_json(repository, api),
    }


def pull_json(world: World, entry: Entry, api: str, *, full: bool) -> Json:
    """Return a pull request; lists lack what only the single one tells (`full`)."""
    pull = entry.pull
    if pull is None:
        raise ValueError(f"#{entry.number} is an issue")
    test_merge = f"{zlib.crc32(pull.head_sha.encode()):08x}" * 5
    made = {
        **_entry_json(entry, api),
        "url": f"{api}/repos/{entry.repo}/pulls/{entry.number}",
        "issue_url": f"{api}/repos/{entry.repo}/issues/{entry.number}",
        "html_url": f"{SITE}/{entry.repo}/pull/{entry.number}",
        **_fields(pull, "merged_at", "draft"),
        "merge_commit_sha": pull.merge_sha or test_merge,
        "head": _branch(world, pull.head_repo, pull.head_ref, pull.head_sha, api),
        "base": _branch(world, entry.repo, pull.base_ref, pull.base_sha, api),
    }
    if full:
        made |= {
            **_fields(pull, "merged", "additions", "deletions", "changed_files"),
            "comments": len(entry.comments),
            "review_comments": sum(1 for _ in entry.review_comments()),
            "commits": len(entry.commits),
        }
    return made


def comment_json(comment: Comment, api: str) -> Json:
    """Return a plain comment."""
    home = f"{api}/repos/{comment.home.repo}/issues"
    return {
        "url": f"{home}/comments/{comment.id}",
        "html_url": f"{SITE}/{comment.home.repo}/issues/{comment.home.number}"
        f"#issuecomment-{comment.id}",
        "issue_url": f"{home}/{comment.home.number}",
        **_fields(comment, "id", "node_id", "created_at", "updated_at"),
        "user": account_json(comment.author, api),
        "author_association": comment.association,
        "body": comment.body or "",
        "minimized": comment.minimized and {"reason": comment.minimized},
    }


def review_comment_json(comment: ReviewComment, api: str) -> Json:
    """Return a comment on a line; `user` is null for deleted accounts."""
    home = f"{api}/repos/{comment.home.repo}/pulls"
    made = {
        "url": f"{home}/comments/{comment.id}",
        **_fields(comment, "id", "node_id", "diff_hunk", "path", "line"),
        **_fields(comment, "created_at", "updated_at"),
        "pull_request_review_id": comment.review,
        "user": maybe_account(comment.author, api),
        "body": comment.body or "",
        "html_url": f"{SITE}/{comment.home.repo}/pull/{comment.home.number}"
        f"#discussion_r{comment.id}",
        "pull_request_url": f"{home}/{comment.home.number}",
        "author_association": comment.association,
    }
    if comment.reply_to is not None:
        made["in_reply_to_id"] = comment.reply_to
    return made


def review_json(review: Review, api: str) -> Json:
    """Return a review; `user` is null for deleted accounts."""
    pull = f"{review.home.repo}/pull/{review.home.number}"
    return {
        **_fields(review, "id", "node_id", "state", "submitted_at"),
        "user": maybe_account(review.author, api),
        "body": review.body or "",
        "html_url": f"{SITE}/{pull}#pullrequestreview-{review.id}",
        "pull_request_url": f"{api}/repos/{review.home.repo}/pulls/{review.home.number}",
        "author_association": review.association,
        "commit_id": review.commit_sha,
    }


def commit_json(commit: Commit, api: str) -> Json:
    """Return a commit of a pull request."""
    person = {"name": commit.name, "email": commit.email}
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha}",
        "url": f"{api}/repos/{commit.home.repo}/git/commits/{commit.sha}",
        "html_url": f"{SITE}/{commit.home.repo}/commit/{commit.sha}",
        "author": {**person, "date": commit.authored_at},
        "committer": {**person, "date": commit.committed_at},
        "message": commit.message,
    }


def file_json(file: File) -> Json:
    """Return a changed file; only renames have a `previous_filename`."""
    made: Json = {
        "sha": f"{zlib.crc32(file.path.encode('utf-8', 'surrogatepass')):08x}" * 5,
        "filename": file.path,
        **_fields(file, "status", "additions", "deletions"),
        "changes": file.additions + file.deletions,
    }
    if file.previous is not None:
        made["previous_filename"] = file.previous
    return made


def timeline_json(world: World, item: Item, api: str) -> Json:
    """Return a timeline item; which keys it has depends on its kind."""
    match item:
        case Review():
            return {
                "event": "reviewed",
                **review_json(item, api),
                "updated_at": item.updated_at,
                "body": item.body or None,
            }
        case Comment():
            return {
                "event": "commented",
                **comment_json(item, api),
                "actor": account_json(item.author, api),
            }
        case Commit():
            return {"event": "committed", **commit_json(item, api)}
        case _:
            return _event_json(world, item, api)


def _event_json(world: World, event: Event, api: str) -> Json:
    if event.kind == "line-commented":
        comments = [review_comment_json(comment, api) for comment in event.comments]
        return {"event": event.kind, "node_id": event.node_id, "comments": comments}
    actor = account_json(event.actor, api)
    made: Json = {"event": event.kind, "actor": actor, "created_at": event.created_at}
    if event.kind == "cross-referenced":
        source = _source_json(world, event.source, api)
        return {**made, "updated_at": event.created_at, "source": source}
    return {
        **made,
        **_fields(event, "id", "node_id"),
        "url": f"{api}/repos/{event.home.repo}/issues/events/{event.id}",
        "commit_id": event.commit_sha,
        **event.details,
        **({"assignee": account_json(event.assignee, api)} if event.assignee else {}),
    }


def _source_json(world: World, ref: Ref | None, api: str) -> Json:
    entry = world.entry(ref)
    if entry is None:
        return {"type": "issue", "issue": None}
    repository = world.repository(entry.repo) or stub_repository(entry.repo)
    issue = {**issue_json(entry, api), "repository": repository_json(repository, api)}
    return {"type": "issue", "issue": issue}
