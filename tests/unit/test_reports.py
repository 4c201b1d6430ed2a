"""Reports of tests as their tools write them: no name, print or count hides a failure.

What the tools print was taken from pytest 9, Node 20, Mocha 10, tape 5, AVA 5, Perl's Test::More,
cargo 1.95, Go 1.22, GoogleTest, CTest, Surefire and nextest, and shortened.
"""

from __future__ import annotations

import pytest

from goldpan.execution.outcomes import Outcome, ReportError
from goldpan.execution.reports import ReportFormat, read_report

P: Outcome = "passed"
F: Outcome = "failed"
S: Outcome = "skipped"


def libtest(lines: str, counts: str = "", *, binary: str = "src/lib.rs", crate: str = "a") -> str:
    tests = lines.count("test ")
    return (
        f"     Running unittests {binary} (target/debug/deps/{crate}-98e52fb7a2e30490)\n\n"
        f"running {tests} test{'s' * (tests != 1)}\n{lines}\n{counts}\n"
    )


def result(passed: int, failed: int, ignored: int = 0) -> str:
    word = "FAILED" if failed else "ok"
    return (
        f"test result: {word}. {passed} passed; {failed} failed; {ignored} ignored; 0 measured; "
        "0 filtered out; finished in 0.23s\n"
    )


@pytest.mark.parametrize("line", [4, 40])
def test_a_documentation_test_has_no_line_number(line: int) -> None:
    """They are told apart by their order within an item, whatever order they ran in."""
    report = (
        f"   Doc-tests a\n\nrunning 4 tests\ntest src/lib.rs - add (line {line + 9}) ... FAILED\n"
        f"test src/lib.rs - add (line {line}) ... ok\n"
        f"test src/lib.rs - (line {line - 2}) - compile fail ... ok\n"
        f"test src/lib.rs - add (line {line + 20}) ... ignored\n\n"
    )
    assert read_report(report.encode(), "libtest") == {
        "doc a::src/lib.rs - add": P,
        "doc a::src/lib.rs - add #2": F,
        "doc a::src/lib.rs - - compile fail": P,
        "doc a::src/lib.rs - add #3": S,
    }


def test_other_tools_that_name_documentation_by_lines() -> None:
    cases = (
        '<testcase classname="README.rst" name="line:{},column:1"/>'
        '<testcase classname="README.md" name="CodeFence#1[line:{}]"/>'
    )
    first, second = (
        read_report(f"<testsuite>{cases.format(line, line)}</testsuite>".encode(), "junit")
        for line in (3, 9)
    )
    assert first == second
    assert set(first.values()) == {P}


@pytest.mark.parametrize(
    ("form", "content", "outcomes"),
    [
        # tape's assertions without a message.
        ("tap", "TAP version 13\n# adds\nok 1 should be equal\nnot ok 2 should be equal\n\n1..2\n",
         {"should be equal": F, "should be equal #2": F}),
        ("tap", "ok 1 should be equal\nok 2 should be equal\n1..2\n# tests 2\n",
         {"should be equal": P, "should be equal #2": P}),
        ("jest-json", '{"numTotalTests": 4, "testResults": [{"name": "/testbed/a.js", "status":'
         ' "failed", "assertionResults": [{"title": "adds", "status": "failed"},'
         '{"title": "adds", "status": "passed"},'
         '{"ancestorTitles": ["sum"], "title": "odd", "status": "focused"},'
         '{"ancestorTitles": [], "title": "later", "status": "todo"}]}]}',
         {"a.js > adds": F, "a.js > adds #2": F, "a.js > sum > odd": S, "a.js > later": S}),
        ("junit", '<testsuite tests="2"><testcase classname="R" name="reads(int)[1]"/>'
         '<testcase classname="R" name="reads(int)[1]"><skipped/></testcase></testsuite>',
         {"R.reads(int)[1]": S, "R.reads(int)[1] #2": S}),
        # Two crates of one workspace, each with its `src/lib.rs`.
        ("libtest", libtest("test tests::same ... ok\n", result(1, 0))
         + libtest("test tests::same ... FAILED\n", result(0, 1), crate="b"),
         {"src/lib.rs (a)::tests::same": P, "src/lib.rs (b)::tests::same": F}),
        ("libtest", "     Running target/debug/deps/box-98e52fb7a2e30490\nrunning 1 test\n"
         "test a - should panic ... ok\n     Running tests/it.rs (target/debug/deps/it-2)\n"
         "test a ... FAILED\n", {"box::a": P, "tests/it.rs::a": F}),
        ("tap", "ok" + " " * 100_000 + "#7\n", {"#7": P}),
    ],
)  # fmt: skip
def test_a_name_that_stands_twice_hides_no_failure(
    form: ReportFormat, content: str, outcomes: dict[str, Outcome]
) -> None:
    assert read_report(content.encode(), form) == outcomes


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\r"])
def test_lines_end_at_a_newline_alone(sign: str) -> None:
    name = f"a{sign}not ok 7 b"
    tap = f"TAP version 13\nok 1 - {name}\nnot ok 2 - {sign}c\r\n1..2\n"
    assert list(read_report(tap.encode(), "tap").values()) == [P, F]
    lines = f"test a{sign}b ... ok\ntest c{sign} ... FAILED\n"
    assert list(read_report(libtest(lines).encode(), "libtest").values()) == [P, F]
    event = f'{{"Action":"pass","Package":"p","Test":"a{sign}b"}}\n'
    if ord(sign) >= 32:
        assert read_report(event.encode(), "go-json") == {f"p.a{sign}b": P}


@pytest.mark.parametrize(
    ("lines", "outcomes"),
    [
        # With `--test-threads=1` the outcome follows what the test printed.
        ("test prints ... test fake ... ok\nno newline okok\ntest fails ... oh\nFAILED\n", [P, F]),
        ("test prints ... all is ok\nFAILED\ntest next ... ok\n", [F, P]),
        ("test prints ... ok\nFAILED\n", [F]),
        # What another thread prints stands before the name.
        ("no newline oktest prints ... ok\nwarning: xtest tests::b ... FAILED\n", [P, F]),
        ("test timed ... ok <0.003s>\ntest later ... ignored, slow\n", [P, S]),
        ("test fast ... bench:       1,234 ns/iter (+/- 5)\n", [P]),
        ("\x1b[1mtest a ... \x1b[32mok\x1b[0m\n", [P]),
    ],
)
def test_what_a_rust_test_prints_within_its_line(lines: str, outcomes: list[Outcome]) -> None:
    report = libtest(lines).replace("running 3 tests", "running 2 tests")
    assert list(read_report(report.encode(), "libtest").values()) == outcomes


def test_the_list_of_failures_decides() -> None:
    listed = (
        "test a ... quiet\ntest b ... ok\n\nfailures:\n\n---- b stdout ----\nrunning 9 tests\n"
        "test result: ok. 9 passed\nfailures:\n    c\n\nfailures:\n    b\n\n"
    )
    report = libtest("").replace("running 0 tests", "running 2 tests") + listed + result(0, 2)
    with pytest.raises(ReportError) as error:  # `a` has no outcome, and the counts say it failed
        read_report((listed + result(1, 1)).encode(), "libtest")
    assert error.value.outcomes == {"a": F, "b": F}
    assert read_report(report.encode(), "libtest") == {"src/lib.rs::a": F, "src/lib.rs::b": F}


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("tap", "1..3\nok 1 a\nok 2 b\n"),
        ("tap", "1..2\nok 1 a\nok 2 b\nnot ok 3 c\n"),
        ("tap", "ok 1 a\nok 3 c\n"),
        ("tap", "ok 1 a\nok 1 printed\nnot ok 2 b\n"),
        ("tap", "1..1\nok 1 a\nBail out!  no disk\n"),
        ("tap", "ok 1 - a\n  ---\n  message: broke off\n"),
        ("tap", "# Subtest: a\n    ok 1 - b\n    1..2\nok 1 - a\n1..1\n"),
        ("tap", "# Subtest: a\n    1..2\n    ok 1 - b\n"),
        # AVA's plan, where a file cannot be loaded.
        ("tap", "not ok 1 - Error: load\nnot ok 2 - b.js exited\nok 3 - a\n\n1..1\n"),
        ("junit", '<testsuite tests="3"><testcase name="a"/><testcase name="b"/></testsuite>'),
        ("junit", '<testsuite failures="1"><testcase name="a"/></testsuite>'),
        # PySys and others count a test as skipped and write it as one that passed.
        ("junit", '<testsuite tests="1" skipped="1"><testcase name="a"/></testsuite>'),
        # RSpec, whose file cannot be loaded.
        ("junit", '<testsuite tests="1" errors="1"><testcase name="a"/></testsuite>'),
        ("junit", '<testsuites failures="1"><testsuite/><testcase name="a"/></testsuites>'),
        ("junit", '<testsuite><testcase name="a"/><testcase name="b">'),
        ("junit", '<testsuite><testcase name="a"/><testcase na'),
        ("junit", "<testsuite><testcase name='a'><system-out><![CDATA[x"),
        ("jest-json", '{"numTotalTests": 2, "testResults": []}'),
        ("jest-json", '{"testResults": [1]}'),
        ("libtest", libtest("test a ... ok\n", result(1, 1))),
        ("libtest", libtest("test a ... ok\n").replace("running 1 test\n", "running 2 tests\n")),
        ("libtest", libtest("test a ... FAILED\n\nfailures:\n\n---- a stdout ----\n")),
    ],
)  # fmt: skip
def test_a_report_that_counts_other_than_it_announces_is_not_believed(
    form: ReportFormat, content: str
) -> None:
    with pytest.raises(ReportError):
        read_report(content.encode(), form)


TAP = r"""TAP version 14
# Subtest: adds
ok 1 - adds
  ---
  duration_ms: 0.9
  ...
# Subtest: divides
not ok 2 - divides
  ---
  error: |-
    ok 1 - fake
        ok 2 - fake
  ...
okay then
OK (5 tests)
  ok 3 - printed
    ok 4 - printed
not okay
# Subtest: outer
    # Subtest: x \# y
    ok 1 - x \# y
    # Subtest: inner
        ok 1 - deep
        1..1
    not ok 2 - inner
    1..2
not ok 3 - outer
ok 4 - a.js # time=1ms {
    1..1
    ok 1 - within
}
ok 5 - b.js # time=1ms
  ---
  exitCode: 0
  ...
{
    ok 1 - within
    1..1
}
# Subtest: bare
    ok 1 - without a plan
ok 6 - bare
    # Subtest: old
    ok 1 - of an older Test::More
    1..1
ok 7 - old
    1..0 # SKIP why
ok 8 # skip why
not ok 9 - td # TODO later
ok 10
not ok - of #5 and #6
ok 12 - issue \#12 # TODO
ok 13 - timed # time=3.1ms
1..13
"""


def test_tap_has_subtests_diagnostics_and_what_tests_print() -> None:
    assert read_report(TAP.encode(), "tap") == {
        "adds": P,
        "divides": F,
        "outer > x \\# y": P,
        "outer > inner > deep": P,
        "outer > inner": F,
        "outer": F,
        "a.js": P,
        "a.js > within": P,
        "b.js": P,
        "b.js > within": P,
        "old > of an older Test::More": P,
        "old": P,
        "bare > without a plan": P,
        "bare": P,
        "test 8": S,
        "td": S,
        "test 10": P,
        "of #5 and #6": F,
        "issue \\#12": S,
        "timed": P,
    }


def test_several_files_of_tap_follow_one_another() -> None:
    for parts in (("1..2\nok 1 a\nok 2 b\n", "1..1\nnot ok 1 c\n"), ("ok 1 a\n1..1\n",) * 2):
        report = "".join(parts)
        count = report.count("ok ")
        assert len(read_report(report.encode(), "tap")) == count
        with pytest.raises(ReportError):
            read_report(report.replace("ok 1 a\n", "").encode(), "tap")


def test_a_name_of_tap_has_no_duration() -> None:
    """As `bats --timing` and Testem write it."""
    for took in (12, 340):
        report = f"ok 1 adds in {took}ms\nok 2 Chrome 90.0 - [{took} ms] - a: b\n1..2\n"
        outcomes = {"adds": P, "Chrome 90.0 - a: b": P}
        assert read_report(report.encode(), "tap") == outcomes


GO = rb"""# x/broken [x/broken.test]
broken/a_test.go:3:2: undefined: missing
{"ImportPath":"x/new [x/new.test]","Action":"build-fail"}
{"Action":"fail","Package":"x/new","FailedBuild":"x/new [x/new.test]"}
FAIL	x/broken [build failed]
{"Action":"start","Package":"x/y"}
{"Action":"run","Package":"x/y","Test":"TestPrints"}
{"Action":"output","Package":"x/y","Test":"TestPrints","Output":"x--- PASS: TestPrints (0.00s)\n"}
{"Action":["fail"],"Package":"x/y","Test":"TestC"}
{"Action":"fail","Package":"x/y","Test":"TestTwice"}
{"Action":"pass","Package":"x/y","Test":"TestTwice"}
{"Action":"run","Package":"x/y","Test":"TestB"}
{"Action":"run","Package":"x/y","Test":"TestB/case#01"}
{"Action":"pass","Package":"x/y","Test":"TestB/case#01"}
{"Action":"skip","Package":"x/y","Test":"TestB"}
{"Action":"run","Package":"x/y","Test":"TestExits"}
{"Action":"fail","Package":"x/y"}
{"Action":"run","Package":"x/z","Test":"TestA"}
{"Action":"pass","Package":"x/z","Test":"TestA"}
{"Action":"fail","Package":"x/z"}
{"Action":"run","Package":"x/w","Test":"BenchmarkA"}
{"Action":"output","Package":"x/w","Test":"BenchmarkA","Output":"BenchmarkA-8 1 11 ns/op\n"}
{"Action":"pass","Package":"x/w"}
"""


def test_a_go_test_without_an_end_failed_and_so_did_a_package_without_tests() -> None:
    assert read_report(GO, "go-json") == {
        "x/y.TestTwice": F,
        "x/y.TestPrints": P,
        "x/y.TestB": S,
        "x/y.TestB/case#01": P,
        "x/y.TestExits": F,
        "x/z.TestA": F,  # goroutines leak
        "x/w.BenchmarkA": P,
        "x/new": F,
        "x/broken": F,
        "x/z": F,
    }


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ('<testcase name="a" status="run" result="completed"/>', P),
        ('<testcase name="a" status="notrun" result="suppressed"/>', S),
        ('<testcase name="a" status="run" result="skipped"/>', S),
        ('<testcase name="a" status="notrun"/>', S),
        ('<testcase name="a" status="fail"/>', F),
        ('<testcase name="a" result="Inconclusive"/>', S),
        ('<testcase name="a"><ignored/></testcase>', S),
        ('<testcase name="a"><skipped/><failure/></testcase>', F),
        # Surefire and nextest, which run failing tests again.
        ('<testcase name="a"><flakyFailure/></testcase>', F),
        ('<testcase name="a"><failure/><rerunFailure/></testcase>', F),
        ('<testcase name="a"><system-out>failure</system-out><properties/></testcase>', P),
        # PHPUnit, of a class without tests.
        ('<testcase name="a"><warning/></testcase>', S),
    ],
)
def test_what_junit_xml_says_of_a_test_that_was_not_run(case: str, outcome: Outcome) -> None:
    assert read_report(f"<testsuite>{case}</testsuite>".encode(), "junit") == {"a": outcome}
    spaced = f'<testsuite xmlns="https://example.org/junit">{case}</testsuite>'
    assert read_report(spaced.encode(), "junit") == {"a": outcome}


@pytest.mark.parametrize(
    "printed",
    [
        b"\x1b[31mred\x1b[0m \x00\x08", b"&#27;[31m &#0; &#xFFFE;", b"<![CDATA[\x1b[1m\x08]]>",
        b"\xff\xfe \xe9", b"\xed\xa0\x80", b"a & b &nbsp; &foo", b"x < y && z",
    ],
)  # fmt: skip
def test_what_a_test_prints_costs_no_report(printed: bytes) -> None:
    report = b"<testsuite tests='2'><testcase name='a'><failure>%b</failure></testcase>"
    report = report % printed + b"<testcase name='c'/></testsuite>"
    assert read_report(report, "junit") == {"a": F, "c": P}


def test_a_name_with_an_escape_is_the_name_of_one_test() -> None:
    report = b"<testsuite><testcase name='\x1b[31ma'/><testcase name='b < c'/></testsuite>"
    assert list(read_report(report, "junit").values()) == [P, P]


def test_names_have_no_path_of_the_checkout() -> None:
    """Without isolation it lies in another folder each time."""
    for folder in ("/testbed", "/ws/tmp/tmpdun70mv9/testbed"):
        tap = f"not ok 1 - {folder}/src/testbed/a.test.js\n1..1\n"
        assert read_report(tap.encode(), "tap") == {"src/testbed/a.test.js": F}
        jest = f'{{"testResults": [{{"name": "{folder}/a.js", "status": "failed", '
        jest += '"message": "cannot be loaded", "assertionResults": []}]}'
        assert read_report(jest.encode(), "jest-json") == {"a.js": F}


def test_a_file_of_jest_that_fails_after_its_tests_fails_them() -> None:
    """As where `afterAll` throws (jestjs/jest#3266, jest-community/jest-junit#211)."""
    case = '{"title": "adds", "status": "passed"}'
    report = (
        '{"testResults": [{"name": "/testbed/a.js", "status": "%s", "assertionResults": [%s]}]}'
    )
    assert read_report((report % ("failed", case)).encode(), "jest-json") == {
        "a.js > adds": F,
        "a.js": F,
    }
    assert read_report((report % ("passed", case)).encode(), "jest-json") == {"a.js > adds": P}


def test_what_fails_in_a_hook_of_mocha_is_its_suite() -> None:
    """Its tests do not run (mochajs/mocha#1955, #4392)."""
    report = (
        '<testsuite tests="0" errors="1"><testcase classname="outer context" '
        'name=\'"before each" hook for "adds"\'><failure/></testcase></testsuite>'
    )
    assert read_report(report.encode(), "junit") == {"outer context": F}
    tap = 'not ok 1 outer context "before all" hook in "inner"\n1..1\n'
    assert read_report(tap.encode(), "tap") == {"outer context": F}


def test_colors_hide_no_point_of_tap() -> None:
    report = "1..2\n\x1b[32mok\x1b[39m 1 - a\n\x1b[31mnot ok\x1b[0m 2 - b\n"
    assert read_report(report.encode(), "tap") == {"a": P, "b": F}
