"""The twin's REST side: shapes, redirects, tags, what edits change, and how lists are paged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.twin import Editor, Paging, Twin, synthetic_world
from tests.twin.asking import SLUICE, ask, client, follow, get, sluice
from tests.twin.world import Ref

CURSORS = Paging()
NUMBERS = Paging({})
ISSUES = f"{SLUICE}/issues?state=all&per_page=20"


def walk(http: httpx.Client, url: str) -> list[httpx.Response]:
    """Follow the links to the end or to the first page that is refused."""
    pages = [http.get(url)]
    while "next" in pages[-1].links:
        pages.append(http.get(pages[-1].links["next"]["url"]))
    return pages


def numbers(pages: list[httpx.Response]) -> list[int]:
    return [row["number"] for page in pages for row in page.json()]


def query(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query)


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(synthetic_world()) as running:
        yield running


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
        for path, status in (("rocker/issues/1", 410), ("rocker/issues/999", 404), ("none", 404)):
            assert get(twin, f"/repos/prospector/{path}").status_code == status
        editor.transfer_out(3, Ref("prospector/pan", 1))
        away = get(twin, "/repos/prospector/rocker/issues/3").headers["location"]
        assert get(twin, away).json()["number"] == 1
        editor.block()
        assert get(twin, "/repos/prospector/rocker").status_code == 451


@pytest.mark.parametrize("sort", ["created", "updated", "comments"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_cursors_lead_to_every_entry_and_back(sort: str, direction: str) -> None:
    with Twin(synthetic_world(), paging=CURSORS) as twin, client(twin) as http:
        ordered = f"{ISSUES}&sort={sort}&direction={direction}"
        pages = walk(http, ordered)
        whole = http.get(ordered.replace("per_page=20", "per_page=100")).json()
        assert numbers(pages) == [row["number"] for row in whole]
        following = pages[0].links["next"]["url"]
        assert re.match(rf"{twin.url}/repositories/61000001/issues\?state=all&", following)
        assert query(following)["page"] == ["2"]
        assert query(following)["after"][0].startswith("Y3Vyc29yOnYyO")
        assert [set(page.links) for page in pages] == [{"next"}, {"next", "prev"}, {"prev"}]
        back = http.get(pages[2].links["prev"]["url"])
        assert back.json() == pages[1].json()
        assert query(pages[2].links["prev"]["url"])["page"] == ["2"]


def test_deletions_do_not_shift_pages_by_cursor() -> None:
    def listed(paging: Paging) -> list[int]:
        world = synthetic_world()
        with Twin(world, paging=paging) as twin, client(twin) as http:
            first = http.get(f"{ISSUES}&direction=asc")
            for row in first.json()[:3]:
                Editor(world).delete_entry(row["number"])
            return numbers([first, *walk(http, first.links["next"]["url"])])

    assert len(listed(CURSORS)) == 60
    assert len(listed(NUMBERS)) == 57
