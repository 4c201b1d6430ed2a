"""The programming languages: their files, and how code is told from comments and strings.

Names and main suffixes are those of GitHub's Linguist, of the languages that it calls
programming. Markup and data (.html .css .vue .md .json .yml .toml .sql .proto .ipynb), templates
(.erb .jsp .cshtml) and languages that describe a build or a configuration (CMake, Dockerfile,
HCL, M4, Makefile, Nix) are not code here. A language is one entry of `languages.toml`; the first
entry with a suffix has it.

Suffixes that several languages share: .h is C, or C++ where only that parses it; .js may hold
Flow's types; .m is Objective-C, .pl and .pm Perl, .fs F#, .v Verilog, .d D, .r R, .cl OpenCL,
.st Smalltalk, .pp Puppet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Literal

from goldpan.code.grammar import Grammar
from goldpan.code.lexer import C_LIKE, GO, JAVA, SOLIDITY, LexicalRules
from goldpan.core.settings.file import read_toml


@dataclass(frozen=True, slots=True)
class Language:
    """A programming language; its suffixes are lower case, with their dot."""

    name: str
    suffixes: tuple[str, ...]
    grammar: Grammar | None = None
    lexis: LexicalRules | None = None
    """Set where comments and strings can be told without a grammar."""
    layout: Literal["free", "indented", "directives"] = "free"
    """Significance of line structure: none, indentation, or lines that begin with ``#`` as
    directives."""


_LEXES = {"C": C_LIKE, "Go": GO, "Java": JAVA, "Solidity": SOLIDITY}


def _read_languages() -> Iterator[Language]:
    """Yield the languages of `languages.toml`; a grammar `like` another says what is its own."""
    entries = read_toml(resources.files(__package__) / "languages.toml").values
    grammars: dict[str, Grammar] = {}
    for entry in entries["languages"]:
        name, own = entry["name"], entry.get("grammar")
        grammar = grammars.get(entry.get("like"))
        if own:
            grammar = grammars[name] = _grammar(own, grammar)
        lexis = _LEXES.get(entry.get("lexis"))
        yield Language(name, tuple(entry["suffixes"]), grammar, lexis, entry.get("layout", "free"))
    for name, suffixes in entries["like_c"].items():
        yield Language(name, tuple(suffixes.split()), None, C_LIKE, "directives")
    for name, suffixes in entries["others"].items():
        yield Language(name, tuple(suffixes.split()))


def _grammar(own: Mapping[str, Any], like: Grammar | None) -> Grammar:
    fields: dict[str, Any] = {
        name: tuple(own[name]) for name in ("comments", "strings", "code") if name in own
    }
    fields |= {name: own[name].encode() for name in ("prefixes", "inside") if name in own}
    fields |= {name: own[name] for name in ("package", "entry") if name in own}
    fields["patterns"] = (like.patterns if like else "") + own.get("patterns", "")
    if "raw" in own:
        fields["raw"] = _LEXES[own["raw"]]
    return replace(like, **fields) if like else Grammar(**fields)


LANGUAGES = tuple(_read_languages())
_BY_SUFFIX = {suffix: language for language in reversed(LANGUAGES) for suffix in language.suffixes}
_BY_NAME = {language.name: language for language in LANGUAGES}
_SECOND = {".h": "C++", ".js": "TSX", ".jsx": "TSX"}

CODE_SUFFIXES: frozenset[str] = frozenset(_BY_SUFFIX)
"""The suffixes of code, lower case with their dot (FAUN-Eval, sections 3.3.2 and 3.4.2)."""


def suffix_of(path: str) -> str:
    """Return a path's last suffix, lower case with its dot; a name like ``.bashrc`` has none."""
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return f".{suffix.lower()}" if stem and dot and suffix else ""


def language_of(path: str) -> Language | None:
    """Return the language that a path's suffix names, or None where it names no code."""
    return _BY_SUFFIX.get(suffix_of(path))


def second_language_of(path: str) -> Language | None:
    """Return the language that may be meant where the first does not parse."""
    return _BY_NAME.get(_SECOND.get(suffix_of(path), ""))
