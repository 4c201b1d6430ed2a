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
    found = compare(old, new, path)
    assert found.keep is keep, found
    assert found.parsed in ("tree", "tokens"), found
    assert (found.reason is None) == keep
    assert (found.changed_tokens > 0) <= keep
    assert " => " in found.evidence
    back = compare(new, old, path)
    assert (back.keep, back.reason, back.parsed) == (found.keep, found.reason, found.parsed)
    assert back.changed_tokens == found.changed_tokens


@pytest.mark.parametrize("path", SAMPLES)
def test_samples_parse(path: str) -> None:
    text = SAMPLES[path].encode()
    assert compare(text, text + b"\n", path).parsed == "tree"


def test_every_language_with_a_grammar_has_cases_and_a_sample() -> None:
    wanted = {language.name for language in LANGUAGES if language.grammar}
    for paths in (CASES, SAMPLES):
        found = {language.name for path in paths if (language := language_of(path))}
        assert found >= wanted - {"Cuda"}


@pytest.mark.parametrize("path", SAMPLES)
def test_comment_lines_anywhere_have_no_substance(path: str) -> None:
    lines = SAMPLES[path].splitlines(keepends=True)
    sign = "#" if path.endswith((".py", ".rb", ".sh", ".jl")) else "--" if ".lua" in path else "//"
    for place in range(1, len(lines) + 1):
        indent = " " * (len(lines[place - 1]) - len(lines[place - 1].lstrip()))
        with_comment = [*lines[:place], f'{indent}{sign} it\'s "new"\n', *lines[place:]]
        found = compare(SAMPLES[path].encode(), "".join(with_comment).encode(), path)
        assert (found.keep, found.reason) == (False, "comments"), (place, found)
        assert found.parsed == "tree"
