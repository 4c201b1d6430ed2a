from __future__ import annotations

import itertools
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from goldpan.code.languages import LANGUAGES, Language
from goldpan.code.lexer import strip
from goldpan.code.substance import LARGEST, Pair, compare
from goldpan.code.workers import compare_all
from goldpan.core.sandbox import _AHEAD

EASY = Pair(b"a = 1\n", b"a = 2\n", "a.py")
HARD = Pair(b"a = 1\n", b"(" * 400_000, "a.py")


def test_verdicts_come_in_order_and_are_those_of_one_process() -> None:
    pairs = [
        Pair(b"a = %d\n" % number, b"a = %d  # x\n" % (number // 2), path)
        for number in range(40)
        for path in ("a.py", "a.md", "a.c", "a.hs")
    ]
    expected = [compare(pair.before, pair.after, pair.path) for pair in pairs]
    assert len({verdict.keep for verdict in expected}) == 3
    for workers in (1, 3):
        assert list(compare_all(pairs, workers=workers)) == expected


def test_a_hard_pair_is_given_up_and_the_rest_goes_on() -> None:
    pairs = [EASY, HARD, EASY, EASY, HARD, EASY]
    verdicts = list(compare_all(pairs, workers=2, timeout=0.5))
    assert [verdict.keep for verdict in verdicts] == [True, None, True, True, None, True]
    assert (verdicts[1].reason, verdicts[1].language) == ("timeout", "Python")
    assert verdicts[1] == verdicts[4]


def test_a_process_that_dies_costs_one_verdict() -> None:
    def pairs() -> Iterator[Pair]:
        yield EASY
        for process in multiprocessing.active_children():
            process.kill()
            process.join()
        yield EASY
        yield EASY

    verdicts = list(compare_all(pairs(), workers=1))
    assert [(verdict.keep, verdict.reason) for verdict in verdicts] == [
        (True, None),
        (None, "crash"),
        (True, None),
    ]


def test_a_text_that_takes_too_much_memory_is_given_up() -> None:
    hungry = Pair(b"a", b"a<b<" * 250_000, "a.cs")
    verdicts = list(compare_all([hungry, EASY], workers=1, timeout=60))
    assert [(verdict.keep, verdict.reason) for verdict in verdicts] == [
        (None, "crash"),
        (True, None),
    ]


def test_pairs_are_drawn_as_needed_and_processes_end_with_the_reader() -> None:
    drawn = 0

    def pairs() -> Iterator[Pair]:
        nonlocal drawn
        for drawn in itertools.count(1):
            yield EASY if drawn % 2 else Pair(b"a", b"b", "a.md")

    verdicts = compare_all(pairs(), workers=2)
    assert [verdict.keep for verdict in itertools.islice(verdicts, 4)] == [True, None, True, None]
    # A slow process may hold the first verdict back, while the other goes on up to a bound.
    assert drawn < 2 * _AHEAD
    assert len(multiprocessing.active_children()) == 2
    verdicts.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_no_process_where_nothing_is_read() -> None:
    pairs = (Pair(b"a", b"b", "a.md") for _ in range(5_000))
    verdicts = compare_all(pairs)
    assert next(verdicts).reason == "unknown-language"
    assert multiprocessing.active_children() == []
    assert sum(1 for _ in verdicts) == 4_999
    assert list(compare_all([])) == []


def test_a_failure_of_the_reader_ends_the_processes() -> None:
    def pairs() -> Iterator[Pair]:
        yield EASY
        raise KeyError("no such blob")

    with pytest.raises(KeyError):
        list(compare_all(pairs()))
    assert multiprocessing.active_children() == []


def test_a_program_without_a_guarded_main_part_is_told(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from goldpan.code.substance import Pair\n"
        "from goldpan.code.workers import compare_all\n"
        "list(compare_all([Pair(b'a = 1', b'a = 2', 'a.py')]))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "GoldpanError: A process for reading code did not start" in done.stderr


@pytest.mark.parametrize("language", [x for x in LANGUAGES if x.grammar], ids=lambda x: x.name)
def test_deep_nesting_is_compared(language: object) -> None:
    (path,) = (f"a{other.suffixes[0]}" for other in LANGUAGES if other is language)
    for deep in (b"(" * 1_500 + b"1" + b")" * 1_500, b"{" * 1_500, b"[" * 1_500):
        assert compare(deep, b"\n" + deep, path).keep is not True


def assert_hostile_texts_are_survived(languages: Sequence[Language]) -> None:
    """Judge texts that no parser likes."""
    texts = [b"(" * LARGEST, b'"' * LARGEST, b"x" * LARGEST, b"a\0" * 9, b"x = 1; " * 1_500_000]
    paths = [f"a{language.suffixes[0]}" for language in languages if language.grammar]
    pairs = [Pair(b"a", text, path) for path in paths for text in texts]
    verdicts = list(compare_all(pairs, timeout=0.2))
    assert {verdict.reason for verdict in verdicts} <= {None, "timeout", "too-large", "binary"}
    assert {verdict.reason for verdict in verdicts[3::5]} == {"binary"}
    assert {verdict.reason for verdict in verdicts[4::5]} == {"too-large"}


def test_hostile_texts_are_survived() -> None:
    """In `tests/scale` in every language."""
    named = [language for language in LANGUAGES if language.name in {"Python", "C", "Ruby"}]
    assert_hostile_texts_are_survived(named)


@pytest.mark.parametrize(
    "piece",
    [b"/*", b"//\\\n", b'"', b"'", b'"\\', b'R"x(', b'R"', b'"""', b"`", b"import ", b"#include <",
     b"# ", b"1'", b"\\\n", b"/", b"*/", b'""" "'],
)  # fmt: skip
def test_hostile_texts_are_stripped_in_linear_time(piece: bytes) -> None:
    text = piece * (LARGEST // 4 // len(piece))
    start = time.process_time()
    for lexis in {language.lexis for language in LANGUAGES if language.lexis}:
        strip(text, lexis)
    assert time.process_time() - start < 3
