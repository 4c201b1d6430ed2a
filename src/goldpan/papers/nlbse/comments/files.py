"""Which files of a commit hold comments on classes, and their bytes as text."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from goldpan.code.languages import language_of
from goldpan.core.errors import UsageError
from goldpan.git.texts import Encoding, encodings
from goldpan.git.trees import TreeFile
from goldpan.papers.nlbse.comments.rules import RULES
from goldpan.papers.nlbse.comments.smalltalk import is_filetree, is_tonel
from goldpan.papers.nlbse.comments.text import Span

PYTHON, SMALLTALK = "Python", "Smalltalk"
LANGUAGES: tuple[str, ...] = tuple(sorted({*RULES, PYTHON, SMALLTALK} - {"TSX"}))
"""The languages whose class comments can be read; TSX belongs to TypeScript."""
_OTHER_NAMES = {"pharo": SMALLTALK, "csharp": "C#", "cpp": "C++"}
_PROPERTIES = "properties.json"


def find_languages(names: Iterable[str]) -> frozenset[str]:
    """Return languages by their names, all where none is named; raises `UsageError`."""
    language_names = {name.casefold(): name for name in LANGUAGES} | _OTHER_NAMES
    repeated = set()
    for name in names:
        if name.casefold() not in language_names:
            raise UsageError(
                f"Comments in {name!r} cannot be read", f"Choose among {', '.join(LANGUAGES)}"
            )
        repeated.add(language_names[name.casefold()])
    return frozenset(repeated or LANGUAGES)


def find_language(name: str) -> frozenset[str]:
    """Return one language by its name; raises `UsageError`."""
    return find_languages((name,))


def wanted_files(files: Sequence[TreeFile], languages: Collection[str]) -> list[TreeFile]:
    """Return the files of a commit that may hold comments in these languages, no path twice."""
    paths = {file.path: file for file in files}
    return [
        file
        for file in paths.values()
        if file.kind == "file"
        and written_in(file.path) in languages
        and (not is_filetree(file.path) or _properties_path(file.path) in paths)
    ]


def written_in(path: str) -> str | None:
    """Return the language whose comments a file may hold."""
    if is_tonel(path) or is_filetree(path):
        return SMALLTALK
    language = language_of(path)
    name = "TypeScript" if language and language.name == "TSX" else language and language.name
    return name if name in LANGUAGES and name != SMALLTALK else None


def _properties_path(path: str) -> str:
    return path.rpartition("/")[0] + "/" + _PROPERTIES


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file as UTF-8 without its byte order mark, and what it was before."""

    utf8: bytes
    encoding: Encoding

    def original(self, spans: Sequence[Span]) -> list[Span]:
        """Return where spans of the UTF-8 stand in the file as it is."""
        if self.encoding in ("utf-8", "utf-8-sig"):
            shift = len(codecs.BOM_UTF8) if self.encoding == "utf-8-sig" else 0
            return [Span(span.start + shift, span.end + shift) for span in spans]
        offsets = sorted({index for span in spans for index in (span.start, span.end)})
        byte_offsets: dict[int, int] = {}
        before, at = 0, len(codecs.BOM_UTF16_LE) if self.encoding.startswith("utf-16") else 0
        for index in offsets:
            at += len(self.utf8[before:index].decode().encode(self.encoding))
            byte_offsets[index] = at
            before = index
        return [Span(byte_offsets[span.start], byte_offsets[span.end]) for span in spans]


def read_text(data: bytes) -> SourceText | None:
    """Return a file's bytes as text; None where it is binary."""
    likely = encodings(data)
    if not likely:
        return None
    encoding = likely[0]
    text = data.decode(encoding)
    try:
        return SourceText(text.removeprefix("\ufeff").encode(), encoding)
    except UnicodeEncodeError:  # half of a pair in UTF-16
        return None
