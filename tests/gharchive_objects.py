"""People, repositories, issues and pull requests as GitHub's REST API tells them, made up."""

from __future__ import annotations

import itertools
import random
from datetime import datetime, timedelta
from typing import Any

Json = dict[str, Any]

API = "https://api.github.com"
WEB = "https://github.com"

_USER_LINKS = (
    ("followers_url", "/followers"),
    ("following_url", "/following{/other_user}"),
    ("gists_url", "/gists{/gist_id}"),
    ("starred_url", "/starred{/owner}{/repo}"),
    ("subscriptions_url", "/subscriptions"),
    ("organizations_url", "/orgs"),
    ("repos_url", "/repos"),
    ("events_url", "/events{/privacy}"),
    ("received_events_url", "/received_events"),
)
_REPO_LINKS = tuple(
    f"{name}{part}"
    for names, part in (
        (("forks", "teams", "hooks", "events", "tags", "languages", "stargazers", "merges"), ""),
        (("contributors", "subscribers", "subscription", "downloads", "deployments"), ""),
        (("git/blobs", "git/tags", "git/refs", "git/trees", "statuses", "commits"), "{/sha}"),
        (("issues", "pulls", "milestones", "comments", "issues/comments"), "{/number}"),
        (("keys", "collaborators", "assignees", "branches", "labels", "releases"), "{/name}"),
        (("contents", "compare", "archive", "notifications"), "{/base}...{head}{?since,all}"),
    )
    for name in names
)


class Objects:
    """A small world of people and repositories; the seed decides all."""

    def __init__(self, seed: int = 0, *, people: int = 400, repos: int = 300) -> None:
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

    def body(self, mean: int = 90) -> str:
        """Return a text with paragraphs; most are short and a few are very long."""
        words = 1 + int(self.random.lognormvariate(0, 1.2) * mean / 2)
        rows = [self.text(min(12, words - at)) for at in range(0, min(words, 8_000), 12)]
        return "\r\n".join(rows)

    def _user(self) -> Json:
        login = self._name()
        number = self.random.randrange(10**7)
        url = f"{API}/users/{login}"
        return {
            "login": login,
            "id": number,
            "node_id": f"MDQ6VXNlcj{number}",
            "avatar_url": f"https://avatars.githubusercontent.com/u/{number}?v=4",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{WEB}/{login}",
            **{key: url + end for key, end in _USER_LINKS},
            "type": "Bot" if number % 11 == 0 else "User",
            "site_admin": False,
        }

    def _repo(self, owner: Json) -> Json:
        name = self._name()
        full, number = f"{owner['login']}/{name}", self.random.randrange(10**8)
        url = f"{API}/repos/{full}"
        return {
            "id": number,
            "node_id": f"R_kgDO{number}",
            "name": name,
            "full_name": full,
            "private": False,
            "owner": owner,
            "html_url": f"{WEB}/{full}",
            "description": self.text(8),
            "fork": False,
            "url": url,
            **{f"{end.split('{')[0].replace('/', '_')}_url": f"{url}/{end}" for end in _REPO_LINKS},
            "created_at": "2021-03-04T05:06:07Z",
            "updated_at": "2022-03-04T05:06:07Z",
            "pushed_at": "2022-03-04T05:06:07Z",
            "homepage": None,
            "size": self.random.randrange(10**5),
            "stargazers_count": self.random.randrange(999),
            "language": "Python",
            "has_issues": True,
            "license": {"key": "mit", "name": "MIT License", "spdx_id": "MIT"},
            "topics": [self._word(), self._word()],
            "visibility": "public",
            "default_branch": "main",
        }

    def _label(self, repo: Json, name: str) -> Json:
        number = self.random.randrange(10**9)
        return {
            "id": number,
            "node_id": f"LA_{number}",
            "url": f"{repo['url']}/labels/{name}",
            "name": name,
            "color": "d73a4a",
            "default": True,
            "description": "Something isn't working",
        }

    def _reactions(self, url: str) -> Json:
        counted = ("total_count", "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket")
        return {"url": f"{url}/reactions", **dict.fromkeys(counted, 0)}

    def issue(self, repo: Json, user: Json, at: datetime) -> Json:
        """Return an issue as REST tells it."""
        number = self.random.randrange(1, 9_000)
        url = f"{repo['url']}/issues/{number}"
        names = self.random.sample(("bug", "enhancement", "question", "docs"), k=number % 3)
        return {
            "url": url,
            "repository_url": repo["url"],
            "labels_url": url + "/labels{/name}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "html_url": f"{WEB}/{repo['full_name']}/issues/{number}",
            "id": self.random.randrange(10**9),
            "node_id": "I_kwDO" + self.sha()[:12],
            "number": number,
            "title": self.text(7),
            "user": user,
            "labels": [self._label(repo, name) for name in names],
            "state": "closed",
            "locked": False,
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "comments": number % 5,
            "created_at": time_of(at - timedelta(days=2)),
            "updated_at": time_of(at),
            "closed_at": time_of(at),
            "author_association": "CONTRIBUTOR",
            "active_lock_reason": None,
            "body": self.body(),
            "reactions": self._reactions(url),
            "timeline_url": f"{url}/timeline",
            "performed_via_github_app": None,
            "state_reason": None,
        }

    def pull(self, repo: Json, user: Json, at: datetime) -> Json:
        number = self.random.randrange(1, 9_000)
        url = f"{repo['url']}/pulls/{number}"
        side = {"label": "a:b", "ref": self._word(), "sha": self.sha(), "user": user, "repo": repo}
        return {
            "url": url,
            "id": self.random.randrange(10**9),
            "node_id": "PR_kwDO" + self.sha()[:12],
            "html_url": f"{WEB}/{repo['full_name']}/pull/{number}",
            "number": number,
            "state": "open",
            "locked": False,
            "title": self.text(7),
            "user": user,
            "body": self.body(70),
            "created_at": time_of(at),
            "updated_at": time_of(at),
            "closed_at": None,
            "merged_at": None,
            "merge_commit_sha": self.sha(),
            "labels": [],
            "commits_url": f"{url}/commits",
            "head": side,
            "base": side | {"sha": self.sha(), "ref": "main"},
            "_links": {"self": {"href": url}, "html": {"href": url}, "commits": {"href": url}},
            "author_association": "MEMBER",
            "auto_merge": None,
            "merged": False,
            "merged_by": None,
            "comments": 0,
            "commits": 3,
            "additions": 10,
            "deletions": 2,
            "changed_files": 3,
        }

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
        number = self.random.randrange(10**10)
        url = f"{repo['url']}/issues/comments/{number}"
        return {
            "url": url,
            "html_url": f"{WEB}/{repo['full_name']}/issues/1#issuecomment-{number}",
            "id": number,
            "node_id": "IC_" + self.sha()[:12],
            "user": user,
            "created_at": time_of(at),
            "updated_at": time_of(at),
            "author_association": "NONE",
            "body": self.body(mean),
            "reactions": self._reactions(url),
        }


def time_of(at: datetime) -> str:
    """Return a time as GitHub writes it."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
