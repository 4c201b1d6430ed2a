"""Changing a world: what people do on GitHub, one method each, at fixed times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .world import Account, Comment, Entry, Event, Item, Label, Ref, Review
from .writing import MAINTAINER, VISITOR, Writer, sha, with_edit

__all__ = ["MAINTAINER", "VISITOR", "Editor"]


class Editor(Writer):
    """Edits one repository of a world; see `Writer` for the clock and for what it adds."""

    def edit_comment(self, identity: int, body: str, *, at: str | None = None) -> None:
        """Change the text of a comment, review or review comment."""
        now = self.tick(at)
        edited = self._change_comment(
            identity,
            lambda comment: replace(
                comment, body=body, updated_at=now, edits=with_edit(comment, body, now, MAINTAINER)
            ),
        )
        self.world.put(replace(edited, updated_at=now))

    def hide_comment(self, identity: int, reason: str) -> None:
        """Hide a comment, review or review comment, which changes no time."""
        hidden = self._change_comment(identity, lambda said: replace(said, minimized=reason))
        self.world.put(hidden)

    def _change_comment(self, identity: int, change: Callable[[Comment], Comment]) -> Entry:
        """Return the entry that holds a comment, with the comment changed."""

        def changed(comment: Any) -> Any:
            if isinstance(comment, Review) and comment.comments:
                comment = replace(comment, comments=tuple(map(changed, comment.comments)))
            is_it = getattr(comment, "id", None) == identity and isinstance(comment, Comment)
            return change(comment) if is_it else comment

        entry = self._holder(identity)
        timeline = tuple(map(changed, entry.timeline))
        return replace(entry, timeline=timeline, replies=tuple(map(changed, entry.replies)))

    def delete_comment(self, identity: int) -> None:
        """Delete a plain comment, which leaves an event behind."""
        now, entry = self.tick(), self._holder(identity)
        remaining = tuple(
            item for item in entry.timeline if not (type(item) is Comment and item.id == identity)
        )
        self.world.put(replace(entry, timeline=remaining))
        self.event(entry.number, "comment_deleted", at=now)

    def label(self, number: int, name: str) -> None:
        """Put a label on an entry."""
        self._label("labeled", number, name, (*self.entry(number).labels, Label(name)))

    def unlabel(self, number: int, name: str) -> None:
        """Take a label off an entry."""
        left = tuple(label for label in self.entry(number).labels if label.name != name)
        self._label("unlabeled", number, name, left)

    def _label(self, kind: str, number: int, name: str, labels: tuple[Label, ...]) -> None:
        self._set(number, labels=labels)
        self.event(number, kind, details={"label": {"name": name, "color": Label(name).color}})

    def edit_entry(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        by: Account | None = MAINTAINER,
        at: str | None = None,
    ) -> None:
        """Change an entry's title (which leaves an event behind) or body."""
        now, entry = self.tick(at), self.entry(number)
        old = entry.title
        new = old if title is None else title
        if body is not None:
            entry = replace(entry, body=body, edits=with_edit(entry, body, now, by))
        self.world.put(replace(entry, title=new, updated_at=now))
        if new != old:
            self.event(number, "renamed", at=now, details={"rename": {"from": old, "to": new}})

    def _set(self, number: int, **facts: Any) -> None:
        """Change facts of an entry, which by itself leaves no event behind."""
        self.world.put(replace(self.entry(number), **facts))

    def delete_edit(self, number: int, place: int, *, at: str | None = None) -> None:
        """Delete a version of an entry's text from its history, as counted from the oldest."""
        edits = list(self.entry(number).edits)
        edits[place] = replace(edits[place], body=None, deleted_at=self.tick(at))
        self._set(number, edits=tuple(edits))

    def assign(self, number: int, who: Account) -> None:
        """Make somebody responsible for an entry."""
        self._set(number, assignees=(*self.entry(number).assignees, who))
        self.event(number, "assigned", assignee=who)

    def unassign(self, number: int, who: Account) -> None:
        """Take an entry off somebody."""
        remaining = tuple(one for one in self.entry(number).assignees if one != who)
        self._set(number, assignees=remaining)
        self.event(number, "unassigned", assignee=who)

    def set_milestone(self, number: int, title: str | None) -> None:
        """Put an entry into a milestone, or take it out of the one it is in."""
        kind = "milestoned" if title else "demilestoned"
        details = {"milestone": {"title": title or self.entry(number).milestone}}
        self._set(number, milestone=title)
        self.event(number, kind, details=details)

    def set_type(self, number: int, name: str | None) -> None:
        """Give an issue a type of its own."""
        self._set(number, issue_type=name)
        self.event(number, "issue_type_added" if name else "issue_type_removed")

    def add_sub_issue(self, number: int, child: int) -> None:
        """Make an issue part of another one, which both timelines tell."""
        now, parent = self.tick(), self.entry(number)
        self._set(number, sub_issues=(*parent.sub_issues, Ref(self.repo, child)))
        self._set(child, parent=parent.ref)
        self.event(number, "sub_issue_added", at=now)
        self.event(child, "parent_issue_added", at=now)

    def block_by(self, number: int, blocker: int) -> None:
        """Say that an issue waits for another one, which both timelines tell."""
        now, waiting, other = self.tick(), self.entry(number), self.entry(blocker)
        self._set(number, blocked_by=(*waiting.blocked_by, other.ref))
        self._set(blocker, blocking=(*other.blocking, waiting.ref))
        self.event(number, "blocked_by_added", at=now)
        self.event(blocker, "blocking_added", at=now)

    def pin_comment(self, number: int, identity: int) -> None:
        """Pin a comment to the top of an issue."""
        self._set(number, pinned_comment=identity)
        self.event(number, "comment_pinned")

    def lock(self, number: int) -> None:
        """Lock the conversation."""
        self._set(number, locked=True)
        self.event(number, "locked")

    def close(
        self,
        number: int,
        *,
        reason: str = "completed",
        closer: Ref | str | None = None,
        at: str | None = None,
    ) -> None:
        """Close an entry, by hand or by a pull request (`Ref`) or commit (hash)."""
        now, shown = self.tick(at), None if self.entry(number).pull else reason
        self._set(number, state="closed", state_reason=shown, closed_at=now)
        commit = closer if isinstance(closer, str) else None
        details = {"state_reason": shown}
        self.event(number, "closed", at=now, closer=closer, commit_sha=commit, details=details)

    def reopen(self, number: int) -> None:
        """Open a closed entry again."""
        reason = None if self.entry(number).pull else "reopened"
        self._set(number, state="open", state_reason=reason, closed_at=None)
        self.event(number, "reopened")

    def merge(self, number: int, *, closes: Sequence[int] = ()) -> None:
        """Merge a pull request and close the issues that it fixes."""
        now, entry = self.tick(), self.entry(number)
        if entry.pull is None:
            raise ValueError(f"#{number} is an issue")
        merge = sha(f"merge of {entry.repo}#{number}")
        pull = replace(entry.pull, merged_at=now, merge_sha=merge)
        self._set(number, pull=pull)
        self.event(number, "merged", at=now, commit_sha=merge)
        self.close(number, at=now)
        for issue in closes:
            self.close(issue, closer=entry.ref, at=now)

    def connect(self, issue: int, pull: int) -> None:
        """Link an issue and a pull request by hand, which both timelines tell."""
        self._join("connected", issue, pull)

    def disconnect(self, issue: int, pull: int) -> None:
        """Undo a link made by hand."""
        self._join("disconnected", issue, pull)

    def _join(self, kind: str, issue: int, pull: int) -> None:
        now, issue_ref, pull_ref = self.tick(), Ref(self.repo, issue), Ref(self.repo, pull)
        entry = self.entry(pull)
        if entry.pull is None:
            raise ValueError(f"#{pull} is an issue")
        closes = tuple(ref for ref in entry.pull.closes if ref != issue_ref)
        if kind == "connected":
            closes = (*closes, issue_ref)
        self._set(pull, pull=replace(entry.pull, closes=closes))
        self.event(issue, kind, at=now, source=issue_ref, subject=pull_ref)
        self.event(pull, kind, at=now, source=pull_ref, subject=issue_ref)

    def mark_duplicate(self, number: int, canonical: int) -> None:
        """Say that an entry repeats another one, which both timelines tell."""
        self._duplicate("marked_as_duplicate", number, canonical)

    def unmark_duplicate(self, number: int, canonical: int) -> None:
        """Take back that an entry repeats another one."""
        self._duplicate("unmarked_as_duplicate", number, canonical)

    def _duplicate(self, kind: str, number: int, canonical: int) -> None:
        now, ref, first = self.tick(), Ref(self.repo, number), Ref(self.repo, canonical)
        original = first if kind == "marked_as_duplicate" else None
        self._set(number, duplicate_of=original)
        for home in (number, canonical):
            self.event(home, kind, at=now, canonical=first, duplicate=ref)

    def refer(self, target: int, source: Ref) -> None:
        """Let another entry mention this one: `updated_at` stays, as on GitHub."""
        self.event(target, "cross-referenced", touch=False, source=source)

    def transfer_in(self, number: int, from_repo: str) -> None:
        """Tell that an issue came from another repository."""
        self.event(number, "transferred", from_repo=from_repo)

    def delete_entry(self, number: int) -> None:
        """Delete an entry and every link to it; REST answers 410 from then on."""
        gone, repository = Ref(self.repo, number), self.repository
        del repository.entries[number]
        for other in self.world.repositories:
            for entry in list(other.entries.values()):
                self._forget(entry, gone)
        deleted = repository.deleted | {number}
        self.world.put_repository(replace(repository, deleted=deleted))

    def _forget(self, entry: Entry, gone: Ref) -> None:
        remaining = tuple(item for item in entry.timeline if not _names(item, gone))
        pull = entry.pull
        if pull is not None and gone in pull.closes:
            pull = replace(pull, closes=tuple(ref for ref in pull.closes if ref != gone))
        ties: dict[str, Any] = {
            name: tuple(ref for ref in getattr(entry, name) if ref != gone)
            for name in ("sub_issues", "blocked_by", "blocking")
        }
        for name in ("parent", "duplicate_of"):
            ties[name] = None if getattr(entry, name) == gone else getattr(entry, name)
        changed = replace(entry, timeline=remaining, pull=pull, **ties)
        if changed != entry:
            self.world.put(changed)

    def turn_off_issues(self) -> None:
        """Turn issues off, which hides those there are."""
        self.world.put_repository(replace(self.repository, has_issues=False))

    def rename(self, full_name: str) -> None:
        """Rename the repository; REST redirects from the old name, GraphQL follows silently."""
        old, repository = self.repo, self.repository
        owner, _, name = full_name.partition("/")
        self.world.put_repository(replace(repository, owner=owner, name=name), replaces=old)
        self.repo = full_name
        for other in self.world.repositories:
            for entry in list(other.entries.values()):
                self.world.put(_renamed(entry, old, full_name))
            for number, discussion in other.discussions.items():
                other.discussions[number] = _renamed(discussion, old, full_name)

    def transfer_out(self, number: int, target: Ref) -> None:
        """Take an issue away to another repository: REST redirects to `target` from then on."""
        moved = {**self.repository.moved, number: target}
        self.delete_entry(number)
        self.world.put_repository(replace(self.repository, moved=moved))

    def unlist_files(self, number: int) -> None:
        """Let REST silently list no files for a pull request, as for huge diffs."""
        unlisted = self.repository.unlisted_files | {number}
        self.world.put_repository(replace(self.repository, unlisted_files=unlisted))

    def block(self, status: int = 451) -> None:
        """Take the repository down: REST answers with the status from then on."""
        self.world.put_repository(replace(self.repository, blocked=status))

    def _holder(self, identity: int) -> Entry:
        for entry in self.repository.entries.values():
            comments = (*entry.comments, *entry.reviews, *entry.review_comments())
            if any(comment.id == identity for comment in comments):
                return entry
        raise LookupError(f"no comment {identity} in {self.repo}")


def _names(item: Item, ref: Ref) -> bool:
    links = ("source", "subject", "canonical", "duplicate")
    return isinstance(item, Event) and any(getattr(item, name) == ref for name in links)


def _renamed(value: Any, old: str, new: str) -> Any:
    """Return a value with every mention of a repository's name changed, texts left alone."""
    if isinstance(value, tuple):
        return tuple(_renamed(item, old, new) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for field in fields(value):
        before = getattr(value, field.name)
        named = field.name in ("repo", "from_repo", "head_repo") and before == old
        after = new if named else _renamed(before, old, new)
        if after is not before and after != before:
            changed[field.name] = after
    return replace(value, **changed) if changed else value
