"""Preprocessing steps do what SELU describes, compose, and take linear time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.core.errors import UsageError
from goldpan.text.markdown import markdown_to_text
from goldpan.text.preprocessing import (
    STEPS,
    jira_to_markdown,
    mask_code,
    mask_hashes,
    mask_mentions,
    mask_urls,
    ordered_steps,
    run_steps,
    white_space,
)

HASH = "0123456789abcdef0123456789ABCDEF01234567"


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (mask_hashes, f"see {HASH}.", "see HASH."),
        (mask_hashes, f"{HASH}0", f"{HASH}0"),
        (mask_hashes, HASH[:39], HASH[:39]),
        (mask_urls, "(see https://a.org/x?y=1#z).", "(see URL)."),
        (mask_urls, "at www.a.org, and ftp://b", "at URL, and URL"),
        (mask_urls, "<http://a.b>", "<URL>"),
        (
            mask_urls,
            "http:// is no address; nor is awww.b.c",
            "http:// is no address; nor is awww.b.c",
        ),
        (mask_mentions, "@ann, thanks; cc @bob-b.", "USER, thanks; cc USER."),
        (mask_mentions, "mail a@b.org or `@x` or @@y", "mail a@b.org or `@x` or @@y"),
        (mask_code, "a\n```py\nx = 1\n```\nb", "a\nCODE\nb"),
        (mask_code, "a ``` x ``` b", "a CODE b"),
        (mask_code, "a\n~~~\n```\n~~~\nb ``` c", "a\nCODE\nb ``` c"),
        (mask_code, "a\n```\nnever closed", "a\nCODE"),
        (mask_code, "a ``` never closed", "a ``` never closed"),
        (mask_code, "<p>a</p><pre class='c'><code>x</code></pre>b", "<p>a</p>CODEb"),
        (mask_code, "</pre> a <preface>", "</pre> a <preface>"),
        (
            jira_to_markdown,
            "h2. Steps\n# first\n## deeper\n* point",
            "## Steps\n1. first\n    1. deeper\n- point",
        ),
        (
            jira_to_markdown,
            "{{mono}} *bold* [~ann] [site|http://a.b] [http://c.d]",
            "`mono` **bold** @ann [site](http://a.b) <http://c.d>",
        ),
        (jira_to_markdown, "a {code:java}x *y*{code} b", "a \n```\nx *y*\n```\n b"),
        (jira_to_markdown, "{noformat}a ``` b{noformat}", "\n````\na ``` b\n````\n"),
        (jira_to_markdown, "{quote}said\nso{quote}", "\n\n> said\n> so\n\n"),
        (
            jira_to_markdown,
            "{color:red}hot{color} !shot.png|thumbnail! bq. no",
            "hot ![](shot.png) bq. no",
        ),
        (jira_to_markdown, "2*3*4 and [x] and wow! nice!", "2*3*4 and [x] and wow! nice!"),
        (jira_to_markdown, "{code} never closed *b*", "{code} never closed **b**"),
    ],
)
def test_what_a_step_makes_of_a_text(step: Callable[[str], str], text: str, expected: str) -> None:
    assert step(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Head\n\nRun `a b`, see [the *manual*](http://a.b/c).", "Head\n\nRun CODE, see URL."),
        ("- one\n- **two**\n\n> quoted &amp; &lt;b&gt;", "one\n\ntwo\n\nquoted & <b>"),
        ("<p>One <a href='x'>link</a><br>two</p><script>bad()</script>", "One URL\ntwo"),
        ("a <!-- hidden --> b ![alt](i.png) <https://a.b>", "a  b  URL"),
        ("```\nkept = 1\n```", "kept = 1"),
        ("<code>a <code>b</code> c</code> d", "CODE d"),
        ("<pre><code>kept</code></pre>", "kept"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a\nb\n1\n2"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a  b"),
        ("2 < 3 and x_y_z * w", "2 < 3 and x_y_z * w"),
        ("", ""),
    ],
)
def test_markdown_becomes_what_readers_see(text: str, expected: str) -> None:
    lines = [line.strip() for line in markdown_to_text(text).split("\n") if line.strip()]
    assert lines == [line.strip() for line in expected.split("\n") if line.strip()]


def test_the_paper_collapses_white_space_first() -> None:
    steps = ["jira_to_markdown", "mask_code", "markdown_to_text", "white_space"]
    assert ordered_steps(steps, "default") == tuple(steps)
    paper = ordered_steps(steps, "selu-paper")
    assert paper == ("white_space", "jira_to_markdown", "markdown_to_text", "mask_code")
    assert ordered_steps(steps, "none") == ()
    text = "# Head\n\nText\n\n    code()\n"
    assert run_steps([text], ["markdown_to_text", "white_space"]) == ["Head Text code()"]
    # Without its lines the text is one long heading.
    order = ordered_steps(["markdown_to_text", "white_space"], "selu-paper")
    assert run_steps([text], order) == ["Head Text code()"]
    bullets = "- one\n- two"
    assert run_steps([bullets], ["markdown_to_text", "white_space"]) == ["one two"]
    assert run_steps([bullets], ["white_space", "markdown_to_text"]) == ["one - two"]


def test_unknown_steps_and_orders_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no preprocessing step 'lower'.*white_space"):
        ordered_steps(["lower"], "default")
    with pytest.raises(UsageError, match=r"no order of steps 'paper'.*selu-paper"):
        ordered_steps([], "paper")


@given(st.text())
def test_white_space_is_collapsed(text: str) -> None:
    collapsed = white_space(text)
    assert collapsed == collapsed.strip()
    assert white_space(collapsed) == collapsed
    assert "".join(collapsed.split()) == "".join(text.split())


@given(st.text(alphabet="ab`~*_<>/[](){}|!#@&;:=\n\t -.0123\u00e9\x00", max_size=200))
def test_no_text_breaks_a_step(text: str) -> None:
    for step in STEPS.values():
        assert isinstance(step(text), str)


MARKUP = ["`", "```", "[", "![](", "![]![](#", "[~", "![]([~", "[a]: b\n", "_a", "*a ", "**"]
LISTS = ["{code}", "{{a}", "{quote}", "\n", "> ", ">1)\n<\n", "- ", "1. ", "|"]
HTML = ["<!--", "<a ", "<code>", "<pre><pre", "&#1", "!a", "@a", "http://", HASH[:39]]


@pytest.mark.parametrize("unit", [*MARKUP, *LISTS, *HTML])
def test_hostile_texts_take_linear_time(unit: str) -> None:
    text = (unit * (20_000 // len(unit) + 1))[:20_000]
    for name, step in STEPS.items():
        started = time.process_time()
        step(text)
        # Measured: at most 0.8 s for Markdown and 0.03 s for the others.
        assert time.process_time() - started < (6 if name == "markdown_to_text" else 2), name
