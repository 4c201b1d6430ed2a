"""Whether an answer names the right file: as it stands, and where prose wraps the path.

FAUN-Eval takes the answer as it stands, so models that explain themselves score 0 (section 5.1);
the other two tell a model that does not find the file from one that does not obey.
"""

from __future__ import annotations

import re

from goldpan.code.languages import language_of

_WORD = re.compile(r"""[^\s`'"<>()\[\]{}*,;|=]+""")
_NOT_ALONE = re.compile(r"\s|=|://|\]\(")
"""What shows that an answer is more than a path; brackets alone do not, as in app/[id]/page.tsx."""
_LONGEST = 4_096
"""Characters of a path, as file systems bound it."""
_LINE_NUMBER = re.compile(r"(?::\d+){1,2}$|#L\d+(?:-L?\d+)?$")


def extract_path(answer: str) -> str | None:
    """Return the one path that an answer names, None where it names none or several.

    Code fences, quotes, emphasis, a leading `./` and line numbers are set aside. A name counts
    as a path where its suffix is that of a programming language; names without a folder count
    only where none has one, as "Node.js" is not a path.
    """
    alone = _clean(answer.strip().strip("`'\"*").strip())
    if alone and len(alone) <= _LONGEST and not _NOT_ALONE.search(alone):
        return alone
    named = {
        path
        for word in _WORD.findall(answer)
        if len(word) <= _LONGEST and "://" not in word
        if language_of(path := _clean(word)) is not None
    }
    in_folders = {path for path in named if "/" in path}
    candidates = in_folders or named
    return candidates.pop() if len(candidates) == 1 else None


def mentions_path(answer: str, path: str) -> bool:
    """Tell whether a path stands anywhere in an answer, as a whole and not as part of another."""
    start = answer.find(path) if path else -1
    while start >= 0:
        end = start + len(path)
        before, after = answer[max(start - 2, 0) : start], answer[end : end + 2]
        whole = not before or before == "./" or not _continues(before[-1])
        if whole and (not after or not _continues(after[0]) or _ends_sentence(after)):
            return True
        start = answer.find(path, end)
    return False


def _continues(character: str) -> bool:
    return character.isalnum() or character in "/\\_-.+"


def _ends_sentence(after: str) -> bool:
    return after[0] == "." and (len(after) == 1 or after[1].isspace())


def _clean(word: str) -> str:
    word = word.rstrip(".:!?").replace("\\", "/")
    return _LINE_NUMBER.sub("", word).removeprefix("./")
