from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.text.lines import LineKind, classify, is_trace
from goldpan.text.markdown import blocks
from goldpan.text.prose import letters, prose, prose_of
from tests.drawing import texts
from tests.real_texts import needs_real_texts, real_texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It fails.\n\n```\nint x;\n```\nWhy?", "It fails.\nWhy?"),
        ("It fails.\n\n~~~py\nx = 1\n```\n~~~\nWhy?", "It fails.\nWhy?"),
        ("It fails.\n\n````\n```\nnot the end\n````\nWhy?", "It fails.\nWhy?"),
        ("It fails:\n```\nnever closed\nat all", "It fails:"),
        ("It fails:\n\n    int x;\n\n    int y;\n\nWhy?", "It fails:\nWhy?"),
        ("It fails:\n\n\tmake test\nWhy?", "It fails:\nWhy?"),
        ("The `int x` in ``a ` b`` fails", "The in fails"),
        ("An unclosed ` stays", "An unclosed stays"),
        ("See https://example.org/a_(b)?c#d for more", "See for more"),
        ('See [the docs](https://example.org/x_(y) "Title") there', "See the docs there"),
        ("Look: ![a screenshot](https://example.org/x.png) here", "Look: here"),
        ("Thanks @alice-b and @org/team for #123 and GH", "Thanks and for and GH"),
        ("<b>Very</b> <img src='x.png'> bad<br/>", "Very bad"),
        ("The <code>x = 1</code> and <kbd>Ctrl</kbd> keys", "The and keys"),
        ("Seen <!-- not seen --> again", "Seen again"),
        ("Seen\n<!-- not\nseen\n```\n-->\nagain", "Seen\nagain"),
        ("Seen\n<!-- never closed\nagain", "Seen"),
        ("<pre>\nint x;\n</pre>\nWhy?", "Why?"),
        ("<blockquote>He said\n</blockquote>\nWhy?", "Why?"),
        ("> He said\nand went on\nand on\n- Why?", "Why?"),
        ("> He said\n>\nWhy?", "Why?"),
        ("On Mon, Jan 5, 2015 at 3:12 PM, Al <a@b.org> wrote:\n\n> He said\n\nWhy?", "Why?"),
        ("Yes.\n\nOn Mon, Jan 5, 2015 at 3 PM, Al <a@b.org>\nwrote:\n\n> He said\n", "Yes."),
        ("Oui.\n\nLe 5 janv. 2015 à 15:12, Al <a@b.org> a écrit :\n\n> Il dit", "Oui."),
        ("Yes.\n\nFrom: Al\nSent: Monday\nTo: a/b\nSubject: Re: x\n\nHe said", "Yes."),
        ("Yes.\n\n-----Original Message-----\nFrom: Al\n\nHe said", "Yes."),
        ("Yes.\n\n-- \nAl\nWorks at B", "Yes."),
        ("Yes.\n\n—\nReply to this email directly or view it on GitHub", "Yes."),
        ("Yes.\n\nSent from my iPhone", "Yes."),
        ("It says:\n```\nFrom: Al\nTo: Ben\n```\nWhy?", "It says:\nWhy?"),
        ("_Originally posted by @alice in https://example.org/1_\nWhy?", "Why?"),
        ("Since 1a2b3c4d5e6f it fails with 0xdeadbeef01", "Since it fails with"),
        ("**Very** ~~un~~important _indeed_ snake_case", "Very un important indeed snake_case"),
        ("### Steps to Reproduce\n\nOpen it.\n\n**Expected behavior**\n_No response_", "Open it."),
        ("1. Go to '...'\n2. Click on '....'\n3. See error\n\nIt fails.", "It fails."),
        ("| a | b |\n|---|---|\n| 12.5 | 13.5 |\n| 1.2e9 | 99% |", "a b"),
        ("Fine &amp; good :tada: done", "Fine & good done"),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\nWhy?", "Why?"),
        ("$ make test\nroot@host:/tmp# ls\nPS C:\\Users\\x> dir\nWhy?", "Why?"),
        ("#include <stdio.h>\nint main() {\n}\nimport os\nWhy?", "Why?"),
        ('Traceback (most recent call last):\n  File "a.py", line 1\n    f()\nWhy?', "Why?"),
        ("升级之后 `x` 失败\r\n\r\n```\r\nx\r\n```", "升级之后 失败"),
        ("It takes 12.5 ms or 13.5 ms or 14.5 ms", "It takes 12.5 ms or 13.5 ms or 14.5 ms"),
        ("We now see that it takes 1 23 456 7890 11 22 33 44 55 66 77 88 99", None),
        ("", ""),
        ("\n \n\t\n", ""),
    ],
)
def test_prose(text: str, expected: str | None) -> None:
    assert prose(text) == (text if expected is None else expected)


def test_quotes_stay_on_request() -> None:
    text = "> He said\n> ```\n\nWhy?"
    assert prose(text) == "Why?"
    assert prose_of(classify(text), quotes=True) == "He said\nWhy?"


def test_lines_of_the_repository_s_template_go() -> None:
    text = "Which valve?\nThe left one.\n  Which valve?  \n"
    assert prose_of(classify(text, frozenset({"Which valve?"}))) == "The left one."


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        'File "/usr/lib/x.py", line 12, in run',
        "ValueError: could not convert string to float: 'abc'",
        "E   AssertionError: assert 1 == 2",
        'Exception in thread "main" java.lang.NullPointerException',
        "at org.example.app.Server.start(Server.java:120)",
        "Caused by: java.io.IOException: Broken pipe",
        "... 12 more",
        "at Object.<anonymous> (/srv/app/index.js:10:5)",
        "npm ERR! code ELIFECYCLE",
        "at App.Server.Start(String name) in C:\\src\\Server.cs:line 42",
        "--- End of inner exception stack trace ---",
        "goroutine 1 [running]:",
        "panic: runtime error: index out of range [3]",
        "thread 'main' panicked at src/main.rs:4:5:",
        "error[E0308]: mismatched types",
        "from /usr/lib/ruby/app.rb:12:in `run'",
        "#0  0x00007f1234 in main () at main.c:10",
        "==12345== Invalid read of size 4",
        "src/main.c:12:5: warning: unused variable 'x'",
        "main.cpp(12): error C2065: 'x': undeclared identifier",
        "make: *** [all] Error 2",
        "checking for gcc... gcc",
        "PASS: tests",
        "2024-03-01 10:15:22,123 INFO [main] server: listening",
        "10:15:22.123 DEBUG started",
        "[ERROR] it broke",
        "[   12.345678] usb 1-1: new device",
    ],
)
def test_traces(line: str) -> None:
    assert is_trace(line)


@pytest.mark.parametrize(
    "line",
    [
        "It fails at least (maybe) once a day",
        "at first I thought that it was me",
        "Error handling is missing",
        "This raises ValueError: why?",
        "cmake: Fix library ABI versioning",
        "configure: Show exhaustive tests in summary",
        *("build: add a flag", "2024 was a good year", "10 of 20 tests fail"),
        *("Caused by the last commit, I think", "panic is not an option", "Info: see below"),
        *("File an issue, please", "from my point of view", "1. First step"),
        *("[x] done", "(see 1:2:3)"),
    ],
)
def test_no_traces(line: str) -> None:
    assert not is_trace(line)


def test_a_code_block_of_log_lines_is_a_trace() -> None:
    kinds = [
        line.kind for line in classify("```\nPASS: a\nsome more\nFAIL: b\n```\n```\nint x\n```")
    ]
    assert kinds == [LineKind.TRACE] * 5 + [LineKind.CODE] * 3


WORDS = st.lists(
    st.sampled_from(
        ["the", "window", "closes", "twice", "when", "opened,", "why?", "файл", "打开"]
    ),
    min_size=1,
    max_size=8,
).map(" ".join)
PARAGRAPHS = st.lists(WORDS, min_size=1, max_size=5)
TEXT = texts(
    *("### Summary", "None", "at a.b(c)", "E   ", "$ ls", "@@ -1 +1 @@", "On Monday Al wrote:"),
    *("Word. ", "***", "{", "ümlaut"),
)


@given(PARAGRAPHS)
def test_plain_prose_stays_as_it_is(paragraphs: list[str]) -> None:
    assert prose("\n\n".join(paragraphs)) == "\n".join(paragraphs)


@given(PARAGRAPHS, TEXT.filter(lambda text: "```" not in text), PARAGRAPHS)
def test_nothing_in_a_fence_is_prose(before: list[str], code: str, after: list[str]) -> None:
    text = "\n\n".join([*before, f"```\n{code}\n```", *after])
    assert prose(text) == "\n".join([*before, *after])


@given(TEXT)
def test_every_line_has_a_kind(text: str) -> None:
    lines = classify(text)
    assert len(lines) == len(re.split(r"\r\n|\r|\n", text))
    if "-->" not in text and "<!--" not in text:
        assert "\n".join(line.text for line in lines) == re.sub(r"\r\n?", "\n", text)


@given(TEXT.filter(lambda text: "&" not in text))
def test_prose_takes_letters_away_and_adds_none(text: str) -> None:
    rest = iter(text)
    assert all(
        letter in rest for letter in prose_of(classify(text), quotes=True) if letter.isalpha()
    )


class TestRealTexts:
    pytestmark = needs_real_texts

    @pytest.mark.nightly
    def test_agrees_with_the_exact_reader(self) -> None:
        """What only the exact reader sees is logs and code that are not marked as such."""
        seen = missing = added = 0
        for text in real_texts()[::5]:
            exact = prose("\n\n".join(block.text for block in blocks(text)).replace("\ufffc", " "))
            ours, theirs = words(prose(text)), words(exact)
            seen += theirs.total()
            missing += (theirs - ours).total()
            added += (ours - theirs).total()
        assert seen > 100_000
        assert missing < 0.01 * seen
        assert added < 0.01 * seen


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[A-Za-z]{3,}", text))


@given(TEXT)
def test_letters(text: str) -> None:
    assert letters(text) == sum(1 for letter in text if letter.isalpha())
