from __future__ import annotations

import pytest

from goldpan.text.keywords import find_closing_keywords
from goldpan.text.markdown import blocks

WORDS = ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"]
URL = "https://github.com/o/r/issues/1"


def short(text: str, markdown: bool = True) -> list[tuple[str, str | None, int]]:
    keywords = find_closing_keywords(text, markdown=markdown)
    return [(keyword.keyword, keyword.repo, keyword.number) for keyword in keywords]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("markdown", [True, False])
def test_each_keyword_in_any_case(word: str, markdown: bool) -> None:
    for written in (word, word.title(), word.upper()):
        assert short(f"{written} #12", markdown) == [(word, None, 12)]


FIXES_1 = [("fixes", None, 1)]
FIXES_URL = [("fixes", "o/r", 1)]


@pytest.mark.parametrize("markdown", [True, False])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fixes: #1", FIXES_1),
        ("fixes:#1", FIXES_1),
        ("fixes   #1", FIXES_1),
        ("fixes\n#1", FIXES_1),
        ("fixes #1.", FIXES_1),
        ("hot-fixes #1", FIXES_1),
        ("fixes GH-1", FIXES_1),
        ("fixes o/r#1", FIXES_URL),
        (f"fixes {URL}", FIXES_URL),
        (f"fixes: {URL}#issuecomment-2", FIXES_URL),
        ("fixes https://github.com/o/my_big_repo/pull/1/files", [("fixes", "o/my_big_repo", 1)]),
        ("fixes #1, #2", FIXES_1),
        ("fixes #1 and fixes #2", [*FIXES_1, ("fixes", None, 2)]),
        ("fixes #1, closes #2", [*FIXES_1, ("closes", None, 2)]),
        ("fixes#1", []),
        ("fixes :#1", []),
        ("fixes issue #1", []),
        ("fixes #0", []),
        ("fixes #1a", []),
        ("fixes # 1", []),
        ("fixes https://github.com/o/r/issues", []),
        ("fixes https://example.com/o/r/issues/1", []),
        ("fixing #1", []),
        ("préfixes #1", []),
        ("unresolved #1", []),
        ("_fixes_x #1", []),
        ("cloſes #1", []),
        ("fixes\n\n#1", []),
        ("fixes", []),
        ("", []),
    ],
)
def test_keyword_and_reference(
    text: str, expected: list[tuple[str, str | None, int]], markdown: bool
) -> None:
    assert short(text, markdown) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("**Fixes** #1", "**Fixes #1**", "Fixes **#1**", "_Fixes_: #1", "***Fixes*** _#1_"),
        *("~~fixes #1~~", "# Fixes #1", "Fixes #1\n===", "- fixes #1", "- [x] fixes #1"),
        *("1. a\n   - fixes\n     #1", "a|b\n-|-\nfixes #1|c", "fixes  \n#1", "fixes\\\n#1"),
        *("fixes \\#1", "fixes\\: #1", "fixes &#35;1", "fixes &num;1", "fixes&nbsp;#1"),
        *("fixes&colon; #1", "&#102;ixes #1", "fixes gh\\-1", "fixes GH-&#49;"),
        *("fixes <!-- which? --> #1", "fixes <b>#1</b>", "<b>fixes</b> #1"),
        *("<details>\nfixes #1\n</details>", "<details>\n\nfixes #1\n\n</details>"),
        *("<p>fixes <em>&#35;1</em></p>", "<!-- template --> fixes #1", "[^1]: fixes #1"),
        *("a `b` fixes #1 `c`", "> quoted\n\nfixes #1", "```\ncode\n```\nfixes #1"),
        *("[Fixes](https://example.com) #1", "fixes\u2003#1 \0 \ud800"),
    ],
)
def test_visible_text_counts(text: str) -> None:
    assert short(text) == FIXES_1


@pytest.mark.parametrize(
    "text",
    [
        f"fixes [#1]({URL})",
        f"fixes [the bug]({URL})",
        f"fixes: [o/r#1]({URL}#issuecomment-2)",
        f"fixes <{URL}>",
        f"fixes [#1][bug]\n\n[bug]: {URL}",
        f"fixes [bug]\n\n[bug]: {URL}",
        f"[fixes #1]({URL})",
        f'fixes <a href="{URL}">#1</a>',
        "fixes o\\/r\\#1",
        "fixes https\\://github.com/o/r/issues/1",
        "fixes <https://github.com/o/r/issues/1?x=&amp;y>",
    ],
)
def test_links_and_long_references_count(text: str) -> None:
    assert short(text) == FIXES_URL


@pytest.mark.parametrize(
    "text",
    [
        "`fixes #1`",
        "fixes `x` #1",
        "```\nfixes #1\n```",
        "a\n\n    fixes #1",
        "- a\n\n      fixes #1",
        "> fixes #1",
        "- > fixes #1",
        "<!-- fixes #1 -->",
        "<!--\n\nfixes #1\n\n-->",
        "<pre>fixes #1</pre>",
        "<code>fixes #1</code>",
        "<script>\nfixes #1\n</script>",
        "<blockquote>fixes #1</blockquote>",
        "fixes <code>x</code> #1",
        "fixes ![#1](src)",
        f"fixes ![#1]({URL})",
        "fixes [#1](https://example.com/o/r/issues/1)",
        f"fixes [the bug](https://example.com/?u={URL})",
        'fixes <a href="https://redirect.github.com/o/r/issues/1">#1</a>',
        f"[fixes the bug]({URL})",
        "fixes\n\n#1",
        "# fixes\n#1",
        "fixes|#1\n-|-\nfixes|#2",
        "fixes <div>#1</div>",
        "fi**xes** #1",
        "fixes #**1**",
        "fixes #1**2**",
        "pre**fixes** #1",
        "fixes &#8203;#1",
        "fixes \\\\#1",
    ],
)
def test_hidden_or_broken_text_does_not_count(text: str) -> None:
    assert short(text) == []


def test_markup_is_plain_text_in_titles_and_commit_messages() -> None:
    assert short("> `fixes #1`", markdown=False) == FIXES_1
    assert short("**fixes** #1", markdown=False) == []


def test_enterprise_hosts() -> None:
    text = "fixes https://ghe.example.org/o/r/issues/1 fixes [it](https://ghe.example.org/o/r/issues/2)"
    keywords = find_closing_keywords(text, hosts=("ghe.example.org",))
    assert [(keyword.repo, keyword.number) for keyword in keywords] == [("o/r", 1), ("o/r", 2)]
    assert find_closing_keywords(text) == []


@pytest.mark.parametrize(
    "before",
    [
        *("does not ", "doesn't ", "doesn’t actually ", "will not yet ", "won't ", "not "),
        *("never ", "NOT ", "no longer ", "cannot ", "without any "),
        *("It works. This does not\n", "fixes #2, but does not "),
    ],
)
def test_negated(before: str) -> None:
    for markdown in (True, False):
        assert find_closing_keywords(f"{before}fix #1", markdown=markdown)[-1].stance == "negated"


@pytest.mark.parametrize(
    "before",
    [
        *("", "this ", "not only ", "It does not work. This ", "Is it not good? "),
        *("does not fix #2, ", "It is not done but ", "not one two three four ", "notable "),
        *("knot ", "does not break and ", "Do not merge yet!\n\n", "no "),
    ],
)
def test_not_negated(before: str) -> None:
    for markdown in (True, False):
        assert find_closing_keywords(f"{before}fixes #1", markdown=markdown)[-1].stance != "negated"


def test_a_capitalised_keyword_on_its_own_line_is_not_negated() -> None:
    assert find_closing_keywords("Do not merge yet\nFixes #1")[0].stance == "stated"


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("Fixes #1", "stated"),
        ("This should fix #1", "stated"),
        ("Fixes #1, right?", "stated"),
        (f"Fixes {URL}?notification_referrer_id=NT_kwABC", "stated"),
        (f"Fixes {URL}/?tab=readme", "stated"),
        (f"Fixes {URL}#issuecomment-3?", "asked"),
        (f"Does this fix {URL}?plain=1?", "asked"),
        (f"Fixes {URL}?why=partly#only (in part)", "partial"),
        (f"Fixes {URL}?x=1, but this does not help", "negated"),
        ("This is how we fix #1: https://example?page=1", "stated"),
        ("Does this fix #1, as https://example.com/a says?", "asked"),
        ("See https://example.com/why-is-it-not-done which fixes #1", "stated"),
        ("https://example.com/a/maybe.html - Fixes #1", "stated"),
        ("Partly rewritten. Closes #1", "stated"),
        ("might close #1", "supposed"),
        ('its message said "closes #1"', "supposed"),
        ('Do not write "closes #1"', "negated"),
        ("Similar to #5, which fixed #1", "supposed"),
        ("Since PR #5 already fixed #1, this only adds a test", "supposed"),
        ("As in #5, fixes #1", "stated"),
        ("I was unable to fix #1", "negated"),
        ("I was hoping that this would fix #1, but this does not help", "negated"),
        ("Fixes #1, but unfortunately it doesn't work on Windows", "negated"),
        ("Fixes #1, but it does not touch what #2 asks", "stated"),
        ("I think this fixes #1", "supposed"),
        ("This tries to fix #1", "supposed"),
        ("Somebody should fix #1", "supposed"),
        ("Someone has to close #1", "supposed"),
        ("What you need to know: fixes #1", "stated"),
        ("Please check whether this fixes #1", "supposed"),
        ("does this fix #1?", "asked"),
        ("Closes [#1](https://github.com/o/r/issues/1)?", "asked"),
        ("half-fixes #1", "partial"),
        ("Part of #7, fixes #1", "stated"),
        ("fixes #1 (partially)", "partial"),
        ("This does not fully fix #1", "partial"),
        ("Doesn't fix #1 completely", "partial"),
        ("This doesn't only fix #1", "stated"),
        ("Fixes #1 (hopefully)", "supposed"),
        ("Possible fix #1", "supposed"),
        ("does _not_ fix #1", "negated"),
        ('Revert "Fixes #1"', "negated"),
        ('Revert "Prepend helpers. Fixes #1"', "negated"),
        ('Revert "Revert "Prepend. Fixes #1""', "stated"),
        ('Revert "Prepend helpers"\n\nFixes #1, "whole"', "stated"),
    ],
)
def test_how_a_keyword_is_meant(text: str, stance: str) -> None:
    assert [keyword.stance for keyword in find_closing_keywords(text)] == [stance]


def test_all_that_a_revert_quotes_is_undone() -> None:
    found = find_closing_keywords('Revert "Fixes #1, fixes #2"', markdown=False)
    assert [keyword.stance for keyword in found] == ["negated", "negated"]


def test_place_and_excerpt() -> None:
    text = (
        "# A\n\nlong "
        + "word " * 50
        + "\nso **fixes**\n#1 "
        + "and " * 60
        + "\n\n- b\n- Closes: GH-2"
    )
    first, second = find_closing_keywords(text)
    (_, block, *_) = blocks(text)
    assert (first.line, second.line) == (3, 8)
    assert block.text[first.start :].startswith("fixes\n#1")
    assert "so fixes #1 and" in first.excerpt
    assert len(first.excerpt) <= 160
    assert (second.keyword, second.start, second.excerpt) == ("closes", 0, "Closes: GH-2")
    (plain,) = find_closing_keywords("title\r\n\r\nbody\r\nfixes #1", markdown=False)
    assert (plain.line, plain.start, plain.excerpt) == (3, 6, "body fixes #1")
