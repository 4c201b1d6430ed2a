from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

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
from tests.drawing import texts
from tests.filtering import LONG, build, comment, dropped, issue, judge
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
        (".", "empty"),
        ("👍", "empty"),
        ("<!-- hidden -->", "template"),
        (BUG_REPORT, "template"),
        (FEATURE_REQUEST, "template"),
        (FORM, "template"),
        (HIDDEN, "template"),
        ("N/A", "template"),
        (TRACE, "trace"),
        (LOG, "trace"),
        (f"### Bug description\n\n{TRACE}\n### Environment\n\n_No response_", "trace"),
        (SENTENCE, None),
        (f"{SENTENCE}{TRACE}", None),
        (f"{LOG}\n{SENTENCE}", None),
        (BUG_REPORT + SENTENCE, None),
        (FORM.replace("_No response_", SENTENCE), None),
        (HIDDEN + SENTENCE, None),
        ("Crash", None),
        ("崩溃", None),
        ("打开大文件的时候程序就会崩溃，而且没有任何提示信息", None),
        ("```\nint x;\n```", None),
        ("https://example.org/log.txt", None),
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
    assert quality.characters == len("###SummaryItfails.```intx;```PASS:all")
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


@pytest.mark.parametrize(
    ("known", "lines"),
    [
        (True, ["### Steps to reproduce", "**Describe the bug**", "Expected behavior:"]),
        (True, ["## 🚀 Bug Report", "1. Go to '...'", "- OS: [e.g. iOS]", "_No response_", "N/A"]),
        (False, ["Version: 1.2.3", "### The parser", "It is a bug", "<details>", "1.", ""]),
        (False, ["【Bug】上传图片", "Bug " * 99]),
    ],
)
def test_known_lines(known: bool, lines: list[str]) -> None:
    assert [is_known(line) for line in lines] == [known] * len(lines)


def test_template_lines_recur() -> None:
    texts = [f"### Which valve?\r\n\r\nNumber {at}\n```\n---\n  Thanks!  " for at in range(10)]
    assert template_lines(texts) == {"### Which valve?", "Thanks!"}
    assert template_lines(texts[:2]) == frozenset()
    parted = [f"Which\u2028valve?\x0cAny\x85\n{at}" for at in range(10)]
    assert template_lines(parted) == {"Which\u2028valve?\x0cAny"}
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


PIECES = texts(
    *(SENTENCE, TRACE, LOG, FORM, HIDDEN, "The ", "word, ", "a b c d e ", "1 ", "1a2b3c4d"),
    *("None", ":", "at a.b(c)"),
    most=12,
)


@given(PIECES, st.integers(1, 60))
def test_reading_only_the_beginning_finds_the_same_faults(text: str, least: int) -> None:
    rules = TextQualitySettings(least_prose=least)
    quality = describe(text)
    assert list(find_faults([text], rules=rules)) == [find_fault(quality, rules)]
    assert not has_prose(text, least) or quality.prose_characters >= least


class TestRealIssues:
    pytestmark = needs_real_texts

    def test_faults_of_the_real_issues(self) -> None:
        """All were read: the traces have not a sentence beside them, the empty ones nothing."""
        issues = [entry.body for entry in real_entries() if entry.is_issue]
        assert Counter(find_faults(issues)) == {None: 476, "empty": 26, "trace": 15}
        assert template_lines(issues) == frozenset()


def test_language(tmp_path: Path) -> None:
    german = (
        "Nach der Aktualisierung lässt sich das Programm nicht mehr starten, weil eine Datei fehlt."
    )
    entries = [
        issue(1),
        issue(2, german * 3, title="Programm startet nicht"),
        issue(3, "更新后程序无法启动，因为缺少一个文件。请问应该如何解决？", title="无法启动"),
        issue(4, "```\n" + german + "\n```\n" + LONG, title="Leak of the box"),
        issue(5, "?", title="x"),
    ]
    workspace = build(tmp_path, entries)
    verdicts = judge(workspace, "language")
    assert dropped(verdicts) == dict.fromkeys((2, 3), "other-language")
    assert verdicts[3]["evidence"].startswith("zh, ")
    assert set(dropped(judge(workspace, "language", languages=["en", "de"]))) == {3}
    assert dropped(judge(workspace, "language", unknown=False))[5] == "unknown-language"


def test_text_quality(tmp_path: Path) -> None:
    trace = "Traceback (most recent call last):\n" + '  File "/x/box.py", line 7, in run\n' * 9
    form = "## Expected\n\n<!-- What should happen? -->\n\n## Ours only: which box?\n"
    entries = [
        issue(1),
        issue(2, None),
        issue(3, "   \n"),
        issue(4, f"```\n{trace}```"),
        issue(5, f"It stops as soon as I open the box:\n```\n{trace}```"),
        issue(6, "**Describe the bug**\n\n**To Reproduce**\n\n"),
        *(issue(number, form) for number in (7, 8, 9)),
        issue(10, form.replace("box?", "box?\nThe one in the upper gallery, near the pump.")),
    ]
    workspace = build(tmp_path, entries)
    verdicts = judge(workspace, "text-quality")
    templates = dict.fromkeys((6, 7, 8, 9), "only-template")
    assert dropped(verdicts) == {2: "empty", 3: "empty", 4: "only-trace", **templates}
    assert verdicts[4]["evidence"].startswith("0 letters of prose, ")
    common = dropped(judge(workspace, "text-quality", template_share=0.0))
    assert 6 in common and 7 not in common


def test_a_worded_title_is_the_report_over_a_trace(tmp_path: Path) -> None:
    ice = (
        "### Code\n\n```rust\nfn main() { let _ = [(); 0][0]; }\n```\n\n### Error output\n\n```\n"
        "thread 'rustc' panicked at 'index out of bounds: the len is 0 but the index is 0'\n"
        "stack backtrace:\n"
        + "   1: 0x7fb5bda89f0c - core::fmt::write::h5d8be78170c85a1a\n" * 20
        + "```\n"
    )
    form = "**Describe the bug**\n\n**To Reproduce**\n\n"
    titles = {
        1: "ICE: index out of bounds in rustc_codegen_ssa",
        2: "[ICE]: `unexpected region`",
        3: "Doesn't build",
        4: "`src/scalar.h:361:5: error: 'asm' operand has impossible constraints`",
        5: "`AddressBookTests` failure",
        6: "Crash",
        7: ".",
        8: "e063155bd10be70940ea03a9f98bd79a9b31917b",
        9: "`rustc_codegen_ssa`",
    }
    entries = [issue(number, ice, title=title) for number, title in titles.items()]
    entries += [
        issue(11, "", title="Parallel make sometimes fails as the context is not made first"),
        issue(12, "", title="Bitcoin core"),
        issue(13, form, title="I don't get a confirmation, it is not working"),
    ]
    workspace = build(tmp_path, entries)
    traces = dict.fromkeys((6, 7, 8, 9), "only-trace")
    expected = {**traces, 12: "empty", 13: "only-template"}
    assert dropped(judge(workspace, "text-quality")) == expected
    strict = dropped(judge(workspace, "text-quality", least_title=1_000, least_prose=1_000))
    assert {number for number, why in strict.items() if why == "only-trace"} == set(titles)


TOKEN = "ghp_" + "".join("aZ9bY8cX7dW6eV5fU4gT3hS2iR1jQ0kP9lO8"[:36])


def test_private(tmp_path: Path) -> None:
    entries = [
        issue(1, f"My token is {TOKEN} and I am ann@mine.org"),
        issue(2, "Write to ann@mine.org or bob@mine.org"),
        issue(3),
        issue(4, title=f"Leak {TOKEN}"),
    ]
    workspace = build(
        tmp_path, entries, [comment(3, f"export GITHUB_TOKEN={TOKEN}", comment_id=77)]
    )
    verdicts = judge(workspace, "private")
    assert dropped(verdicts) == dict.fromkeys((1, 3, 4), "secret")
    assert [verdicts[number]["value"] for number in (1, 2, 3)] == [1, 0, 1]
    assert verdicts[3]["evidence"].endswith(" in 77")
    assert TOKEN not in str(verdicts) and "mine.org" not in str(verdicts)
    assert dropped(judge(workspace, "private", drop=[])) == {}
    verdicts = judge(workspace, "private", drop=["email"])
    assert dropped(verdicts) == {1: "email", 2: "email"}
    assert (verdicts[2]["value"], verdicts[2]["evidence"]) == (2, "email in body")
    allowed = judge(workspace, "private", drop=["email"], allowed_emails=["*@mine.org"])
    assert dropped(allowed) == {}


@given(PIECES)
def test_shares_are_shares(text: str) -> None:
    quality = describe(text)
    assert 0 <= quality.trace_share + quality.template_share <= 1.0001
    assert quality.code_characters <= quality.characters
    assert quality.has_words or not quality.prose_characters
