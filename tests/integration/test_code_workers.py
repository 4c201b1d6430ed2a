from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from goldpan.code.languages import LANGUAGES, Language
from goldpan.code.lexer import strip
from goldpan.code.substance import LARGEST, FilePair, compare, compare_all
from goldpan.core.parallel.workers import _AHEAD
from tests.drawing import daily
from tests.processes import kill_workers, workers

EASY = FilePair(b"a = 1\n", b"a = 2\n", "a.py")
HARD = FilePair(b"a = 1\n", b"(" * 400_000, "a.py")


def test_a_hard_pair_is_given_up_and_the_rest_goes_on() -> None:
    pairs = [EASY, HARD, EASY, EASY, HARD, EASY]
    verdicts = list(compare_all(pairs, workers=2, timeout=0.5))
    assert [verdict.keep for verdict in verdicts] == [True, None, True, True, None, True]
    assert (verdicts[1].reason, verdicts[1].language) == ("timeout", "Python")
    assert verdicts[1] == verdicts[4]


def test_a_process_that_dies_costs_one_verdict() -> None:
    def pairs() -> Iterator[FilePair]:
        yield EASY
        kill_workers()
        yield EASY
        yield EASY

    verdicts = list(compare_all(pairs(), workers=1))
    assert [verdict.reason for verdict in verdicts] == [None, "crash", None]
    assert [verdict.keep for verdict in verdicts] == [True, None, True]


def test_a_text_that_takes_too_much_memory_is_given_up() -> None:
    hungry = FilePair(b"a", b"a<b<" * 250_000, "a.cs")
    verdicts = list(compare_all([hungry, EASY], workers=1, timeout=60))
    assert [verdict.reason for verdict in verdicts] == ["crash", None]
    assert [verdict.keep for verdict in verdicts] == [None, True]


def test_pairs_are_drawn_as_needed_and_processes_end_with_the_reader() -> None:
    drawn = 0

    def pairs() -> Iterator[FilePair]:
        nonlocal drawn
        for drawn in itertools.count(1):
            yield EASY if drawn % 2 else FilePair(b"a", b"b", "a.md")

    verdicts = compare_all(pairs(), workers=2)
    assert [verdict.keep for verdict in itertools.islice(verdicts, 4)] == [True, None, True, None]
    # A slow process may hold the first verdict back, while the other goes on up to a bound.
    assert drawn < 2 * _AHEAD
    assert len(workers()) == 2
    verdicts.close()  # type: ignore[attr-defined]
    assert workers() == []


def test_a_failure_of_the_reader_ends_the_processes() -> None:
    def pairs() -> Iterator[FilePair]:
        yield EASY
        raise KeyError("no such blob")

    with pytest.raises(KeyError):
        list(compare_all(pairs()))
    assert workers() == []


READS_CODE = """\
from goldpan.code.substance import FilePair, compare_all
print([verdict.keep for verdict in compare_all([FilePair(b"a = 1", b"a = 2", "a.py")])])
"""
ANYWHERE = f"""\
import multiprocessing, threading
SOURCE = {READS_CODE!r}
if __name__ == "__main__":
    thread = threading.Thread(target=exec, args=(SOURCE, {{}}))
    thread.start()
    thread.join()
    for method in ("spawn", "forkserver", "fork"):
        process = multiprocessing.get_context(method).Process(
            target=exec, args=(SOURCE, {{}}), daemon=True
        )
        process.start()
        process.join()
"""


def python(*words: str | Path, given: str = "") -> tuple[str, str]:
    """Run a script and return what it prints, and what it says on stderr."""
    command = [sys.executable, *words]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def test_a_script_reads_code_without_a_guarded_main_part(tmp_path: Path) -> None:
    """As a file and from standard input, as in a notebook, which has no file either."""
    file = tmp_path / "first.py"
    file.write_text(READS_CODE)
    assert python(file) == ("[True]\n", "")
    assert python("-", given=READS_CODE) == ("[True]\n", "")


def test_threads_and_processes_of_any_kind_read_code(tmp_path: Path) -> None:
    file = tmp_path / "anywhere.py"
    file.write_text(ANYWHERE)
    assert python(file) == ("[True]\n" * 4, "")


def test_what_a_script_defines_itself_is_told_to_live_in_a_module(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "from goldpan.core.parallel.workers import map_in_sandbox\n"
        "def double(number): return 2 * number\n"
        "print(list(map_in_sandbox(double, [1], 1, 5.0)))\n"
    )
    _, said = python(file)
    assert "Can't get attribute 'double'" in said
    assert "Put it into a module or a plugin's file" in said


@pytest.mark.parametrize("language", [x for x in LANGUAGES if x.grammar], ids=lambda x: x.name)
def test_deep_nesting_is_compared(language: object) -> None:
    (path,) = (f"a{other.suffixes[0]}" for other in LANGUAGES if other is language)
    for deep in (b"(" * 1_500 + b"1" + b")" * 1_500, b"{" * 1_500, b"[" * 1_500):
        assert compare(deep, b"\n" + deep, path).keep is not True


def assert_hostile_texts_are_survived(languages: Sequence[Language]) -> None:
    """Judge texts that no parser likes."""
    texts = [b"(" * LARGEST, b'"' * LARGEST, b"x" * LARGEST, b"a\0" * 9, b"x = 1; " * 1_500_000]
    paths = [f"a{language.suffixes[0]}" for language in languages if language.grammar]
    pairs = [FilePair(b"a", text, path) for path in paths for text in texts]
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
    daily(
        [b"/*", b"//\\\n", b'"', b'R"x(', b'"""', b"import ", b"1'", b"\\\n"],
        [b"'", b'"\\', b'R"', b"`", b"#include <", b"# ", b"/", b"*/", b'""" "'],
    ),
)
def test_hostile_texts_are_stripped_in_linear_time(piece: bytes) -> None:
    text = piece * (LARGEST // 4 // len(piece))
    start = time.process_time()
    for lexis in {language.lexis for language in LANGUAGES if language.lexis}:
        strip(text, lexis)
    assert time.process_time() - start < 3


def test_verdicts_come_in_order_and_are_those_of_one_process() -> None:
    pairs = [
        FilePair(b"a = %d\n" % number, b"a = %d  # x\n" % (number // 2), path)
        for number in range(40)
        for path in ("a.py", "a.md", "a.c", "a.hs")
    ]
    expected = [compare(pair.before, pair.after, pair.path) for pair in pairs]
    assert len({verdict.keep for verdict in expected}) == 3
    for number in (1, 3):
        assert list(compare_all(pairs, workers=number)) == expected


def test_no_process_where_nothing_is_read() -> None:
    verdicts = compare_all(FilePair(b"a", b"b", "a.md") for _ in range(5_000))
    assert next(verdicts).reason == "unknown-language"
    assert workers() == []
    assert sum(1 for _ in verdicts) == 4_999
