"""The twin's REST side: pages, shapes, redirects, tags, and what edits change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from goldpan.miners.github import queries
from tests.twin import Editor, Limits, Paging, Twin, synthetic_world
from tests.twin.asking import SLUICE, ask, client, follow, get, sluice, titled
from tests.twin.world import Ref


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(synthetic_world()) as running:
        yield running


def test_both_apis_tell_the_same_people(twin: Twin) -> None:
    fields = "number author { __typename login }"
    reply = ask(
        twin,
        sluice(
            f"issues(first: 100) {{ nodes {{ {fields} }} }} "
            f"pullRequests(first: 100) {{ nodes {{ {fields} }} }}"
        ),
    )["data"]["repository"]
    rest = {row["number"]: row["user"] for row in follow(twin, f"{SLUICE}/issues?state=all")}
    kinds = set()
    for node in reply["issues"]["nodes"] + reply["pullRequests"]["nodes"]:
        user, author = rest[node["number"]], node["author"]
        if author is None:
            assert (user["login"], user["id"]) == ("ghost", 10137)
            continue
        kinds.add(user["type"])
        assert user["type"] == author["__typename"]
        assert user["login"].removesuffix("[bot]") == author["login"]
        assert user["login"].endswith("[bot]") is (user["type"] == "Bot")
    assert kinds == {"User", "Bot", "Mannequin", "Organization"}


def test_rest_pages_are_reached_by_link_only(twin: Twin) -> None:
    everything = follow(twin, f"{SLUICE}/issues?state=all&per_page=7&sort=updated&direction=asc")
    assert sorted(row["number"] for row in everything) == sorted(twin.world.main.entries)
    times = [row["updated_at"] for row in everything]
    assert times == sorted(times)
    assert get(twin, f"{SLUICE}/issues?state=all&page=2").status_code == 422
    pulls = [row for row in everything if "pull_request" in row]
    counting = get(twin, f"{SLUICE}/pulls?state=all&per_page=1")
    assert f"&page={len(pulls)}&" in counting.links["last"]["url"]
    assert len(get(twin, f"{SLUICE}/issues?state=all&per_page=500").json()) == len(everything)
    since = times[len(times) // 2]
    later = follow(twin, f"{SLUICE}/issues?state=all&since={since}")
    assert len(later) == sum(moment >= since for moment in times)


def test_rest_walls() -> None:
    limits = Limits(issues_wall=60, comments_wall=100)
    with Twin(synthetic_world(), limits=limits, paging=Paging({})) as twin:
        for path in ("issues?state=all&", "issues/comments?"):
            statuses = []
            with client(twin) as http:
                url: str | None = f"{SLUICE}/{path}per_page=40"
                while url:
                    reply = http.get(url)
                    statuses.append(reply.status_code)
                    url = reply.links.get("next", {}).get("url")
            assert statuses[-1] == 422


def test_rest_shapes(twin: Twin) -> None:
    world = twin.world
    rejected = titled(world, "Rewrite in another language")
    full = get(twin, f"{SLUICE}/pulls/{rejected}").json()
    assert full["merged"] is False
    assert full["merge_commit_sha"]
    pulls = follow(twin, f"{SLUICE}/pulls?state=all")
    listed = next(pull for pull in pulls if pull["number"] == rejected)
    assert set(full) - set(listed) >= {"merged", "additions", "changed_files", "merged_by"}
    lost = get(twin, f"{SLUICE}/pulls/{titled(world, 'Read from HTTP')}").json()
    assert lost["head"]["repo"] is None
    files = follow(twin, f"{SLUICE}/pulls/{titled(world, 'Rearrange the files')}/files")
    assert {"renamed", "removed", "added", "modified"} == {file["status"] for file in files}
    assert files[0]["previous_filename"] == "doc/guide.md"
    assert "patch" not in files[2]
    closed = titled(world, "Streams over HTTP")
    sources = [
        event
        for event in follow(twin, f"{SLUICE}/issues/{closed}/timeline")
        if event["event"] == "cross-referenced"
    ]
    outside = sources[0]["source"]["issue"]
    assert outside["repository"]["full_name"] == "prospector/pan"
    assert "pull_request" in outside


def test_texts_arrive_unharmed(twin: Twin) -> None:
    number = titled(twin.world, "Odd characters")
    body = get(twin, f"{SLUICE}/issues/{number}").json()["body"]
    assert body == twin.world.main.entries[number].body
    assert "\x00" in body
    assert "\ud83d" in body
    reply = ask(twin, sluice(f"issue(number: {number}) {{ body }}"))
    assert reply["data"]["repository"]["issue"]["body"] == body


def test_etags_are_free_and_follow_changes() -> None:
    world = synthetic_world()
    with Twin(world) as twin:
        first = get(twin, f"{SLUICE}/issues/1")
        again = get(twin, f"{SLUICE}/issues/1", **{"If-None-Match": first.headers["etag"]})
        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["x-ratelimit-used"] == first.headers["x-ratelimit-used"] == "1"
        Editor(world).edit_entry(1, body="new")
        changed = get(twin, f"{SLUICE}/issues/1", **{"If-None-Match": first.headers["etag"]})
        assert changed.status_code == 200
        assert changed.json()["body"] == "new"


def test_renames_redirect_deletions_are_gone_blocks_are_451() -> None:
    world = synthetic_world()
    editor = Editor(world)
    with Twin(world) as twin:
        editor.rename("prospector/rocker")
        editor.delete_entry(1)
        moved = get(twin, f"{SLUICE}/issues/3?x=1")
        assert moved.status_code == 301
        assert moved.headers["location"] == f"{twin.url}/repositories/61000001/issues/3?x=1"
        repository = get(twin, moved.headers["location"]).json()
        assert repository["repository_url"].endswith("/repos/prospector/rocker")
        name = ask(twin, sluice("nameWithOwner"))["data"]["repository"]["nameWithOwner"]
        assert name == "prospector/rocker"
        strict = sluice("id").replace('"sluice"', '"sluice", followRenames: false')
        assert ask(twin, strict)["errors"][0]["type"] == "NOT_FOUND"
        assert get(twin, "/repos/prospector/rocker/issues/1").status_code == 410
        assert get(twin, "/repos/prospector/rocker/issues/999").status_code == 404
        assert get(twin, "/repos/prospector/none").status_code == 404
        pull = world.main.entries[2].node_id
        reply = ask(twin, queries.entries_document("pull"), ids=[pull])
        assert reply["data"]["nodes"][0]["closingIssuesReferences"]["nodes"] == []
        editor.transfer_out(3, Ref("prospector/pan", 1))
        away = get(twin, "/repos/prospector/rocker/issues/3").headers["location"]
        assert get(twin, away).json()["number"] == 1
        assert get(twin, "/repos/prospector/rocker/pulls/4/files").json() != []
        editor.unlist_files(4)
        assert get(twin, "/repos/prospector/rocker/pulls/4/files").json() == []
        editor.block()
        assert get(twin, "/repos/prospector/rocker").status_code == 451


def test_former_names_lead_to_the_present_one() -> None:
    world = synthetic_world()
    world.add_former_name("Mozilla/Sluice", "prospector/sluice")
    for name in ("prospector/rocker", "prospectors/rocker"):
        Editor(world).rename(name)
    with Twin(world) as twin:
        for former in ("mozilla/sluice", "prospector/sluice", "prospector/rocker"):
            moved = get(twin, f"/repos/{former}")
            assert moved.status_code == 301
            assert moved.json()["url"] == moved.headers["location"]
            assert get(twin, moved.headers["location"]).json()["full_name"] == "prospectors/rocker"
            owner, name = former.split("/")
            query = f'{{ repository(owner: "{owner}", name: "{name}") {{ nameWithOwner }} }}'
            full_name = ask(twin, query)["data"]["repository"]["nameWithOwner"]
            assert full_name == "prospectors/rocker"
        Editor(world).rename("prospector/sluice")
        assert get(twin, "/repos/prospector/sluice").status_code == 200
        assert get(twin, "/repos/prospectors/rocker").status_code == 301


def test_edits_show_in_both_apis() -> None:
    world = synthetic_world()
    editor = Editor(world)
    target = titled(world, "Release 0.4")
    before = world.main.entries[target]
    editor.refer(target, Ref("prospector/sluice", 1))
    after = world.main.entries[target]
    assert after.updated_at == before.updated_at
    assert len(after.timeline) == len(before.timeline) + 1
    comment = editor.comment(target, "first")
    editor.edit_comment(comment, "second")
    with Twin(world) as twin:
        rows = follow(twin, f"{SLUICE}/issues/comments")
        [row] = [row for row in rows if row["id"] == comment]
        assert (row["id"], row["body"]) == (comment, "second")
        assert row["updated_at"] > row["created_at"]
        editor.delete_comment(comment)
        reply = ask(
            twin, sluice(f"issue(number: {target}) {{ comments {{ totalCount }} updatedAt }}")
        )
        issue = reply["data"]["repository"]["issue"]
        assert issue["comments"]["totalCount"] == 0
        assert issue["updatedAt"] == world.main.entries[target].updated_at > before.updated_at


def test_serves_as_an_enterprise_server_too(twin: Twin) -> None:
    reply = get(twin, f"/api/v3{SLUICE}/issues?state=all&per_page=20")
    assert "/api/v3/repositories/" in reply.links["next"]["url"]
    with client(twin) as http:
        reply = http.post("/api/graphql", json={"query": "{ __typename }"})
        assert reply.json() == {"data": {"__typename": "Query"}}
        assert http.get("/nothing").status_code == 404
