"""Small changes in every language with a grammar: which of them have substance."""

from __future__ import annotations

import pytest

from goldpan.code.languages import LANGUAGES, language_of
from goldpan.code.substance import compare
from tests.code_cases_braces import BRACES
from tests.code_cases_others import OTHERS
from tests.code_samples import SAMPLES

CASES = BRACES | OTHERS

FLAT = [
    pytest.param(path, before, after, keep, id=f"{path}-{what}")
    for path, cases in CASES.items()
    for what, before, after, keep in cases
]


@pytest.mark.parametrize(("path", "before", "after", "keep"), FLAT)
def test_case(path: str, before: str, after: str, keep: bool) -> None:
    old, new = before.encode(), after.encode()
    comparison = compare(old, new, path)
    assert comparison.keep is keep, comparison
    assert comparison.parsed in ("tree", "tokens"), comparison
    assert (comparison.reason is None) == keep
    assert (comparison.changed_tokens > 0) <= keep
    assert " => " in comparison.evidence
    back = compare(new, old, path)
    assert (back.keep, back.reason, back.parsed) == (
        comparison.keep,
        comparison.reason,
        comparison.parsed,
    )
    assert back.changed_tokens == comparison.changed_tokens


@pytest.mark.parametrize("path", SAMPLES)
def test_samples_parse(path: str) -> None:
    text = SAMPLES[path].encode()
    assert compare(text, text + b"\n", path).parsed == "tree"


def test_every_language_with_a_grammar_has_cases_and_a_sample() -> None:
    expected = {language.name for language in LANGUAGES if language.grammar}
    for paths in (CASES, SAMPLES):
        covered = {language.name for path in paths if (language := language_of(path))}
        assert covered >= expected - {"Cuda"}


@pytest.mark.parametrize("path", SAMPLES)
def test_comment_lines_anywhere_have_no_substance(path: str) -> None:
    lines = SAMPLES[path].splitlines(keepends=True)
    sign = "#" if path.endswith((".py", ".rb", ".sh", ".jl")) else "--" if ".lua" in path else "//"
    for number in range(1, len(lines) + 1):
        indent = " " * (len(lines[number - 1]) - len(lines[number - 1].lstrip()))
        with_comment = [*lines[:number], f'{indent}{sign} it\'s "new"\n', *lines[number:]]
        comparison = compare(SAMPLES[path].encode(), "".join(with_comment).encode(), path)
        assert (comparison.keep, comparison.reason) == (False, "comments"), (number, comparison)
        assert comparison.parsed == "tree"
