"""Writes hours in the shapes of GH Archive: made up, true in fields, nesting and sizes.

Shapes: `current` (2015 on), `trimmed` (from October 2025 on, where pull requests lost their
texts), `timeline` (2012 to 2014: logins for people, numbers for issues) and `early` (2011).
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from tests.gharchive_objects import API, WEB, Json, Objects, time_of

MIX = {
    "PushEvent": 50.0,
    "CreateEvent": 14.5,
    "PullRequestEvent": 8.5,
    "IssueCommentEvent": 7.0,
    "WatchEvent": 6.5,
    "DeleteEvent": 4.0,
    "PullRequestReviewEvent": 2.6,
    "IssuesEvent": 2.6,
    "PullRequestReviewCommentEvent": 1.7,
    "ForkEvent": 1.5,
    "ReleaseEvent": 0.6,
    "GollumEvent": 0.2,
    "CommitCommentEvent": 0.2,
    "MemberEvent": 0.1,
}
"""How often each type comes in a hundred events of 2022, about."""


class Hours(Objects):
    """What happens in a small world of people and repositories."""

    def lines(self, hour: datetime, count: int | None = None) -> Iterator[bytes]:
        """Yield lines of the current shape for ever, or `count` of them, over an hour."""
        for index in itertools.count() if count is None else range(count):
            at = hour + timedelta(seconds=index % 3_600)
            (kind,) = self.random.choices(tuple(MIX), tuple(MIX.values()))
            yield orjson.dumps(self.event(kind, at))

    def event(self, kind: str, at: datetime, **payload: Any) -> Json:
        """Return one event of the current shape; `payload` overrides parts of its payload."""
        repo, actor = self.random.choice(self.repos), self.random.choice(self.users)
        made = self._payload(kind, repo, actor, at)
        event: Json = {
            "id": str(next(self.ids)),
            "type": kind,
            "actor": {
                "id": actor["id"],
                "login": actor["login"],
                "display_login": actor["login"],
                "gravatar_id": "",
                "url": actor["url"],
                "avatar_url": actor["avatar_url"],
            },
            "repo": {"id": repo["id"], "name": repo["full_name"], "url": repo["url"]},
            "payload": made | payload,
            "public": True,
            "created_at": time_of(at),
        }
        if repo["id"] % 3 == 0:
            login = repo["full_name"].split("/")[0]
            event["org"] = {"id": repo["id"], "login": login, "url": f"{API}/orgs/{login}"}
        return event

    def trimmed(self, at: datetime) -> Json:
        """Return a pull request's event as it is from October 2025 on: without its texts."""
        event = self.event("PullRequestEvent", at)
        pull = event["payload"]["pull_request"]
        side = {"ref": "main", "sha": self.sha(), "repo": {"id": 1, "url": "u", "name": "n"}}
        event["payload"]["pull_request"] = {
            "url": pull["url"],
            "id": pull["id"],
            "number": pull["number"],
            "head": side,
            "base": side,
        }
        return event

    def timeline(self, kind: str, at: datetime, action: str = "opened") -> Json:
        """Return an event as the Timeline API told it from 2012 to 2014."""
        repo, actor = self.random.choice(self.repos), self.random.choice(self.users)
        owner, name = repo["full_name"].split("/")
        number, issue = self.random.randrange(1, 900), self.random.randrange(10**6, 10**7)
        url = f"{WEB}/{owner}/{name}/issues/{number}"
        payload: Json = {"action": action, "issue": issue, "number": number}
        if kind == "IssueCommentEvent":
            payload = {"comment_id": issue * 2, "issue_id": issue}
            url += f"#issuecomment-{issue * 2}"
        elif kind == "PushEvent":
            payload = {"shas": [[self.sha(), "a@example.org", self.text(9), "A", True]], "size": 1}
        elif kind == "PullRequestEvent":
            pull = self.pull(repo, actor, at)
            payload = {"action": action, "number": pull["number"], "pull_request": pull}
            url = pull["html_url"]
        return {
            "created_at": at.strftime("%Y-%m-%dT%H:%M:%S-07:00"),
            "payload": payload,
            "public": True,
            "type": kind,
            "url": url,
            "actor": actor["login"],
            "actor_attributes": {"login": actor["login"], "type": "User", "name": self.text(2)},
            "repository": {
                "id": repo["id"],
                "name": name,
                "url": f"{WEB}/{owner}/{name}",
                "owner": owner,
                "watchers": 3,
                "forks": 1,
                "created_at": "2010-06-30T12:38:08-07:00",
                "master_branch": "master",
            },
        }

    def early(self, kind: str, at: datetime, action: str = "opened") -> Json:
        """Return an event as it was in 2011: keys in another order, dates with slashes."""
        repo, actor = self.random.choice(self.repos), self.random.choice(self.users)
        number = self.random.randrange(1, 900)
        return {
            "repo": {"url": repo["url"], "id": repo["id"], "name": repo["full_name"]},
            "type": kind,
            "public": True,
            "created_at": at.strftime("%Y/%m/%d %H:%M:%S -0800"),
            "payload": {
                "repo": repo["full_name"],
                "actor": actor["login"],
                "action": action,
                "issue": 600_000 + number,
                "number": number,
            },
            "actor": {"gravatar_id": "", "id": actor["id"], "login": actor["login"]},
            "id": str(next(self.ids)),
        }

    def _payload(self, kind: str, repo: Json, actor: Json, at: datetime) -> Json:
        match kind:
            case "PushEvent":
                commits = [self.commit(repo) for _ in range(1 + int(self.random.expovariate(1.0)))]
                return {
                    "push_id": next(self.ids),
                    "size": len(commits),
                    "distinct_size": len(commits),
                    "ref": "refs/heads/main",
                    "head": commits[-1]["sha"],
                    "before": self.sha(),
                    "commits": commits[:20],
                }
            case "IssuesEvent":
                return {"action": "closed", "issue": self.issue(repo, actor, at)}
            case "IssueCommentEvent":
                issue = self.issue(repo, self.random.choice(self.users), at)
                if issue["number"] % 2:
                    issue["pull_request"] = {"url": f"{repo['url']}/pulls/{issue['number']}"}
                comment = self.comment(repo, actor, at)
                return {"action": "created", "issue": issue, "comment": comment}
            case "PullRequestEvent":
                pull = self.pull(repo, actor, at)
                return {"action": "opened", "number": pull["number"], "pull_request": pull}
            case "PullRequestReviewEvent" | "PullRequestReviewCommentEvent":
                pull = self.pull(repo, actor, at)
                return {
                    "action": "created",
                    "comment": self.comment(repo, actor, at, 25),
                    "pull_request": pull,
                }
            case "ForkEvent":
                return {"forkee": repo | {"owner": actor, "public": True}}
            case "ReleaseEvent":
                return {"action": "published", "release": self.comment(repo, actor, at, 150)}
            case "CommitCommentEvent":
                return {"comment": self.comment(repo, actor, at)}
            case "GollumEvent":
                return {"pages": [{"page_name": "Home", "action": "edited", "sha": self.sha()}]}
            case "MemberEvent":
                return {"member": actor, "action": "added"}
            case "WatchEvent":
                return {"action": "started"}
            case _:
                return {"ref": self.text(1), "ref_type": "branch", "description": self.text(6)}


def write_hour(path: Path, lines: Iterable[bytes | Json], level: int = 6) -> Path:
    """Write an hour's file, always with the same bytes for the same lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", level, raw, mtime=0) as packed:
        for line in lines:
            packed.write((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n")
    return path


def hour_name(at: datetime) -> str:
    """Return an hour's name, without the zero that others would put before the hour."""
    return f"{at:%Y-%m-%d}-{at.hour}"


def write_day(folder: Path, day: Sequence[datetime], events: int, seed: int = 0) -> None:
    """Write a small file for each of the given hours."""
    for index, at in enumerate(day):
        world = Hours(seed * 1_000 + index, people=20, repos=10)
        write_hour(folder / f"{hour_name(at)}.json.gz", world.lines(at, events))


def utc(year: int, month: int, day: int, hour: int = 0) -> datetime:
    """Return a time in UTC."""
    return datetime(year, month, day, hour, tzinfo=UTC)
