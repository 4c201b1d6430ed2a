"""The review threads of a pull request, which group its review comments."""

from __future__ import annotations

from .world import Entry, Event, ReviewComment


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
