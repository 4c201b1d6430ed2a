from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.text.keywords import LARGEST_NUMBER, find_mentions

URL = "https://github.com/o/r/issues/5"
LONGEST = "o" * 39 + "/" + "r" * 100


def short(text: str) -> list[tuple[str, str | None, int]]:
    return [(mention.pattern, mention.repo, mention.number) for mention in find_mentions(text)]


@pytest.mark.parametrize(
    ("text", "repo"),
    [
        ("https://github.com/o/r/issues/5", "o/r"),
        ("http://github.com/o/r/issues/5", "o/r"),
        ("HTTPS://GitHub.com/O/r/issues/5", "O/r"),
        ("https://www.github.com/o/r/issues/5", "o/r"),
        ("https://github.com/o/r/pull/5", "o/r"),
        ("https://github.com/o/r/pull/5/files", "o/r"),
        ("https://github.com/o/r/issues/5#issuecomment-77", "o/r"),
        ("https://github.com/o/r/issues/5?q=a+GH-7&x=#8", "o/r"),
        ("[bug](https://github.com/o/r/issues/5)", "o/r"),
        ("<https://github.com/o/r/issues/5>", "o/r"),
        ("见https://github.com/o/r/issues/5的", "o/r"),
        ("https://github.com/a-b_c/r.js-x_y/issues/5", "a-b_c/r.js-x_y"),
        (f"https://github.com/{LONGEST}/pull/5", LONGEST),
    ],
)
def test_url(text: str, repo: str) -> None:
    assert short(text) == [("url", repo, 5)]


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/o/r/issues",
        "https://github.com/o/r/issues/0",
        "https://github.com/o/r/issues/05",
        "https://github.com/o/r/issues/2147483648",
        "https://github.com/o/r/discussions/5",
        "https://github.com/o/../issues/5",
        "https://github.com/-o/r/issues/5",
        "https://github.com/o/r/x/issues/5",
        "https://github.com.evil.org/o/r/issues/5",
        "https://gitlab.com/o/r/issues/5",
        "https://github.com/" + "o" * 40 + "/r/issues/5",
        "https://github.com/o/" + "r" * 101 + "/issues/5",
    ],
)
def test_not_an_issue_url(text: str) -> None:
    assert short(text) == []


@pytest.mark.parametrize("mark", ["", ".", "?", "?!", ", ", ")", ":"])
@pytest.mark.parametrize("tail", ["", "/", "?a=NT_abc", "#issuecomment-7", "/files#r1"])
def test_what_follows_the_number_of_an_address_belongs_to_it(tail: str, mark: str) -> None:
    (mention,) = find_mentions(f"({URL}{tail}{mark} and")
    assert (mention.start, mention.number_end) == (1, 1 + len(URL))
    assert mention.end == 1 + len(URL + tail)


def test_enterprise_hosts() -> None:
    text = "https://ghe.example.org:8443/o/r/pull/5 and https://github.com/o/r/pull/6"
    mentions = find_mentions(text, hosts=("ghe.example.org:8443",))
    assert [(mention.repo, mention.number) for mention in mentions] == [("o/r", 5)]


@pytest.mark.parametrize(
    "text",
    [
        *("#12", "(#12)", "[#12]", "**#12**", "#12.", "#12's", "#12,", "a #12b #12", "-#12"),
        *('"#12"', "x:#12", "#12-x", "#12/x", "\n#12\n", "`#12`", "见#12的问题", "\ud800#12\udfff"),
        *("\0#12\0", "see.#12", "#12#13", "a/..#12", "\\#12"),
    ],
)
def test_hash(text: str) -> None:
    assert short(text) == [("hash", None, 12)]


@pytest.mark.parametrize(
    "text",
    [
        *("C#7", "a#1", "_#1", "1#1", "user#1", "a/#1", "##1", "&#39;", "&#1", "#12a", "#123abc"),
        *("#1_", "#", "# 1", "#0", "#007", "#-1", "#x1", "#١", "#１", "#1١", "#1１"),
        *("#2147483648", "#99999999999"),
        "#" + "9" * 5000,
        "a/b/c#1",
        "/dir/file.py#1",
        "a.b/c#1",
        "x" * 40 + "/r#1",
    ],
)
def test_not_a_hash(text: str) -> None:
    assert short(text) == []


def test_numbers_end_at_the_largest_id() -> None:
    assert short(f"#{LARGEST_NUMBER} #{LARGEST_NUMBER + 1}") == [("hash", None, LARGEST_NUMBER)]


@pytest.mark.parametrize("text", ["GH-2", "gh-2", "(GH-2)", "gh-2:", "GH-2.", "[gh-2]", "见GH-2"])
def test_gh(text: str) -> None:
    assert short(text) == [("gh", None, 2)]


@pytest.mark.parametrize(
    "text",
    [
        *("Gh-26", "gH-26", "xGH-26", "GH26", "GH--26", "GH-0", "GH-026", "GH-26a", "a/gh-26"),
        *("GH-2147483648", "fix-gh-26", "GH- 26", "1GH-2", "_gh-2"),
        "https://github.com/o/x-gh-2/tree",
    ],
)
def test_not_a_gh(text: str) -> None:
    assert short(text) == []


@pytest.mark.parametrize(
    ("text", "repo"),
    [
        ("o/r#3", "o/r"),
        ("@o/r#3", "o/r"),
        ("a-b_c/.github#3", "a-b_c/.github"),
        ("o/r.js#3", "o/r.js"),
        ("见o/r#3的", "o/r"),
        (f"{LONGEST}#3", LONGEST),
    ],
)
def test_slug(text: str, repo: str) -> None:
    assert short(text) == [("slug", repo, 3)]


@pytest.mark.parametrize(
    "text", ["o/r#0", "o/r#3a", "o/r #", "o/r#", "o//r#3", "/o/r#3", "-o/r#3", "o/r#2147483648"]
)
def test_not_a_slug(text: str) -> None:
    assert short(text) == []


def test_overlaps_go_from_left_to_right() -> None:
    assert short("gh-5/x#7") == [("gh", None, 5)]
    assert short("https://github.com/o/gh-5/issues/7") == [("url", "o/gh-5", 7)]
    assert short(f"{URL}#6,#7 o/r#8 GH-9") == [
        ("url", "o/r", 5),
        ("hash", None, 7),
        ("slug", "o/r", 8),
        ("gh", None, 9),
    ]


NAME = st.from_regex(
    r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9._-]{0,90}[A-Za-z0-9]", fullmatch=True
)
NUMBER = st.integers(1, LARGEST_NUMBER)
WRITTEN = st.one_of(
    NUMBER.map(lambda n: (f"#{n}", "hash", None, n)),
    st.tuples(st.sampled_from(["GH-", "gh-"]), NUMBER).map(
        lambda t: (f"{t[0]}{t[1]}", "gh", None, t[1])
    ),
    st.tuples(NAME, NUMBER).map(lambda t: (f"{t[0]}#{t[1]}", "slug", t[0], t[1])),
    st.tuples(NAME, st.sampled_from(["issues", "pull", "pulls"]), NUMBER).map(
        lambda t: (f"https://github.com/{t[0]}/{t[1]}/{t[2]}", "url", t[0], t[2])
    ),
)
AROUND = st.sampled_from(["", " ", "(", ")", "\n", "**", '"', ", ", ": ", "见", "\ud800", "\0"])


@given(AROUND, WRITTEN, AROUND)
def test_round_trip(before: str, written: tuple[str, str, str | None, int], after: str) -> None:
    text, pattern, repo, number = written
    (mention,) = find_mentions(before + text + after)
    assert (mention.pattern, mention.repo, mention.number) == (pattern, repo, number)
    assert (before + text + after)[mention.start : mention.end] == text


PIECES = st.lists(
    st.sampled_from(
        ["#", "1", "23", "0", "GH-", "gh-", "o", "/", "r", ".", "-", "_", "&", " ", "\n", "(", ")"]
    )
    | st.sampled_from(
        ["https://", "github.com/", "/issues/", "/pull/", "www.", "?", "é", "１", "\ud800"]
    ),
    max_size=30,
).map("".join)


TEXT = PIECES | st.text(st.characters(), max_size=50)


@given(TEXT)
def test_mentions_are_ordered_and_slice_back(text: str) -> None:
    at = 0
    for mention in find_mentions(text):
        assert at <= mention.start < mention.end <= len(text)
        at = mention.end
        written = text[mention.start : mention.end]
        assert written.endswith(str(mention.number))
        assert (mention.repo is not None) == (mention.pattern in ("url", "slug"))
        assert mention.repo is None or mention.repo in written
        assert 1 <= mention.number <= LARGEST_NUMBER


@given(TEXT, TEXT)
def test_texts_apart_do_not_influence_each_other(left: str, right: str) -> None:
    assert short(f"{left} \n {right}") == short(left) + short(right)
