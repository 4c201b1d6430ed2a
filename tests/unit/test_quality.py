from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldpan.filters.issues.text_quality import (
    Fault,
    TextQualitySettings,
    describe,
    find_fault,
    has_prose,
)
from goldpan.text.lines import is_known, template_lines
from tests.real_texts import needs_real_texts, real_entries

DEFAULTS = TextQualitySettings()


def find_faults(
    texts: Iterable[str],
    template: frozenset[str] = frozenset(),
    rules: TextQualitySettings = DEFAULTS,
) -> Iterator[Fault | None]:
    """Yield the fault of each text as the criterion finds it, which reads most only in part."""
    for text in texts:
        if has_prose(text, rules.least_prose, template):
            yield None
        else:
            yield find_fault(describe(text, template), rules)


BUG_REPORT = """**Describe the bug**
A clear and concise description of what the bug is.

**To Reproduce**
Steps to reproduce the behavior:
1. Go to '...'
2. Click on '....'
3. Scroll down to '....'
4. See error

**Expected behavior**
A clear and concise description of what you expected to happen.

**Screenshots**
If applicable, add screenshots to help explain your problem.

**Desktop (please complete the following information):**
 - OS: [e.g. iOS]
 - Browser [e.g. chrome, safari]
 - Version [e.g. 22]

**Smartphone (please complete the following information):**
 - Device: [e.g. iPhone6]
 - OS: [e.g. iOS8.1]
 - Browser [e.g. stock browser, safari]
 - Version [e.g. 22]

**Additional context**
Add any other context about the problem here.
"""
FEATURE_REQUEST = """**Is your feature request related to a problem? Please describe.**
A clear and concise description of what the problem is. Ex. I'm always frustrated when [...]

**Describe the solution you'd like**
A clear and concise description of what you want to happen.

**Describe alternatives you've considered**
A clear and concise description of any alternative solutions or features you've considered.

**Additional context**
Add any other context or screenshots about the feature request here.
"""
FORM = """### 🐛 Bug description

_No response_

### Steps to Reproduce

N/A

### Code of Conduct

- [x] I agree to follow this project's Code of Conduct
- [ ] I want to help
"""
HIDDEN = """<!--
Thank you for reporting an issue.
Please answer all of these:
-->

### Summary

<!-- What happened? -->

### Expected behavior

<!-- What should have happened? -->
"""
TRACE = """```
Traceback (most recent call last):
  File "app.py", line 12, in <module>
    run()
ValueError: could not convert string to float
```
"""
LOG = """2024-03-01 10:15:22 INFO server: listening on 8080
2024-03-01 10:15:23 ERROR server: connection refused
    at org.example.Server.start(Server.java:12)
"""
SENTENCE = "The window closes when I open it twice in a row.\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        (" \r\n\t\n", "empty"),
        (".", "empty"),
        ("---\n\n...", "empty"),
        ("👍", "empty"),
        ("<!-- hidden -->", "template"),
        (BUG_REPORT, "template"),
        (FEATURE_REQUEST, "template"),
        (FORM, "template"),
        (HIDDEN, "template"),
        ("N/A", "template"),
        (TRACE, "trace"),
        (LOG, "trace"),
        (f"Error:\n\n{TRACE}", "trace"),
        (f"### Bug description\n\n{TRACE}\n### Environment\n\n_No response_", "trace"),
        (SENTENCE, None),
        (f"{SENTENCE}{TRACE}", None),
        (f"{LOG}\n{SENTENCE}", None),
        (BUG_REPORT + SENTENCE, None),
        (FORM.replace("_No response_", SENTENCE), None),
        (HIDDEN + SENTENCE, None),
        ("Crash", None),
        ("v1.2.3", None),
        ("崩溃", None),
        ("打开大文件的时候程序就会崩溃，而且没有任何提示信息", None),
        ("```\nint x;\n```", None),
        ("https://example.org/log.txt", None),
        ("![image](https://example.org/x.png)", None),
        ("### Summary\n\n![image](https://example.org/x.png)", None),
        (f"> {SENTENCE}", None),
        ("- [ ] write the parser\n- [ ] write the printer", None),
    ],
)
def test_faults(text: str, fault: Fault | None) -> None:
    assert find_fault(describe(text), DEFAULTS) == fault
    assert list(find_faults([text])) == [fault]


def test_what_is_measured() -> None:
    quality = describe("### Summary\n\nIt fails.\n\n```\nint x;\n```\n\nPASS: all\n")
    assert quality.characters == sum(
        map(len, ["###Summary", "Itfails.", "```int", "x;```", "PASS:all"])
    )
    assert quality.prose_characters == len("Itfails")
    assert quality.code_characters == len("```intx;```")
    assert quality.trace_share == round(len("PASS:all") / quality.characters, 4)
    assert quality.template_share == round(len("###Summary") / quality.characters, 4)
    assert not quality.has_attachment
    assert quality.has_words


def test_rules_move_the_thresholds() -> None:
    short = f"It fails here:\n{TRACE}"
    assert find_fault(describe(short), DEFAULTS) == "trace"
    assert find_fault(describe(short), TextQualitySettings(least_prose=5)) is None
    assert list(find_faults([short], rules=TextQualitySettings(least_prose=5))) == [None]
    half = "Fails\n\n```\n" + "x = f(y)\n" * 9 + "```\n" + LOG
    assert find_fault(describe(half), TextQualitySettings(trace_share=0.9)) is None
    assert find_fault(describe(half), TextQualitySettings(trace_share=0.2)) == "trace"


def test_lines_of_the_repository_s_template_say_nothing() -> None:
    text = (
        "Which valve did you turn when it happened?\n\nWhich pipe was it, and which color has it?"
    )
    template = template_lines([text] * 3)
    assert find_fault(describe(text), DEFAULTS) is None
    assert find_fault(describe(text, template), DEFAULTS) == "template"
    assert list(find_faults([text, f"{text}\n{SENTENCE}"], template)) == ["template", None]


HEADINGS = [
    "### Steps to reproduce",
    "**Describe the bug**",
    "Expected behavior:",
    "## 🚀 Bug Report",
]
ANSWERS = ["1. Go to '...'", "- OS: [e.g. iOS]", "_No response_", "N/A"]


@pytest.mark.parametrize("line", [*HEADINGS, *ANSWERS])
def test_known_lines(line: str) -> None:
    assert is_known(line)


@pytest.mark.parametrize(
    "line",
    [
        "Version: 1.2.3",
        "### The parser",
        "It is a bug",
        "<details>",
        "【Bug】上传图片",
        "1.",
        "",
        "Bug " * 99,
    ],
)
def test_unknown_lines(line: str) -> None:
    assert not is_known(line)


def test_template_lines_recur() -> None:
    texts = [f"### Which valve?\r\n\r\nNumber {at}\n```\n---\n  Thanks!  " for at in range(10)]
    assert template_lines(texts) == {"### Which valve?", "Thanks!"}
    assert template_lines(texts[:2]) == frozenset()
    assert template_lines([*texts, *["other"] * 300]) == {"other"}
    assert template_lines([]) == frozenset()


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=4), max_size=80))
def test_no_recurring_line_is_missed_in_little_memory(drawn: list[list[str]]) -> None:
    texts = ["\n".join(f"line {letter}" for letter in letters) for letters in drawn]
    counts = Counter(line for text in texts for line in set(text.splitlines()))
    exact = template_lines(texts, 0.3, window=1_000)
    assert exact == {line for line, n in counts.items() if n >= max(3, 0.3 * len(texts))}
    thrifty = template_lines(texts, 0.3, window=5)
    assert exact <= thrifty
    assert all(counts[line] >= 0.15 * len(texts) - 1 for line in thrifty)


def test_a_line_forgotten_early_counts_when_it_comes_back() -> None:
    texts = ["a line"] * 2 + ["other"] * 8 + ["a line"] * 6
    assert template_lines(texts, 0.5) == {"a line", "other"}
    assert template_lines(texts, 0.5, window=10) == {"a line", "other"}


PIECES = st.lists(
    st.sampled_from(
        [
            SENTENCE,
            TRACE,
            LOG,
            FORM,
            HIDDEN,
            "```\n",
            "<!--",
            "-->",
            "> ",
            "    ",
            "- [ ] ",
            "\n",
            "\r",
        ]
    )
    | st.sampled_from(
        ["The ", "word, ", "a b c d e ", "1 ", "`", "1a2b3c4d", "<b", ">", "](", "_", "http://x"]
    )
    | st.sampled_from(
        ["\n\n", "### ", "**", "é", "打开", "\ud800", "None", "x;", ":", "at a.b(c)"]
    ),
    max_size=12,
).map("".join)


@given(PIECES, st.integers(1, 60))
def test_reading_only_the_beginning_finds_the_same_faults(text: str, least: int) -> None:
    rules = TextQualitySettings(least_prose=least)
    quality = describe(text)
    assert list(find_faults([text], rules=rules)) == [find_fault(quality, rules)]
    assert not has_prose(text, least) or quality.prose_characters >= least


@given(PIECES | st.text(st.characters(), max_size=60))
def test_shares_are_shares(text: str) -> None:
    quality = describe(text)
    assert 0 <= quality.trace_share + quality.template_share <= 1.0001
    assert quality.code_characters <= quality.characters
    assert quality.has_words or not quality.prose_characters


class TestRealIssues:
    pytestmark = needs_real_texts

    def test_faults_of_the_real_issues(self) -> None:
        """All were read: the traces have not a sentence beside them, the empty ones nothing."""
        issues = [entry.body for entry in real_entries() if entry.is_issue]
        assert Counter(find_faults(issues)) == {None: 476, "empty": 26, "trace": 15}
        assert template_lines(issues) == frozenset()
