"""Criteria that read the prose of issues: language, quality, secrets."""

from __future__ import annotations

from pathlib import Path

from tests.filtering import LONG, build, comment, dropped, issue, judge


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
