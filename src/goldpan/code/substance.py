"""Whether a change to a file touches more than comments, docstrings and string literals.

The substance check of FAUN-Eval (section 3.3.2). Two versions are compared by the tokens of their
code, with one mark for each string literal, and by how these tokens nest; a change of white space
counts only where it changes what the code says, such as an indentation in Python. What an
interpolation holds is code, and so are the paths of imports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldpan.code.difference import changed_tokens, first_change
from goldpan.code.grammar import read
from goldpan.code.languages import Language, language_of, second_language_of
from goldpan.code.lexer import CONTINUED, LexicalRules, Stripped, squeeze, strip, tokens
from goldpan.code.structure import same_structure

Parsed = Literal["tree", "failed", "tokens", "none"]
"""How a verdict was found.

tree: both versions parse, and their trees were compared; failed: one does not parse, so the
tokens alone decided; tokens: the tokens decided without a parser, because the language's comments
and strings can be told without one; none: nothing was read.
"""

Reason = Literal[
    "comments",
    "strings",
    "comments-and-strings",
    "white-space",
    "encoding",
    "rename-only",
    "mode-only",
    "unknown-language",
    "no-grammar",
    "too-large",
    "binary",
    "absent",
    "timeout",
    "crash",
]

LARGEST = 1_000_000
"""Bytes of a version above which a change is left undecided; such files are generated."""


@dataclass(frozen=True, slots=True)
class Substance:
    """The verdict on one change; `keep` is None where it could not be judged."""

    keep: bool | None
    reason: Reason | None
    """Why not kept, or why undecided; None where kept."""
    language: str | None
    parsed: Parsed
    changed_tokens: int = 0
    """Tokens of which one version has more than the other; 0 where only their order or nesting
    changed."""
    evidence: str = ""
    """The first line of code that changed, before and after."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions of a file; None is a file that is not there."""

    before: bytes | None
    after: bytes | None
    path: str
    previous_path: str | None = None


def compare(
    before: bytes | None, after: bytes | None, path: str, previous_path: str | None = None
) -> Substance:
    """Judge a change from one version of a file to another.

    The result depends on the arguments alone, and is the same for both directions but for the
    order in the evidence. A hostile file may take minutes: `compare_all` stops at a time.
    """
    pair = Pair(before, after, path, previous_path)
    return compare_unread(pair) or compare_texts(pair)


def compare_unread(pair: Pair) -> Substance | None:
    """Judge a change where that needs no look at the texts; else None."""
    previous = pair.previous_path or pair.path
    first, last = language_of(previous), language_of(pair.path)
    name = last.name if last else None
    if pair.before is None and pair.after is None:
        return Substance(None, "absent", name, "none")
    if pair.before == pair.after:
        reason: Reason = "mode-only" if previous == pair.path else "rename-only"
        return Substance(False, reason, name, "none")
    if first is None or last is None:
        return Substance(None, "unknown-language", name, "none")
    if max(len(pair.before or b""), len(pair.after or b"")) > LARGEST:
        return Substance(None, "too-large", name, "none")
    return None


def compare_texts(pair: Pair) -> Substance:
    """Judge a change that `compare_unread` leaves open."""
    first, last = language_of(pair.previous_path or pair.path), language_of(pair.path)
    assert first and last
    old, new = _normalize(pair.before or b""), _normalize(pair.after or b"")
    if old is None or new is None:
        return Substance(None, "binary", last.name, "none")
    if old == new:
        has_both = pair.before is not None and pair.after is not None
        return Substance(False, "encoding" if has_both else "white-space", last.name, "none")
    if first is last and first.lexis:
        substance = _by_lexis(old, new, first, first.lexis)
        if substance:
            return substance
    return _by_grammar(old, new, first, last, pair.path)


def _normalize(text: bytes) -> bytes | None:
    """Return a text as UTF-8 with line feeds and no byte order mark; None where it is none."""
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = text.decode("utf-16", "replace").encode()
    text = text.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in text:
        return None
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            text = text.decode("latin-1").encode()
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def _by_lexis(old: bytes, new: bytes, language: Language, lexis: LexicalRules) -> Substance | None:
    """Judge by tokens alone; None where only a parser can tell."""
    before, after = strip(old, lexis), strip(new, lexis)
    keep = squeeze(before.code, strings=False) != squeeze(after.code, strings=False)
    if not keep and language.grammar:
        return None
    keep = keep or tokens(before.code) != tokens(after.code)
    keep = keep or _layout(before.code, language) != _layout(after.code, language)
    return _verdict(keep, language.name, "tokens", (old, before), (new, after))


def _by_grammar(old: bytes, new: bytes, first: Language, last: Language, path: str) -> Substance:
    if not first.grammar or not last.grammar:
        return Substance(None, "no-grammar", last.name, "none")
    name = last.name
    before, after = read(old, first.grammar), read(new, last.grammar)
    clean = before.clean and after.clean
    second = second_language_of(path)
    if not clean and first is last and second and second.grammar:
        other = read(old, second.grammar)
        if other.clean and (another := read(new, second.grammar)).clean:
            before, after, clean, name = other, another, True, second.name
    keep = squeeze(before.stripped.code) != squeeze(after.stripped.code)
    if clean and before.grammar is after.grammar:
        keep = keep or not same_structure(before, after)
    elif first is last:
        old_layout = _layout(before.stripped.code, last)
        keep = keep or old_layout != _layout(after.stripped.code, last)
    parsed: Parsed = "tree" if clean else "failed"
    return _verdict(keep, name, parsed, (old, before.stripped), (new, after.stripped))


def _layout(code: bytes, language: Language) -> list[tuple[int, list[bytes]]]:
    """Return what the lines of a code say: how far each is indented, and its tokens."""
    lines = code.replace(CONTINUED, b" ").split(b"\n")
    match language.layout:
        case "free":
            return []
        case "directives":
            return [(0, tokens(line)) for line in lines if line.lstrip().startswith(b"#")]
        case "indented":
            lines = [line.expandtabs() for line in lines if line.strip()]
            return [(len(line) - len(line.lstrip()), tokens(line)) for line in lines]


def _verdict(
    keep: bool,
    language: str,
    parsed: Parsed,
    before: tuple[bytes, Stripped],
    after: tuple[bytes, Stripped],
) -> Substance:
    (old, old_code), (new, other) = before, after
    evidence = first_change(old, new, old_code.code, other.code)
    if keep:
        count = changed_tokens(old_code.code, other.code)
        return Substance(True, None, language, parsed, count, evidence)
    comments, strings = old_code.comments != other.comments, old_code.strings != other.strings
    reason: Reason = "comments" if comments else "strings" if strings else "white-space"
    reason = "comments-and-strings" if comments and strings else reason
    return Substance(False, reason, language, parsed, 0, evidence)
