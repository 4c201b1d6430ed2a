"""A world from a backup of a real repository: one JSON object a line, as REST gave them."""

from __future__ import annotations

import lzma
from collections import defaultdict
from collections.abc import Callable, Container
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from .mentions import link
from .store import World
from .world import (
    FILES_LIMIT,
    GHOST_ID,
    Account,
    Comment,
    Commit,
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
    stub_repository,
)

Json = dict[str, Any]
_STATUSES = ("modified", "added", "removed", "renamed")
_COMMON = frozenset(
    "event id node_id url actor source commit_id commit_url created_at updated_at".split()  # noqa: SIM905
)
_CLOSING_SECONDS = 2


def load_backup(path: Path | str, full_name: str) -> World:
    """Read a backup; what it lacks (cross references, file lists) is rebuilt or made up."""
    owner, _, name = full_name.partition("/")
    repository = Repository(
        owner=owner,
        name=name,
        id=16_648_618,
        created_at="2013-03-14T17:28:11Z",
        pushed_at="2024-01-01T00:00:00Z",
        description=f"{name}, from a backup",
        default_branch="master",
        language="C",
        license="MIT",
        stars=2_000,
        forks=1_000,
    )
    others: dict[str, Repository] = {}
    with lzma.open(path) as lines:
        for line in lines:
            entry = _entry(orjson.loads(line), full_name, others)
            repository.entries[entry.number] = entry
    world = World(repository, *others.values())
    link(world)
    _connect(world)
    _explain_closing(world)
    return world


def _entry(raw: Json, repo: str, others: dict[str, Repository]) -> Entry:
    pull: Json | None = raw.get("pull")
    body: Json = pull or raw["issue"]
    ref = Ref(repo, body["number"])
    comments = [_review_comment(comment, ref) for comment in raw.get("comments", ())]
    return Entry(
        **_entry_fields(body, repo),
        body=body.get("body"),
        state_reason=body.get("state_reason"),
        locked=body["locked"],
        labels=tuple(Label(label["name"], label["color"]) for label in body["labels"]),
        assignees=tuple(filter(None, map(_account, body.get("assignees") or ()))),
        milestone=(body.get("milestone") or {}).get("title"),
        timeline=_timeline(raw["events"], comments, ref, others),
        replies=_replies(raw["events"], comments),
        pull=_pull(pull, ref) if pull else None,
    )


def _entry_fields(raw: Json, repo: str) -> Json:
    """Return what is told of entries of other repositories, too."""
    names = ("number", "id", "node_id", "title", "state", "created_at", "updated_at")
    return {
        **{name: raw[name] for name in names},
        "repo": repo,
        "author": _account(raw.get("user")),
        "association": raw["author_association"],
        "closed_at": raw.get("closed_at"),
    }


def _account(raw: Json | None) -> Account | None:
    if not raw or raw["id"] == GHOST_ID:
        return None
    kind: str = raw["type"]
    return Account(raw["login"].removesuffix("[bot]"), raw["id"], kind)


def _pull(raw: Json, ref: Ref) -> Pull:
    head_repo = raw["head"].get("repo")
    return Pull(
        base_ref=raw["base"]["ref"],
        base_sha=raw["base"]["sha"],
        head_ref=raw["head"]["ref"],
        head_sha=raw["head"]["sha"],
        head_repo=head_repo["full_name"] if head_repo else None,
        merge_sha=raw.get("merge_commit_sha"),
        merged_at=raw.get("merged_at"),
        draft=raw["draft"],
        additions=raw["additions"],
        deletions=raw["deletions"],
        changed_files=raw["changed_files"],
        files=made_up_files(ref.number, raw["changed_files"], raw["additions"], raw["deletions"]),
    )


def made_up_files(seed: int, count: int, additions: int, deletions: int) -> tuple[File, ...]:
    """Return `count` files (3,000 at most), the first of which has all additions and deletions."""
    made = []
    for index in range(min(count, FILES_LIMIT)):
        status = _STATUSES[(seed + index) % len(_STATUSES)]
        path = f"src/module_{index % 17}/file_{index}.c"
        previous = f"old/{path}" if status == "renamed" else None
        plus, minus = (0, 0) if index else (additions, deletions)
        made.append(File(path, status, plus, minus, previous))
    return tuple(made)


def _comment_fields(raw: Json, ref: Ref) -> Json:
    return {
        "home": ref,
        "id": raw["id"],
        "node_id": raw["node_id"],
        "author": _account(raw.get("user")),
        "association": raw["author_association"],
        "body": raw.get("body"),
    }


def _review_comment(raw: Json, ref: Ref) -> ReviewComment:
    return ReviewComment(
        **_comment_fields(raw, ref),
        created_at=raw["created_at"],
        updated_at=raw["updated_at"],
        path=raw["path"],
        review=raw["pull_request_review_id"],
        reply_to=raw["in_reply_to_id"],
        diff_hunk=raw["diff_hunk"],
        line=raw["line"],
    )


def _timeline(
    events: list[Json], comments: list[ReviewComment], ref: Ref, others: dict[str, Repository]
) -> tuple[Item, ...]:
    by_review: defaultdict[int | None, list[ReviewComment]] = defaultdict(list)
    for comment in comments:
        by_review[comment.review].append(comment)
    old = _threads(by_review[None], sum(raw["event"] == "line-commented" for raw in events))
    return tuple(_item(raw, ref, by_review, old, others) for raw in events)


def _replies(events: list[Json], comments: list[ReviewComment]) -> tuple[Review, ...]:
    """Rebuild the reviews that only answer: their comments tell all there is to know."""
    shown = {raw["id"] for raw in events if raw["event"] == "reviewed"}
    hidden: dict[int, list[ReviewComment]] = {}
    for comment in comments:
        if comment.review is not None and comment.review not in shown:
            hidden.setdefault(comment.review, []).append(comment)
    return tuple(
        Review(
            home=group[0].home,
            id=identity,
            node_id=node_id("PRR", group[0].home.number, identity),
            author=group[0].author,
            association=group[0].association,
            body="",
            created_at=group[0].created_at,
            updated_at=group[0].updated_at,
            submitted_at=group[0].created_at,
            state="COMMENTED",
            comments=tuple(group),
        )
        for identity, group in hidden.items()
    )


def _threads(comments: list[ReviewComment], count: int) -> list[tuple[ReviewComment, ...]]:
    """Deal the comments that are older than reviews out to the timeline's `count` threads."""
    if not count:
        return []
    threads: list[list[ReviewComment]] = [[] for _ in range(count)]
    places: dict[tuple[str, str], int] = {}
    for comment in comments:
        index = places.setdefault((comment.path, comment.diff_hunk), len(places))
        threads[min(index, count - 1)].append(comment)
    return [tuple(thread) for thread in reversed(threads)]


def _item(
    raw: Json,
    ref: Ref,
    by_review: defaultdict[int | None, list[ReviewComment]],
    old: list[tuple[ReviewComment, ...]],
    others: dict[str, Repository],
) -> Item:
    match raw["event"]:
        case "commented":
            return Comment(
                **_comment_fields(raw, ref),
                created_at=raw["created_at"],
                updated_at=raw["updated_at"],
            )
        case "reviewed":
            at = raw["submitted_at"]
            return Review(
                **_comment_fields(raw, ref),
                created_at=at,
                updated_at=raw.get("updated_at") or at,
                submitted_at=at,
                state=raw["state"],
                commit_sha=raw["commit_id"],
                comments=tuple(by_review[raw["id"]]),
            )
        case "committed":
            return Commit(
                home=ref,
                sha=raw["sha"],
                message=raw["message"],
                authored_at=raw["author"]["date"],
                committed_at=raw["committer"]["date"],
                name=raw["author"]["name"],
                email=raw["author"]["email"],
            )
        case _:
            return _event(raw, ref, old, others)


def _event(
    raw: Json, ref: Ref, old: list[tuple[ReviewComment, ...]], others: dict[str, Repository]
) -> Event:
    kind: str = raw["event"]
    source = raw.get("source")
    return Event(
        home=ref,
        kind=kind,
        id=raw["id"],
        node_id=raw["node_id"] or node_id("EV", ref.number, raw["id"] or 0),
        actor=_account(raw["actor"]),
        created_at=raw["created_at"],
        commit_sha=raw["commit_id"],
        source=_foreign(source["issue"], others) if source else None,
        canonical=ref if kind == "marked_as_duplicate" else None,
        comments=old.pop() if kind == "line-commented" and old else (),
        details={key: value for key, value in raw.items() if key not in _COMMON},
    )


def _foreign(issue: Json, others: dict[str, Repository]) -> Ref:
    """Put the outside entry that a backed-up cross reference came from into its own world."""
    name = issue["repository_url"].partition("/repos/")[2]
    repository = others.setdefault(name, replace(stub_repository(name), is_fork=False))
    is_pull = "/pull/" in issue["html_url"]
    pull = Pull(
        base_ref="master", base_sha="0" * 40, head_ref="topic", head_sha="1" * 40, head_repo=None
    )
    repository.entries[issue["number"]] = Entry(
        **_entry_fields(issue, name), body="", pull=pull if is_pull else None
    )
    return Ref(name, issue["number"])


def _connect(world: World) -> None:
    """Give manual links their other end: the entry that was linked in the same second."""
    moments: defaultdict[str | None, list[Ref]] = defaultdict(list)
    entries = world.main.entries
    for entry in entries.values():
        for item in entry.timeline:
            if isinstance(item, Event) and item.kind in ("connected", "disconnected"):
                moments[item.created_at].append(item.home)

    def joined(event: Event, entry: Entry) -> Event:
        is_issue = entry.pull is None
        refs = moments[event.created_at]
        others = [ref for ref in refs if (entries[ref.number].pull is None) is not is_issue]
        return replace(event, source=entry.ref, subject=others[0] if others else entry.ref)

    _retell(world, ("connected", "disconnected"), joined)


def _retell(world: World, kinds: Container[str], told: Callable[[Event, Entry], Event]) -> None:
    """Change the events of some kinds in all timelines."""
    for entry in list(world.main.entries.values()):
        timeline = tuple(
            told(item, entry) if isinstance(item, Event) and item.kind in kinds else item
            for item in entry.timeline
        )
        world.put(replace(entry, timeline=timeline))


def _explain_closing(world: World) -> None:
    """Say what closed each entry: a pull request where one fits, else the commit."""
    merges: dict[str, Ref] = {}
    closing: defaultdict[Ref, list[Entry]] = defaultdict(list)
    for entry in world.main.entries.values():
        if entry.pull and entry.pull.merged:
            if entry.pull.merge_sha:
                merges[entry.pull.merge_sha] = entry.ref
            for ref in entry.pull.closes:
                closing[ref].append(entry)

    def explained(event: Event, entry: Entry) -> Event:
        return replace(event, closer=_closer(event, merges, closing[entry.ref]))

    _retell(world, ("closed",), explained)


def _closer(event: Event, merges: dict[str, Ref], pulls: list[Entry]) -> Ref | str | None:
    if event.commit_sha:
        return merges.get(event.commit_sha, event.commit_sha)
    for entry in pulls:
        merged_at = entry.pull.merged_at if entry.pull else None
        if merged_at and event.created_at and _apart(merged_at, event.created_at):
            return entry.ref
    return None


def _apart(first: str, second: str) -> bool:
    gap = datetime.fromisoformat(first) - datetime.fromisoformat(second)
    return abs(gap.total_seconds()) <= _CLOSING_SECONDS
