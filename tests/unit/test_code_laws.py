"""Laws of the substance check, over programs that were taken apart and put together anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from goldpan.code.grammar import read
from goldpan.code.languages import LANGUAGES, language_of
from goldpan.code.lexer import LexicalRules, squeeze, strip
from goldpan.code.substance import compare
from goldpan.core.sanitize import visible
from tests.code_cases_braces import BRACES
from tests.code_cases_others import OTHERS
from tests.code_samples import SAMPLES

CASES = BRACES | OTHERS
PATHS = st.sampled_from(sorted(SAMPLES))
HASHED = (".py", ".rb", ".sh", ".jl")

WORDS = st.lists(
    st.sampled_from(["it's", '"', "a", "x = 1", "{", "}", "(", "`", "${b}", "é", "end", "/", "*"]),
    max_size=4,
).map(" ".join)


def is_visible_line(text: str) -> bool:
    """What is drawn does not hang on the characters that this Python knows."""
    return visible(text) == text and "\n" not in text


@st.composite
def commented(draw: st.DrawFn) -> tuple[str, str, str]:
    """Return a path, a program, and that program with comments."""
    path = draw(PATHS)
    sign = "#" if path.endswith(HASHED) else "--" if path.endswith(".lua") else "//"
    lines: list[str] = []
    for line in SAMPLES[path].splitlines():
        for words in draw(st.lists(WORDS, max_size=1)):
            if lines or path not in ("a.php", "a.sh"):
                lines.append(f"{line[: len(line) - len(line.lstrip())]}{sign} {words}")
        also = draw(st.booleans()) and not line.startswith(("#", "<?"))
        lines.append(f"{line}  {sign} {draw(WORDS)}" if also else line)
    return path, SAMPLES[path], "".join(f"{line}\n" for line in lines)


@given(commented())
def test_comments_have_no_substance(change: tuple[str, str, str]) -> None:
    path, before, after = change
    comparison = compare(before.encode(), after.encode(), path)
    if before == after:
        assert comparison.reason == "mode-only"
    else:
        assert (comparison.keep, comparison.reason, comparison.parsed) == (
            False,
            "comments",
            "tree",
        ), comparison


@st.composite
def mixed(draw: st.DrawFn) -> tuple[str, bytes, bytes]:
    """Return a path and two texts that are made of pieces of its language, most of them broken."""
    path = draw(PATHS)
    pieces = [SAMPLES[path].encode()]
    for _, old, new, _ in CASES[path]:
        pieces += [old.encode(), new.encode()]
    cut = st.builds(
        lambda piece, start, length: piece[start : start + length],
        st.sampled_from(pieces),
        st.integers(0, 60),
        st.integers(0, 80),
    )
    whole = st.sampled_from(pieces)
    text = st.lists(whole | cut | st.binary(max_size=3), max_size=5).map(b"".join)
    before = draw(text)
    if draw(st.booleans()):
        start, length = draw(st.integers(0, len(before))), draw(st.integers(0, 10))
        return path, before, before[:start] + draw(cut) + before[start + length :]
    return path, before, draw(text)


@given(mixed())
def test_both_directions_agree(change: tuple[str, bytes, bytes]) -> None:
    path, before, after = change
    forward, backward = compare(before, after, path), compare(after, before, path)
    assert (forward.keep, forward.reason, forward.parsed) == (
        backward.keep,
        backward.reason,
        backward.parsed,
    )
    assert forward.changed_tokens == backward.changed_tokens
    assert forward == compare(before, after, path)


@given(mixed())
def test_a_text_and_itself_have_no_substance(change: tuple[str, bytes, bytes]) -> None:
    path, text, _ = change
    assert compare(text, text, path).reason == "mode-only"
    assert compare(text, text, path, f"old-{path}").reason == "rename-only"


@given(mixed())
def test_tokens_differ_for_the_tree_where_they_differ_without(
    change: tuple[str, bytes, bytes],
) -> None:
    path, before, after = change
    language = language_of(path)
    assert language is not None
    if language.lexis is None or language.grammar is None:
        return
    if len({squeeze(strip(text, language.lexis).code, strings=False) for text in change[1:]}) == 1:
        return
    readings = [read(text, language.grammar) for text in (before, after)]
    if all(reading.clean for reading in readings):
        assert squeeze(readings[0].stripped.code) != squeeze(readings[1].stripped.code)


@given(st.sampled_from([language.suffixes[0] for language in LANGUAGES]), st.binary(), st.binary())
def test_garbage_gets_a_verdict(suffix: str, before: bytes, after: bytes) -> None:
    comparison = compare(before, after, f"a{suffix}")
    assert is_visible_line(comparison.evidence)


@given(PATHS, st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_any_text_gets_a_verdict(path: str, before: str, after: str) -> None:
    assert is_visible_line(compare(before.encode(), after.encode(), path).evidence)


@given(mixed())
def test_stripped_code_has_the_lines_of_the_text(change: tuple[str, bytes, bytes]) -> None:
    path, text, _ = change
    language = language_of(path)
    assert language is not None
    assert language.grammar is not None
    lines = text.count(b"\n")
    assert read(text, language.grammar).stripped.code.count(b"\n") == lines
    kinds: list[LexicalRules] = [language.lexis for language in LANGUAGES if language.lexis]
    for lexis in kinds:
        assert strip(text, lexis).code.count(b"\n") == lines
