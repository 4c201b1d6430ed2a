"""Writes hours in the shapes of GH Archive: made up, true in fields, nesting and sizes.

Shapes: `current` (2015 on), `trimmed` (from October 2025 on, where pull requests lost their
texts), `timeline` (2012 to 2014: logins for people, numbers for issues) and `early` (2011).
"""

from __future__ import annotations

import gzip
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from tests.twin.rest_views import (
    Json,
    account_json,
    comment_json,
    issue_json,
    pull_json,
    repository_json,
)
from tests.twin.store import World
from tests.twin.world import (
    SITE,
    Account,
    Comment,
    Entry,
    Label,
    Pull,
    Ref,
    Repository,
    stub_repository,
)

API = "https://api.github.com"
_USER_LINKS = (
    "followers following gists starred subscriptions organizations repos events received_events"
)
_REPO_LINKS = (
    "forks teams hooks events tags languages stargazers merges contributors subscribers "
    "subscription downloads deployments blobs refs trees statuses commits issues pulls milestones "
    "comments issue_comment keys collaborators assignees branches labels releases contents compare "
    "archive notifications"
)
"""Addresses that make up much of what GitHub tells of people and repositories."""

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


class Objects:
    """A small world of people and repositories; the seed decides all."""

    def __init__(self, seed: int = 0, *, people: int, repos: int) -> None:
        self.random = random.Random(seed)
        self.ids = itertools.count(19_541_000_000 + seed * 1_000_000)
        self._words = [self._word() for _ in range(8_000)]
        self.users = [self._user() for _ in range(people)]
        self.repos = [self._repo(self.random.choice(self.users)) for _ in range(repos)]

    def text(self, words: int) -> str:
        """Return some words, the frequent ones often."""
        last = len(self._words)
        chosen = (self._words[int(last ** self.random.random()) - 1] for _ in range(words))
        return " ".join(chosen)

    def _word(self) -> str:
        length = 2 + int(self.random.expovariate(0.25))
        return "".join(self.random.choices("etaoinshrdlucmfwypvbgkqjxz_-.(){}'", k=length))

    def _name(self) -> str:
        letters = "".join(letter for letter in self._word() if letter.isalpha())
        return f"{letters}{self.random.randrange(10**5)}"

    def sha(self) -> str:
        return f"{self.random.getrandbits(160):040x}"

    def body(self, mean: int) -> str:
        """Return a text with paragraphs; most are short and a few are very long."""
        words = 1 + int(self.random.lognormvariate(0, 1.2) * mean / 2)
        rows = [self.text(min(12, words - at)) for at in range(0, min(words, 8_000), 12)]
        return "\r\n".join(rows)

    def _user(self) -> Json:
        number = self.random.randrange(10**7)
        account = Account(self._name(), number, "Bot" if number % 11 == 0 else "User")
        made = account_json(account, API)
        links = {f"{name}_url": f"{made['url']}/{name}" for name in _USER_LINKS.split()}
        picture = f"https://avatars.githubusercontent.com/u/{number}?v=4"
        return {**made, "login": account.login, "avatar_url": picture, "gravatar_id": "", **links}

    def _repo(self, owner: Json) -> Json:
        repository = Repository(
            owner=owner["login"],
            name=self._name(),
            id=self.random.randrange(10**8),
            created_at="2021-03-04T05:06:07Z",
            pushed_at="2022-03-04T05:06:07Z",
            description=self.text(8),
            language="Python",
            license="MIT",
        )
        made = repository_json(repository, API)
        links = {f"{name}_url": f"{made['url']}/{name}{{/id}}" for name in _REPO_LINKS.split()}
        return {**made, **links, "owner": owner}

    def _entry(self, repo: Json, at: datetime, mean: int, **facts: Any) -> Entry:
        return Entry(
            repo=repo["full_name"],
            number=self.random.randrange(1, 9_000),
            id=self.random.randrange(10**9),
            node_id="I_kwDO" + self.sha()[:12],
            title=self.text(7),
            body=self.body(mean),
            author=None,
            association="CONTRIBUTOR",
            created_at=time_of(at - timedelta(days=2)),
            updated_at=time_of(at),
            **facts,
        )

    def issue(self, repo: Json, user: Json, at: datetime) -> Json:
        names = ("bug", "enhancement", "question", "docs")
        labels = tuple(map(Label, self.random.sample(names, k=self.random.randrange(3))))
        facts = {"labels": labels, "state": "closed", "closed_at": time_of(at)}
        return issue_json(self._entry(repo, at, 90, **facts), API) | {"user": user}

    def pull(self, repo: Json, user: Json, at: datetime) -> Json:
        sides = Pull(
            base_ref="main",
            base_sha=self.sha(),
            head_ref=self._word(),
            head_sha=self.sha(),
            head_repo=None,
            changed_files=3,
        )
        entry = self._entry(repo, at, 70, state="open", pull=sides)
        made = pull_json(World(stub_repository(entry.repo)), entry, API, full=True)
        for side in (made["head"], made["base"]):
            side |= {"user": user, "repo": repo}
        return made | {"user": user}

    def commit(self, repo: Json) -> Json:
        sha = self.sha()
        return {
            "sha": sha,
            "author": {"email": f"{self.sha()}@example.org", "name": self.text(2)},
            "message": self.text(1 + int(self.random.expovariate(0.1))),
            "distinct": True,
            "url": f"{repo['url']}/commits/{sha}",
        }

    def comment(self, repo: Json, user: Json, at: datetime, mean: int = 60) -> Json:
        written = Comment(
            home=Ref(repo["full_name"], 1),
            id=self.random.randrange(10**10),
            node_id="IC_" + self.sha()[:12],
            author=None,
            association="NONE",
            body=self.body(mean),
            created_at=time_of(at),
            updated_at=time_of(at),
        )
        return comment_json(written, API) | {"user": user}


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

    def timeline(self, kind: str, at: datetime) -> Json:
        """Return an event as the Timeline API told it from 2012 to 2014."""
        repo, actor = self.random.choice(self.repos), self.random.choice(self.users)
        owner, name = repo["full_name"].split("/")
        number, issue = self.random.randrange(1, 900), self.random.randrange(10**6, 10**7)
        url = f"{SITE}/{owner}/{name}/issues/{number}"
        payload: Json = {"action": "opened", "issue": issue, "number": number}
        if kind == "IssueCommentEvent":
            payload = {"comment_id": issue * 2, "issue_id": issue}
            url += f"#issuecomment-{issue * 2}"
        elif kind == "PushEvent":
            payload = {"shas": [[self.sha(), "a@example.org", self.text(9), "A", True]], "size": 1}
        elif kind == "PullRequestEvent":
            pull = self.pull(repo, actor, at)
            payload = {"action": "opened", "number": pull["number"], "pull_request": pull}
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
                "url": f"{SITE}/{owner}/{name}",
                "owner": owner,
                "watchers": 3,
                "forks": 1,
                "created_at": "2010-06-30T12:38:08-07:00",
                "master_branch": "master",
            },
        }

    def early(self, kind: str, at: datetime, action: str) -> Json:
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


def write_day(folder: Path, day: Sequence[datetime], events: int) -> None:
    """Write a small file for each of the given hours."""
    for index, at in enumerate(day):
        world = Hours(index, people=20, repos=10)
        write_hour(folder / f"{hour_name(at)}.json.gz", world.lines(at, events))


def utc(year: int, month: int, day: int, hour: int = 0) -> datetime:
    """Return a time in UTC."""
    return datetime(year, month, day, hour, tzinfo=UTC)


def time_of(at: datetime) -> str:
    """Return a time as GitHub writes it."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
