"""Reads of a backup's entry only the fields that tables are made of.

Nine bytes of ten are addresses and the like. msgspec passes over what is not asked for, which
takes half as long as parsing all of it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required, TypedDict, cast

import msgspec

_Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Integer = _Number | None
_Text = str | None
_NOBODY = ("", "ghost")  # who deleted their account


class _Person(TypedDict, total=False):
    login: _Text
    id: _Integer
    type: _Text


class _Assignee(TypedDict, total=False):
    login: Required[str]
    id: _Integer
    type: Required[str]


class _Label(TypedDict):
    name: str


class _Named(TypedDict, total=False):
    name: _Text


class _Titled(TypedDict, total=False):
    title: _Text


class _Dated(TypedDict, total=False):
    date: _Text


class _Identified(TypedDict, total=False):
    id: _Integer


class _Repository(TypedDict, total=False):
    full_name: _Text


class _Branch(TypedDict, total=False):
    ref: _Text
    sha: _Text
    repo: _Repository | None


class _Parts(TypedDict, total=False):
    total: _Integer


class _Blocking(TypedDict, total=False):
    total_blocked_by: _Integer
    total_blocking: _Integer


class _Entry(TypedDict, total=False):
    number: Required[_Number]
    title: _Text
    body: _Text
    state: _Text
    state_reason: _Text
    user: _Person | None
    author_association: _Text
    created_at: _Text
    updated_at: _Text
    closed_at: _Text
    locked: bool | None
    comments: _Integer
    labels: list[_Label] | None
    assignees: list[_Assignee] | None
    milestone: _Titled | None
    type: _Named | None
    parent_issue_url: _Text
    sub_issues_summary: _Parts | None
    issue_dependencies_summary: _Blocking | None
    pinned_comment: _Identified | None
    head: _Branch | None
    base: _Branch | None
    merged_at: _Text
    draft: bool | None
    merge_commit_sha: _Text
    changed_files: _Integer
    additions: _Integer
    deletions: _Integer
    commits: _Integer
    review_comments: _Integer


_Rename = TypedDict("_Rename", {"from": _Text, "to": _Text}, total=False)


class _Referring(TypedDict, total=False):
    number: _Integer
    repository: _Repository | None


class _Source(TypedDict, total=False):
    issue: _Referring | None


class _Event(TypedDict, total=False):
    event: Required[str]
    id: _Integer
    actor: _Person | None
    user: _Person | None
    author_association: _Text
    created_at: _Text
    updated_at: _Text
    submitted_at: _Text
    body: _Text
    state: _Text
    label: _Named | None
    milestone: _Titled | None
    assignee: _Person | None
    assigner: _Person | None
    rename: _Rename | None
    commit_id: _Text
    sha: _Text
    message: _Text
    author: _Dated | None
    committer: _Dated | None
    source: _Source | None


class _ReviewComment(TypedDict, total=False):
    id: _Integer
    user: _Person | None
    author_association: _Text
    created_at: _Text
    updated_at: _Text
    body: _Text
    path: _Text
    pull_request_review_id: _Integer
    in_reply_to_id: _Integer


class _Document(TypedDict, total=False):
    type: Required[Literal["issue", "pull"]]
    issue: _Entry
    pull: _Entry
    events: list[_Event] | None
    comments: list[_ReviewComment] | None


_DECODER = msgspec.json.Decoder(_Document)


def read_fields(body: bytes) -> dict[str, Any] | None:
    """Return the fields of an entry of the one shape, each as parsing all of it gives it.

    None where anything is not as GitHub documents it: then all of it must be parsed, so that
    messages can quote what stands there.
    """
    try:
        document = _DECODER.decode(body)
    except (ValueError, RecursionError):
        return None
    entry = document.get(document["type"])
    if entry is None:
        return None
    assignees = entry.get("assignees") or ()
    if any(assignee["login"] in _NOBODY for assignee in assignees):
        return None
    return cast(dict[str, Any], document)
