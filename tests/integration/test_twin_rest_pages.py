"""How the twin's REST lists are paged: by number or by cursor, and cursors that expire."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.twin import Editor, Expired, Limits, Paging, Twin, synthetic_world
from tests.twin.asking import SLUICE, client, follow, get

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


def test_a_list_by_cursor_has_no_last_page_and_no_wall() -> None:
    limits = Limits(issues_wall=20)
    with Twin(synthetic_world(), limits=limits, paging=CURSORS) as twin, client(twin) as http:
        counting = http.get(f"{SLUICE}/issues?state=all&per_page=1")
        assert set(counting.links) == {"next"}
        assert len(numbers(walk(http, ISSUES))) == 60
        refused = http.get(f"{ISSUES}&page=3")
        assert refused.status_code == 422
        assert refused.json()["message"].startswith("Pagination with the page parameter")


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


def test_each_list_is_paged_as_it_is_set() -> None:
    paging = Paging({"all_comments": "numbered without last", "timeline": "cursor"})
    with Twin(synthetic_world(), paging=paging) as twin, client(twin) as http:
        comments = http.get(f"{SLUICE}/issues/comments?per_page=50")
        assert set(comments.links) == {"next"}
        assert set(http.get(comments.links["next"]["url"]).links) == {"next", "prev", "first"}
        assert set(http.get(f"{SLUICE}/pulls?state=all&per_page=5").links) == {"next", "last"}
        world = twin.world.main
        long = max(world.entries.values(), key=lambda entry: len(entry.timeline)).number
        pages = walk(http, f"{SLUICE}/issues/{long}/timeline?per_page=100")
        assert len(pages) > 1
        assert "after" in query(pages[0].links["next"]["url"])
        assert not any("last" in page.links for page in pages)
    with Twin(synthetic_world()) as twin:
        events: list[Any] = follow(twin, f"{SLUICE}/issues/{long}/timeline?per_page=100")
    assert len(events) == sum(len(page.json()) for page in pages)


@pytest.mark.parametrize("style", ["cursor", "numbered"])
def test_cursors_expire_once_or_always(style: Any) -> None:
    once = Paging({"issues": style}, (Expired("issues", 3), Expired("pulls", 2, None)))
    with Twin(synthetic_world(), paging=once) as twin, client(twin) as http:
        broken = walk(http, ISSUES)
        assert [page.status_code for page in broken] == [200, 200, 422]
        assert broken[2].json()["message"] == "Validation Failed"
        assert [page.status_code for page in walk(http, ISSUES)] == [200, 200, 200]
        for _ in range(3):
            pulls = walk(http, f"{SLUICE}/pulls?state=all&per_page=5")
            assert [page.status_code for page in pulls] == [200, 422]


def test_cursors_are_only_valid_in_their_own_list() -> None:
    with Twin(synthetic_world(), paging=CURSORS) as twin:
        after = get(twin, ISSUES).links["next"]["url"].replace("state=all", "sort=updated")
        assert get(twin, after).status_code == 422
        assert get(twin, f"{ISSUES}&after=nonsense").status_code == 422
